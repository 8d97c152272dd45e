//! Results of the medium: by sender, by interval and by phase; and losses by site.
//!
//! At each site offered frames are delivered, lost for a reason, or still queued: `offered = delivered + lost + change of
//! the queue`. An empty series means zeros throughout, so that events that never occur need no memory.

use std::fmt;

use evenair_wifi::PhyRate;
use serde::{Deserialize, Serialize};

use super::{Distribution, DropCount, PpduResult};

/// One sender on the medium per interval: the access point or a station.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeSeries {
    /// "ap", or the name of the access point or of the station.
    pub node: String,
    /// Whether it is a named access point.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub access_point: bool,
    /// Frames that arrived at its buffer, including those that found it full.
    pub offered_frames: Vec<u64>,
    /// Frames that it delivered.
    pub delivered_frames: Vec<u64>,
    /// Frames that were lost there, by reason.
    pub lost_frames: Vec<LossSeries>,
    /// Medium accesses that began in the interval.
    pub attempts: Vec<u64>,
    /// Accesses that ended in the interval in delivery: with an acknowledgment or, to a group, without a collision.
    pub successes: Vec<u64>,
    /// Accesses that ended in the interval in a collision.
    pub collisions: Vec<u64>,
    /// Accesses that ended in the interval in a failure without a collision.
    pub errors: Vec<u64>,
    /// Attempts that failed right after another attempt of the same frame had failed.
    pub repeated_failures: Vec<u64>,
    /// Attempts with DATA at a lower rate than the station's.
    pub slowed: Vec<u64>,
    /// Proportion of the interval that its accesses occupied, including failed ones.
    pub airtime_share: Vec<f64>,
    /// Time average of its queue length, including the frame in service.
    pub queue_packets: Vec<f64>,
    /// Largest queue length.
    pub queue_max_packets: Vec<u64>,
}

/// Losses for one reason per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LossSeries {
    /// "buffer full", "retry limit" ...
    pub reason: String,
    /// Lost frames.
    pub frames: Vec<u64>,
}

/// A wired port or the box per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceSeries {
    /// "box", "lan to the box", "internet down" ...
    pub place: String,
    /// Packets that arrived at it.
    pub offered_packets: Vec<u64>,
    /// Packets that were lost there, by reason.
    pub lost_packets: Vec<LossSeries>,
}

/// The medium per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MediumSeries {
    /// Proportion of the interval with frames, including the gaps within exchanges.
    pub busy_share: Vec<f64>,
    /// Proportion without a frame on the medium while a node had a frame to send.
    pub contending_share: Vec<f64>,
    /// Proportion of silence with nothing to send.
    pub idle_share: Vec<f64>,
    /// How often the medium became busy.
    pub transmissions: Vec<u64>,
    /// Of these, those with two or more simultaneous senders.
    pub collisions: Vec<u64>,
    /// Time average of the number of stations (not access points) with a frame to send.
    pub active_stations: Vec<f64>,
}

/// One sender on the medium in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeResult {
    /// "ap", or the name of the access point or of the station.
    pub node: String,
    /// Whether it is a named access point.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub access_point: bool,
    /// Frames that arrived at its buffer, including those that found it full.
    pub offered_frames: u64,
    /// Frames that it delivered.
    pub delivered_frames: u64,
    /// Frames that were lost there, by reason.
    pub lost_frames: Vec<DropCount>,
    /// Lost frames relative to those delivered or lost in the phase; absent without any.
    pub loss_rate: Option<f64>,
    /// Medium accesses and their outcomes.
    pub access: AccessResult,
    /// Proportion of the phase that its accesses occupied, including failed ones.
    pub airtime_share: f64,
    /// Time average of its queue length, including the frame in service.
    pub queue_mean_packets: f64,
    /// Largest queue length.
    pub queue_max_packets: u64,
    /// Time-weighted percentiles of its queue length, if counted.
    pub queue: Option<QueueLevels>,
    /// Sojourn time: from a frame's arrival in the buffer to its delivery.
    pub sojourn: Option<Distribution>,
    /// Results per access category, if there are any: "bk", "be", "vi", "vo".
    pub categories: Vec<CategoryResult>,
    /// PPDUs toward the station and from it, if nodes aggregate; empty for access points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ppdus: Vec<PpduResult>,
}

impl NodeResult {
    /// Whether this is an access point.
    pub fn is_access_point(&self) -> bool {
        self.access_point || self.node == "ap"
    }
}

