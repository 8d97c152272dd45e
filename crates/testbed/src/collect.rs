//! Collects all data of a run by interval.
//!
//! There are three sources for each interval: the radio's snapshots (traffic on the air), the agents' samples (data that
//! applications received, TCP state of the senders) and the box's status. All use the same boundaries, multiples of the
//! scenario's interval after the start.

use std::collections::{BTreeMap, BTreeSet};

use evenair_api::causes::Counter;
use evenair_api::{GuardState, GuardStatus, PacketStatus, StationStatus, Status};
use evenair_medium::{MeasuredAirtime, Totals};
use evenair_results::histogram::Times;
use evenair_results::{EventRecord, PageRecord, TransferLog};
use evenair_scenario::{AppKind, Scenario};
use evenair_units::{Bytes, Span};
use evenair_workload::voice::Heard;

use crate::agent::protocol::{Report, TcpSample};
use crate::air::BssTotals;
use crate::meter::AppCount;
use crate::plan;
use crate::radio::Snapshot;
use crate::senders::Counted;

/// Data of one interval.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Traffic over the air, by application.
    pub apps: Vec<AppCount>,
    /// Bytes over the WLAN hop that belong to no application.
    pub other_bytes: u64,
    /// Time average of the access points' queues.
    pub queue_mean_packets: f64,
    /// Use of each medium from the start of the run to the end of the interval.
    pub media: Vec<Totals>,
    /// Measured airtime of each station, from the start of the run to the end of the interval.
    pub measured: Vec<MeasuredAirtime>,
    /// Totals of each access point with its stations, since the start of the run.
    pub bss_totals: Vec<BssTotals>,
    /// Counters of each sender on the air: access points, then stations.
    pub senders: Vec<Counted>,
    /// The box, at the end of the interval.
    pub middlebox: Option<Status>,
}

/// One application's samples.
#[derive(Clone, Debug, Default)]
pub struct AppSamples {
    /// Bytes received since the start, at the end of each interval.
    pub received_bytes: Vec<Option<u64>>,
    /// The sender's connection at the end of each interval.
    pub tcp: Vec<Option<TcpSample>>,
    /// Round-trip times of echoes, by the interval in which each came back.
    pub echoes: Vec<Times>,
}

/// All data of a run so far.
#[derive(Debug)]
pub struct Collected {
    /// Completed intervals.
    pub intervals: Vec<Interval>,
    /// Samples by application.
    pub samples: Vec<AppSamples>,
    /// Events of the run.
    pub events: Vec<EventRecord>,
    /// Pages read.
    pub pages: Vec<PageRecord>,
    /// Transfers that have ended.
    pub transfers: TransferLog,
    /// Reception of each call so far, by application and phase.
    pub calls: BTreeMap<usize, Vec<(usize, Heard)>>,
    /// Transfers in progress, by application and number: start and size.
    under_way: BTreeMap<(usize, u64), (u64, Bytes)>,
    /// Ends that were reported before their starts, which another host reports.
    early: BTreeMap<(usize, u64), u64>,
    /// The last snapshot of the radio: totals and punctuality.
    pub last: Option<Snapshot>,
    /// The last status of the box.
    pub last_status: Option<Status>,
    /// Stations above their share, by the box's last status.
    over_share: BTreeSet<String>,
    origin_ns: u64,
}

impl Collected {
    /// Data of a run that begins when the monotonic clock shows `origin_ns`.
    pub fn new(scenario: &Scenario, origin_ns: u64) -> Self {
        Self {
            intervals: Vec::new(),
            samples: vec![AppSamples::default(); scenario.apps.len()],
            events: Vec::new(),
            pages: Vec::new(),
            transfers: TransferLog::new(scenario),
            calls: BTreeMap::new(),
            under_way: BTreeMap::new(),
            early: BTreeMap::new(),
            last: None,
            last_status: None,
            over_share: BTreeSet::new(),
            origin_ns,
        }
    }

    /// Adds the radio's snapshot of an interval.
    pub fn add_snapshot(&mut self, mut snapshot: Snapshot) {
        let zero = vec![AppCount::default(); snapshot.apps.len()];
        let before = self.last.as_ref().map_or(&zero, |last| &last.apps);
        let apps = snapshot.apps.iter().zip(before).map(|(now, before)| difference(now, before)).collect();
        let other_before = self.last.as_ref().map_or(0, |last| last.other_bytes);
        self.intervals.push(Interval {
            apps,
            other_bytes: snapshot.other_bytes - other_before,
            queue_mean_packets: snapshot.queue_mean_packets,
            media: snapshot.media.clone(),
            measured: snapshot.measured_airtime.clone(),
            bss_totals: snapshot.bss_totals.clone(),
            senders: std::mem::take(&mut snapshot.by_sender),
            middlebox: None,
        });
        self.calls.extend(snapshot.calls.iter().cloned());
        self.last = Some(snapshot);
    }

