//! The retransmission timeout (RFC 6298), in whole nanoseconds.
//!
//! The caller ensures Karn's rule (no sample from a retransmitted segment). The smoothing factors are those for one sample
//! per round trip, even if timestamps give more (RFC 7323, appendix G, is optional).

use evenair_units::Span;
use evenair_units::hint::prefetch;

use super::config::{RtoConfig, RtoFloor};

/// The timeout after a SYN was retransmitted and no sample followed (RFC 6298, section 5, rule 5.7).
const AFTER_LOST_SYN: Span = Span::from_secs(3);

/// Smoothed round-trip time and the timeout that follows from it. Fields that every sample changes come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct RttEstimator {
    /// Present timeout: `base` doubled `backoff` times, at most `max`.
    rto: Span,
    /// Number of timeouts since the last sample: Karn keeps the doubled timeout until there is a new one.
    backoff: u32,
    /// The latest sample has not been polled yet.
    is_news: bool,
    /// Timeout without back-off.
    base: Span,
    samples: Option<Samples>,
    floor: RtoFloor,
    max: Span,
    /// Deviations as Linux tracks them; `None` otherwise.
    round: Option<Round>,
}

/// Statistics of the samples.
#[derive(Clone, Copy, Debug)]
struct Samples {
    /// Smoothed round-trip time.
    smoothed: Span,
    /// Its mean deviation.
    deviation: Span,
    /// The smallest sample.
    min: Span,
    /// The latest sample.
    newest: Span,
}

/// Deviations during a round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// End of the round: it ends when more than this position is acknowledged.
    end: u64,
    /// Four times the largest deviation of the round so far, at least the floor.
    largest: Span,
    /// Margin that is added to the smoothed time.
    margin: Span,
}

impl RttEstimator {
    pub(super) fn new(config: RtoConfig) -> Self {
        let RtoConfig { initial, floor, max } = config;
        let rto = initial.min(max);
        Self { rto, base: initial, samples: None, backoff: 0, is_news: false, floor, max, round: None }
    }

