//! Trials of a box that a guard has bypassed: when it is inserted again, to see whether it may help now. What was wrong
//! with the path may have been mended, or may have been a passing overload.
//!
//! Each trial may cost the traffic some seconds. So the pauses before them become longer as long as they fail: 1 minute,
//! 10, and then an hour each. After ten minutes without harm they are short again.

use evenair_units::{Instant, Span};

/// Pauses before the first trials; the last one is repeated.
const PAUSES: [Span; 3] = [Span::from_secs(60), Span::from_secs(600), Span::from_secs(3_600)];
/// After a trial of this length without harm the pauses begin with the first one again.
const PROVEN: Span = Span::from_secs(600);

/// When the box is tried again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trials {
    /// The next pause.
    pause: usize,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No guard has bypassed the box, or it was a long time ago, or an operator has decided since.
    None,
    /// Bypassed: the next trial is then.
    Until(Instant),
    /// A trial has begun then.
    Since(Instant),
}

impl Trials {
    pub(crate) const NONE: Self = Self { pause: 0, stage: Stage::None };

    /// A guard has bypassed the box.
    pub(crate) fn put_off(&mut self, now: Instant) {
        let pause = PAUSES[self.pause];
        *self = Self { pause: (self.pause + 1).min(PAUSES.len() - 1), stage: Stage::Until(now.saturating_add(pause)) };
    }

    /// When the next trial begins, where one is to come.
    pub(crate) const fn next(&self) -> Option<Instant> {
        match self.stage {
            Stage::Until(next) => Some(next),
            Stage::None | Stage::Since(_) => None,
        }
    }

    /// The next trial is to begin.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next().is_some_and(|next| next <= now)
    }

    /// A trial begins.
    pub(crate) const fn begin(&mut self, now: Instant) {
        self.stage = Stage::Since(now);
    }

    /// A trial is under way.
    pub(crate) const fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::Since(_))
    }

    /// A trial has gone on for long enough to be a success.
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
