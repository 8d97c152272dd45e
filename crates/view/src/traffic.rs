//! Traffic in the status: stations, flows, classes.

use evenair_api::{ClassStatus, Direction, FlowStatus, RateSource, StationStatus};
use evenair_manager::{ClassReport, FlowReport, StationReport};
use evenair_packet::FlowKey;
use evenair_units::Instant;

use crate::domains::{label_text, place};
use crate::milliseconds;
use crate::reports::reported_rate;

pub(crate) fn class(report: &ClassReport, all: &[ClassReport]) -> ClassStatus {
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

/// A station, by the name from DHCP; `sources`: names of the telemetry sources.
pub(crate) fn station(report: &StationReport, now: Instant, sources: &[&str]) -> StationStatus {
    let rate_source = match report.rate_source {
        evenair_manager::RateSource::Reported => RateSource::Reported,
        evenair_manager::RateSource::Inferred => RateSource::Inferred,
        evenair_manager::RateSource::Unknown => RateSource::Unknown,
    };
    StationStatus {
        mac: report.mac.to_string(),
        access_point: report.access_point.map(label_text).or(report.reported_place.map(place)),
        rate_mbps: (rate_source != RateSource::Unknown).then(|| report.rate.bit_rate().as_mbps_f64()),
        rate_source,
        capacity_mbps: (rate_source != RateSource::Unknown).then(|| report.capacity.as_mbps_f64()),
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
        counted: report.counted,
        reported: report.reported.map(|reported| reported_rate(&reported, now, sources)),
    }
}

pub(crate) fn flow(report: &FlowReport) -> FlowStatus {
    let end = |(address, port)| std::net::SocketAddr::new(address, port).to_string();
    FlowStatus {
        low: end(FlowKey::low(&report.key)),
        high: end(FlowKey::high(&report.key)),
        vlan: report.vlan.map(|vlan| vlan.id),
        inner_vlan: report.vlan.and_then(|vlan| vlan.inner),
        station: report.station.to_string(),
        direction: match report.direction {
            evenair_manager::Direction::Up => Direction::Up,
            evenair_manager::Direction::Down => Direction::Down,
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