    /// Prefetches what every acknowledgment needs.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&raw const self.samples);
        prefetch(&raw const self.max);
    }

    /// Smoothed round-trip time.
    pub(super) fn srtt(&self) -> Option<Span> {
        self.samples.map(|samples| samples.smoothed)
    }

    /// The smallest sample.
    pub(super) fn min(&self) -> Option<Span> {
        self.samples.map(|samples| samples.min)
    }

    /// The latest sample.
    pub(super) fn newest(&self) -> Option<Span> {
        self.samples.map(|samples| samples.newest)
    }

    /// The latest sample, once.
    pub(super) fn take_sample(&mut self) -> Option<Span> {
        if std::mem::take(&mut self.is_news) { self.newest() } else { None }
    }

    /// The present timeout, doubled for each expiry (rule 5.5), at most the configured maximum.
    pub(super) fn rto(&self) -> Span {
        self.rto
    }

    /// The timeout after this many doublings.
    pub(super) fn rto_after(&self, doublings: u32) -> Span {
        // 2^40 ns exceed any maximum, and the product fits into 128 bits.
        self.base.mul_div(1 << doublings.min(40), 1).min(self.max)
    }

    /// Sets the number of timeouts since the last sample.
    fn set_back_off(&mut self, times: u32) {
        self.backoff = times;
        self.rto = self.rto_after(times);
    }

    /// Adds a round-trip sample, given the positions acknowledged and sent so far.
    pub(super) fn on_sample(&mut self, rtt: Span, una: u64, nxt: u64) {
        let before = self.samples.map(|samples| (samples.smoothed, samples.deviation));
        let (smoothed, deviation) = match before {
            None => (rtt, rtt / 2), // rule 2.2
            Some((srtt, deviation)) if self.is_linux() && rtt < srtt => {
                // Linux: a falling round-trip time is no risk, so its deviation counts an eighth.
                let error = srtt.saturating_sub(rtt);
                let more = error.saturating_sub(deviation) / 32;
                ((srtt * 7 + rtt) / 8, deviation + more - deviation.saturating_sub(error) / 4)
            }
            Some((srtt, deviation)) => {
                // Rule 2.3, the deviation first, with alpha 1/8 and beta 1/4.
                let error = Span::from_nanos(srtt.as_nanos().abs_diff(rtt.as_nanos()));
                ((srtt * 7 + rtt) / 8, (deviation * 3 + error) / 4)
            }
        };
        let min = self.min().map_or(rtt, |min| min.min(rtt));
        self.samples = Some(Samples { smoothed, deviation, min, newest: rtt });
        self.is_news = true;
        self.base = match self.floor {
            RtoFloor::Total(min) => (smoothed + deviation * 4).max(min), // rules 2.3, 2.4
            RtoFloor::AboveSrtt(min) => smoothed + self.margin(deviation * 4, min, una, nxt),
        };
        self.set_back_off(0);
    }

    fn is_linux(&self) -> bool {
        matches!(self.floor, RtoFloor::AboveSrtt(_))
    }

    /// Linux's margin above the smoothed time: four times the largest deviation of each round trip; it shrinks from an
    /// earlier one by a quarter per round trip. With a sample from every ACK the deviation itself forgets within a fraction
    /// of a round trip.
    fn margin(&mut self, deviation: Span, min: Span, una: u64, nxt: u64) -> Span {
        let round =
            self.round.get_or_insert(Round { end: nxt, largest: deviation.max(min), margin: deviation.max(min) });
        round.largest = round.largest.max(deviation);
        round.margin = round.margin.max(round.largest);
        if una > round.end {
            round.margin = round.margin.saturating_sub(round.margin.saturating_sub(round.largest) / 4);
            (round.end, round.largest) = (nxt, min);
        }
        round.margin
    }

    /// Resets the back-off.
    pub(super) fn forget_back_off(&mut self) {
        self.set_back_off(0);
    }

    /// Handles an expired timer.
    pub(super) fn on_timeout(&mut self) {
        self.set_back_off(self.backoff + 1);
    }

    /// Ends the handshake; `syn_retransmitted` if the SYN had to be retransmitted (rule 5.7).
    pub(super) fn on_established(&mut self, syn_retransmitted: bool) {
        if syn_retransmitted && self.samples.is_none() {
            self.base = self.base.max(AFTER_LOST_SYN);
        }
        self.set_back_off(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(floor: RtoFloor) -> RttEstimator {
        RttEstimator::new(RtoConfig { initial: Span::from_secs(1), floor, max: Span::from_secs(60) })
    }

    #[test]
    fn follows_the_recurrences_of_rfc_6298() {
        let mut rto = estimator(RtoFloor::Total(Span::ZERO));
        assert_eq!(rto.rto(), Span::from_secs(1));
        rto.on_sample(Span::from_millis(100), 0, 0);
        assert_eq!(rto.rto(), Span::from_millis(300), "R + 4 * R/2");
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110; RTO = 110 + 230.
        rto.on_sample(Span::from_millis(180), 0, 0);
        assert_eq!(rto.srtt(), Some(Span::from_millis(110)));
        assert_eq!(rto.rto(), Span::from_millis(340));
    }

    #[test]
    fn the_floor_applies_to_the_sum_or_to_the_deviation() {
        let steady = |floor| {
            let mut rto = estimator(floor);
            (0..200).for_each(|n| rto.on_sample(Span::from_millis(300), n, n + 1));
            rto.rto()
        };
        assert_eq!(steady(RtoFloor::Total(Span::from_millis(1000))), Span::from_millis(1000));
        assert_eq!(steady(RtoFloor::Total(Span::from_millis(200))), Span::from_millis(300));
        let linux = steady(RtoFloor::AboveSrtt(Span::from_millis(200)));
        assert_eq!(linux.as_micros(), 500_000, "but for the last nanoseconds of what it forgets by quarters");
    }

    #[test]
    fn linux_remembers_the_largest_deviation_of_a_round_trip_and_forgets_it_slowly() {
        let mut rto = estimator(RtoFloor::AboveSrtt(Span::from_millis(200)));
        let mut rounds = |first: u64, count: u64, ms: u64| {
            for round in first..first + count {
                // Ten samples per round trip.
                (0..10).for_each(|n| rto.on_sample(Span::from_millis(ms), 10 * round + n, 10 * round + n + 10));
            }
            rto.rto().as_secs_f64()
        };
        assert!((rounds(0, 100, 1000) - 1.2).abs() < 0.01);
        // A round-trip time that rises by half a second: eight samples later the mean has followed, and RFC 6298's
        // deviation is small again.
        let after_rise = rounds(100, 3, 1500);
        assert!((1.9..2.6).contains(&after_rise), "{after_rise}");
        let later = rounds(103, 30, 1500);
        assert!((later - 1.7).abs() < 0.02, "{later}");
        // A falling round-trip time is no risk.
        let after_fall = rounds(133, 1, 1000);
        assert!(after_fall < 1.7, "{after_fall}");
    }

    #[test]
    fn doubles_up_to_the_maximum_and_recovers() {
        let mut rto = estimator(RtoFloor::Total(Span::from_secs(1)));
        let seen: Vec<u64> = (0..8)
            .map(|_| {
                let now = rto.rto().as_nanos() / 1_000_000_000;
                rto.on_timeout();
                now
            })
            .collect();
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 60, 60]);
        rto.on_sample(Span::from_millis(10), 0, 0);
        assert_eq!(rto.rto(), Span::from_secs(1));
    }

    #[test]
    fn a_lost_syn_without_a_sample_means_three_seconds() {
        let mut rto = estimator(RtoFloor::Total(Span::from_secs(1)));
        rto.on_timeout();
        rto.on_established(true);
        assert_eq!(rto.rto(), Span::from_secs(3));
    }
}
