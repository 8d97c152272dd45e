//! What the box keeps beside the guards of the contention domains.

use evenair_units::{BitRate, Instant};

use crate::Label;
use crate::pacer::guard::{GuardState, Trials};

/// What is kept beside the guards of the contention domains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Harm {
    /// A guard has bypassed the box: that of this domain, which had carried so much before. Until the next command, or
    /// the end of a trial.
    pub(in crate::manager) bypassed: Option<(Label, BitRate)>,
    /// When the box is tried again.
    pub(in crate::manager) trials: Trials,
    /// The state as of the last interval, and since when.
    pub(super) state: GuardState,
    pub(super) since: Instant,
    pub(super) steps: u64,
    pub(super) bypasses: u64,
}

impl Harm {
    pub(crate) const fn new(now: Instant) -> Self {
        let (bypassed, state) = (None, GuardState::Watching);
        Self { bypassed, state, trials: Trials::NONE, since: now, steps: 0, bypasses: 0 }
    }
}