    /// Adds the box's status of an interval.
    pub fn add_status(&mut self, index: usize, status: Status) {
        if let Some(interval) = self.intervals.get_mut(index) {
            interval.middlebox = Some(status.clone());
        }
        self.last_status = Some(status);
    }

    /// Records the stations above their share at the end of an interval.
    pub fn note_over_share(&mut self, scenario: &Scenario, at: Span, stations: &[StationStatus]) {
        let named = scenario.hosts.iter().enumerate().filter_map(|(index, host)| {
            let mac = plan::host(scenario, index).mac.to_string();
            stations.iter().any(|station| station.over_share && station.mac == mac).then(|| host.name.clone())
        });
        let over: BTreeSet<String> = named.collect();
        let before = std::mem::replace(&mut self.over_share, over.clone());
        over.difference(&before).for_each(|name| self.add_event(at, "over its share", name.clone()));
        before.difference(&over).for_each(|name| self.add_event(at, "within its share", name.clone()));
    }

    /// Records changes of the guard's state since the last status, by `at`.
    pub fn note_guard(&mut self, at: Span, guard: &GuardStatus) {
        let nothing = GuardStatus::default();
        let before = self.last_status.as_ref().map_or(&nothing, |status| &status.guard);
        let what = match (before.state, guard.state) {
            _ if guard.bypasses > before.bypasses => "guard: bypass",
            (before, state) if state == before => return,
            (_, GuardState::Loosened) => "guard: holds less",
            (GuardState::Loosened, GuardState::Watching) => "guard: as usual",
            _ => return,
        };
        self.add_event(at, what, guard.domain.clone());
    }

    /// Records calls that the box has detected since the last status, by `at`.
    pub fn note_calls(&mut self, at: Span, packets: &PacketStatus) {
        let counts =
            |packets: &PacketStatus| [packets.counted[Counter::CallsAdmitted], packets.counted[Counter::CallsRefused]];
        let before = self.last_status.as_ref().map_or([0; 2], |status| counts(&status.packets));
        for ((what, now), before) in ["call admitted", "call refused"].into_iter().zip(counts(packets)).zip(before) {
            (before..now).for_each(|_| self.add_event(at, what, String::new()));
        }
    }

    /// Adds a report of an agent.
    pub fn add_report(&mut self, scenario: &Scenario, report: Report) {
        match report {
            Report::Sample { app, index, received_bytes, tcp } => {
                let samples = &mut self.samples[app];
                let index = index as usize;
                // Both ends of an application send samples; only one of them receives.
                *at(&mut samples.received_bytes, index).get_or_insert(0) += received_bytes;
                if let Some(tcp) = tcp.filter(|_| matches!(scenario.apps[app].kind, AppKind::Bulk { .. })) {
                    *at(&mut samples.tcp, index) = Some(tcp);
                }
            }
            Report::Echo { app, at_ns, rtt_us } => {
                let interval = (self.since_origin(at_ns) / scenario.measure.interval) as usize;
                at(&mut self.samples[app].echoes, interval).record(Span::from_micros(rtt_us));
            }
            Report::Page { app, began_ns, took_us, objects, bytes } => self.pages.push(PageRecord {
                app: scenario.apps[app].name.clone(),
                at_s: Span::from_nanos(began_ns.saturating_sub(self.origin_ns)).as_secs_f64(),
                took_s: Span::from_micros(took_us).as_secs_f64(),
                objects,
                bytes,
            }),
            Report::TransferBegan { app, id, at_ns, bytes } => {
                self.under_way.insert((app, id), (at_ns, Bytes(bytes)));
                if let Some(done_ns) = self.early.remove(&(app, id)) {
                    self.complete_transfer(app, id, done_ns);
                }
            }
            Report::TransferDone { app, id, at_ns } => self.complete_transfer(app, id, at_ns),
            Report::TransferFailed { app, id } => {
                if let Some((began_ns, bytes)) = self.under_way.remove(&(app, id)) {
                    self.transfers.fail(app, self.since_origin(began_ns), bytes);
                }
            }
            Report::TransferRefused { app } => self.transfers.refuse(app),
            Report::Call { app, heard } => drop(self.calls.insert(app, heard)),
            Report::Note { app, text } => {
                tracing::info!(app = scenario.apps[app].name, "{text}");
                let at = Span::from_nanos(evenair_sys::rt::monotonic_ns().saturating_sub(self.origin_ns));
                self.add_event(at, "note", format!("{}: {text}", scenario.apps[app].name));
            }
            Report::Prepared { .. } | Report::Failed { .. } => {}
        }
    }

