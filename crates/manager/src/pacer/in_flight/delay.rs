//! The time from a release to its completion.
//!
//! This includes the access point's queue, the medium and the path, and is measured for releases of the bridge, too. Only numbers of
//! releases are known at completion, so the instant of a release is noted about every 50 ms.

use alloc::collections::VecDeque;

use evenair_units::{Instant, Span};

/// Shortest time between two noted releases.
const APART: Span = Span::from_millis(50);
/// Noted releases, at most: those of the last 50 s.
const MOST: usize = 1024;
/// Completions over which the mean is taken, as an exponential mean.
const MEAN_OF: u64 = 32;

/// Mean delay of completions; see the module.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    /// Noted releases, oldest first: number and instant.
    noted: VecDeque<(u64, Instant)>,
    mean: Span,
}

impl Delay {
    /// No delay known yet.
    pub(super) const fn new() -> Self {
        Self { noted: VecDeque::new(), mean: Span::ZERO }
    }

    /// Mean delay of recent completions.
    pub(super) const fn mean(&self) -> Span {
        self.mean
    }

    /// Notes a release.
    pub(super) fn note_release(&mut self, now: Instant, number: u64) {
        if self.noted.back().is_some_and(|&(_, at)| now.saturating_since(at) < APART) {
            return;
        }
        if self.noted.len() == MOST {
            self.noted.pop_front();
        }
        self.noted.push_back((number, now));
    }

    /// Notes a completion. One of a release before the oldest noted one is ignored.
    pub(super) fn note_completion(&mut self, now: Instant, number: u64) {
        let behind = self.noted.partition_point(|&(noted, _)| noted <= number);
        if let Some(&(_, released)) = behind.checked_sub(1).and_then(|at| self.noted.get(at)) {
            self.mean = (self.mean * (MEAN_OF - 1) + now.saturating_since(released)) / MEAN_OF;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_delay_is_the_mean_of_recent_completions() {
        let mut delay = Delay::new();
        (0..60_000).for_each(|ms| delay.note_release(at(ms), ms));
        assert_eq!(delay.noted.len(), MOST);
        delay.note_completion(at(60_000), 8_000);
        assert_eq!(delay.mean(), Span::ZERO, "too long ago");
        (0..500).for_each(|_| delay.note_completion(at(60_000), 30_000));
        assert!(delay.mean() > Span::from_millis(29_950) && delay.mean() <= Span::from_millis(30_050), "{delay:?}");
        (0..500).for_each(|_| delay.note_completion(at(60_000), 59_995));
        assert!(delay.mean() <= Span::from_millis(60), "{:?}", delay.mean());
    }
}
