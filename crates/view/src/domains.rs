//! Contention domains in the status.

use evenair_api::{DomainStatus, GroupStatus, GuardState, GuardStatus, PathStatus, ProbeState};
use evenair_manager::{self as manager, DomainReport, GroupReport, GuardReport, Label, PathReport, Place};
use evenair_units::{BitRate, Instant};

use crate::limits::{receiver_status, uplink_status};
use crate::milliseconds;

pub(crate) fn guard(report: &GuardReport, now: Instant) -> GuardStatus {
    GuardStatus {
        state: guard_state(report.state),
        since_s: now.saturating_since(report.since).as_secs_f64(),
        domain: label_text(report.domain),
        before_mbps: (report.before > BitRate::ZERO).then(|| report.before.as_mbps_f64()),
        now_mbps: report.now.as_mbps_f64(),
        steps: report.steps,
        bypasses: report.bypasses,
        next_try_s: report.next_try.map(|next| next.saturating_since(now).as_secs_f64()),
    }
}

const fn guard_state(state: manager::GuardState) -> GuardState {
    match state {
        manager::GuardState::Watching => GuardState::Watching,
        manager::GuardState::Loosened => GuardState::Loosened,
        manager::GuardState::Trying => GuardState::Trying,
        manager::GuardState::Bypassed => GuardState::Bypassed,
    }
}

const fn probe_state(state: manager::ProbeState) -> ProbeState {
    match state {
        manager::ProbeState::Off => ProbeState::Off,
        manager::ProbeState::Idle => ProbeState::Idle,
        manager::ProbeState::Used => ProbeState::Used,
        manager::ProbeState::Disbelieved => ProbeState::Disbelieved,
    }
}

/// A name as text: as UTF-8 where it is valid, otherwise with escapes.
pub fn label_text(name: Label) -> String {
    std::str::from_utf8(name.as_bytes()).map_or_else(|_| name.to_string(), str::to_owned)
}

pub(crate) fn place(place: Place) -> String {
    match place {
        Place::Named(name) => label_text(name),
        Place::Radio(_) | Place::Tuned { .. } => place.to_string(),
    }
}

pub(crate) fn domain(report: &DomainReport) -> DomainStatus {
    DomainStatus {
        name: label_text(report.name),
        access_points: report.access_points.iter().map(|&name| label_text(name)).collect(),
        learned: report.learned,
        stations: report.stations,
        roamed: report.roamed,
        service_rate_mbps: report.service_rate.as_mbps_f64(),
        capacity_mbps: report.capacity.as_mbps_f64(),
        throughput_mbps: report.throughput.as_mbps_f64(),
        held: report.hop.held,
        wait_p95_ms: milliseconds(report.hop.recent.p95),
        receiver: report.receiver.as_ref().map(receiver_status),
        uplink: report.uplink.map(uplink_status),
        path: report.path.as_ref().map(path),
        groups: groups(report.groups),
    }
}

fn groups(report: GroupReport) -> Option<GroupStatus> {
    let GroupReport { waiting, dropped, most_dropped } = report;
    let [group, sender] = [most_dropped.map(|(group, _)| group), most_dropped.map(|(_, sender)| sender)];
    let status = GroupStatus {
        waiting,
        dropped,
        group: group.map(|group| group.to_string()),
        sender: sender.map(|sender| sender.to_string()),
    };
    (waiting + dropped > 0).then_some(status)
}

fn path(report: &PathReport) -> PathStatus {
    PathStatus {
        lag_ms: milliseconds(report.lag),
        backlog_ms: milliseconds(report.backlog),
        cost: report.cost_permille.map(|permille| permille as f64 / 1e3),
        unacknowledged: report.unacknowledged_permille.map(|permille| permille as f64 / 1e3),
        probes: probe_state(report.probes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_is_reported_in_a_line_unless_it_watches() {
        let guard = |state, before_mbps| GuardStatus {
            state,
            since_s: 12.4,
            before_mbps,
            now_mbps: 18.26,
            ..GuardStatus::default()
        };
        assert_eq!(guard(GuardState::Watching, Some(20.0)).in_short(), None);
        let line = |state, before| guard(state, before).in_short().expect("a line");
        assert_eq!(
            line(GuardState::Loosened, Some(20.0)),
            "guard: holds nothing for 12 s: 18.3 Mb/s carried, 20.0 before"
        );
        assert_eq!(line(GuardState::Loosened, None), "guard: holds nothing for 12 s: 18.3 Mb/s carried");
        assert_eq!(line(GuardState::Trying, None), "guard: inserted again, on trial for 12 s: 18.3 Mb/s carried");
        assert_eq!(
            line(GuardState::Bypassed, Some(20.0)),
            "BYPASSED BY THE GUARD for 12 s: 18.3 Mb/s carried, 20.0 before"
        );
        let bypassed = GuardStatus { next_try_s: Some(48.2), ..guard(GuardState::Bypassed, None) };
        assert!(bypassed.in_short().is_some_and(|line| line.ends_with("carried, next trial in 48 s")), "{bypassed:?}");
    }
}
