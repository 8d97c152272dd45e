//! The status of a box.

mod limits;
mod machinery;
mod packets;
mod snapshot;
mod traffic;

use evenair_api::HopResult;
use evenair_manager::{Mode, Report};
use evenair_units::{BitRate, Span};
use serde::{Deserialize, Serialize};

use super::calls::CallStatus;
use super::domains::{DomainStatus, GuardStatus};
use super::shards::ShardStatus;
use super::telemetry::{self, SourceStatus, ToldStatus};
use crate::fail_open::FailOpenStatus;
use crate::kinds::Kinds;

pub(super) use limits::receiver_status;
pub use limits::{ReceiverStatus, UplinkStatus};
pub use machinery::{HoldStatus, PacingStatus, PoolStatus, PortStatus, RecordingStatus};
pub use packets::PacketStatus;
pub(crate) use snapshot::Snapshot;
#[cfg(test)]
pub(crate) use snapshot::tests_support;
pub use traffic::{ClassStatus, FlowStatus, StationStatus};
use traffic::{class, flow, station};

/// The state of a box. Counts are of packets since the box started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// "bypassed", "observing", "inserted" or "draining".
    pub mode: String,
    /// Who carries the traffic: "bridge", "box", "releasing" between the two, or "nobody", if the bridge should but cannot.
    pub carrier: String,
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
    /// The results of their reports.
    #[serde(default)]
    pub told: ToldStatus,
    /// Stations: of very many the 4096 with the most medium time.
    pub stations: Vec<StationStatus>,
    /// Stations that are known, be they in the list or not.
    #[serde(default)]
    pub stations_known: usize,
    /// Flows, of TCP and of other protocols: the 1000 most recently used, the latest one first. A list of all would take time
    /// in proportion to their number, in which no packet moves.
    pub flows: Vec<FlowStatus>,
}

impl From<Snapshot> for Status {
    fn from(snapshot: Snapshot) -> Self {
        let packets = snapshot.packets();
        let telemetry = snapshot.telemetry;
        let Report {
            mode,
            service_rate,
            capacity,
            stations,
            stations_known,
            flows,
            hops,
            calls,
            receiver,
            uplink,
            classes,
            domains,
            told,
            guard,
            ..
        } = snapshot.report;
        Self {
            mode: if snapshot.observing { OBSERVING } else { mode_word(mode) }.into(),
            carrier: snapshot.carrier.into(),
            fail_open: snapshot.fail_open,
            guard: GuardStatus::new(&guard, snapshot.now),
            uptime_s: snapshot.uptime_s,
            service_rate_mbps: BitRate::as_mbps_f64(service_rate),
            capacity_mbps: BitRate::as_mbps_f64(capacity),
            packets,
            kinds: snapshot.kinds,
            wlan: snapshot.wlan,
            wire: snapshot.wire,
            pool: snapshot.pool,
            shards: snapshot.shards,
            hold: snapshot.hold,
            pacing: snapshot.pacing,
            recording: snapshot.recording,
            uplink_limit: uplink.map(UplinkStatus::from),
            hops: hops.iter().map(|hop| HopResult::new(hop.hop, &hop.total)).collect(),
            calls: calls.iter().map(|call| CallStatus::new(call, snapshot.now)).collect(),
            receiver: receiver.as_ref().map(receiver_status),
            classes: classes.iter().map(|report| class(report, &classes)).collect(),
            domains: domains.iter().map(DomainStatus::from).collect(),
            telemetry: telemetry.iter().map(telemetry::source).collect(),
            told: told.into(),
            stations: stations.iter().map(|report| station(report, snapshot.now, &telemetry)).collect(),
            stations_known,
            flows: flows.iter().map(flow).collect(),
        }
    }
}

/// The word for watching what the bridge carries.
pub(crate) const OBSERVING: &str = "observing";

/// The word for a mode.
pub(crate) fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Bypassed => "bypassed",
        Mode::Inserted => "inserted",
        Mode::Draining => "draining",
    }
}

pub(super) fn milliseconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}
