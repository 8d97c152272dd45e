//! The manager's part of a box's status.

use evenair_api::{PacketStatus, Status};
use evenair_manager::{Counters, Report};
use evenair_units::{BitRate, Instant};

use crate::calls::call;
use crate::domains::{domain, guard};
use crate::limits::{receiver_status, uplink_status};
use crate::traffic::{class, flow, station};
use crate::{hop_result, mode, reports};

/// The manager's part of a status. `sources`: names of the telemetry sources, by number. Station names are those from DHCP.
/// What only a driver knows (ports, pool, fail-open, uptime) keeps its default.
pub fn status(report: &Report, now: Instant, sources: &[&str]) -> Status {
    Status {
        version: evenair_api::VERSION,
        mode: mode(report.mode),
        guard: guard(&report.guard, now),
        service_rate_mbps: BitRate::as_mbps_f64(report.service_rate),
        capacity_mbps: BitRate::as_mbps_f64(report.capacity),
        packets: packets(&report.counters),
        uplink_limit: report.uplink.map(uplink_status),
        hops: report.hops.iter().map(|hop| hop_result(hop.hop, &hop.total)).collect(),
        calls: report.calls.iter().map(|report| call(report, now)).collect(),
        calls_watched: report.calls_watched,
        receiver: report.receiver.as_ref().map(receiver_status),
        classes: report.classes.iter().map(|class_report| class(class_report, &report.classes)).collect(),
        domains: report.domains.iter().map(domain).collect(),
        rate_reports: reports::counts(report.rate_reports),
        stations: report.stations.iter().map(|report| station(report, now, sources)).collect(),
        stations_known: report.stations_known,
        flows: report.flows.iter().map(flow).collect(),
        ..Status::default()
    }
}

/// The manager's part of the packet balance.
pub fn packets(counters: &Counters) -> PacketStatus {
    PacketStatus {
        received: counters.received,
        released: counters.released,
        drops: counters.drops,
        counted: counters.counted,
        received_bytes: counters.received_bytes,
        unread_bytes: counters.unread_bytes,
        held: counters.held,
        probe_answers: counters.probe_answers,
        ..PacketStatus::default()
    }
}
