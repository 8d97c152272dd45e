//! Facts for the health of a box that are not in a line of the feed.

use evenair_api::Status;
use evenair_api::health::Facts;

use crate::vitals::Vitals;

/// The facts of a second.
pub(super) fn facts(status: &Status, vitals: &Vitals) -> Facts {
    Facts {
        is_insert_commanded: vitals.running().is_insert_commanded(),
        restarted_s: vitals.running().restarted_s(),
        is_history_failing: vitals.is_history_failing(),
        ..Facts::of(status)
    }
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
