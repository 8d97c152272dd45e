//! The settings of the pacer.

use evenair_units::Span;
use evenair_wifi::Standard;
use minicbor::{Decode, Encode};

use super::aggregating::runs::RunLimit;
use super::controller::Controller;
use super::guard::GuardConfig;
use super::rate::Charge;
use crate::config::error::{ConfigError, not_long};
use crate::config::without::Without;

/// The settings of a pacer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacerConfig {
    pub(crate) controller: Controller,
    pub(crate) charge: Charge,
    /// The longest run of packets to one station.
    pub(crate) run: RunLimit,
    /// Whether the standard aggregates, and the tree of queues releases runs by completions.
    pub(crate) aggregates: bool,
    /// A fixed limit of the medium time in flight. `None`: the target and the lag.
    pub(crate) in_flight: Option<Span>,
    /// Mechanisms that are left out.
    pub(crate) without: Without,
    pub(crate) guard: GuardConfig,
    /// Lateness of releases that is made up.
    pub(crate) slack: Span,
}

/// Limits of the controller "queue", for experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ReleaseLimits {
    /// The longest run of packets to one station before an access point that aggregates, as medium time.
    #[n(0)]
    pub run: Span,
    /// The longest run in packets. `None`: as many as an aggregate of the standard has.
    #[n(1)]
    pub run_frames: Option<u32>,
    /// The medium time in flight below which the next packet is released. `None`: the target and the measured lag.
    #[n(2)]
    pub in_flight: Option<Span>,
}

impl Default for ReleaseLimits {
    fn default() -> Self {
        Self { run: Span::from_millis(4), run_frames: None, in_flight: None }
    }
}

impl ReleaseLimits {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let spans = [Some(self.run), self.in_flight];
        if spans.contains(&Some(Span::ZERO)) {
            return Err(ConfigError::ZeroSpan);
        }
        spans.into_iter().flatten().try_for_each(not_long)?;
        if self.run_frames == Some(0) { Err(ConfigError::RunFrames) } else { Ok(()) }
    }

    /// The longest run before access points of this standard, in frames and medium time. A block acknowledgment covers
    /// 64 frames, with 802.11ax 256.
    pub(crate) fn run_limit(&self, standard: Standard) -> RunLimit {
        let usual = if standard == Standard::Dot11ax { 256 } else { 64 };
        RunLimit { time: self.run, frames: self.run_frames.unwrap_or(usual), of_data: false }
    }
}
