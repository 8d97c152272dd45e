//! Traffic in the status: stations, flows, classes.

use evenair_manager::{ClassReport, FlowReport, StationReport};
use evenair_packet::FlowKey;
use evenair_telemetry::Health;
use evenair_units::Instant;
use serde::{Deserialize, Serialize};

use super::super::domains;
use super::super::telemetry::{self, StationToldStatus};
use super::milliseconds;

/// A class, with all below it. Totals are of all time since there was a class of this name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassStatus {
    /// Its name; "other" for what is in none.
    pub name: String,
    /// The name of the class that it is a part of.
    pub parent: Option<String>,
    /// Packets held.
    pub held: u32,
    /// IP-level bytes held.
    pub held_bytes: u64,
    /// It has had what its ceiling allows, and waits.
    pub at_ceiling: bool,
    /// IP-level bytes released toward the WLAN.
    pub released_bytes: u64,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan_bytes: u64,
    /// Charged airtime: seconds of medium time that what was released took, and what that caused. An estimate.
    #[serde(alias = "airtime_s")]
    pub charged_airtime_s: f64,
    /// Packets dropped.
    pub dropped: u64,
}

/// One station.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StationStatus {
    /// MAC address.
    pub mac: String,
    /// Its access point, by the name in the configuration or else as reported.
    #[serde(default)]
    pub access_point: Option<String>,
    /// PHY rate assumed of it.
    pub rate_mbps: f64,
    /// The rate was reported, or set by the operator. Otherwise it is the default, and the real rate is unknown.
    #[serde(default)]
    pub rate_reported: bool,
    /// Its C_i: IP-level TCP capacity of the medium at that rate.
    pub capacity_mbps: f64,
    /// Weight.
    pub weight: u32,
    /// Learned from traffic, not configured.
    pub learned: bool,
    /// Charged airtime in both directions: seconds of medium time that packets to it and from it took. An estimate, by the
    /// rate assumed of it.
    #[serde(alias = "airtime_s")]
    pub charged_airtime_s: f64,
    /// Of it, what is charged for packets to it.
    #[serde(default)]
    pub charged_airtime_down_s: f64,
    /// Of it, what is charged for packets from it.
    #[serde(default, alias = "airtime_up_s")]
    pub charged_airtime_up_s: f64,
    /// IP addresses that it was seen to use, the last one first; eight at most.
    pub addresses: Vec<String>,
    /// What it calls itself (DHCP).
    #[serde(default)]
    pub name: Option<String>,
    /// Its MAC address is a made-up one.
    pub random_mac: bool,
    /// IP-level bytes released toward it, and that came from it.
    pub to_station_bytes: u64,
    /// The same, from it.
    pub from_station_bytes: u64,
    /// It takes more than its share of the medium, and cannot be held back.
    pub over_share: bool,
    /// Its telemetry, if valid.
    #[serde(default)]
    pub told: Option<StationToldStatus>,
}

/// One flow: a TCP connection, or packets of one protocol between two addresses and ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowStatus {
    /// One end, as `address:port`.
    pub low: String,
    /// The other end.
    pub high: String,
    /// VLAN, by the outermost tag.
    pub vlan: Option<u16>,
    /// The VLAN inside it, where there are two tags.
    #[serde(default)]
    pub inner_vlan: Option<u16>,
    /// The station's MAC address.
    pub station: String,
    /// "up" (from the station) or "down".
    pub direction: String,
    /// DATA segments an ACK covers, d.
    pub d: f64,
    /// IP-level bytes released toward the WLAN.
    pub released_bytes: u64,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan_bytes: u64,
    /// Round trip over the WLAN alone, smoothed, in milliseconds, where it was seen.
    #[serde(default)]
    pub wlan_rtt_ms: Option<f64>,
    /// The shortest one.
    #[serde(default)]
    pub wlan_rtt_least_ms: Option<f64>,
    /// Seconds of medium time that its releases were charged for, or would have been where nothing was held.
    #[serde(default)]
    pub charged_s: f64,
    /// TCP segments of data that came again: from the wire.
    #[serde(default)]
    pub resent_down: u64,
    /// The same, from the WLAN.
    #[serde(default)]
    pub resent_up: u64,
    /// Packets held.
    pub backlog_packets: u32,
    /// Packets dropped.
    pub dropped: u64,
}

pub(super) fn class(report: &ClassReport, all: &[ClassReport]) -> ClassStatus {
    let parent = report.parent.and_then(|parent| all.get(usize::from(parent.0)));
    ClassStatus {
        name: report.name.clone(),
        parent: parent.map(|parent| parent.name.clone()),
        held: report.held,
        held_bytes: report.held_bytes.0,
        at_ceiling: report.at_ceiling,
        released_bytes: report.released.0,
        from_wlan_bytes: report.from_wlan.0,
        charged_airtime_s: report.airtime.as_secs_f64(),
        dropped: report.dropped,
    }
}

pub(super) fn station(report: &StationReport, now: Instant, sources: &[Health]) -> StationStatus {
    StationStatus {
        mac: report.mac.to_string(),
        access_point: report.access_point.map(domains::text).or(report.told_at.map(domains::place)),
        rate_mbps: report.rate.bit_rate().as_mbps_f64(),
        rate_reported: report.rate_reported,
        capacity_mbps: report.capacity.as_mbps_f64(),
        weight: report.weight,
        learned: report.learned,
        charged_airtime_s: report.airtime.as_secs_f64(),
        charged_airtime_down_s: report.airtime.saturating_sub(report.airtime_up).as_secs_f64(),
        charged_airtime_up_s: report.airtime_up.as_secs_f64(),
        addresses: report.addresses.iter().map(ToString::to_string).collect(),
        name: report.name.clone(),
        random_mac: report.random_mac,
        to_station_bytes: report.to_station.0,
        from_station_bytes: report.from_station.0,
        over_share: report.over_share,
        told: report.told.map(|told| telemetry::station(&told, now, sources)),
    }
}

pub(super) fn flow(report: &FlowReport) -> FlowStatus {
    let end = |(address, port)| std::net::SocketAddr::new(address, port).to_string();
    FlowStatus {
        low: end(FlowKey::low(&report.key)),
        high: end(FlowKey::high(&report.key)),
        vlan: report.vlan.map(|vlan| vlan.id),
        inner_vlan: report.vlan.and_then(|vlan| vlan.inner),
        station: report.station.to_string(),
        direction: match report.direction {
            evenair_manager::Direction::Up => "up".into(),
            evenair_manager::Direction::Down => "down".into(),
        },
        d: f64::from(report.d_milli) / 1000.0,
        released_bytes: report.released.0,
        from_wlan_bytes: report.from_wlan.0,
        wlan_rtt_ms: report.wlan_rtt.map(milliseconds),
        wlan_rtt_least_ms: report.wlan_rtt_least.map(milliseconds),
        charged_s: report.charged.as_secs_f64(),
        resent_down: report.resent_down,
        resent_up: report.resent_up,
        backlog_packets: report.backlog_packets,
        dropped: report.dropped,
    }
}
