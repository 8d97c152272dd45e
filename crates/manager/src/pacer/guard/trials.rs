//! Trials of a box that a guard has bypassed: when it is inserted again, to see whether it helps now. The fault of the
//! path may have been fixed, or may have been a passing overload.
//!
//! Each trial may cost the traffic some seconds. So the pauses before failing trials become longer: 1 minute, 10, and
//! then an hour each. After ten minutes without harm they are short again.

use evenair_units::{Instant, Span};

/// Pauses before the first trials; the last one is repeated.
const PAUSES: [Span; 3] = [Span::from_secs(60), Span::from_secs(600), Span::from_secs(3_600)];
/// Length of a trial without harm after which it has succeeded, and pauses begin with the first one again.
const PROVEN: Span = Span::from_secs(600);

/// The schedule of trials.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trials {
    /// Index of the next pause.
    pause: usize,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No guard has bypassed the box, or a trial has succeeded, or an operator has decided since.
    None,
    /// Bypassed until the next trial, at this instant.
    Until(Instant),
    /// A trial is running since this instant.
    Since(Instant),
}

impl Trials {
    pub(crate) const NONE: Self = Self { pause: 0, stage: Stage::None };

    /// Schedules the next trial after a bypass.
    pub(crate) fn put_off(&mut self, now: Instant) {
        let pause = PAUSES[self.pause];
        *self = Self { pause: (self.pause + 1).min(PAUSES.len() - 1), stage: Stage::Until(now.saturating_add(pause)) };
    }

    /// When the next trial begins, if one is scheduled.
    pub(crate) const fn next(&self) -> Option<Instant> {
        match self.stage {
            Stage::Until(next) => Some(next),
            Stage::None | Stage::Since(_) => None,
        }
    }

    /// Whether the next trial is to begin.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next().is_some_and(|next| next <= now)
    }

    /// Begins a trial.
    pub(crate) const fn begin(&mut self, now: Instant) {
        self.stage = Stage::Since(now);
    }

    /// Whether a trial is running.
    pub(crate) const fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::Since(_))
    }

    /// Whether the running trial has lasted long enough to be a success.
    pub(crate) fn is_proven(&self, now: Instant) -> bool {
        matches!(self.stage, Stage::Since(since) if now.saturating_since(since) >= PROVEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_become_longer() {
        let mut trials = Trials::NONE;
        assert_eq!(trials.next(), None);
        let mut now = Instant::ZERO + Span::from_secs(100);
        for minutes in [1, 10, 60, 60] {
            trials.put_off(now);
            assert_eq!(trials.next(), Some(now + Span::from_secs(minutes * 60)));
            now += Span::from_secs(minutes * 60);
            trials.begin(now);
            assert!(trials.is_under_way() && trials.next().is_none());
            assert!(!trials.is_proven(now + Span::from_secs(599)) && trials.is_proven(now + Span::from_secs(600)));
        }
    }
}
