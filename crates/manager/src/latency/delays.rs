//! Waiting times of packets, in a fixed amount of memory.
//!
//! Waiting times are counted in a histogram with four buckets to a doubling, from 1 µs to an hour, so that a
//! percentile is known to a fifth of its value. A reported percentile is the upper end of its bucket, and so never
//! too small.

use evenair_units::Span;

/// Number of classes: up to 2^32 µs, more than an hour.
const CLASSES: usize = 32 * 4;

/// Waiting times.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    classes: [u32; CLASSES],
    packets: u64,
    sum: Span,
    most: Span,
}

/// A report of waiting times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DelayReport {
    /// Packets, including those that did not wait.
    pub packets: u64,
    /// Mean.
    pub mean: Span,
    /// Median.
    pub p50: Span,
    /// 95th percentile.
    pub p95: Span,
    /// The longest.
    pub most: Span,
}

impl Default for Delays {
    fn default() -> Self {
        Self { classes: [0; CLASSES], packets: 0, sum: Span::ZERO, most: Span::ZERO }
    }
}

impl Delays {
    pub(crate) fn note(&mut self, waited: Span) {
        let class = &mut self.classes[class_of(waited)];
        *class = class.saturating_add(1);
        self.packets += 1;
        self.sum += waited;
        self.most = self.most.max(waited);
    }

    pub(crate) fn report(&self) -> DelayReport {
        if self.packets == 0 {
            return DelayReport::default();
        }
        let mean = self.sum / self.packets;
        DelayReport { packets: self.packets, mean, p50: self.percentile(50), p95: self.percentile(95), most: self.most }
    }

    fn percentile(&self, percent: u64) -> Span {
        let mut left = (self.packets * percent).div_ceil(100);
        for (class, &count) in self.classes.iter().enumerate() {
            if left <= u64::from(count) {
                // The last class has no end.
                return if class == CLASSES - 1 { self.most } else { end_of(class).min(self.most) };
            }
            left -= u64::from(count);
        }
        self.most
    }
}

/// Class of a time: its leading bit, and the two bits after it.
pub(crate) fn class_of(waited: Span) -> usize {
    let us = waited.as_micros().max(1);
    let octave = us.ilog2();
    let quarter = (us << 2 >> octave) & 3;
    (octave as usize * 4 + quarter as usize).min(CLASSES - 1)
}

/// The end of a class: the first time that belongs to the next one.
pub(crate) fn end_of(class: usize) -> Span {
    let (octave, quarter) = (class / 4, class as u64 % 4);
    Span::from_micros((((5 + quarter) << octave) >> 2).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_at_most_a_quarter_too_large_and_never_too_small() {
        for scale in [1, 100, 10_000, 1_000_000] {
            let mut delays = Delays::default();
            (1..=1000).for_each(|k| delays.note(Span::from_micros(k * scale)));
            let report = delays.report();
            assert_eq!((report.packets, report.most), (1000, Span::from_micros(1000 * scale)));
            assert_eq!(report.mean, Span::from_nanos(500_500 * scale));
            for (got, exact) in [(report.p50, 500 * scale), (report.p95, 950 * scale)] {
                let got = got.as_micros();
                assert!(got >= exact && got * 4 <= exact * 5 + 4, "{got} for {exact} us");
            }
        }
    }

    #[test]
    fn percentiles_of_no_packets_and_of_the_longest_wait() {
        assert_eq!(Delays::default().report(), DelayReport::default());
        let mut delays = Delays::default();
        delays.note(Span::ZERO);
        assert_eq!(delays.report().p95, Span::ZERO);
        delays.note(Span::from_secs(100_000));
        assert_eq!(delays.report().p95, Span::from_secs(100_000));
    }
}
