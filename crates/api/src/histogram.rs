//! Times as counts by bucket: those of two intervals can be added, and percentiles of the sum are exact to a bucket.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of buckets. The first ends at 0.512 ms, each doubling has four, and the last begins at 8.4 s and has no end.
pub const BUCKETS: usize = 58;
/// Buckets per doubling.
const PER_DOUBLING: usize = 4;
/// End of the first bucket, in milliseconds.
const FIRST_END_MS: f64 = 0.512;

/// How many packets took how long. As JSON it is a list: the number of the first bucket, from 0, then the counts of that bucket and
/// those after it. An empty list has no packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
#[schemars(with = "Vec<u64>")]
pub struct Histogram {
    /// Counts from the first bucket on; the last one is not zero.
    counts: Vec<u64>,
}

impl Histogram {
    /// A histogram with these counts, from the first bucket on. Counts beyond the last bucket are added to the last one.
    pub fn new(counts: impl IntoIterator<Item = u64>) -> Self {
        let mut histogram = Self::default();
        counts.into_iter().enumerate().for_each(|(bucket, count)| histogram.add(bucket, count));
        histogram
    }

    /// Adds packets of a bucket.
    pub fn add(&mut self, bucket: usize, packets: u64) {
        if packets > 0 {
            let bucket = bucket.min(BUCKETS - 1);
            self.counts.resize(self.counts.len().max(bucket + 1), 0);
            self.counts[bucket] = self.counts[bucket].saturating_add(packets);
        }
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &Self) {
        other.counts.iter().enumerate().for_each(|(bucket, &count)| self.add(bucket, count));
    }

    /// Counts from the first bucket on, without zeros at the end.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Whether it has no packets.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Number of packets.
    pub fn packets(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// A percentile in milliseconds, interpolated within its bucket; `None` if there are no packets.
    pub fn percentile_ms(&self, percent: u64) -> Option<f64> {
        let wanted = (u128::from(self.packets()) * u128::from(percent)).div_ceil(100).max(1);
        let mut before = 0;
        for (bucket, count) in self.counts.iter().map(|&count| u128::from(count)).enumerate() {
            if before + count >= wanted {
                let start = bucket.checked_sub(1).map_or(0.0, end_ms);
                if bucket == BUCKETS - 1 {
                    return Some(start);
                }
                // The centre of the packet's part of the bucket.
                let part = (2 * (wanted - before) - 1) as f64 / (2 * count) as f64;
                return Some(start + (end_ms(bucket) - start) * part);
            }
            before += count;
        }
        None
    }
}

/// End of a bucket, in milliseconds.
fn end_ms(bucket: usize) -> f64 {
    let (doublings, quarters) = (bucket / PER_DOUBLING, bucket % PER_DOUBLING);
    FIRST_END_MS * (1u64 << doublings) as f64 * (1.0 + quarters as f64 / PER_DOUBLING as f64)
}

impl From<Vec<u64>> for Histogram {
    fn from(list: Vec<u64>) -> Self {
        let mut histogram = Self::default();
        if let Some((&first, counts)) = list.split_first() {
            let first = usize::try_from(first).unwrap_or(usize::MAX);
            counts.iter().enumerate().for_each(|(at, &count)| histogram.add(first.saturating_add(at), count));
        }
        histogram
    }
}

impl From<Histogram> for Vec<u64> {
    fn from(histogram: Histogram) -> Self {
        match histogram.counts.iter().position(|count| *count > 0) {
            Some(first) => [first as u64].into_iter().chain(histogram.counts[first..].iter().copied()).collect(),
            None => Self::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_its_first_bucket_and_counts() {
        let histogram: Histogram = serde_json::from_str("[3,5,0,2]").expect("reads");
        assert_eq!(histogram.counts(), [0, 0, 0, 5, 0, 2]);
        assert_eq!(serde_json::to_string(&histogram).expect("serialises"), "[3,5,0,2]");
        assert_eq!(serde_json::to_string(&Histogram::default()).expect("serialises"), "[]");
        let wild: Histogram = serde_json::from_str("[18446744073709551615,1,2]").expect("reads");
        assert_eq!((wild.packets(), wild.counts().len()), (3, BUCKETS));
    }

    #[test]
    fn percentiles_of_a_sum_are_those_of_all_packets() {
        // 0.512 to 0.64 ms, and 1.024 to 1.28 ms.
        let (mut sum, other) = (Histogram::from(vec![1, 90]), Histogram::from(vec![5, 10]));
        sum.merge(&other);
        assert_eq!(sum.packets(), 100);
        let (p50, p95) = (sum.percentile_ms(50).expect("packets"), sum.percentile_ms(95).expect("packets"));
        assert!((0.512..0.64).contains(&p50) && (1.024..1.28).contains(&p95), "{p50} {p95}");
        assert_eq!(Histogram::default().percentile_ms(95), None);
        assert!((Histogram::from(vec![57, 1]).percentile_ms(50).expect("one") - 8388.608).abs() < 1e-9);
    }
}
