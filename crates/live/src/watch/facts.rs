//! Facts for the health of a box that no line of the feed has.

use evenair_api::Status;
use evenair_api::health::{Counters, Facts, SetAside, Source};

use crate::vitals::Vitals;

/// The facts of a second.
pub(super) fn facts(status: &Status, vitals: &Vitals) -> Facts {
    Facts {
        fail_open_why: status.fail_open.why.clone(),
        guard: status.guard.clone(),
        is_insert_commanded: vitals.running().is_insert_commanded(),
        restarted_s: vitals.running().restarted_s(),
        counters: counters(status),
        telemetry: sources(status),
        set_aside: set_aside(status),
        is_history_failing: vitals.is_history_failing(),
    }
}

fn counters(status: &Status) -> Counters {
    let packets = &status.packets;
    Counters {
        received_bytes: packets.received_bytes,
        unread_bytes: packets.unread_bytes,
        losses: packets.losses,
        lapses: status.hold.lapses,
        addresses_contested: packets.addresses_contested,
        calls_refused: packets.calls_refused,
    }
}

fn sources(status: &Status) -> Vec<Source> {
    let source = |source: &evenair_api::SourceStatus| Source {
        name: source.name.clone(),
        silent_s: source.age_s.unwrap_or(status.uptime_s),
        interval_s: source.interval_s,
        error: source.error.clone(),
    };
    status.telemetry.iter().map(source).collect()
}

fn set_aside(status: &Status) -> Vec<SetAside> {
    let stations = status.stations.iter().filter_map(|station| Some((station, station.reported.as_ref()?)));
    let set_aside = stations.filter(|(_, reported)| reported.set_aside).map(|(station, reported)| SetAside {
        station: station.name.clone().unwrap_or_else(|| station.mac.clone()),
        rate_mbps: reported.transmit_mbps,
        source: reported.source.clone(),
    });
    set_aside.collect()
}

#[cfg(test)]
mod tests {
    use evenair_api::{ModeCommand, SourceStatus, StationReportStatus, StationStatus};

    use super::*;

    #[test]
    fn facts_are_those_of_the_status() {
        let reported = |set_aside| StationReportStatus { set_aside, transmit_mbps: Some(54.0), ..Default::default() };
        let station = |mac: &str, set_aside| StationStatus {
            mac: mac.into(),
            reported: Some(reported(set_aside)),
            ..StationStatus::default()
        };
        let mut status = Status { uptime_s: 70.0, ..Status::default() };
        status.stations = vec![station("a", false), station("b", true), StationStatus::default()];
        status.telemetry = vec![SourceStatus { interval_s: 10.0, ..SourceStatus::default() }];
        let vitals = Vitals::default();
        vitals.set_history_failing(true);
        vitals.running().command(ModeCommand::Insert);
        let facts = facts(&status, &vitals);
        assert_eq!((facts.set_aside.len(), facts.set_aside[0].station.as_str()), (1, "b"));
        assert_eq!((facts.telemetry[0].silent_s, facts.telemetry[0].interval_s), (70.0, 10.0), "it never answered");
        assert!(facts.is_history_failing && facts.is_insert_commanded && facts.restarted_s.is_none());
    }
}
