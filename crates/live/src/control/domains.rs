//! What a box tells of its media.

use evenair_manager::{DomainReport, GuardStep, Label, Place};
use evenair_units::BitRate;
use serde::{Deserialize, Serialize};

use super::status::{ReceiverStatus, UplinkStatus, receiver_status};

/// A contention domain: one medium.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DomainStatus {
    /// Its name: "default", or what the configuration calls it.
    pub name: String,
    /// The access points that the configuration puts there; of a learned one, the BSSIDs that stations are told to be at.
    pub access_points: Vec<String>,
    /// It is not in the configuration: it was learned from channels that sources tell.
    #[serde(default)]
    pub learned: bool,
    /// Stations that are known there.
    pub stations: usize,
    /// Stations that came to it from another one, since it was configured.
    pub roamed: u64,
    /// Service rate C: IP-level megabits of DATA and ACKs per second.
    pub service_rate_mbps: f64,
    /// Capacity C* of its active stations, by the formula.
    pub capacity_mbps: f64,
    /// IP-level megabits of flows seen to cross it per second, in the last interval of the controller.
    pub throughput_mbps: f64,
    /// Packets that wait for it.
    pub held: u64,
    /// How long those waited that left in the last interval: 95 of 100 no longer than this.
    pub wait_p95_ms: f64,
    /// Control at the receiver, where that is asked for; what it holds is counted for all media together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<ReceiverStatus>,
    /// The limit on uploads, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<UplinkStatus>,
}

/// A name as text. Most are; what is none is shown with escapes.
pub(super) fn text(name: Label) -> String {
    std::str::from_utf8(name.as_bytes()).map_or_else(|_| name.to_string(), str::to_owned)
}

pub(super) fn place(place: Place) -> String {
    match place {
        Place::Named(name) => text(name),
        Place::Radio(_) | Place::Tuned { .. } => place.to_string(),
    }
}

impl From<&DomainReport> for DomainStatus {
    fn from(report: &DomainReport) -> Self {
        Self {
            name: text(report.name),
            access_points: report.access_points.iter().map(|&name| text(name)).collect(),
            learned: report.learned,
            stations: report.stations,
            roamed: report.roamed,
            service_rate_mbps: report.service_rate.as_mbps_f64(),
            capacity_mbps: report.capacity.as_mbps_f64(),
            throughput_mbps: report.throughput.as_mbps_f64(),
            held: report.hop.held,
            wait_p95_ms: report.hop.recent.p95.as_nanos() as f64 / 1e6,
            receiver: report.receiver.as_ref().map(receiver_status),
            uplink: report.uplink.map(UplinkStatus::from),
        }
    }
}

/// What the guard against harm did, in words.
pub(crate) fn guard_text(step: GuardStep, before: BitRate, held: BitRate) -> String {
    let carried =
        format!("{:.1} Mb/s are carried while packets wait, {:.1} before", held.as_mbps_f64(), before.as_mbps_f64());
    match step {
        GuardStep::Loosened => format!("{carried}: twice as much may be in the access point for now"),
        GuardStep::Opened => format!("{carried}: nothing is held for a few seconds, to see whether more is carried"),
        GuardStep::Restored => format!("{carried}, and no more when less was held: the box is not the cause"),
        GuardStep::Bypassed => {
            format!(
                "{carried}, and much more without holding: the box bypasses itself; evenair insert takes the traffic up again"
            )
        }
    }
}