    fn complete_transfer(&mut self, app: usize, id: u64, done_ns: u64) {
        match self.under_way.remove(&(app, id)) {
            Some((began_ns, bytes)) => {
                let took = Span::from_nanos(done_ns.saturating_sub(began_ns));
                self.transfers.complete(app, self.since_origin(began_ns), bytes, took);
            }
            None => drop(self.early.insert((app, id), done_ns)),
        }
    }

    /// At the end of the run: cuts the transfers in progress.
    pub fn cut_transfers(&mut self) {
        for ((app, _), (began_ns, bytes)) in std::mem::take(&mut self.under_way) {
            self.transfers.cut(app, self.since_origin(began_ns), bytes);
        }
    }

    fn since_origin(&self, at_ns: u64) -> Span {
        Span::from_nanos(at_ns.saturating_sub(self.origin_ns))
    }

    /// Records an event.
    pub fn add_event(&mut self, at: Span, what: &str, detail: String) {
        self.events.push(EventRecord { at_s: at.as_secs_f64(), what: what.to_owned(), detail });
    }

    /// Bytes that application `app` received in interval `index`: from its own counter, or without one from the bytes that
    /// TCP acknowledged over the air.
    pub fn goodput_bytes(&self, scenario: &Scenario, app: usize, index: usize) -> u64 {
        if scenario.apps[app].is_foreign_program() {
            return self.intervals.get(index).map_or(0, |interval| interval.apps[app].goodput_bytes);
        }
        let received = &self.samples[app].received_bytes;
        let up_to = |end: usize| received.iter().take(end).rev().find_map(|bytes| *bytes).unwrap_or(0);
        up_to(index + 1).saturating_sub(up_to(index))
    }

    /// Segments that the sender of application `app` retransmitted in interval `index`.
    pub fn retransmits(&self, app: usize, index: usize) -> u64 {
        let total = |index: usize| self.samples[app].tcp.get(index).copied().flatten().map(|tcp| tcp.retransmits);
        let Some(now) = total(index) else { return 0 };
        let before = index.checked_sub(1).and_then(total).unwrap_or(0);
        // A new connection counts from zero.
        u64::from(now.checked_sub(before).unwrap_or(now))
    }
}

fn at<T: Default + Clone>(values: &mut Vec<T>, index: usize) -> &mut T {
    if values.len() <= index {
        values.resize(index + 1, T::default());
    }
    &mut values[index]
}

fn difference(now: &AppCount, before: &AppCount) -> AppCount {
    AppCount {
        ip_bytes: now.ip_bytes - before.ip_bytes,
        data_packets: now.data_packets - before.data_packets,
        ack_packets: now.ack_packets - before.ack_packets,
        goodput_bytes: now.goodput_bytes - before.goodput_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(state: GuardState, bypasses: u64) -> GuardStatus {
        GuardStatus { state, domain: "hall".into(), bypasses, ..GuardStatus::default() }
    }

    #[test]
    fn changes_of_the_guard_are_events() {
        let text = "version = 1\nname = \"g\"\nduration = \"1 s\"\n[radio]\nstandard = \"802.11b\"\n\
                    [[station]]\nname = \"a\"\nrate = \"11 Mb/s\"\n[[server]]\nname = \"s\"\n\
                    [[ping]]\nname = \"p\"\nstations = [\"a\"]\nserver = \"s\"\n";
        let mut collected = Collected::new(&Scenario::parse(text, "g.toml").expect("it is sound"), 0);
        // Two equal answers make one event. Bypasses are counted, so that one is recorded even if the state has changed since.
        let answers = [
            (GuardState::Watching, 0),
            (GuardState::Loosened, 0),
            (GuardState::Loosened, 0),
            (GuardState::Watching, 0),
            (GuardState::Bypassed, 1),
            (GuardState::Bypassed, 1),
            (GuardState::Watching, 1),
            (GuardState::Watching, 2),
        ];
        for (second, (state, bypasses)) in (1..).zip(answers) {
            let guard = guard(state, bypasses);
            collected.note_guard(Span::from_secs(second), &guard);
            collected.last_status = Some(Status { guard, ..Status::default() });
        }
        let reported: Vec<_> =
            collected.events.iter().map(|event| (event.at_s, event.what.as_str(), event.detail.as_str())).collect();
        let expected = [
            (2.0, "guard: holds less", "hall"),
            (4.0, "guard: as usual", "hall"),
            (5.0, "guard: bypass", "hall"),
            (8.0, "guard: bypass", "hall"),
        ];
        assert_eq!(reported, expected);
    }
}
