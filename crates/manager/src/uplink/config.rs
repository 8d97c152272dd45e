//! Settings of the upload limiter.

use evenair_sched::BucketConfig;
use evenair_units::{BitRate, Bytes, Span};
use minicbor::{Decode, Encode};

use crate::config::error::ConfigError;
use crate::config::limits::{MAX_RATE, MAX_SPAN};

/// Settings of the upload limiter, for traffic from the WLAN toward the wire. Packets above the limit are dropped, so
/// that TCP's senders slow down and leave the medium to the downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct UplinkLimit {
    /// The rule that sets the limit.
    #[n(0)]
    pub rule: LimitRule,
    /// The limit; under a rule that moves it, the initial one. `None`: the uploads' part of C*.
    #[n(1)]
    pub rate: Option<BitRate>,
    /// The uploads' part of the throughput of both directions, in thousandths; published 500.
    #[n(2)]
    pub split_permille: u32,
    /// The token bucket; under [`LimitRule::Adaptive`], each of the two.
    #[n(3)]
    pub bucket: BucketConfig,
    /// Memory of the rate meters; published 600 ms.
    #[n(4)]
    pub memory: Span,
}

/// A rule that sets the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum LimitRule {
    /// A constant limit.
    #[n(0)]
    Static,
    /// The published rule: while nothing is lost in the access point the limit rises by a step, else it falls, but not
    /// below the uploads' part of the throughput of both directions. One bucket for all traffic.
    #[n(1)]
    Published(#[n(0)] Steps),
    /// The published rule with our improvements: separate buckets for TCP and for all other traffic.
    #[n(2)]
    Adaptive {
        /// Interval, step and ceiling.
        #[n(0)]
        steps: Steps,
        /// The part of the limit, in thousandths, that datagrams (all but TCP) keep if TCP could use all; TCP keeps the
        /// rest.
        #[n(1)]
        datagrams_permille: u32,
    },
}

/// How a rule moves the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Steps {
    /// Time between two evaluations; published 300 ms.
    #[n(0)]
    pub interval: Span,
    /// Change of the limit at each evaluation; published 200 kb/s.
    #[n(1)]
    pub step: BitRate,
    /// Upper bound of the limit (published as the theoretical maximum, without a value). `None`: C*.
    #[n(2)]
    pub ceiling: Option<BitRate>,
}

impl Steps {
    /// The published interval and step.
    pub const PUBLISHED: Self = Self { interval: Span::from_millis(300), step: BitRate::from_kbps(200), ceiling: None };
}

impl Default for UplinkLimit {
    /// The adaptive rule, half of the throughput for uploads, and the published bucket.
    fn default() -> Self {
        Self {
            rule: LimitRule::Adaptive { steps: Steps::PUBLISHED, datagrams_permille: 500 },
            rate: None,
            split_permille: 500,
            bucket: BucketConfig { depth: Bytes(500 * 1500), threshold_permille: 900 },
            memory: Span::from_millis(600),
        }
    }
}

impl UplinkLimit {
    /// How the rule moves the limit; `None`: it is constant.
    pub const fn steps(&self) -> Option<Steps> {
        match self.rule {
            LimitRule::Static => None,
            LimitRule::Published(steps) | LimitRule::Adaptive { steps, .. } => Some(steps),
        }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        const FULL_SIZE: Bytes = Bytes(1500);
        if !self.bucket.is_sound() || self.bucket.depth < FULL_SIZE {
            return Err(ConfigError::Bucket);
        }
        is_part(self.split_permille)?;
        if let LimitRule::Adaptive { datagrams_permille, .. } = self.rule {
            is_part(datagrams_permille)?;
        }
        is_span(self.memory)?;
        let steps = self.steps();
        steps.map_or(Ok(()), |steps| is_span(steps.interval))?;
        let rates = [self.rate, steps.map(|steps| steps.step), steps.and_then(|steps| steps.ceiling)];
        rates.into_iter().flatten().try_for_each(is_rate)
    }
}

fn is_part(permille: u32) -> Result<(), ConfigError> {
    if (1..1_000).contains(&permille) { Ok(()) } else { Err(ConfigError::UplinkPart(permille)) }
}

fn is_span(span: Span) -> Result<(), ConfigError> {
    match span {
        Span::ZERO => Err(ConfigError::ZeroSpan),
        span if span > MAX_SPAN => Err(ConfigError::LongSpan(span)),
        _ => Ok(()),
    }
}

fn is_rate(rate: BitRate) -> Result<(), ConfigError> {
    match rate {
        BitRate::ZERO => Err(ConfigError::ZeroRate),
        rate if rate > MAX_RATE => Err(ConfigError::HighRate(rate)),
        _ => Ok(()),
    }
}
