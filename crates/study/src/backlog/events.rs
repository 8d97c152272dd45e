//! Events: the instants at which frames were received. The MPDUs of an A-MPDU are one event.

use std::time::Duration;

use super::idle::Contention;
use super::successes::Success;

/// The events, in the order of time, with one or more frames each.
pub(super) struct Events {
    /// The event of each frame.
    pub(super) of: Vec<usize>,
    /// Time of each event, by the clock of the records.
    pub(super) at: Vec<Duration>,
    /// Time of each event by the monitor's clock, made non-decreasing.
    pub(super) ended: Vec<Duration>,
    /// Its first contention, if the first attempts of all its frames were captured.
    pub(super) contention: Vec<Option<Contention>>,
}

impl Events {
    pub(super) fn of(successes: &[Success<'_>]) -> Self {
        let mut events = Self { of: Vec::new(), at: Vec::new(), ended: Vec::new(), contention: Vec::new() };
        let mut last: Option<&Success<'_>> = None;
        for success in successes {
            let is_same = |last: &Success<'_>| last.at == success.at && last.from == success.from && !success.lost;
            if last.is_some_and(is_same) {
                if success.contention.is_none() {
                    events.contention.pop();
                    events.contention.push(None);
                }
            } else {
                events.at.push(success.at);
                events.ended.push(events.ended.last().map_or(success.ended, |&last| last.max(success.ended)));
                events.contention.push(success.contention);
            }
            events.of.push(events.at.len() - 1);
            last = Some(success);
        }
        events
    }

    pub(super) fn count(&self) -> usize {
        self.at.len()
    }

    /// Number of events before an instant.
    pub(super) fn before(&self, at: Duration) -> usize {
        self.at.partition_point(|&other| other < at)
    }

    /// Number of events until an instant, inclusive.
    pub(super) fn until(&self, at: Duration) -> usize {
        self.at.partition_point(|&other| other <= at)
    }

    /// Number of events before an instant of the monitor's clock.
    pub(super) fn ended_before(&self, at: Duration) -> usize {
        self.ended.partition_point(|&other| other < at)
    }
}
