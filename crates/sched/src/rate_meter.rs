//! A rate estimate with exponential forgetting.
//!
//! Principle: each packet moves the estimate by the share of the memory that has elapsed since the previous one. With
//! packets of `L` bits every `d`, `d` below the memory `tau`, it converges to `L/d` exactly, at the instants of packets,
//! with a remaining error of `(1 - d/tau)^k` after `k` intervals. A silence of `tau` clears it.
//!
//! Source: that of [`TokenBucket`](crate::TokenBucket): on a packet of `L` bits, `t` after the previous one, with `a =
//! min(t/tau, 1)`: `R = L/min(t, tau) * a + R (1 - a)`; between packets, `R (1 - a)`. The first term is `L/tau` for any
//! `t`, so that packets at one instant need no special rule.

use evenair_units::{BitRate, Bytes, Instant, Span};

/// Units of the estimate per bit per second, so that rounding errors do not accumulate.
const PER_BPS: u64 = 1_000;

/// A rate meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateMeter {
    memory: Span,
    milli_bps: u64,
    last: Instant,
}

impl RateMeter {
    /// A meter without packets so far.
    ///
    /// # Panics
    /// If `memory` is zero.
    pub fn new(memory: Span, now: Instant) -> Self {
        assert!(memory > Span::ZERO, "a meter without memory has no rate");
        Self { memory, milli_bps: 0, last: now }
    }

    /// Counts a packet.
    pub fn note(&mut self, now: Instant, size: Bytes) {
        let own = u128::from(size.bits()) * 1_000_000_000 * u128::from(PER_BPS) / u128::from(self.memory.as_nanos());
        let left = self.left(now);
        self.milli_bps = left.saturating_add(u64::try_from(own).unwrap_or(u64::MAX));
        self.last = self.last.max(now);
    }

    /// The estimated rate at `now`.
    pub fn rate(&self, now: Instant) -> BitRate {
        BitRate::from_bps(self.left(now) / PER_BPS)
    }

    /// What remains of the estimate at the last packet.
    fn left(&self, now: Instant) -> u64 {
        let memory = self.memory.as_nanos();
        let remembered = memory - now.saturating_since(self.last).as_nanos().min(memory);
        (u128::from(self.milli_bps) * u128::from(remembered) / u128::from(memory)) as u64
    }
}
