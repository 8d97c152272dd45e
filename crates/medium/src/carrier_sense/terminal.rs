//! One node's part in medium access: what it sends, awaits and answers.
//!
//! Clause numbers are those of IEEE Std 802.11-2016.

use core::ops::Range;

use evenair_units::{Bytes, Instant, Span};
use evenair_wifi::{ACK_CTS, Phy, RTS};

use super::carrier::Carrier;
use crate::attempt::Attempt;
use crate::config::MediumConfig;
use crate::frame::{NodeId, To};
use crate::reception::Sent;
use crate::watch::TxStatus;

/// One node's part.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) edcafs: Range<u32>,
    pub(super) carrier: Carrier,
    pub(super) phase: Phase,
    /// The access that it is sending, from its first frame to the response to its last.
    pub(super) access: Option<Access>,
    /// When it resets the NAV of an unused RTS, and when that RTS ended.
    pub(super) give_up: Option<(Instant, Instant)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    Listening,
    /// Sends this frame until this instant.
    Sending(Frame, Instant),
    /// Will send this frame at this instant: a response, or the frame that follows one.
    Turning(Frame, Instant),
    /// Waits for a response: until this instant for its start, or (`None`) for its end.
    Awaiting(Option<Instant>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) to: To,
    pub(super) lasts: Span,
    /// Its Duration field: how long others defer after it.
    pub(super) reserves: Span,
    /// For RTS: how long others defer after it if they hear nothing more.
    pub(super) unless_used: Span,
    pub(super) sent: Sent,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Rts,
    Cts,
    Data,
    Ack,
}

/// An access: all that a node sends after winning the medium, from its first frame to the response to its last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) edcaf: u32,
    pub(super) attempt: Attempt,
    /// DATA is being sent, or was: CTS has come, or none is needed.
    pub(super) cleared: bool,
    pub(super) status: TxStatus,
    pub(super) txop_end: Option<Instant>,
    /// Time from the response to the end of the next frame's response, if the TXOP goes on with one.
    pub(super) next: Span,
}

impl Access {
    /// An access that begins, with no next frame in its TXOP yet.
    pub(super) const fn new(edcaf: u32, attempt: Attempt, txop_end: Option<Instant>) -> Self {
        Self { edcaf, attempt, cleared: !attempt.rts, status: TxStatus::Lost, txop_end, next: Span::ZERO }
    }

    /// DATA. Its Duration covers its response and, in a TXOP, the next frame and its response (9.2.5.2).
    pub(super) fn data(&self) -> Frame {
        Frame {
            kind: Kind::Data,
            to: self.attempt.to,
            lasts: self.attempt.data,
            reserves: self.attempt.answer + self.next,
            unless_used: Span::ZERO,
            sent: Sent { rate: self.attempt.rate, psdu: self.attempt.psdu, is_data: true },
        }
    }

    fn control(&self, phy: &Phy, psdu: Bytes) -> Sent {
        Sent { rate: phy.control_rate(self.attempt.rate), psdu, is_data: false }
    }

    /// RTS. Its Duration covers all that follows (9.2.5.1); nodes that hear none of that reset their NAV after two
    /// SIFS, CTS, the delay of detection and two slots (10.3.2.4).
    pub(super) fn rts(&self, phy: &Phy) -> Frame {
        let cts = self.cts(phy);
        Frame {
            kind: Kind::Rts,
            to: self.attempt.to,
            lasts: phy.rts(self.attempt.rate),
            reserves: phy.sifs() + cts.lasts + cts.reserves,
            unless_used: phy.sifs() + cts.lasts + phy.response_timeout() + phy.slot(),
            sent: self.control(phy, RTS),
        }
    }

    /// The CTS that answers its RTS. The caller sets the receiver.
    pub(super) fn cts(&self, phy: &Phy) -> Frame {
        let reserves = phy.sifs() + self.attempt.data + self.attempt.answer + self.next;
        let sent = self.control(phy, ACK_CTS);
        Frame { kind: Kind::Cts, reserves, lasts: phy.cts(self.attempt.rate), sent, ..self.data() }
    }

    /// The ACK or BlockAck that answers its DATA. The caller sets the receiver.
    pub(super) fn ack(&self, config: &MediumConfig) -> Frame {
        let phy = &config.phy;
        let sent = self.control(phy, self.attempt.answer_size(config));
        let lasts = Span::from_nanos(self.attempt.answer.as_nanos() - phy.sifs().as_nanos());
        Frame { kind: Kind::Ack, reserves: self.next, lasts, sent, ..self.data() }
    }
}

/// Sender of the access that a frame of `id` belongs to: itself, or the node that it answers.
pub(super) fn sender(id: u32, frame: Frame) -> u32 {
    match (frame.kind, frame.to) {
        (Kind::Cts | Kind::Ack, To::Node(sender)) => sender.0,
        _ => id,
    }
}

/// A frame's receiver.
pub(super) const fn to(id: u32) -> To {
    To::Node(NodeId(id))
}
