//! Lateness of the testbed, and the validity of its results.
//!
//! A simulated radio in real time must be punctual: if a frame is delivered late, its receiver replies late, and the medium is
//! idle when it should be busy. Three quantities are recorded.
//!
//! - **Lateness** of each frame: the moment it is handed to a TAP device less its simulated end.
//! - **Ingress lag** of each frame: an upper bound on how long it waited in a TAP device before it was read. The kernel
//!   gives no arrival time for TAP frames, so the bound is `read - last moment at which the device is known to have
//!   been empty`. Such moments are: a read that found nothing; a poll that did not report the device; and the moment
//!   at which a sleeping thread was made runnable, since it had been sleeping *because* nothing was there (the return
//!   from the sleep less the time spent runnable without running, which the scheduler counts).
//! - **Idle for late**: the time for which the medium was idle (no node had a frame) between an instant at which frames were
//!   due to be handed over and the instant at which the loop came to it. Not all of that is lost, so it is an upper bound. The
//!   time that a host needs to reply is part of the experiment, as on a real network.

use evenair_units::Span;

/// 2^5 = 32 buckets to an octave: a value is known to 3 %.
const SUB_BITS: u32 = 5;
const SUB: usize = 1 << SUB_BITS;
/// Values are capped at 2^40 ns, 18 minutes.
const OCTAVES: usize = 41;

/// A histogram of spans with logarithmic octaves and linear buckets inside each.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max: Span,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; OCTAVES * SUB], count: 0, max: Span::ZERO }
    }
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value: Span) {
        self.buckets[bucket_of(value.as_nanos())] += 1;
        self.count += 1;
        self.max = self.max.max(value);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest value.
    pub fn max(&self) -> Span {
        self.max
    }

    /// The smallest value that at least `per_mille` thousandths of the values do not exceed, rounded up to its
    /// bucket's end; zero without values.
    pub fn quantile(&self, per_mille: u64) -> Span {
        let wanted = (self.count * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        for (index, n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= wanted {
                return Span::from_nanos(end_of(index)).min(self.max);
            }
        }
        Span::ZERO
    }
}

/// Below 32 ns each value has a bucket of its own; from there the top six bits choose it.
fn bucket_of(ns: u64) -> usize {
    let ns = ns.min((1 << (OCTAVES as u32 - 1)) - 1);
    let Some(shift) = (64 - ns.leading_zeros()).checked_sub(SUB_BITS + 1) else {
        return ns as usize;
    };
    shift as usize * SUB + (ns >> shift) as usize
}

/// The largest value of a bucket.
fn end_of(bucket: usize) -> u64 {
    let Some(shift) = (bucket / SUB).checked_sub(1) else { return bucket as u64 };
    (((bucket % SUB + SUB) as u64 + 1) << shift) - 1
}

/// Punctuality of the radio's loop.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Lateness of the frames handed over.
    pub lateness: Histogram,
    /// Upper bounds of the frames' wait before they were read.
    pub ingress_lag: Histogram,
    /// Upper bound of the medium's idle time caused by late wake-ups.
    pub idle_for_late: Span,
}

/// Limit of the 99th percentile of lateness of a valid run: a SIFS-to-DIFS pattern of 802.11b is still recognisable, and it
/// is one TCP segment at 11 Mb/s.
pub const P99_LIMIT: Span = Span::from_millis(1);
/// Limit of the 99.9th percentile of lateness of a valid run.
pub const P999_LIMIT: Span = Span::from_millis(5);
/// Limit of idle time caused by lateness in a valid run, in millionths of its duration.
pub const IDLE_LIMIT_PPM: u64 = 1000;

impl Record {
    /// Idle time caused by lateness, in thousandths of `run`.
    pub fn idle_permille(&self, run: Span) -> f64 {
        if run == Span::ZERO { 0.0 } else { self.idle_for_late.as_secs_f64() / run.as_secs_f64() * 1e3 }
    }

    /// Why a run of length `run` with this record is not valid; empty if it is.
    pub fn faults(&self, run: Span) -> Vec<String> {
        let mut faults = Vec::new();
        let quantiles = [("99th", 990, P99_LIMIT), ("99.9th", 999, P999_LIMIT)];
        for (name, per_mille, limit) in quantiles {
            let late = self.lateness.quantile(per_mille);
            if late > limit {
                faults.push(format!(
                    "{name} percentile of the radio's lateness is {} us, more than {} us",
                    late.as_micros(),
                    limit.as_micros()
                ));
            }
        }
        if self.idle_for_late.as_nanos() > run.mul_div(IDLE_LIMIT_PPM, 1_000_000).as_nanos() {
            faults.push(format!(
                "the medium stood idle for up to {:.2} permille of the run because the testbed was late, more than {}",
                self.idle_permille(run),
                IDLE_LIMIT_PPM / 1000
            ));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_without_gaps_and_three_percent_wide() {
        let mut previous = None;
        for bucket in 0..OCTAVES * SUB - 6 * SUB {
            let end = end_of(bucket);
            assert_eq!(bucket_of(end), bucket, "end {end}");
            let start = previous.map_or(0, |p: u64| p + 1);
            assert_eq!(bucket_of(start), bucket, "start {start}");
            assert!((end - start) as f64 <= start as f64 / 32.0 + 1.0, "{start}..={end}");
            previous = Some(end);
        }
        assert!(bucket_of(u64::MAX) < OCTAVES * SUB);
    }

    #[test]
    fn quantiles_are_upper_bounds_within_a_bucket() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(500), Span::ZERO);
        for us in 1..=1000 {
            histogram.record(Span::from_micros(us));
        }
        for (per_mille, exact_us) in [(1, 1), (500, 500), (990, 990), (999, 999), (1000, 1000)] {
            let got = histogram.quantile(per_mille).as_nanos();
            assert!(got >= exact_us * 1000 && got <= exact_us * 1000 * 104 / 100, "{per_mille}: {got}");
        }
        assert_eq!(histogram.max(), Span::from_millis(1));
    }

    #[test]
    fn late_runs_are_invalid_with_a_reason() {
        let run = Span::from_secs(10);
        let mut record = Record::default();
        for _ in 0..980 {
            record.lateness.record(Span::from_micros(20));
        }
        assert!(record.faults(run).is_empty());
        for _ in 0..20 {
            record.lateness.record(Span::from_millis(2));
        }
        let faults = record.faults(run);
        assert!(faults.len() == 1 && faults[0].starts_with("99th"), "{faults:?}");
        record.lateness.record(Span::from_millis(9));
        record.lateness.record(Span::from_millis(9));
        assert_eq!(record.faults(run).len(), 2);
        record.idle_for_late = Span::from_millis(10);
        assert_eq!(record.faults(run).len(), 2, "one permille is still allowed");
        record.idle_for_late = Span::from_millis(11);
        assert!(record.faults(run)[2].contains("1.10 permille"));
    }
}
