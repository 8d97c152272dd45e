//! One class: its estimator and its state.

use evenair_units::{BitRate, Bytes, Instant, Span};

use super::{CbqClass, LONGEST_NS};

#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) config: CbqClass,
    /// Its rate, less that of isolated child classes.
    rate: BitRate,
    /// Level in the tree; 1 for a leaf.
    pub(super) level: usize,
    /// The mean idle time times 2^gain, in nanoseconds.
    idle: i64,
    last: Option<Instant>,
    /// End of its over-limit state.
    over_until: Option<Instant>,
    /// Part of that time in which its mean recovers; `None`: it has been regulated for this wait already.
    recovers: Option<Span>,
    /// For a leaf: bytes that it may still send in this round.
    pub(super) deficit: i64,
}

pub(super) fn as_ns(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX).min(LONGEST_NS)
}

impl Class {
    pub(super) fn new(config: CbqClass, rate: BitRate, level: usize, gain: u32) -> Self {
        Self {
            config,
            rate,
            level,
            idle: as_ns(config.max_idle) << gain,
            last: None,
            over_until: None,
            recovers: None,
            deficit: 0,
        }
    }

    /// When it is within its rate again.
    pub(super) fn within_from(&self) -> Instant {
        self.over_until.unwrap_or(Instant::ZERO)
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.within_from() > now
    }

    /// Updates the mean after a packet, and the time when the class may send again.
    pub(super) fn update(&mut self, now: Instant, size: Bytes, gain: u32) {
        let takes = as_ns(self.rate.time_for(size));
        let since = self.last.map_or(takes, |last| as_ns(now.saturating_since(last)));
        self.last = Some(now);
        self.idle += since - takes - (self.idle >> gain);
        let most = as_ns(self.config.max_idle) << gain;
        let least = self.config.min_idle.map_or(i64::MIN, |least| -(as_ns(least) << gain));
        self.idle = self.idle.min(most).max(least);
        let recovers = ((self.idle >> gain) - self.idle).max(0);
        self.recovers = Some(Span::from_nanos(recovers.unsigned_abs()));
        let wait = Span::from_nanos((recovers + takes).unsigned_abs());
        // At its limit it waits for the time of its next packet, or every second packet would be sent at once.
        self.over_until = (self.idle <= 0).then(|| now.saturating_add(wait));
    }

    /// Regulates a class with packets and no lender. An extra delay then replaces the recovery of its mean, once for each
    /// wait.
    pub(super) fn regulate(&mut self) {
        if let (Some(extra), Some(until), Some(recovers)) =
            (self.config.extra_delay, self.over_until, self.recovers.take())
        {
            self.over_until = Some(until.saturating_sub(recovers).saturating_add(extra));
        }
    }
}
