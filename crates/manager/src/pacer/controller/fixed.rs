//! `fixed`: a constant service rate, whatever the medium does. For measurements, and for media of a known capacity.

use alloc::boxed::Box;

use evenair_units::{BitRate, Instant};

use super::law::{Law, Settings};
use crate::config::error::{ConfigError, not_high};
use crate::pacer::rate::Rates;

#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    pub(super) rate: BitRate,
}

impl Settings for Fixed {
    fn check(&self) -> Result<(), ConfigError> {
        if self.rate == BitRate::ZERO { Err(ConfigError::ZeroRate) } else { not_high(self.rate) }
    }

    fn law(&self, _now: Instant) -> Box<dyn Law> {
        Box::new(*self)
    }
}

impl Law for Fixed {
    fn first(&self, _rates: Rates) -> BitRate {
        self.rate
    }

    fn at_capacity(&self, rates: Rates, _before: BitRate) -> BitRate {
        rates.rate
    }
}
