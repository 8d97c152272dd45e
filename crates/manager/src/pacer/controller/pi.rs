//! `pi`: the service rate follows the time that packets wait in the access points. [`crate::pacer::load`] has the law and its reasons;
//! here C moves between a floor and a bound that no medium exceeds.

use alloc::boxed::Box;

use evenair_units::{BitRate, Instant, Span};

use super::law::{Law, Released, Settings};
use crate::config::error::{ConfigError, not_long};
use crate::pacer::load::{Shaper, Step};
use crate::pacer::rate::Rates;

/// Part of C*, in thousandths, at which C starts, and to which it goes where no acknowledgment is due.
const BLIND_PERMILLE: u64 = 900;
/// Bound of C in multiples of C*: no medium carries more relative to its known rates (1 Mb/s known, 54 real).
const MOST_CAPACITIES: u64 = 64;

/// Settings of the PI law.
#[derive(Clone, Copy, Debug)]
pub struct Pi {
    /// Time between two evaluations.
    pub interval: Span,
    /// Target of the mean time that packets wait in the access point, as stations' acknowledgments show it.
    pub target: Span,
}

impl Default for Pi {
    /// An interval in which a slow medium completes a few packets, and the time of a few such packets as the target.
    fn default() -> Self {
        Self { interval: Span::from_millis(50), target: Span::from_millis(10) }
    }
}

impl Settings for Pi {
    fn check(&self) -> Result<(), ConfigError> {
        if self.interval == Span::ZERO || self.target == Span::ZERO {
            return Err(ConfigError::ZeroSpan);
        }
        not_long(self.interval).and_then(|()| not_long(self.target))
    }

    fn law(&self, now: Instant) -> Box<dyn Law> {
        Box::new(PiLaw { settings: *self, shaper: Shaper::new(now) })
    }
}

#[derive(Debug)]
struct PiLaw {
    settings: Pi,
    shaper: Shaper,
}

impl Law for PiLaw {
    fn first(&self, rates: Rates) -> BitRate {
        rates.part(BLIND_PERMILLE).max(rates.floor())
    }

    fn at_capacity(&self, rates: Rates, before: BitRate) -> BitRate {
        within(rates, rates.rate.mul_div(rates.capacity.as_bps(), before.as_bps().max(1)))
    }

    fn at_time(&mut self, now: Instant, rates: Rates) -> BitRate {
        let Pi { interval, target } = self.settings;
        let rate = match self.shaper.judge(now, interval, target, rates.rate) {
            Step::Stay => return rates.rate,
            Step::Change(millionths) => {
                let change = rates.rate.mul_div(u64::from(millionths.unsigned_abs()), 1_000_000);
                if millionths < 0 { rates.rate.saturating_sub(change) } else { rates.rate + change }
            }
            Step::Back(rate) => rate,
            Step::Halve => rates.rate.mul_div(1, 2),
            // An eighth of the way.
            Step::Start => rates.rate.mul_div(7, 8) + rates.part(BLIND_PERMILLE).mul_div(1, 8),
        };
        within(rates, rate)
    }

    fn on_release(&mut self, now: Instant, released: Released) {
        self.shaper.note_release(now, released.number, released.in_flight, released.airtime);
    }

    fn on_served(&mut self, waiting: bool) {
        self.shaper.note_service(waiting);
    }

    fn on_completion(&mut self, now: Instant, number: u64) {
        self.shaper.note_answer(now, number, self.settings.target);
    }
}

/// The nearest rate that C may have.
fn within(rates: Rates, rate: BitRate) -> BitRate {
    rate.max(rates.floor()).min(rates.capacity.mul_div(MOST_CAPACITIES, 1))
}
