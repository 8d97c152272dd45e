//! From windows and signals to pairs of both.

use std::time::{Duration, Instant};

/// A signal that was told longer than this before or after a window is not the window's.
const NEAR: Duration = Duration::from_secs(5);

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// In the order in which they came.
    pub(super) windows: Vec<Seen>,
    /// In the order of time.
    pub(super) samples: Vec<Sample>,
}

/// A window, by the sender's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) middle: Instant,
    pub(super) goodput_kbps: f64,
    /// Packets that did not arrive.
    pub(super) lost: u64,
}

/// A signal that was told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) signal_dbm: i64,
}

/// Pairs of signal and goodput, and what could not be paired.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Signal in dBm, between the two told before and after; goodput in kb/s.
    pub pairs: Vec<(f64, f64)>,
    /// Windows without a signal near them in time.
    pub without_signal: usize,
    /// Windows in which nothing was lost: the medium may not have been full, and carried what it was given.
    pub not_full: usize,
}

impl Measured {
    /// The pairs.
    pub fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::default();
        for window in &self.windows {
            match self.signal(window.middle) {
                _ if window.lost == 0 => pairs.not_full += 1,
                None => pairs.without_signal += 1,
                Some(signal) => pairs.pairs.push((signal, window.goodput_kbps)),
            }
        }
        pairs
    }

    /// The signal at a moment, on the line between the samples around it.
    fn signal(&self, at: Instant) -> Option<f64> {
        let next = self.samples.partition_point(|sample| sample.at <= at);
        let near = |sample: &&Sample| {
            sample.at.saturating_duration_since(at).max(at.saturating_duration_since(sample.at)) <= NEAR
        };
        let before = next.checked_sub(1).and_then(|index| self.samples.get(index)).filter(near);
        let after = self.samples.get(next).filter(near);
        let dbm = |sample: &Sample| sample.signal_dbm as f64;
        match (before, after) {
            (Some(before), Some(after)) => {
                let whole = after.at.duration_since(before.at).as_secs_f64();
                let part = at.duration_since(before.at).as_secs_f64() / whole;
                Some(dbm(before) + part * (dbm(after) - dbm(before)))
            }
            (one, other) => one.or(other).map(dbm),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_signal_between_those_around_it() {
        let start = Instant::now();
        let second = |s: f64| start + Duration::from_secs_f64(s);
        let sample = |s: f64, signal_dbm| Sample { at: second(s), signal_dbm };
        let window = |s: f64, kbps, lost| Seen { middle: second(s), goodput_kbps: kbps, lost };
        let measured = Measured {
            samples: vec![sample(0.0, -60), sample(2.0, -70), sample(30.0, -80)],
            windows: vec![
                window(0.5, 5000.0, 3),
                window(2.0, 4000.0, 3),
                window(4.0, 3000.0, 1),
                window(5.0, 3000.0, 0),
                window(15.0, 1.0, 9),
                window(28.0, 900.0, 9),
            ],
        };
        let Pairs { pairs, without_signal, not_full } = measured.pairs();
        assert_eq!(pairs, [(-62.5, 5000.0), (-70.0, 4000.0), (-70.0, 3000.0), (-80.0, 900.0)]);
        assert_eq!((without_signal, not_full), (1, 1));
    }
}
