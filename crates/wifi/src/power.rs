//! Signal power: path loss, noise and interference.
//!
//! Path loss is the log-distance model (T. S. Rappaport, "Wireless Communications", 2nd edition, 4.9): the loss in free
//! space at one metre, and from there an exponent. Thermal noise is Boltzmann's constant times 290 K times the channel's
//! bandwidth.
//!
//! Powers are integers (thousandths of a dBm), so that comparisons are exact and the same on every machine; the logarithms in
//! between are those of one deterministic library.
//!
//! Not modelled: fading, shadowing, antennas, walls.

pub use evenair_units::Db;
use evenair_units::Dbm;

use crate::errors::DSSS_BANDWIDTH_HZ;
use crate::{Standard, Width};

/// Thermal noise density at 290 K: 1.380649e-23 J/K * 290 K * 1000, in dBm/Hz.
const THERMAL_DBM_PER_HZ: f64 = -173.975_187_2;
/// Noise figure of a typical receiver, in addition to thermal noise.
pub const NOISE_FIGURE: Db = Db::from_milli(7_000);
/// Carrier sense threshold: the signal from which on a receiver must find the channel busy with a frame. IEEE Std
/// 802.11-2016, 17.3.10.6, for OFDM in 20 MHz; receivers for DSSS are tested at a similar level (16.3.8.2: -76 dBm is the
/// least that a receiver must decode at 11 Mb/s).
pub const CARRIER_SENSE: Dbm = Dbm::from_milli(-82_000);
/// Typical transmit power of stations and access points: 40 mW.
pub const USUAL_POWER: Dbm = Dbm::from_milli(16_021);

/// A position on a plane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Position {
    /// Millimetres to the right of the origin.
    pub x_mm: i64,
    /// Millimetres above the origin.
    pub y_mm: i64,
}

impl Position {
    /// The position at this distance from the origin, at an angle of `turn` full circles from the x axis.
    pub fn polar(radius_mm: f64, turn: f64) -> Self {
        let angle = turn * 2.0 * core::f64::consts::PI;
        let coordinate = |unit: f64| libm::round(radius_mm * unit) as i64;
        Self { x_mm: coordinate(libm::cos(angle)), y_mm: coordinate(libm::sin(angle)) }
    }

    /// The position shifted by the vector `other`.
    pub const fn moved_by(self, other: Self) -> Self {
        Self { x_mm: self.x_mm + other.x_mm, y_mm: self.y_mm + other.y_mm }
    }

    /// Distance in metres.
    pub fn metres_to(self, other: Self) -> f64 {
        libm::hypot((self.x_mm - other.x_mm) as f64, (self.y_mm - other.y_mm) as f64) / 1e3
    }
}

/// Path loss: attenuation of signals with distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathLoss {
    /// Loss at one metre.
    reference: Db,
    /// Path loss exponent, in thousandths: the loss grows by ten times the exponent, in dB, per decade of distance.
    exponent_permille: u32,
}

impl PathLoss {
    /// Free-space loss at one metre in the standard's band (2.4 or 5.15 GHz; the latter for 802.11n and ax), and beyond with
    /// the exponent `exponent_permille / 1000`: 2 in free space, 3 in typical rooms.
    pub const fn new(standard: Standard, exponent_permille: u32) -> Self {
        let reference = match standard {
            Standard::Dot11b | Standard::Dot11g => Db::from_milli(40_050),
            Standard::Dot11a | Standard::Dot11n | Standard::Dot11ac | Standard::Dot11ax => Db::from_milli(46_680),
        };
        Self { reference, exponent_permille }
    }

    /// The loss between two positions. The model does not hold below one metre, where the loss stays constant.
    pub fn between(&self, a: Position, b: Position) -> Db {
        let decades = libm::log10(a.metres_to(b).max(1.0));
        Db::from_milli(
            self.reference.as_milli() + libm::round(f64::from(self.exponent_permille) * 10.0 * decades) as i32,
        )
    }
}

