//! Rate classes by received signal, for access points that report the signal of a station, and no rate.
//!
//! The operator gives a few classes, each with the signal above which it begins and a rate. A signal varies by a few dB
//! from frame to frame, so a station changes its class only when its signal is beyond the border by the hysteresis.
//!
//! Source: Hegde, Kumar, Vasudev, Sowmya, Anand, Kumar, Kuri, IEEE/ACM ToN 21(2), 2013 (stations are polled by SNMP and
//! mapped to three or four rate classes by their signal). The hysteresis is ours.

use alloc::vec::Vec;
use core::fmt;

use evenair_units::{Db, Dbm};
use evenair_wifi::PhyRate;
use minicbor::{Decode, Encode};

/// Rate classes by received signal.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct RssiConfig {
    /// The classes, strongest signals and highest rate first.
    #[n(0)]
    pub classes: Vec<RssiClass>,
    /// Distance of the signal from a border, beyond it, at which a station changes its class.
    #[n(1)]
    pub hysteresis: Db,
    /// Whether the class has precedence over a reported rate.
    #[n(2)]
    pub before_rates: bool,
}

/// A rate class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct RssiClass {
    /// Lower border of its signals; `None`, for the last class only: all weaker ones.
    #[n(0)]
    pub above: Option<Dbm>,
    /// The rate of its stations.
    #[n(1)]
    pub rate: PhyRate,
}

/// Why an [`RssiConfig`] is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RssiError {
    /// The number of classes is out of range.
    Classes(usize),
    /// The class with this index does not begin below the one before, has no border although it is not the last, or is
    /// the last and has one.
    Border(usize),
    /// The rate of the class with this index is not below that of the one before.
    Rate(usize),
    /// The hysteresis is negative, or more than [`RssiConfig::MAX_HYSTERESIS`].
    Hysteresis(Db),
}

impl RssiConfig {
    /// Default hysteresis: the variation between two frames of a station that does not move.
    pub const HYSTERESIS: Db = Db::from_milli(3_000);
    /// Largest hysteresis: with more a station would hardly ever change its class.
    pub const MAX_HYSTERESIS: Db = Db::from_milli(20_000);
    /// Fewest classes that distinguish stations.
    pub const MIN_CLASSES: usize = 2;
    /// Most classes: more than the standards have rates would distinguish nothing.
    pub const MAX_CLASSES: usize = 16;

    /// Checks the classes.
    ///
    /// # Errors
    /// The first error found.
    pub fn check(&self) -> Result<(), RssiError> {
        let count = self.classes.len();
        if !(Self::MIN_CLASSES..=Self::MAX_CLASSES).contains(&count) {
            return Err(RssiError::Classes(count));
        }
        for (at, class) in self.classes.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &self.classes[before]);
            let falls = class.above.is_none_or(|above| before.is_none_or(|before| Some(above) < before.above));
            if class.above.is_none() != (at + 1 == count) || !falls {
                return Err(RssiError::Border(at));
            }
            if before.is_some_and(|before| class.rate.bit_rate() >= before.rate.bit_rate()) {
                return Err(RssiError::Rate(at));
            }
        }
        if !(0..=Self::MAX_HYSTERESIS.as_milli()).contains(&self.hysteresis.as_milli()) {
            return Err(RssiError::Hysteresis(self.hysteresis));
        }
        Ok(())
    }

    /// Index of the class of a station with this signal, whose class was `present`.
    pub(crate) fn class_of(&self, signal: Dbm, present: Option<usize>) -> usize {
        let begins = |(at, class): (usize, &RssiClass)| {
            let Some(above) = class.above else { return true };
            match present {
                None => signal >= above,
                Some(present) if at < present => signal >= above + self.hysteresis,
                Some(_) => signal >= above - self.hysteresis,
            }
        };
        self.classes.iter().enumerate().position(begins).unwrap_or(self.classes.len().saturating_sub(1))
    }
}

impl fmt::Display for RssiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (min, max) = (RssiConfig::MIN_CLASSES, RssiConfig::MAX_CLASSES);
        match self {
            Self::Classes(count) => write!(f, "{count} classes by signal: it must be {min} to {max}"),
            Self::Border(at) => {
                write!(f, "signal class {} must begin below the one before; only the last has no beginning", at + 1)
            }
            Self::Rate(at) => write!(f, "the rate of signal class {} must be below that of the one before", at + 1),
            Self::Hysteresis(db) => write!(f, "a hysteresis of {} mdB: it must be 0 to 20 dB", db.as_milli()),
        }
    }
}
