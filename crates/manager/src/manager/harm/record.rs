//! State of the harm guard for the whole box.

use evenair_units::{BitRate, Instant};

use crate::Label;
use crate::pacer::guard::{GuardState, Trials};

/// State of the harm guard for the whole box.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Harm {
    /// The domain whose guard has bypassed the box, and its throughput before. Until the next command, or the end of a
    /// trial.
    pub(in crate::manager) bypassed: Option<(Label, BitRate)>,
    /// The schedule of trials.
    pub(in crate::manager) trials: Trials,
    /// The guard's state as of the last interval, and since when.
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
