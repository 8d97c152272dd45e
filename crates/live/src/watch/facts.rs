//! Facts for the health of a box that no line of the feed has, from its status and what was commanded.

use evenair_api::Status;
use evenair_api::health::{Counters, Facts, SetAside, Source};

use super::events::{Commanded, Entry};
use crate::vitals::Vitals;

/// Whether the last command, or else the configuration, was to insert the box.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastCommand {
    pub(super) is_insert: bool,
}

impl LastCommand {
    /// Takes what was done.
    pub(super) fn note(&mut self, entry: &Entry) {
        match entry {
            Entry::Done(Commanded::Insert, _) => self.is_insert = true,
            Entry::Begun(Commanded::Bypass | Commanded::Observe, _) => self.is_insert = false,
            _ => {}
        }
    }
}

/// The facts of a second.
pub(super) fn facts(status: &Status, last: LastCommand, vitals: &Vitals) -> Facts {
    Facts {
        fail_open_why: status.fail_open.why.clone(),
        guard: status.guard.clone(),
        is_insert_commanded: last.is_insert,
        restarted_s: vitals.restarted_s(),
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
    use evenair_api::{SourceStatus, StationReportStatus, StationStatus};

    use super::super::events::By;
    use super::*;

    #[test]
    fn the_last_command_is_the_one_that_was_done_and_a_bypass_counts_at_once() {
        let mut last = LastCommand { is_insert: false };
        let mut after = |entry| {
            last.note(&entry);
            last.is_insert
        };
        assert!(!after(Entry::Begun(Commanded::Insert, By::Unnamed)), "it may be refused");
        assert!(after(Entry::Done(Commanded::Insert, By::Unnamed)));
        assert!(after(Entry::Done(Commanded::Reload, By::Unnamed)));
        assert!(!after(Entry::Begun(Commanded::Bypass, By::Unnamed)), "it drains");
    }

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
        let facts = facts(&status, LastCommand { is_insert: true }, &vitals);
        assert_eq!((facts.set_aside.len(), facts.set_aside[0].station.as_str()), (1, "b"));
        assert_eq!((facts.telemetry[0].silent_s, facts.telemetry[0].interval_s), (70.0, 10.0), "it never answered");
        assert!(facts.is_history_failing && facts.is_insert_commanded && facts.restarted_s.is_none());
    }
}
