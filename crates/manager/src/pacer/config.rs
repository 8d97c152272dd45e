//! The settings of the pacer.

use evenair_units::{BitRate, Span};
use minicbor::{Decode, Encode};

use crate::config_error::{ConfigError, not_high, not_long};

/// What a packet costs the virtual server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Charge {
    /// The medium time of everything that crosses the WLAN because of it, stretched by C*/C. For packets of full size
    /// that is `l/C_i * C*/C`; small packets pay for their overhead.
    #[n(0)]
    Airtime,
    /// Published: `l/C` for virtual length `l`, whatever the station's rate.
    #[n(1)]
    Bits,
}

/// What sets the service rate C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Controller {
    /// The published additive rule: up by `delta` while TCP's measured use of the WLAN keeps up with C, else down.
    #[n(0)]
    Published {
        /// Time between two evaluations; published 1 s.
        #[n(0)]
        interval: Span,
        /// Step; published 0.1 Mb/s.
        #[n(1)]
        delta: BitRate,
        /// The measured use may be this many thousandths below C and still count as equal.
        #[n(2)]
        tolerance_permille: u32,
        /// C starts at this many thousandths of C*.
        #[n(3)]
        start_permille: u32,
    },
    /// Keeps the access points' backlog at this much medium time, estimated from the stations' acknowledgments, without
    /// assumed rates.
    #[n(1)]
    Queue {
        /// The medium time; the backlog may be one packet more, so that the medium never waits for the box.
        #[n(0)]
        target: Span,
    },
    /// A service rate that a proportional-integral law moves so that packets wait for so long in the access point:
    /// the load that is offered to the medium is held just below the critical one.
    #[n(2)]
    Pi {
        /// Time between two evaluations.
        #[n(0)]
        interval: Span,
        /// The mean time that packets wait, measured from the stations' acknowledgments.
        #[n(1)]
        target: Span,
    },
    /// A constant, in IP-level bits of DATA and ACKs over the WLAN per second.
    #[n(3)]
    Fixed(#[n(0)] BitRate),
    /// Nothing is held for the WLAN: packets pass in the order in which they come, and the queue forms in the access
    /// point. For mechanisms that need no queue, and for comparison.
    #[n(4)]
    None,
}

impl Default for Controller {
    /// By the access point's queue, which is kept at a few milliseconds.
    fn default() -> Self {
        Self::Queue { target: Span::from_millis(3) }
    }
}

impl Controller {
    /// The published rule with the published interval and step.
    pub const PUBLISHED: Self = Self::Published {
        interval: Span::from_secs(1),
        delta: BitRate::from_kbps(100),
        tolerance_permille: 30,
        start_permille: 900,
    };
    /// The law with its usual interval, in which a slow medium answers a few packets, and its usual target, which is
    /// a few packets of it.
    pub const PI: Self = Self::Pi { interval: Span::from_millis(50), target: Span::from_millis(10) };
}

impl Controller {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match *self {
            Self::None => Ok(()),
            Self::Queue { target } if target == Span::ZERO => Err(ConfigError::ZeroSpan),
            Self::Queue { target } => not_long(target),
            Self::Pi { interval, target } if interval == Span::ZERO || target == Span::ZERO => {
                Err(ConfigError::ZeroSpan)
            }
            Self::Pi { interval, target } => not_long(interval).and_then(|()| not_long(target)),
            Self::Fixed(rate) if rate == BitRate::ZERO => Err(ConfigError::ZeroRate),
            Self::Published { delta, .. } if delta == BitRate::ZERO => Err(ConfigError::ZeroRate),
            Self::Published { interval, .. } if interval == Span::ZERO => Err(ConfigError::ZeroSpan),
            Self::Published { tolerance_permille: t, .. } if t >= 1000 => Err(ConfigError::Tolerance(t)),
            Self::Published { start_permille: s, .. } if s == 0 || s > 1000 => Err(ConfigError::Start(s)),
            Self::Fixed(rate) => not_high(rate),
            Self::Published { interval, delta, .. } => not_high(delta).and_then(|()| not_long(interval)),
        }
    }
}

/// What a pacer takes of a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacerConfig {
    pub(crate) controller: Controller,
    pub(crate) charge: Charge,
    /// How much lateness of releases is made up.
    pub(crate) slack: Span,
}
