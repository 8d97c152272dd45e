//! The instants at which frames were received: those of an A-MPDU at once.

use std::time::Duration;

use super::idle::Contention;
use super::successes::Success;

/// The events, in the order of time; one or more frames each.
pub(super) struct Events {
    /// The event of each frame.
    pub(super) of: Vec<usize>,
    /// When it was, by the clock of the records.
    pub(super) at: Vec<Duration>,
    /// The same by the monitor's clock, never before the one before.
    pub(super) ended: Vec<Duration>,
    /// The first attempt to get the medium for it, if that was heard of all of its frames.
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

    /// How many were before an instant.
    pub(super) fn before(&self, at: Duration) -> usize {
        self.at.partition_point(|&other| other < at)
    }

    /// How many were until an instant.
    pub(super) fn until(&self, at: Duration) -> usize {
        self.at.partition_point(|&other| other <= at)
    }

    /// How many were before an instant of the monitor's clock.
    pub(super) fn ended_before(&self, at: Duration) -> usize {
        self.ended.partition_point(|&other| other < at)
    }
}
