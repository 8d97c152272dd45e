//! A token bucket as a policer: packets without tokens are dropped, nothing is queued.
//!
//! Principle: tokens arrive at a rate and are kept up to a depth; a packet takes as many as it has bits, or is dropped. Over
//! any time `t` no more passes than the depth plus rate times `t`; and a saturated source gets that up to less than a packet.
//!
//! *Smoothed*, it drops before it is empty, so that not all senders lose packets at once: with a level `H` below a threshold,
//! a fraction of the depth, a packet is dropped with probability `(threshold - H) / threshold`. At a constant load of `l`
//! times its rate, the level is in equilibrium where that probability is `1 - 1/l`: at `threshold / l`.
//!
//! Source: Blefari-Melazzi, Detti, Habib, Ordine, Salsano, "Detailed Analysis of TCP Fairness Issues in IEEE 802.11 Networks
//! and their Solution using a Rate Control Approach", University of Roma Tor Vergata.
//!
//! Limitation: it does not distinguish senders. A sender with a higher rate loses more packets, and there are no guaranteed
//! shares.

use evenair_units::{BitRate, Bytes, Instant, Rng};
use minicbor::{Decode, Encode};

/// Units per token: billionths of a bit, so that a rate times nanoseconds is exact.
const PER_BIT: u64 = 1_000_000_000;

/// Depth of a bucket, and its threshold for random drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct BucketConfig {
    /// Depth: 1 byte to [`BucketConfig::MAX_DEPTH`]. Packets larger than it never pass.
    #[n(0)]
    pub depth: Bytes,
    /// Threshold, in thousandths of the depth: 0 (the plain bucket, which drops when it is empty) to 1000.
    #[n(1)]
    pub threshold_permille: u32,
}

/// A token bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    config: BucketConfig,
    rate: BitRate,
    /// Tokens at `filled`.
    level: u64,
    filled: Instant,
}

impl BucketConfig {
    /// Maximum depth, whose tokens are counted without overflow.
    pub const MAX_DEPTH: Bytes = Bytes(1 << 30);

    /// Whether the configuration is valid.
    pub const fn is_sound(&self) -> bool {
        self.depth.0 > 0 && self.depth.0 <= Self::MAX_DEPTH.0 && self.threshold_permille <= 1_000
    }

    const fn full(&self) -> u64 {
        self.depth.bits() * PER_BIT
    }

    /// The level below which packets are dropped at random, in units of tokens.
    const fn threshold(&self) -> u64 {
        // The depth has 33 bits and its unit 30: the product with thousandths needs more than 64 bits.
        (self.full() as u128 * self.threshold_permille as u128 / 1_000) as u64
    }
}

impl TokenBucket {
    /// A full bucket.
    ///
    /// # Panics
    /// If `config` is not [sound](BucketConfig::is_sound).
    pub fn new(config: BucketConfig, rate: BitRate, now: Instant) -> Self {
        assert!(config.is_sound(), "a caller hands in a checked configuration");
        Self { config, rate, level: config.full(), filled: now }
    }

    /// Its rate.
    pub const fn rate(&self) -> BitRate {
        self.rate
    }

    /// Changes the rate. The tokens stay.
    pub fn set_rate(&mut self, now: Instant, rate: BitRate) {
        self.fill(now);
        self.rate = rate;
    }

    /// Changes depth and threshold. The tokens stay, up to the new depth.
    ///
    /// # Panics
    /// As [`TokenBucket::new`].
    pub fn set_config(&mut self, now: Instant, config: BucketConfig) {
        assert!(config.is_sound(), "a caller hands in a checked configuration");
        self.fill(now);
        self.config = config;
        self.level = self.level.min(config.full());
    }

    /// Present tokens in bits, rounded down.
    pub fn level_bits(&mut self, now: Instant) -> u64 {
        self.fill(now);
        self.level / PER_BIT
    }

    /// Takes out what is above the threshold: from now on chance drops, without waiting until a full bucket has emptied.
    pub fn cut_to_threshold(&mut self, now: Instant) {
        self.fill(now);
        if self.config.threshold_permille > 0 {
            self.level = self.level.min(self.config.threshold());
        }
    }

    /// Probability that a packet is dropped now although there are tokens for it, in billionths.
    pub fn loss_per_billion(&mut self, now: Instant) -> u32 {
        self.fill(now);
        let threshold = self.config.threshold();
        if self.level >= threshold {
            return 0;
        }
        (u128::from(threshold - self.level) * 1_000_000_000 / u128::from(threshold)) as u32
    }

    /// Whether a packet of this size passes; then it takes its tokens. `rng` decides below the threshold.
    pub fn admits(&mut self, now: Instant, size: Bytes, rng: &mut Rng) -> bool {
        let loss = self.loss_per_billion(now);
        if loss > 0 && rng.chance(loss) {
            return false;
        }
        let Some(left) = size.bits().checked_mul(PER_BIT).and_then(|tokens| self.level.checked_sub(tokens)) else {
            return false;
        };
        self.level = left;
        true
    }

    /// Lets a packet pass at any level; it takes the available tokens.
    pub fn charge(&mut self, now: Instant, size: Bytes) {
        self.fill(now);
        self.level = self.level.saturating_sub(size.bits().saturating_mul(PER_BIT));
    }

    fn fill(&mut self, now: Instant) {
        let elapsed = now.saturating_since(self.filled);
        self.filled = self.filled.max(now);
        let new = u128::from(self.rate.as_bps()) * u128::from(elapsed.as_nanos());
        let level = (u128::from(self.level) + new).min(u128::from(self.config.full()));
        self.level = u64::try_from(level).expect("a full bucket is counted in 64 bits");
    }
}
