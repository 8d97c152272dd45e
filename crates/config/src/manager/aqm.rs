//! Active queue management of the tree's queues: the keys `aqm`, `aqm_target` and `aqm_interval`.

use evenair_manager::{CodelConfig, Config};
use evenair_reader::{OrDefault, Problems, ranges, words};
use evenair_units::Span;

use super::ManagerSpec;

/// Queue management: the key `aqm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aqm {
    /// CoDel.
    Codel,
    /// No management except the queue limit.
    None,
}

words!(Aqm { "codel" => Self::Codel, "none" => Self::None });

ranges! {
    /// Times of CoDel in the tree of queues.
    pub AqmTimes: Span = "0.1 ms to 10 s";
}

impl ManagerSpec {
    pub(super) fn aqm(&self, problems: &mut Problems) -> Option<Option<CodelConfig>> {
        if self.aqm.get_or(Aqm::Codel, problems)? == Aqm::None {
            return Some(None);
        }
        let interval = self.aqm_interval.get_or(Config::AQM.interval, problems)?;
        let target = self.aqm_target.get_or_if(
            Config::AQM.target.min(interval),
            problems,
            |&span| span <= interval,
            "0.1 ms up to aqm_interval",
        )?;
        Some(Some(CodelConfig { target, interval }))
    }
}
