//! The time from a release to its completion.
//!
//! It is that of a queue, of the medium and of the path together, and also known of what the bridge carries. A release is known by its
//! number alone: when some of them went is noted, about every 50 ms.

use alloc::collections::VecDeque;

use evenair_units::{Instant, Span};

/// A release is noted so long after the one noted before.
const APART: Span = Span::from_millis(50);
/// So many are noted: those of the last 50 s.
const MOST: usize = 1024;
/// The mean is that of about so many completions.
const MEAN_OF: u64 = 32;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    /// Numbers of releases, the oldest first, and when they went.
    noted: VecDeque<(u64, Instant)>,
    mean: Span,
}

impl Delay {
    /// Nothing is known.
    pub(super) const fn new() -> Self {
        Self { noted: VecDeque::new(), mean: Span::ZERO }
    }

    /// The mean of the last completions.
    pub(super) const fn mean(&self) -> Span {
        self.mean
    }

    /// A release of this number goes.
    pub(super) fn note_release(&mut self, now: Instant, number: u64) {
        if self.noted.back().is_some_and(|&(_, at)| now.saturating_since(at) < APART) {
            return;
        }
        if self.noted.len() == MOST {
            self.noted.pop_front();
        }
        self.noted.push_back((number, now));
    }

    /// This release is complete. Nothing follows from one that went before those that are noted.
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
    fn it_is_the_mean_of_the_last_completions() {
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
