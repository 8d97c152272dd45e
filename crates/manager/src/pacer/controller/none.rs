//! `none`: nothing is held for the WLAN. The service rate is C*, for reports and for what crosses.

use alloc::boxed::Box;

use evenair_units::{BitRate, Instant};

use super::law::{Law, Pacing, Settings};
use crate::config::error::ConfigError;
use crate::pacer::rate::Rates;

#[derive(Clone, Copy, Debug)]
pub(super) struct Unpaced;

impl Settings for Unpaced {
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn pacing(&self) -> Pacing {
        Pacing::None
    }

    fn law(&self, _now: Instant) -> Box<dyn Law> {
        Box::new(*self)
    }
}

impl Law for Unpaced {
    fn first(&self, rates: Rates) -> BitRate {
        rates.capacity
    }

    fn at_capacity(&self, rates: Rates, _before: BitRate) -> BitRate {
        rates.capacity
    }
}
