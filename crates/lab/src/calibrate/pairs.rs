//! Combines windows and signals into pairs.

use std::time::{Duration, Instant};

/// Longest time between a window and a signal that counts for it.
const NEAR: Duration = Duration::from_secs(5);
/// If two successive reported signals differ by more than this, in dB, it is unknown which one a window between them had.
const STEADY_DB: f64 = 3.0;

/// The measurements.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Windows, in the order of arrival.
    pub(super) windows: Vec<Seen>,
    /// Signals, in the order of time.
    pub(super) samples: Vec<Sample>,
}

/// A window in the sender's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) middle: Instant,
    /// Half of its duration.
    pub(super) half: Duration,
    pub(super) goodput_kbps: f64,
    /// Packets that did not arrive.
    pub(super) lost: u64,
}

/// A reported signal, in dBm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) signal_dbm: i64,
}

/// Pairs of signal and goodput, and what could not be paired.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Signal in dBm, the mean of the reports before and after; goodput in kb/s.
    pub pairs: Vec<(f64, f64)>,
    /// Windows without a signal near them in time.
    pub without_signal: usize,
    /// Windows during which the signal changed.
    pub unsteady: usize,
    /// Windows without loss: the medium may not have been saturated.
    pub not_full: usize,
}

impl Measured {
    /// Computes the pairs.
    pub fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::default();
        for window in &self.windows {
            match self.around(window) {
                _ if window.lost == 0 => pairs.not_full += 1,
                (None, None) => pairs.without_signal += 1,
                (Some(one), None) | (None, Some(one)) => pairs.pairs.push((one, window.goodput_kbps)),
                (Some(before), Some(after)) if (after - before).abs() > STEADY_DB => pairs.unsteady += 1,
                (Some(before), Some(after)) => pairs.pairs.push((f64::midpoint(before, after), window.goodput_kbps)),
            }
        }
        pairs
    }

    /// The last signal before the window, and the first one after it.
    fn around(&self, window: &Seen) -> (Option<f64>, Option<f64>) {
        let (from, to) = (window.middle.checked_sub(window.half).unwrap_or(window.middle), window.middle + window.half);
        let near = |sample: &&Sample| {
            sample.at.saturating_duration_since(to).max(from.saturating_duration_since(sample.at)) <= NEAR
        };
        let begun = self.samples.partition_point(|sample| sample.at <= from);
        let ended = self.samples.partition_point(|sample| sample.at < to);
        let before = begun.checked_sub(1).and_then(|index| self.samples.get(index)).filter(near);
        let after = self.samples.get(ended).filter(near);
        let dbm = |sample: &Sample| sample.signal_dbm as f64;
        (before.map(dbm), after.map(dbm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_signal_of_those_around_it_or_none() {
        let start = Instant::now();
        let second = |s: f64| start + Duration::from_secs_f64(s);
        let sample = |s: f64, signal_dbm| Sample { at: second(s), signal_dbm };
        let half = Duration::from_millis(250);
        let window = |s: f64, kbps, lost| Seen { middle: second(s), half, goodput_kbps: kbps, lost };
        let measured = Measured {
            samples: vec![sample(0.0, -60), sample(1.0, -62), sample(2.0, -70), sample(30.0, -80)],
            windows: vec![
                window(0.5, 5000.0, 3),
                window(1.0, 4500.0, 3),
                window(1.5, 4000.0, 3),
                window(4.0, 3000.0, 1),
                window(5.0, 3000.0, 0),
                window(15.0, 1.0, 9),
                window(28.0, 900.0, 9),
            ],
        };
        let Pairs { pairs, without_signal, unsteady, not_full } = measured.pairs();
        assert_eq!(pairs, [(-61.0, 5000.0), (-70.0, 3000.0), (-80.0, 900.0)]);
        assert_eq!((without_signal, unsteady, not_full), (1, 2, 1));
    }
}
