//! The status of a box: the manager's part ([`evenair_view::status`]) and what only the box knows.

use evenair_api::{Mode, Status};
use evenair_live::Snapshot;

use super::telemetry;
use crate::names::Names;

/// The status of a snapshot; `names`: names of stations besides those that they give themselves.
pub(crate) fn status_of(snapshot: &Snapshot, names: &Names) -> Status {
    let (packets, report) = (snapshot.packets(), &snapshot.report);
    let sources: Vec<_> = snapshot.telemetry.iter().map(|source| source.name.as_str()).collect();
    let mut managed = evenair_view::status(report, snapshot.now, &sources);
    for (station, report) in managed.stations.iter_mut().zip(&report.stations) {
        station.name = names.of(report.mac, report.name.as_deref());
    }
    Status {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::snapshot;

    #[test]
    fn copies_are_the_managers_and_only_an_observer_says_so() {
        let mut snapshot = snapshot();
        snapshot.copied = (30, 30);
        let mode = |snapshot: &Snapshot| status_of(snapshot, &Names::default()).mode;
        assert_eq!(mode(&snapshot), Mode::Bypassed, "the guard compares");
        snapshot.observing = true;
        assert_eq!(mode(&snapshot), Mode::Observing);
    }
}
