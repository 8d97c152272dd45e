//! The retransmission timeout (RFC 6298), in whole nanoseconds.
//!
//! Karn's rule (no sample from a segment that was sent twice) is kept by whoever takes the samples. The smoothing
//! factors stay those of one sample a round trip, also where timestamps give more (RFC 7323, appendix G, is optional).

use evenair_units::Span;

use super::config::{RtoConfig, RtoFloor};

/// The timeout after a SYN was retransmitted and no sample followed (RFC 6298, section 5, rule 5.7).
const AFTER_LOST_SYN: Span = Span::from_secs(3);

/// Smoothed round-trip time and the timeout that follows from it.
#[derive(Clone, Debug)]
pub(super) struct RttEstimator {
    config: RtoConfig,
    /// Smoothed round-trip time and its mean deviation, once there is a sample.
    smoothed: Option<(Span, Span)>,
    /// Timeout without back-off.
    base: Span,
    /// Times the timer ran out since the last sample: Karn keeps the doubled timeout until there is a new one.
    backoff: u32,
}

impl RttEstimator {
    pub(super) fn new(config: RtoConfig) -> Self {
        Self { config, smoothed: None, base: config.initial, backoff: 0 }
    }

    /// Smoothed round-trip time.
    pub(super) fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    /// The timeout now, doubled for every time it ran out (rule 5.5), at most the configured maximum.
    pub(super) fn rto(&self) -> Span {
        self.rto_after(self.backoff)
    }

    /// The timeout after this many doublings.
    pub(super) fn rto_after(&self, doublings: u32) -> Span {
        // 2^40 ns are above any maximum, and the product stays within 128 bits.
        self.base.mul_div(1 << doublings.min(40), 1).min(self.config.max)
    }

    /// Takes one sample of the round-trip time.
    pub(super) fn on_sample(&mut self, rtt: Span) {
        let (srtt, deviation) = match self.smoothed {
            None => (rtt, rtt / 2), // rule 2.2
            Some((srtt, deviation)) => {
                // Rule 2.3, the deviation first, with alpha 1/8 and beta 1/4.
                let error = Span::from_nanos(srtt.as_nanos().abs_diff(rtt.as_nanos()));
                ((srtt * 7 + rtt) / 8, (deviation * 3 + error) / 4)
            }
        };
        self.smoothed = Some((srtt, deviation));
        self.base = match self.config.floor {
            RtoFloor::Total(min) => (srtt + deviation * 4).max(min), // rules 2.3, 2.4
            RtoFloor::AboveSrtt(min) => srtt + (deviation * 4).max(min),
        };
        self.backoff = 0;
    }

    /// The timer ran out.
    pub(super) fn on_timeout(&mut self) {
        self.backoff += 1;
    }

    /// The handshake is over; `syn_retransmitted` if its SYN had to be sent again (rule 5.7).
    pub(super) fn on_established(&mut self, syn_retransmitted: bool) {
        self.backoff = 0;
        if syn_retransmitted && self.smoothed.is_none() {
            self.base = self.base.max(AFTER_LOST_SYN);
        }
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
        rto.on_sample(Span::from_millis(100));
        assert_eq!(rto.rto(), Span::from_millis(300), "R + 4 * R/2");
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110; RTO = 110 + 230.
        rto.on_sample(Span::from_millis(180));
        assert_eq!(rto.srtt(), Some(Span::from_millis(110)));
        assert_eq!(rto.rto(), Span::from_millis(340));
    }

    #[test]
    fn the_floor_applies_to_the_sum_or_to_the_deviation() {
        let steady = |floor| {
            let mut rto = estimator(floor);
            (0..200).for_each(|_| rto.on_sample(Span::from_millis(300)));
            rto.rto()
        };
        assert_eq!(steady(RtoFloor::Total(Span::from_millis(1000))), Span::from_millis(1000));
        assert_eq!(steady(RtoFloor::Total(Span::from_millis(200))), Span::from_millis(300));
        assert_eq!(steady(RtoFloor::AboveSrtt(Span::from_millis(200))), Span::from_millis(500));
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
        rto.on_sample(Span::from_millis(10));
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
