//! What is on the air where all hear all: the accesses that began together.

use evenair_units::{Airtime, Instant, Span};
use evenair_wifi::Phy;

use crate::accounts::Exchange;
use crate::attempt::Attempt;
use crate::mac::Mac;

/// What one EDCAF sends at a time when it has won the medium.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) node: u32,
    pub(super) edcaf: u32,
    pub(super) attempt: Attempt,
    pub(super) outcome: Outcome,
    /// End of what the node itself sends of RTS and DATA.
    pub(super) sent: Instant,
    /// When something of it is received next; its MPDUs may be one by one.
    pub(super) arrives: Instant,
    /// End of the ACK where there is one.
    pub(super) answered: Instant,
    /// DATA was received, and its receiver has it.
    pub(super) delivered: bool,
    /// When the TXOP ends, if it may have more than one frame.
    pub(super) txop_end: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Received,
    /// DATA was received, its ACK was not.
    Unconfirmed,
    /// DATA was not received.
    Lost,
    /// RTS was not received, or its CTS was not, or its receiver has left.
    Unanswered,
    Collided,
}

impl Outcome {
    pub(super) fn delivers(self) -> bool {
        matches!(self, Self::Received | Self::Unconfirmed)
    }
}

impl Access {
    /// The frame at the head of an EDCAF's queue goes on the air, and a TXOP begins where there are any.
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

    /// When its next MPDU comes, where each is handed up when it does.
    #[inline]
    pub(super) fn next_arrival<F>(&self, mac: &Mac<F>) -> Instant {
        let begins = Instant::from_nanos(self.sent.as_nanos() - self.attempt.data.as_nanos());
        let next = mac.next_arrival(self.edcaf);
        next.map_or(self.sent, |next| (begins + next).min(self.sent))
    }

    /// Whose airtime it is.
    pub(super) fn exchange(&self) -> Exchange {
        Exchange { edcaf: self.edcaf, to: self.attempt.to, ends: self.answered }
    }
}

/// When what the sender itself sends will have ended, and the whole exchange.
#[inline(always)]
pub(super) fn ends(phy: &Phy, at: Instant, attempt: Attempt, outcome: Outcome) -> (Instant, Instant) {
    let sent = at + if attempt.rts { own_time_after_rts(phy, attempt, outcome) } else { attempt.data };
    (sent, if outcome.delivers() { sent + attempt.answer } else { sent })
}

/// How long what the sender itself sends takes, with RTS.
#[inline(never)]
fn own_time_after_rts(phy: &Phy, attempt: Attempt, outcome: Outcome) -> Span {
    let rate = attempt.rate;
    match outcome {
        Outcome::Unanswered | Outcome::Collided => phy.rts(rate),
        _ => phy.reservation(rate) + attempt.data,
    }
}
