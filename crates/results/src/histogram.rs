//! Histograms of times in little memory: round trips, delays, sojourn times.
//!
//! A histogram has buckets whose width grows with the value, so that each value is known to better than one per cent
//! whatever its size, and so that memory depends on the range of values and not on their number: the buckets of
//! HdrHistogram (Tene, hdrhistogram.org). It is our own because one is written to for every frame that is delivered,
//! where a general one costs three times as much. Count, mean, least and greatest value are exact.

use std::collections::BTreeMap;

use evenair_units::Span;
use serde::{Deserialize, Serialize};

/// Values are counted in units of 1024 ns.
const UNIT_BITS: u32 = 10;
/// Each doubling of the value has 64 buckets.
const BUCKET_BITS: u32 = 6;
/// Buckets of a reported histogram for each doubling of the value.
const REPORTED_PER_OCTAVE: f64 = 8.0;

/// Times as they are recorded. Buckets count up to 255, so that a doubling's fit into what a processor fetches at once:
/// where there are thousands of histograms, that is what a value costs.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// From `first` on, to where they are needed.
    buckets: Vec<u8>,
    first: usize,
    /// How often a bucket's count went round to zero, in buckets where it did.
    rounds: BTreeMap<usize, u64>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

/// Times that were recorded, in compact form, to be put together with those of other periods or senders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// By the middle of the bucket, in nanoseconds.
    buckets: BTreeMap<u64, u64>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// What a histogram says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean_ms: f64,
    /// Least value.
    pub min_ms: f64,
    /// 10th percentile.
    pub p10_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p999_ms: f64,
    /// Greatest value.
    pub max_ms: f64,
    /// The histogram: upper ends of buckets in milliseconds, each 9 % above the one before, and how many values are in
    /// each that has any.
    pub buckets_ms: Vec<(f64, u64)>,
}

impl Default for Histogram {
    fn default() -> Self {
        let (buckets, rounds) = (Vec::new(), BTreeMap::new());
        Self { buckets, first: 0, rounds, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Histogram {
    /// Takes a value in.
    pub fn record(&mut self, time: Span) {
        let ns = time.as_nanos();
        let bucket = bucket_of(ns);
        match self.buckets.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => {
                *count = count.wrapping_add(1);
                if *count == 0 {
                    self.go_round(bucket);
                }
            }
            None => self.widen(bucket),
        }
        self.sum_ns = self.sum_ns.wrapping_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// The bucket that a value would be counted in, where there is one: to have it fetched before that.
    pub fn place(&self, time: Span) -> Option<&u8> {
        self.buckets.get(bucket_of(time.as_nanos()).wrapping_sub(self.first))
    }

    #[cold]
    fn go_round(&mut self, bucket: usize) {
        *self.rounds.entry(bucket).or_default() += 1;
    }

    /// Counts a value in a bucket that is not there yet. Buckets come by the doubling.
    #[cold]
    fn widen(&mut self, bucket: usize) {
        const OCTAVE: usize = 1 << BUCKET_BITS;
        let begin = bucket & !(OCTAVE - 1);
        if self.buckets.is_empty() {
            self.first = begin;
        }
        if let more @ 1.. = self.first.saturating_sub(begin) {
            self.buckets.splice(..0, std::iter::repeat_n(0, more));
            self.first = begin;
        }
        let end = begin + OCTAVE - self.first;
        self.buckets.resize(self.buckets.len().max(end), 0);
        self.buckets[bucket - self.first] += 1;
    }

    /// What was recorded since the last call.
    pub fn take(&mut self) -> Times {
        let first = self.first;
        let mut times = Times { sum_ns: u128::from(self.sum_ns), max_ns: self.max_ns, ..Times::default() };
        let rounds = std::mem::take(&mut self.rounds);
        for (count, bucket) in self.buckets.iter_mut().zip(first..) {
            let rounds = rounds.get(&bucket).copied().unwrap_or(0);
            let count = u64::from(std::mem::take(count)) + rounds * (1 << u8::BITS);
            if count > 0 {
                times.buckets.insert(middle_ns(bucket), count);
                times.count += count;
            }
        }
        times.min_ns = if times.count > 0 { self.min_ns } else { 0 };
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
        times
    }
}

/// The bucket of a value: below 64 units each has its own, above each doubling has 64.
fn bucket_of(ns: u64) -> usize {
    let units = ns >> UNIT_BITS;
    let halvings = (units | 1).ilog2().saturating_sub(BUCKET_BITS);
    (u64::from(halvings << BUCKET_BITS) + (units >> halvings)) as usize
}

/// The middle of a bucket.
fn middle_ns(bucket: usize) -> u64 {
    let halvings = ((bucket as u64) >> BUCKET_BITS).saturating_sub(1);
    let units = bucket as u64 - (halvings << BUCKET_BITS);
    (units << (halvings + u64::from(UNIT_BITS))) + (1 << (halvings + u64::from(UNIT_BITS)) >> 1)
}

impl Times {
    /// Takes a value in. For values that come by the thousand; by the million, a [`Histogram`] is quicker.
    pub fn record(&mut self, time: Span) {
        let ns = time.as_nanos();
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        self.sum_ns += u128::from(ns);
        *self.buckets.entry(middle_ns(bucket_of(ns))).or_default() += 1;
    }

    /// Adds the values of another.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        for (&ns, &count) in &other.buckets {
            *self.buckets.entry(ns).or_default() += count;
        }
    }

    /// How many values there are.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Several together.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        all.into_iter().for_each(|times| sum.add(times));
        sum
    }

