//! What is on the air where all hear all: the accesses that began together.

use evenair_units::Instant;

use crate::accounts::Exchange;
use crate::attempt::Attempt;

/// What one EDCAF sends at a time when it has won the medium.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) node: u32,
    pub(super) edcaf: u32,
    pub(super) attempt: Attempt,
    pub(super) outcome: Outcome,
    /// End of what the node itself sends of RTS and DATA.
    pub(super) sent: Instant,
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
    /// Whose airtime it is.
    pub(super) fn exchange(&self) -> Exchange {
        Exchange { edcaf: self.edcaf, to: self.attempt.to, ends: self.answered }
    }
}
