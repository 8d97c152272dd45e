//! Sizes, bit rates and signal levels.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Sub};

use minicbor::{Decode, Encode};

use crate::Span;

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
#[cbor(transparent)]
pub struct Bytes(#[n(0)] pub u64);

/// A rate in whole bits per second. Never a float: rates are compared and summed exactly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
#[cbor(transparent)]
pub struct BitRate(#[n(0)] u64);

/// A power level in thousandths of a dBm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Dbm {
    #[n(0)]
    milli: i32,
}

impl Bytes {
    /// None.
    pub const ZERO: Self = Self(0);

    /// Number of bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }

    /// `self - other`, stopping at zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// A ratio of two powers in thousandths of a decibel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Db {
    #[n(0)]
    milli: i32,
}

impl BitRate {
    /// No bits at all.
    pub const ZERO: Self = Self(0);

    /// From bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// From kilobits (1000 bits) per second.
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps * 1_000)
    }

    /// From megabits (10^6 bits) per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// In bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// In megabits per second, for reports and closed forms only.
    #[allow(clippy::float_arithmetic)] // For reports and closed forms.
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Time that `bits` bits take at this rate, rounded up to the nanosecond; [`Span::MAX`] at rate zero.
    pub const fn time_for_bits(self, bits: u64) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        // Division in 64 bits, where the product fits, is several times faster.
        if let Some(product) = bits.checked_mul(1_000_000_000) {
            return Span::from_nanos(product.div_ceil(self.0));
        }
        let ns = (bits as u128 * 1_000_000_000).div_ceil(self.0 as u128);
        Span::from_nanos(if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 })
    }

    /// Time that `size` takes at this rate, rounded up to the nanosecond; [`Span::MAX`] at rate zero.
    pub const fn time_for(self, size: Bytes) -> Span {
        self.time_for_bits(size.0 * 8)
    }

    /// The rate at which `bits` bits take `span`, rounded down; zero for an empty span.
    pub const fn from_bits_over(bits: u64, span: Span) -> Self {
        if span.as_nanos() == 0 {
            return Self::ZERO;
        }
        let bps = bits as u128 * 1_000_000_000 / span.as_nanos() as u128;
        Self(if bps > u64::MAX as u128 { u64::MAX } else { bps as u64 })
    }

    /// `self * num / den`, rounded down; in 128-bit arithmetic only if necessary, since that takes several times as long.
    ///
    /// # Panics
    /// If `den` is zero.
    pub const fn mul_div(self, num: u64, den: u64) -> Self {
        if let Some(product) = self.0.checked_mul(num) {
            return Self(product / den);
        }
        let wide = self.0 as u128 * num as u128 / den as u128;
        Self(if wide > u64::MAX as u128 { u64::MAX } else { wide as u64 })
    }

    /// `self - other`, stopping at zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Dbm {
    /// From thousandths of a dBm.
    pub const fn from_milli(milli: i32) -> Self {
        Self { milli }
    }

    /// In thousandths of a dBm.
    pub const fn as_milli(self) -> i32 {
        self.milli
    }
}

impl Db {
    /// From thousandths of a decibel.
    pub const fn from_milli(milli: i32) -> Self {
        Self { milli }
    }

    /// In thousandths of a decibel.
    pub const fn as_milli(self) -> i32 {
        self.milli
    }
}

impl Add<Db> for Dbm {
    type Output = Self;
    fn add(self, gain: Db) -> Self {
        Self { milli: self.milli.saturating_add(gain.milli) }
    }
}

impl Sub<Db> for Dbm {
    type Output = Self;
    fn sub(self, loss: Db) -> Self {
        Self { milli: self.milli.saturating_sub(loss.milli) }
    }
}

impl Sub for Dbm {
    type Output = Db;
    fn sub(self, other: Self) -> Db {
        Db { milli: self.milli.saturating_sub(other.milli) }
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0 * n)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl Add for BitRate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Debug for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} Mb/s", self.0 / 1_000_000, self.0 % 1_000_000 / 1_000)
    }
}

impl fmt::Debug for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        thousandths(f, self.milli, "dBm")
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        thousandths(f, self.milli, "dB")
    }
}

fn thousandths(f: &mut fmt::Formatter<'_>, milli: i32, unit: &str) -> fmt::Result {
    let sign = if milli < 0 { "-" } else { "" };
    let abs = milli.unsigned_abs();
    write!(f, "{sign}{}.{:03} {unit}", abs / 1000, abs % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_rounds_up_and_rate_rounds_down() {
        let rate = BitRate::from_mbps(11);
        // 12000 bits at 11 Mb/s = 1090.909090… µs
        assert_eq!(rate.time_for(Bytes(1500)), Span::from_nanos(1_090_910));
        assert_eq!(BitRate::from_bits_over(12_000, Span::from_nanos(1_090_910)).as_bps(), 10_999_990);
    }

    #[test]
    fn zero_rate_and_zero_span_are_not_divisions_by_zero() {
        assert_eq!(BitRate::ZERO.time_for(Bytes(1)), Span::MAX);
        assert_eq!(BitRate::from_bits_over(1, Span::ZERO), BitRate::ZERO);
    }
}