    /// What they say; `None` without values.
    pub fn distribution(&self) -> Option<Distribution> {
        if self.count == 0 {
            return None;
        }
        let ms = |ns: u64| ns as f64 / 1e6;
        let at = |permille| ms(self.quantile_ns(permille));
        Some(Distribution {
            count: self.count,
            mean_ms: self.sum_ns as f64 / self.count as f64 / 1e6,
            min_ms: ms(self.min_ns),
            p10_ms: at(100),
            p50_ms: at(500),
            p90_ms: at(900),
            p95_ms: at(950),
            p99_ms: at(990),
            p999_ms: at(999),
            max_ms: ms(self.max_ns),
            buckets_ms: self.reported(),
        })
    }

    /// The value that `permille` thousandths do not exceed (nearest rank), to the width of a bucket; the greatest, 1000,
    /// exactly. Zero without values.
    pub fn quantile(&self, permille: u64) -> Span {
        Span::from_nanos(if permille >= 1000 { self.max_ns } else { self.quantile_ns(permille) })
    }

    fn quantile_ns(&self, permille: u64) -> u64 {
        let rank = (self.count * permille).div_ceil(1000).max(1);
        let mut seen = 0;
        for (&ns, &count) in &self.buckets {
            seen += count;
            if seen >= rank {
                return ns.clamp(self.min_ns, self.max_ns);
            }
        }
        self.max_ns
    }

    fn reported(&self) -> Vec<(f64, u64)> {
        let mut reported: Vec<(i32, u64)> = Vec::new();
        for (&ns, &count) in &self.buckets {
            let ms = (ns.max(1 << UNIT_BITS) as f64) / 1e6;
            let place = (libm::log2(ms) * REPORTED_PER_OCTAVE).floor() as i32 + 1;
            match reported.last_mut() {
                Some((last, known)) if *last == place => *known += count,
                _ => reported.push((place, count)),
            }
        }
        reported.into_iter().map(|(place, n)| (libm::exp2(f64::from(place) / REPORTED_PER_OCTAVE), n)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values_us: impl IntoIterator<Item = u64>) -> Times {
        let mut histogram = Histogram::default();
        values_us.into_iter().for_each(|us| histogram.record(Span::from_micros(us)));
        histogram.take()
    }

    #[test]
    fn percentiles_are_known_to_a_per_cent_and_the_mean_exactly() {
        let said = of(1..=10_000).distribution().unwrap();
        assert_eq!((said.count, said.min_ms, said.max_ms), (10_000, 0.001, 10.0));
        assert!((said.mean_ms - 5.0005).abs() < 1e-9);
        for (got, exact) in [(said.p10_ms, 1.0), (said.p50_ms, 5.0), (said.p99_ms, 9.9), (said.p999_ms, 9.99)] {
            assert!((got / exact - 1.0).abs() < 0.01, "{got} for {exact}");
        }
        assert_eq!(said.buckets_ms.iter().map(|(_, n)| n).sum::<u64>(), 10_000);
        assert!(said.buckets_ms.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn the_place_of_a_value_is_the_bucket_that_counts_it() {
        let mut histogram = Histogram::default();
        let [known, other] = [7_000, 700_000].map(Span::from_micros);
        assert_eq!(histogram.place(known), None);
        (1..=3).for_each(|times| {
            histogram.record(known);
            assert_eq!((histogram.place(known), histogram.place(other)), (Some(&times), None));
        });
    }

    #[test]
    fn a_bucket_counts_any_number() {
        for times in [255, 256, 257, 1_000_000] {
            let said = of(std::iter::repeat_n(7_000, times).chain([9_000]));
            assert_eq!(said.count(), times as u64 + 1);
            assert_eq!(said.buckets.values().copied().collect::<Vec<_>>(), [times as u64, 1]);
        }
    }

    #[test]
    fn buckets_follow_one_another_and_hold_their_middle() {
        let mut last = 0;
        for ns in (0..40_000_000).step_by(311).chain((40_000_000..u64::from(u32::MAX) * 100).step_by(77_777_777)) {
            let bucket = bucket_of(ns);
            assert!(bucket >= last, "{ns}");
            last = bucket;
            let middle = middle_ns(bucket);
            assert_eq!(bucket_of(middle), bucket);
            assert!(middle.abs_diff(ns) <= (ns / 100).max(512), "{ns} in the bucket about {middle}");
        }
    }

    #[test]
    fn parts_put_together_are_the_whole() {
        let (low, high) = (of(1..=700), of(701..=3_000));
        assert_eq!(Times::sum([&low, &high]), of(1..=3_000));
        assert_eq!(Times::sum([]).distribution(), None);
        assert_eq!(Times::sum([&Times::default(), &low]), low);
        let mut one_by_one = Times::default();
        (1..=3_000).for_each(|us| one_by_one.record(Span::from_micros(us)));
        assert_eq!(one_by_one, of(1..=3_000));
    }

    #[test]
    fn taking_starts_anew_and_long_times_have_room() {
        let mut histogram = Histogram::default();
        histogram.record(Span::from_secs(100));
        assert_eq!(histogram.take().distribution().unwrap().max_ms, 100_000.0);
        assert_eq!(histogram.take().distribution(), None);
        histogram.record(Span::from_millis(2));
        let again = histogram.take().distribution().unwrap();
        assert_eq!((again.count, again.min_ms, again.max_ms), (1, 2.0, 2.0));
    }
}
