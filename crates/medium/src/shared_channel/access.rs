//! Accesses on the air, in the shared-channel engine: those that began together.

use evenair_units::{Airtime, Instant, Span};
use evenair_wifi::Phy;

use crate::accounts::Exchange;
use crate::attempt::Attempt;
use crate::mac::Mac;

/// An exchange that one EDCAF sends after it has won the medium.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) node: u32,
    pub(super) edcaf: u32,
    pub(super) attempt: Attempt,
    pub(super) outcome: Outcome,
    /// End of the sender's own frames, RTS and DATA.
    pub(super) sent: Instant,
    /// When the next part of it is received; MPDUs may be received one by one.
    pub(super) arrives: Instant,
    /// End of the response, if there is one.
    pub(super) answered: Instant,
    /// Whether DATA has been delivered to the receiver.
    pub(super) delivered: bool,
    /// End of the TXOP, if it may have more than one frame.
    pub(super) txop_end: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Received,
    /// DATA was received, its ACK was not.
    Unconfirmed,
    /// DATA was not received.
    Lost,
    /// RTS or CTS was not received, or the receiver has left.
    Unanswered,
    Collided,
}

impl Outcome {
    pub(super) fn delivers(self) -> bool {
        matches!(self, Self::Received | Self::Unconfirmed)
    }
}

impl Access {
    /// Sends the frame at the head of an EDCAF's queue; a TXOP begins if the EDCAF has TXOPs.
    #[inline(always)]
    pub(super) fn begin<F>(mac: &mut Mac<F>, at: Instant, id: u32, attempt: Attempt, outcome: Outcome) -> Self {
        let (sent, answered) = ends(&mac.config.phy, at, attempt, outcome);
        let edcaf = &mut mac.nodes.edcafs[id as usize];
        let txop_end = edcaf.txop_end(at);
        edcaf.on_air = true;
        edcaf.begin_attempt(Airtime(answered - at));
        let (node, arrives) = (edcaf.node, sent);
        Self { node, edcaf: id, attempt, outcome, sent, arrives, answered, delivered: false, txop_end }
    }

    /// When its next MPDU is received, if MPDUs are delivered one by one; otherwise the end of DATA.
    #[inline]
    pub(super) fn next_arrival<F>(&self, mac: &Mac<F>) -> Instant {
        let begins = Instant::from_nanos(self.sent.as_nanos() - self.attempt.data.as_nanos());
        let next = mac.next_arrival(self.edcaf);
        next.map_or(self.sent, |next| (begins + next).min(self.sent))
    }

    /// The exchange for airtime accounting.
    pub(super) fn exchange(&self) -> Exchange {
        Exchange { edcaf: self.edcaf, to: self.attempt.to, ends: self.answered }
    }
}

/// End of the sender's own frames, and of the whole exchange.
#[inline(always)]
pub(super) fn ends(phy: &Phy, at: Instant, attempt: Attempt, outcome: Outcome) -> (Instant, Instant) {
    let sent = at + if attempt.rts { own_time_after_rts(phy, attempt, outcome) } else { attempt.data };
    (sent, if outcome.delivers() { sent + attempt.answer } else { sent })
}

/// Duration of the sender's own frames, with RTS.
#[inline(never)]
fn own_time_after_rts(phy: &Phy, attempt: Attempt, outcome: Outcome) -> Span {
    let rate = attempt.rate;
    match outcome {
        Outcome::Unanswered | Outcome::Collided => phy.rts(rate),
        _ => phy.reservation(rate) + attempt.data,
    }
}
