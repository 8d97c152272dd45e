//! The status of a box.

mod limits;
mod packets;
mod snapshot;
mod traffic;

use evenair_api::{Mode, StationStatus, Status};
use evenair_manager::Report;
use evenair_units::{BitRate, Span};

use super::calls::call;
use super::telemetry;

pub(super) use limits::{receiver_status, uplink_status};
pub(crate) use packets::log_balance;
pub(crate) use snapshot::Snapshot;
#[cfg(test)]
pub(crate) use snapshot::tests_support;
use traffic::{class, flow, station};

impl From<Snapshot> for Status {
    fn from(snapshot: Snapshot) -> Self {
        let packets = snapshot.packets();
        let (sources, names, now) = (snapshot.telemetry, snapshot.names, snapshot.now);
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
            rate_reports,
            guard,
            ..
        } = snapshot.report;
        Self {
            version: evenair_api::VERSION,
            mode: if snapshot.observing { Mode::Observing } else { evenair_view::mode(mode) },
            carrier: snapshot.carrier,
            run: None,
            health: None,
            fail_open: snapshot.fail_open,
            guard: super::domains::guard(&guard, snapshot.now),
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
            uplink_limit: uplink.map(uplink_status),
            hops: hops.iter().map(|hop| evenair_view::hop_result(hop.hop, &hop.total)).collect(),
            calls: calls.iter().map(|report| call(report, snapshot.now)).collect(),
            receiver: receiver.as_ref().map(receiver_status),
            classes: classes.iter().map(|report| class(report, &classes)).collect(),
            domains: domains.iter().map(super::domains::domain).collect(),
            telemetry: sources.iter().map(telemetry::source).collect(),
            rate_reports: telemetry::counts(rate_reports),
            stations: stations
                .iter()
                .map(|report| StationStatus {
                    name: names.of(report.mac, report.name.as_deref()),
                    ..station(report, now, &sources)
                })
                .collect(),
            stations_known,
            flows: flows.iter().map(flow).collect(),
        }
    }
}

pub(super) fn milliseconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}
