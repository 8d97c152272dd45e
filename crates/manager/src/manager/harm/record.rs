//! What the box keeps beside the guards of the contention domains.

use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::Label;
use crate::guard::{GuardState, Trials};

/// What is kept beside the guards of the contention domains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Harm {
    /// What the bridge has carried in this interval, and how much of the interval that was.
    pub(super) bridged: (Bytes, Span),
    /// A guard has bypassed the box: that of this domain, which had carried so much before. Until the next command, or
    /// the end of a trial.
    pub(super) bypassed: Option<(Label, BitRate)>,
    /// When the box is tried again.
    pub(super) trials: Trials,
    /// The state as of the last interval, and since when.
    pub(super) state: GuardState,
    pub(super) since: Instant,
    pub(super) steps: u64,
    pub(super) bypasses: u64,
}

impl Harm {
    pub(crate) const fn new(now: Instant) -> Self {
        let (bridged, bypassed, state) = ((Bytes::ZERO, Span::ZERO), None, GuardState::Watching);
        Self { bridged, bypassed, state, trials: Trials::NONE, since: now, steps: 0, bypasses: 0 }
    }
}
