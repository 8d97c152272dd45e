//! HyStart++ (RFC 9406): leave the first slow start when the round-trip time grows, before the queue overflows.

use evenair_units::Span;

use super::AckInfo;

// All constants: section 4.3 of the RFC.
const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;

/// Maximum growth per ACK in segments, if sending is not paced (L).
pub(super) const LIMIT: u64 = 8;

/// State of the first slow start.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    /// End of the round: the position whose acknowledgment ends it.
    window_end: u64,
    last_round_min: Option<Span>,
    this_round_min: Option<Span>,
    samples: u32,
    /// Conservative slow start: the round-trip time that started it, and the rounds spent in it.
    conservative: Option<(Span, u32)>,
    over: bool,
}

impl HyStart {
    /// Slow start has ended for good.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// The part of a slow-start step of `step` bytes that is applied (section 4.2).
    pub(super) fn slow_start_step(&mut self, ack: &AckInfo, step: u64) -> u64 {
        if ack.una >= self.window_end {
            self.next_round(ack.nxt);
        }
        if let Some(rtt) = ack.rtt {
            self.this_round_min = Some(self.this_round_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
            if self.samples >= N_RTT_SAMPLE {
                self.judge();
            }
        }
        if self.conservative.is_some() { step / CSS_GROWTH_DIVISOR } else { step }
    }

    fn next_round(&mut self, nxt: u64) {
        self.window_end = nxt;
        self.last_round_min = self.this_round_min.take();
        self.samples = 0;
        if let Some((_, rounds)) = &mut self.conservative {
            *rounds += 1; // the partial round in which it began counts as well
            self.over = *rounds >= CSS_ROUNDS;
        }
    }

    fn judge(&mut self) {
        let Some(now) = self.this_round_min else { return };
        match self.conservative {
            // The delay was transient: resume slow start.
            Some((baseline, _)) if now < baseline => self.conservative = None,
            Some(_) => {}
            None => {
                let Some(last) = self.last_round_min else { return };
                let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if now >= last + threshold {
                    self.conservative = Some((now, 0));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evenair_units::Instant;

    use super::*;

    /// A round of ten ACKs with this round-trip time; returns how much of a step of 400 the last one may take.
    fn round(hystart: &mut HyStart, una: &mut u64, rtt_ms: u64) -> u64 {
        let mut taken = 0;
        for _ in 0..10 {
            *una += 1;
            let nxt = *una + 10;
            let rtt = Some(Span::from_millis(rtt_ms));
            let ack = AckInfo {
                now: Instant::ZERO,
                acked: 1,
                delivered: 1,
                una: *una,
                nxt,
                rtt,
                srtt: rtt,
                min_rtt: rtt,
                limited: true,
                duplicate: false,
            };
            taken = hystart.slow_start_step(&ack, 400);
        }
        taken
    }

    #[test]
    fn slows_down_when_delay_grows_by_an_eighth_and_stops_after_five_rounds() {
        let (mut hystart, mut una) = (HyStart::default(), 0);
        assert_eq!(round(&mut hystart, &mut una, 80), 400);
        assert_eq!(round(&mut hystart, &mut una, 89), 400, "below 80 + 10");
        assert_eq!(round(&mut hystart, &mut una, 102), 100, "above 89 + 11");
        for _ in 0..4 {
            round(&mut hystart, &mut una, 110);
            assert!(!hystart.is_over());
        }
        round(&mut hystart, &mut una, 110);
        assert!(hystart.is_over());
    }

    #[test]
    fn resumes_after_a_transient_delay() {
        let (mut hystart, mut una) = (HyStart::default(), 0);
        round(&mut hystart, &mut una, 80);
        assert_eq!(round(&mut hystart, &mut una, 100), 100);
        assert_eq!(round(&mut hystart, &mut una, 81), 400);
    }
}
