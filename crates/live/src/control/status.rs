//! The status of a box: the manager's part ([`evenair_view::status`]) and what only the box knows.

mod packets;
mod snapshot;

use evenair_api::{Mode, Status};

use super::telemetry;

pub(crate) use packets::log_balance;
pub(crate) use snapshot::Snapshot;
#[cfg(test)]
pub(crate) use snapshot::tests_support;

impl From<Snapshot> for Status {
    fn from(snapshot: Snapshot) -> Self {
        Self::from(&snapshot)
    }
}

impl From<&Snapshot> for Status {
    fn from(snapshot: &Snapshot) -> Self {
        let (packets, report) = (snapshot.packets(), &snapshot.report);
        let sources: Vec<_> = snapshot.telemetry.iter().map(|source| source.name.as_str()).collect();
        let mut managed = evenair_view::status(report, snapshot.now, &sources);
        for (station, report) in managed.stations.iter_mut().zip(&report.stations) {
            station.name = snapshot.names.of(report.mac, report.name.as_deref());
        }
        Self {
            mode: if snapshot.observing { Mode::Observing } else { managed.mode },
            carrier: snapshot.carrier,
            fail_open: snapshot.fail_open.clone(),
            uptime_s: snapshot.uptime_s,
            packets,
            kinds: snapshot.kinds,
            telemetry: snapshot.telemetry.iter().map(telemetry::source).collect(),
            wlan: snapshot.wlan.clone(),
            wire: snapshot.wire.clone(),
            pool: snapshot.pool,
            shards: snapshot.shards.clone(),
            hold: snapshot.hold,
            pacing: snapshot.pacing,
            recording: snapshot.recording.clone(),
            ..managed
        }
    }
}
