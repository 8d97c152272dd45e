//! Results of the air: by sender, by interval and by phase; and losses by site.
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
    /// It is an access point with a name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub access_point: bool,
    /// Frames that came to its buffer, those included that found no room.
    pub offered_frames: Vec<u64>,
    /// Frames that it delivered.
    pub delivered_frames: Vec<u64>,
    /// Frames that were lost there, by reason.
    pub lost_frames: Vec<LossSeries>,
    /// Accesses to the medium, which began in the interval.
    pub attempts: Vec<u64>,
    /// Those that ended in the interval and delivered: with an answer, or, to a group, without a collision.
    pub successes: Vec<u64>,
    /// Those that ended in the interval in a collision.
    pub collisions: Vec<u64>,
    /// Those that ended in the interval, failed without a collision.
    pub errors: Vec<u64>,
    /// Attempts that failed right after another attempt of the same frame had failed.
    pub repeated_failures: Vec<u64>,
    /// Attempts with DATA at a lower rate than the station's.
    pub slowed: Vec<u64>,
    /// Part of the interval that its accesses took, failed ones included.
    pub airtime_share: Vec<f64>,
    /// Time average of its queue, the frame in service included.
    pub queue_packets: Vec<f64>,
    /// The most that its queue held.
    pub queue_max_packets: Vec<u64>,
}

/// Losses for one reason per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LossSeries {
    /// "buffer full", "retry limit" ...
    pub reason: String,
    /// How many.
    pub frames: Vec<u64>,
}

/// A wired port or the box per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceSeries {
    /// "box", "lan to the box", "internet down" ...
    pub place: String,
    /// Packets that came to it.
    pub offered_packets: Vec<u64>,
    /// Packets that were lost there, by reason.
    pub lost_packets: Vec<LossSeries>,
}

/// The medium per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MediumSeries {
    /// Part of the interval with frames, and the gaps inside of exchanges.
    pub busy_share: Vec<f64>,
    /// Part without a frame on the medium, while a node had a frame to send.
    pub contending_share: Vec<f64>,
    /// Part in silence with nothing to send.
    pub idle_share: Vec<f64>,
    /// Times that it became busy.
    pub transmissions: Vec<u64>,
    /// Those in which two or more sent at once.
    pub collisions: Vec<u64>,
    /// Time average of the stations (the access point left out) that had a frame to send.
    pub active_stations: Vec<f64>,
}

/// One sender on the medium in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeResult {
    /// "ap", or the name of the access point or of the station.
    pub node: String,
    /// It is an access point with a name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub access_point: bool,
    /// Frames that came to its buffer, those included that found no room.
    pub offered_frames: u64,
    /// Frames that it delivered.
    pub delivered_frames: u64,
    /// Frames that were lost there, by reason.
    pub lost_frames: Vec<DropCount>,
    /// Lost of those delivered or lost in the phase; absent where there are none.
    pub loss_rate: Option<f64>,
    /// Accesses to the medium and what became of them.
    pub access: AccessResult,
    /// Part of the phase that its accesses took, failed ones included.
    pub airtime_share: f64,
    /// Time average of its queue, the frame in service included.
    pub queue_mean_packets: f64,
    /// The most that its queue held.
    pub queue_max_packets: u64,
    /// Time-weighted percentiles of its queue, where they were counted.
    pub queue: Option<QueueLevels>,
    /// From a frame's arrival in the buffer to its delivery.
    pub sojourn: Option<Distribution>,
    /// Each access category by itself, where there are any: "bk", "be", "vi", "vo".
    pub categories: Vec<CategoryResult>,
    /// PPDUs toward the station and from it, where nodes aggregate; empty of access points.
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
    /// Frames that came to its buffer, those included that found no room.
    pub offered_frames: u64,
    /// Frames that were delivered.
    pub delivered_frames: u64,
    /// Frames that were lost.
    pub lost_frames: u64,
    /// Lost of those delivered or lost in the phase; absent where there are none.
    pub loss_rate: Option<f64>,
    /// Time average of its queue, the frame in service included.
    pub queue_mean_packets: f64,
    /// The most that its queue held.
    pub queue_max_packets: u64,
    /// From a frame's arrival in the buffer to its delivery.
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
    /// Attempts whose DATA were sent at it, or would have been after RTS and CTS.
    pub attempts: u64,
}