/// One access category of one sender in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CategoryResult {
    /// "bk", "be", "vi" or "vo".
    pub category: String,
    /// Frames that arrived at its buffer, including those that found it full.
    pub offered_frames: u64,
    /// Frames that were delivered.
    pub delivered_frames: u64,
    /// Frames that were lost.
    pub lost_frames: u64,
    /// Lost frames relative to those delivered or lost in the phase; absent without any.
    pub loss_rate: Option<f64>,
    /// Time average of its queue length, including the frame in service.
    pub queue_mean_packets: f64,
    /// Largest queue length.
    pub queue_max_packets: u64,
    /// Sojourn time: from a frame's arrival in the buffer to its delivery.
    pub sojourn: Option<Distribution>,
}

/// Attempts at one PHY rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateUse {
    /// The rate.
    pub rate_mbps: f64,
    /// Its modulation and coding scheme and streams, of a mode of 802.11n or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// Attempts whose DATA was sent at it, or would have been after RTS and CTS.
    pub attempts: u64,
}

/// Number of streams, and modulation and coding scheme, of a mode of 802.11n or later, whatever its width and guard
/// interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scheme {
    /// Streams.
    pub streams: u8,
    /// Index of the modulation and coding scheme, not including the streams as in 802.11n.
    pub mcs: u8,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MCS {} x{}", self.mcs, self.streams)
    }
}

/// A PHY rate as a key of attempt counters; sorted by rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsedRate {
    /// The rate in b/s.
    pub bps: u64,
    /// Scheme of a mode; several modes may have the same rate.
    pub scheme: Option<Scheme>,
}

impl From<PhyRate> for UsedRate {
    fn from(rate: PhyRate) -> Self {
        let scheme = rate.mode().map(|mode| Scheme { streams: mode.streams(), mcs: mode.mcs() });
        Self { bps: rate.bit_rate().as_bps(), scheme }
    }
}

/// Queue lengths that were not exceeded for a proportion of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueLevels {
    /// For 50 % of the time.
    pub p50_packets: f64,
    /// For 90 % of the time.
    pub p90_packets: f64,
    /// For 99 % of the time.
    pub p99_packets: f64,
}

/// Medium accesses and their outcomes: of one sender, or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessResult {
    /// Accesses that began in the phase.
    pub attempts: u64,
    /// Accesses that ended in the phase: in delivery, a collision, or a failure without a collision.
    pub ended: u64,
    /// Those that collided.
    pub collisions: u64,
    /// Those that failed without a collision.
    pub errors: u64,
    /// Collisions relative to ended accesses; absent without any.
    pub collision_rate: Option<f64>,
    /// Failures of any cause relative to ended accesses; absent without any.
    pub failure_rate: Option<f64>,
    /// Failed accesses after which the frame was sent again.
    pub retries: u64,
    /// Frames given up at a retry limit.
    pub retry_drops: u64,
    /// Delivered frames by the number of attempts they took, from one on.
    pub frames_by_attempts: Vec<u64>,
    /// Mean number of attempts of a delivered frame; absent without any.
    pub attempts_per_frame: Option<f64>,
    /// Attempts that failed right after another attempt of the same frame had failed.
    pub repeated_failures: u64,
    /// Proportion of ended attempts that were repeated failures (back-to-back missing ACKs); absent without any.
    pub back_to_back_share: Option<f64>,
    /// Attempts with DATA at a lower rate than the station's.
    pub slowed: u64,
    /// Slowed attempts relative to all; absent without any.
    pub slowed_share: Option<f64>,
    /// Attempts by PHY rate, lowest first; empty if senders do not choose their rates.
    pub by_rate: Vec<RateUse>,
}

/// A wired port or the box in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlaceResult {
    /// "box", "lan to the box", "internet down" ...
    pub place: String,
    /// Packets that arrived at it.
    pub offered_packets: u64,
    /// Packets that were lost there, by reason.
    pub lost_packets: Vec<DropCount>,
    /// Lost packets relative to arrivals, at most 1, since some may have arrived before the phase. Absent without any.
    pub loss_rate: Option<f64>,
}

/// The medium in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MediumResult {
    /// Proportion of the phase with frames, including the gaps within exchanges.
    pub busy_share: f64,
    /// Proportion without a frame on the medium while a node had a frame to send.
    pub contending_share: f64,
    /// Proportion of silence with nothing to send.
    pub idle_share: f64,
    /// How often the medium became busy.
    pub transmissions: u64,
    /// Of these, those with two or more simultaneous senders.
    pub collisions: u64,
    /// Accesses of all senders.
    pub access: AccessResult,
    /// Mean number of stations (not access points) with a frame to send.
    pub active_stations: f64,
}
