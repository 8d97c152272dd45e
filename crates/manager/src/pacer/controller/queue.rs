//! `queue`: keeps the access points' backlog at a target. The mechanism, with its sources, is in [`crate::pacer::standing`],
//! [`crate::pacer::knee`] and [`crate::pacer::guard`]. The service rate is a result here: C* at the measured speed of the medium.

use alloc::boxed::Box;

use evenair_units::{BitRate, Instant, Span};

use super::law::{Law, Pacing, Settings};
use crate::config::error::{ConfigError, not_long};
use crate::pacer::rate::Rates;
use crate::pacer::standing::Ratio;

/// Settings of the controller of the backlog.
#[derive(Clone, Copy, Debug)]
pub struct QueueTarget {
    /// Target of the backlog, as medium time.
    pub target: Span,
}

impl Default for QueueTarget {
    /// A few milliseconds.
    fn default() -> Self {
        Self { target: Span::from_millis(3) }
    }
}

impl Settings for QueueTarget {
    fn check(&self) -> Result<(), ConfigError> {
        if self.target == Span::ZERO { Err(ConfigError::ZeroSpan) } else { not_long(self.target) }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Backlog { target: self.target }
    }

    fn law(&self, _now: Instant) -> Box<dyn Law> {
        Box::new(*self)
    }
}

impl Law for QueueTarget {
    fn first(&self, rates: Rates) -> BitRate {
        rates.capacity
    }

    /// C is measured as the medium's own speed relative to C*, so it moves with C*.
    fn at_capacity(&self, rates: Rates, before: BitRate) -> BitRate {
        rates.rate.mul_div(rates.capacity.as_bps(), before.as_bps())
    }

    fn at_speed(&self, rates: Rates, speed: Ratio) -> BitRate {
        rates.capacity.mul_div(speed.numerator, speed.denominator).max(BitRate::from_bps(1))
    }
}
