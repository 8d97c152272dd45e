//! Points in time, lengths of time, and occupancy of the medium.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

use minicbor::{Decode, Encode};

/// A point in time: nanoseconds since the driver's own origin (start of a simulation, or of a live process).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
#[cbor(transparent)]
pub struct Instant(#[n(0)] u64);

/// A length of time in nanoseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
#[cbor(transparent)]
pub struct Span(#[n(0)] u64);

/// A length of time during which the medium is occupied, the unit in which transmissions are charged. A separate type, so
/// that it is not mixed up with delays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Airtime(pub Span);

impl Instant {
    /// The driver's origin.
    pub const ZERO: Self = Self(0);
    /// A point that is never reached.
    pub const MAX: Self = Self(u64::MAX);

    /// From nanoseconds since the origin.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`, or [`Span::ZERO`] where `earlier` is in fact later.
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Time passed since `earlier`, or `None` where `earlier` is in fact later.
    pub const fn checked_since(self, earlier: Self) -> Option<Span> {
        match self.0.checked_sub(earlier.0) {
            Some(ns) => Some(Span(ns)),
            None => None,
        }
    }

    /// `self - span`, stopping at the origin.
    pub const fn saturating_sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// `self + span`, stopping at [`Instant::MAX`].
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// From nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// From microseconds, stopping at [`Span::MAX`].
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// From milliseconds, stopping at [`Span::MAX`].
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// From whole seconds, stopping at [`Span::MAX`].
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// In nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// In whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// In seconds, for reports and closed forms only.
    #[allow(clippy::float_arithmetic)] // For reports and closed forms.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// From seconds given as a number, rounded to the nearest nanosecond; negative and not-a-number give zero.
    #[allow(clippy::float_arithmetic)] // For reports and closed forms.
    pub fn from_secs_f64(s: f64) -> Self {
        // The cast saturates, and maps NaN to 0.
        Self((s * 1e9 + 0.5) as u64)
    }

    /// `self - other`, stopping at zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
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
}

impl Airtime {
    /// None.
    pub const ZERO: Self = Self(Span::ZERO);

    /// In nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0.as_nanos()
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Sub<Span> for Instant {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0 - span.0)
    }
}

impl Sub for Instant {
    type Output = Span;
    /// # Panics
    /// In debug builds, if `earlier` is later than `self`.
    fn sub(self, earlier: Self) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0 * n)
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

impl Div for Span {
    type Output = u64;
    /// How many whole `other` fit into `self`.
    fn div(self, other: Self) -> u64 {
        self.0 / other.0
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl Add for Airtime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Airtime {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t={}", Span(self.0))
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Span {
    /// Seconds with nine decimals: exact, and in one unit so that columns can be compared.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl fmt::Debug for Airtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "air {}", self.0)
    }
}