/// Number of streams, and modulation and coding scheme of each, of a mode of 802.11n or later, in whatever width and with
/// whatever guard interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scheme {
    /// Streams.
    pub streams: u8,
    /// Index of the modulation and coding scheme, without the streams that 802.11n counts in.
    pub mcs: u8,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MCS {} x{}", self.mcs, self.streams)
    }
}

/// A PHY rate as attempts are counted by it, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsedRate {
    /// The rate in b/s.
    pub bps: u64,
    /// Several modes may have it.
    pub scheme: Option<Scheme>,
}

impl From<PhyRate> for UsedRate {
    fn from(rate: PhyRate) -> Self {
        let scheme = rate.mode().map(|mode| Scheme { streams: mode.streams(), mcs: mode.mcs() });
        Self { bps: rate.bit_rate().as_bps(), scheme }
    }
}

/// Levels that a queue did not exceed for a part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueLevels {
    /// For half of the time.
    pub p50_packets: f64,
    /// For 90 % of it.
    pub p90_packets: f64,
    /// For 99 % of it.
    pub p99_packets: f64,
}

/// Accesses to the medium and what became of them: of one sender, or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessResult {
    /// Accesses, which began in the phase.
    pub attempts: u64,
    /// Accesses that ended in the phase: they delivered, collided or failed without a collision.
    pub ended: u64,
    /// Those that collided.
    pub collisions: u64,
    /// Those that failed without a collision.
    pub errors: u64,
    /// Collided of those that ended; absent without any.
    pub collision_rate: Option<f64>,
    /// Failed of those that ended, for any cause; absent without any.
    pub failure_rate: Option<f64>,
    /// Failed ones after which the frame was sent again.
    pub retries: u64,
    /// Frames given up at a retry limit.
    pub retry_drops: u64,
    /// Delivered frames by the number of attempts they took, from one on.
    pub frames_by_attempts: Vec<u64>,
    /// Mean number of attempts of a delivered frame; absent without any.
    pub attempts_per_frame: Option<f64>,
    /// Attempts that failed right after another attempt of the same frame had failed.
    pub repeated_failures: u64,
    /// Back-to-back missing ACKs: repeated failures of attempts that ended; absent without any.
    pub back_to_back_share: Option<f64>,
    /// Attempts with DATA at a lower rate than the station's.
    pub slowed: u64,
    /// Slowed attempts of all; absent without any.
    pub slowed_share: Option<f64>,
    /// By PHY rate, lowest first; empty where senders do not choose their rates.
    pub by_rate: Vec<RateUse>,
}

/// A wired port or the box in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlaceResult {
    /// "box", "lan to the box", "internet down" ...
    pub place: String,
    /// Packets that came to it.
    pub offered_packets: u64,
    /// Packets that were lost there, by reason.
    pub lost_packets: Vec<DropCount>,
    /// Lost of offered, at most 1: some may have come before the phase. Absent where there are none.
    pub loss_rate: Option<f64>,
}

/// The medium in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MediumResult {
    /// Part of the phase with frames, and the gaps inside of exchanges.
    pub busy_share: f64,
    /// Part without a frame on the medium, while a node had a frame to send.
    pub contending_share: f64,
    /// Part in silence with nothing to send.
    pub idle_share: f64,
    /// Times that it became busy.
    pub transmissions: u64,
    /// Those in which two or more sent at once.
    pub collisions: u64,
    /// Accesses of all senders.
    pub access: AccessResult,
    /// Mean number of stations (the access point left out) that had a frame to send.
    pub active_stations: f64,
}
