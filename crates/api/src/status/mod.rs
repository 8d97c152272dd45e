//! The status of a box.

mod calls;
mod domains;
mod machinery;
mod packets;
mod run;
mod stations;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::health::reason::HealthStatus;
use crate::{Carrier, HopResult, Kinds, Mode};

pub use self::calls::*;
pub use self::domains::*;
pub use self::machinery::*;
pub use self::packets::*;
pub use self::run::*;
pub use self::stations::*;

/// The state of a box. Counts are of packets since the box started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Version of the contract that the box keeps ([`VERSION`](crate::VERSION)); 0: one from before it had versions.
    #[serde(default)]
    pub version: u32,
    /// What the box does with the traffic.
    pub mode: Mode,
    /// Who carries the traffic.
    pub carrier: Carrier,
    /// How the box came to its mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunStatus>,
    /// What is wrong, as in the watch feed; absent if the box has no watch socket, and in its first second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthStatus>,
    /// Whether the bridge can carry the traffic.
    #[serde(default)]
    pub fail_open: FailOpenStatus,
    /// The guard against harm: whether the bypass, if there is one, is its doing.
    #[serde(default)]
    pub guard: GuardStatus,
    /// Seconds since the box started.
    pub uptime_s: f64,
    /// Service rate C: IP-level megabits of DATA and ACKs over the WLAN per second.
    pub service_rate_mbps: f64,
    /// Capacity C* of the active stations, by the formula.
    pub capacity_mbps: f64,
    /// What became of every packet.
    pub packets: PacketStatus,
    /// Packets received, by kind.
    #[serde(default)]
    pub kinds: Kinds,
    /// The side of the access points.
    pub wlan: PortStatus,
    /// The wired side.
    pub wire: PortStatus,
    /// Memory for packets.
    pub pool: PoolStatus,
    /// The packet loops, where there are several; what is said elsewhere is of all together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ShardStatus>,
    /// The fail-open lease.
    pub hold: HoldStatus,
    /// How punctual the loop is.
    pub pacing: PacingStatus,
    /// The recording, where there is one.
    pub recording: Option<RecordingStatus>,
    /// How long packets have waited here for the WLAN, and for the Internet link where the box serves it.
    #[serde(default)]
    pub hops: Vec<HopResult>,
    /// Calls that go on.
    #[serde(default)]
    pub calls: Vec<CallStatus>,
    /// Whether the box looks for calls: with `[manager.voice]`.
    #[serde(default)]
    pub calls_watched: bool,
    /// Control at the receiver, where there is one.
    #[serde(default)]
    pub receiver: Option<ReceiverStatus>,
    /// The upload limiter, if there is one.
    #[serde(default)]
    pub uplink_limit: Option<UplinkStatus>,
    /// The operator's classes, and last what is in none of them; empty where there are none.
    #[serde(default)]
    pub classes: Vec<ClassStatus>,
    /// Each medium; the first one is that of stations that are not known to be elsewhere. Service rate and capacity above
    /// are those of all together.
    #[serde(default)]
    pub domains: Vec<DomainStatus>,
    /// Telemetry sources: access points and controllers that the box polls for stations and rates.
    #[serde(default)]
    pub telemetry: Vec<SourceStatus>,
    /// The number of their reports about stations, by result.
    #[serde(default, alias = "told")]
    pub rate_reports: ReportCountsStatus,
    /// Stations: of very many the 4096 with the most medium time.
    pub stations: Vec<StationStatus>,
    /// Stations that are known, be they in the list or not.
    #[serde(default)]
    pub stations_known: usize,
    /// Flows, of TCP and of other protocols: the 1000 most recently used, the latest one first. A list of all would take time
    /// in proportion to their number, in which no packet moves.
    pub flows: Vec<FlowStatus>,
}

impl Status {
    /// Name of a station's contention domain: that of its access point, or else the first one; empty if there is none.
    pub fn domain_of(&self, station: &StationStatus) -> &str {
        let of_point = |point: &String| self.domains.iter().find(|domain| domain.access_points.contains(point));
        let domain = station.access_point.as_ref().and_then(of_point).or(self.domains.first());
        domain.map_or("", |domain| &domain.name)
    }
}
