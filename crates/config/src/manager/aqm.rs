//! Active queue management of the tree's queues: the keys `aqm`, `aqm_target` and `aqm_interval`.

use evenair_manager::{CodelConfig, Config};
use evenair_reader::{OrDefault, Problems, words};
use evenair_units::Span;

use super::ManagerSpec;

/// The word for the management of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aqm {
    /// CoDel.
    Codel,
    /// None but the limit.
    None,
}

words!(Aqm { "codel" => Self::Codel, "none" => Self::None });

impl ManagerSpec {
    pub(super) fn aqm(&self, problems: &mut Problems) -> Option<Option<CodelConfig>> {
        if self.aqm.get_or(Aqm::Codel, problems)? == Aqm::None {
            return Some(None);
        }
        let (shortest, longest) = (Span::from_micros(100), Span::from_secs(10));
        let interval = self.aqm_interval.get_or_if(
            Config::AQM.interval,
            problems,
            |span| (shortest..=longest).contains(span),
            "0.1 ms to 10 s",
        )?;
        let target = self.aqm_target.get_or_if(
            Config::AQM.target.min(interval),
            problems,
            |span| (shortest..=interval).contains(span),
            "0.1 ms up to aqm_interval",
        )?;
        Some(Some(CodelConfig { target, interval }))
    }
}