/// Thermal noise in a channel of this width; 802.11b has one width only.
pub fn thermal_noise(standard: Standard, width: Width) -> Dbm {
    let bandwidth = match standard {
        Standard::Dot11b => DSSS_BANDWIDTH_HZ,
        _ => f64::from(width.mhz()) * 1e6,
    };
    Dbm::from_milli(libm::round((THERMAL_DBM_PER_HZ + 10.0 * libm::log10(bandwidth)) * 1e3) as i32)
}

/// Noise floor of a typical receiver: thermal noise and noise figure.
pub fn noise_floor(standard: Standard, width: Width) -> Dbm {
    thermal_noise(standard, width) + NOISE_FIGURE
}

/// Sum of several powers. `None` if there are none.
pub fn sum(powers: impl IntoIterator<Item = Dbm>) -> Option<Dbm> {
    let mut powers = powers.into_iter();
    let first = powers.next()?;
    let Some(second) = powers.next() else { return Some(first) };
    let milliwatts = |power: Dbm| libm::exp10(f64::from(power.as_milli()) / 1e4);
    let total = powers.fold(milliwatts(first) + milliwatts(second), |total, power| total + milliwatts(power));
    Some(Dbm::from_milli(libm::round(1e4 * libm::log10(total)) as i32))
}

pub(crate) fn db_to_ratio(db: Db) -> f64 {
    libm::exp10(f64::from(db.as_milli()) / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metres(x: i64, y: i64) -> Position {
        Position { x_mm: x * 1_000, y_mm: y * 1_000 }
    }

    #[test]
    fn loss_grows_with_the_logarithm_of_distance() {
        let loss = PathLoss::new(Standard::Dot11b, 3_000);
        let at = |distance| loss.between(metres(0, 0), metres(distance, 0)).as_milli();
        assert_eq!([0, 1, 10, 100].map(at), [40_050, 40_050, 70_050, 100_050]);
        assert_eq!(loss.between(metres(3, 4), metres(0, 0)), loss.between(metres(0, 0), metres(0, 5)));
        // Free space at 5.15 GHz: 20 log10(4 pi d f / c) is 66.68 dB at 10 m.
        assert_eq!(PathLoss::new(Standard::Dot11a, 2_000).between(metres(0, 0), metres(10, 0)).as_milli(), 66_680);
    }

    #[test]
    fn free_space_at_one_metre_is_the_reference() {
        for (standard, ghz) in [(Standard::Dot11b, 2.4), (Standard::Dot11a, 5.15)] {
            let friis = 20.0 * libm::log10(4.0 * core::f64::consts::PI * ghz * 1e9 / 299_792_458.0);
            let reference = f64::from(PathLoss::new(standard, 2_000).reference.as_milli()) / 1e3;
            assert!((friis - reference).abs() < 0.01, "{friis} {reference}");
        }
    }

    #[test]
    fn noise_is_thermal_and_the_receivers() {
        assert_eq!(thermal_noise(Standard::Dot11b, Width::Mhz20).as_milli(), -100_551);
        assert_eq!(noise_floor(Standard::Dot11a, Width::Mhz20).as_milli(), -100_965 + 7_000);
    }

    #[test]
    fn powers_add_as_milliwatts() {
        let dbm = |milli| Dbm::from_milli(milli);
        assert_eq!(sum([]), None);
        assert_eq!(sum([dbm(-50_000)]), Some(dbm(-50_000)));
        assert_eq!(sum([dbm(-50_000), dbm(-50_000)]), Some(dbm(-46_990)));
        assert_eq!(sum([dbm(-50_000), dbm(-60_000), dbm(-90_000)]), Some(dbm(-49_586)));
    }

    #[test]
    fn places_on_a_circle() {
        assert_eq!(Position::polar(10_000.0, 0.25), metres(0, 10));
        assert!((Position::polar(10_000.0, 0.3).metres_to(Position::default()) - 10.0).abs() < 1e-3);
    }
}
