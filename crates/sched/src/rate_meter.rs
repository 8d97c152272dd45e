//! How fast something comes: an estimate that forgets over a given time.
//!
//! Principle: each packet moves the estimate by the part of the memory that has passed since the one before. With packets
//! of `L` bits every `d`, `d` below the memory `tau`, it goes to `L/d` exactly, seen at a packet, and has forgotten `k`
//! intervals ago by `(1 - d/tau)^k`. A silence of `tau` forgets all.
//!
//! Source: as [`TokenBucket`](crate::TokenBucket): on a packet of `L` bits, `t` after the one before, with
//! `a = min(t/tau, 1)`: `R = L/min(t, tau) * a + R (1 - a)`; in use, `R (1 - a)`. The first term is `L/tau` whatever `t`
//! is, so that packets at one instant need no rule of their own.

use evenair_units::{BitRate, Bytes, Instant, Span};

/// Thousandths of a bit per second, so that rounding at each packet does not add up.
const PER_BPS: u64 = 1_000;

/// The estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateMeter {
    memory: Span,
    milli_bps: u64,
    last: Instant,
}

impl RateMeter {
    /// Nothing has come yet.
    ///
    /// # Panics
    /// If `memory` is zero.
    pub fn new(memory: Span, now: Instant) -> Self {
        assert!(memory > Span::ZERO, "a meter without memory has no rate");
        Self { memory, milli_bps: 0, last: now }
    }

    /// A packet has come.
    pub fn note(&mut self, now: Instant, size: Bytes) {
        let own = u128::from(size.bits()) * 1_000_000_000 * u128::from(PER_BPS) / u128::from(self.memory.as_nanos());
        let left = self.left(now);
        self.milli_bps = left.saturating_add(u64::try_from(own).unwrap_or(u64::MAX));
        self.last = self.last.max(now);
    }

    /// The rate now.
    pub fn rate(&self, now: Instant) -> BitRate {
        BitRate::from_bps(self.left(now) / PER_BPS)
    }

    /// What is remembered now of the estimate at the last packet.
    fn left(&self, now: Instant) -> u64 {
        let memory = self.memory.as_nanos();
        let remembered = memory - now.saturating_since(self.last).as_nanos().min(memory);
        (u128::from(self.milli_bps) * u128::from(remembered) / u128::from(memory)) as u64
    }
}
