//! One run from start to end.
//!
//! In all cases (done, error, panic, cancelled) everything that was started has ended when [`run`] returns: each part
//! cleans up when it is dropped, in reverse order of creation.

use std::sync::atomic::Ordering;
use std::time::Duration;

use evenair_results::{Progress, RunResult};
use evenair_scenario::{Action, Event, Scenario};
use evenair_sys::rt::monotonic_ns;
use evenair_units::{Instant, Span};
use evenair_wifi::PhyRate;

use crate::collect::Collected;
use crate::error::TestbedError;
use crate::fleet::Fleet;
use crate::middlebox::{self, Answer, Middlebox};
use crate::options::TestbedOptions;
use crate::radio::Radio;
use crate::results::{self, Faults};
use crate::rundir::RunDir;
use crate::topology::Topology;
use crate::{management, plan, preflight};

/// Time from the last preparation to the start of the run, in which the agents start their threads.
const LEAD: Span = Span::from_millis(300);
/// How long the run waits for the last samples of the agents.
const LAST_SAMPLES: Duration = Duration::from_millis(300);
/// Polling interval of the run.
const SAMPLE_WAIT: Duration = Duration::from_millis(10);

/// Runs a scenario in real time; `progress` is called at the end of each interval.
///
/// Call it from a thread that stays for the whole run: the child processes are tied to it.
///
/// # Errors
/// If this machine cannot run it, or something that was started failed. A late or cancelled run is no error: its result
/// says that it is not valid, and why.
pub fn run(
    scenario: &Scenario,
    options: &TestbedOptions,
    mut progress: impl FnMut(&Progress),
) -> Result<RunResult, TestbedError> {
    let needs_box = needs_box(scenario, options);
    preflight::check(scenario, needs_box.then_some(&options.box_command))?;
    let directory = RunDir::create()?;
    let mut topology = Topology::build(scenario)?;
    let management = management::build(scenario, &topology)?;
    for machine in topology.hosts.iter().chain([&topology.middle]).chain(&topology.router) {
        use std::os::fd::AsFd;
        directory.write_host(&machine.name, machine.netns.as_fd())?;
    }
    let radio = Radio::start(scenario, topology.take_taps(scenario))?;
    let middlebox = needs_box.then(|| Middlebox::start(scenario, &topology.middle, &directory, options)).transpose()?;
    let fleet = Fleet::start(scenario, &topology, &options.program)?;
    let stations = topology.stations.clone();
    let mut session = Session::begin(scenario, radio, fleet, middlebox, stations)?;
    let finished = session.go_through(options, &mut progress)?;
    let result = session.finish(finished);
    drop(management);
    result
}

/// Whether the run has a box program: an event, an option or a recording needs it.
fn needs_box(scenario: &Scenario, options: &TestbedOptions) -> bool {
    let is_for_it = |event: &Event| matches!(event.action, Action::Insert | Action::Bypass);
    options.always_box || options.record.is_some() || scenario.events.iter().any(is_for_it)
}

/// A delayed effect of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// A station, by host, associates with an access point.
    Come(usize, usize),
    /// A report to the box of a station's access point, by host.
    ReportAssociation(usize),
}

/// A run in progress.
struct Session<'a> {
    scenario: &'a Scenario,
    radio: Radio,
    fleet: Fleet,
    middlebox: Option<Middlebox>,
    /// Hosts of the stations.
    stations: Vec<usize>,
    collected: Collected,
    origin: Instant,
    faults: Faults,
    next_event: usize,
    /// Delayed effects of events, with their times.
    pending: Vec<(Span, Pending)>,
    /// First insertion: a status of an earlier interval may arrive after it.
    inserted_at: Option<Span>,
    /// The senders' rate at the last report to the box, by station.
    reported_rates: Vec<Option<PhyRate>>,
}

impl<'a> Session<'a> {
    fn begin(
        scenario: &'a Scenario,
        radio: Radio,
        mut fleet: Fleet,
        middlebox: Option<Middlebox>,
        stations: Vec<usize>,
    ) -> Result<Self, TestbedError> {
        for (number, &host) in stations.iter().enumerate() {
            if !scenario.is_present(host, Span::ZERO) {
                radio.leave_station(number);
            }
        }
        let origin_ns = monotonic_ns() + LEAD.as_nanos();
        let origin = radio.clock().instant(origin_ns);
        radio.measure(origin, scenario.measure.interval);
        fleet.begin(origin_ns, scenario.measure.interval.as_nanos())?;
        let collected = Collected::new(scenario, origin_ns);
        Ok(Self {
            scenario,
            radio,
            fleet,
            middlebox,
            stations,
            collected,
            origin,
            faults: Faults::default(),
            next_event: 0,
            pending: Vec::new(),
            inserted_at: None,
            reported_rates: Vec::new(),
        })
    }

    /// Runs until the scenario's end or a cancellation; returns the time that has passed.
    fn go_through(
        &mut self,
        options: &TestbedOptions,
        progress: &mut impl FnMut(&Progress),
    ) -> Result<Span, TestbedError> {
        for host in self.stations.clone() {
            if self.scenario.is_present(host, Span::ZERO) {
                self.schedule_association_report(host, Span::ZERO);
            }
        }
        let whole = (self.scenario.duration / self.scenario.measure.interval) as usize;
        loop {
            let passed = self.radio.clock().now().saturating_since(self.origin);
            if options.cancel.load(Ordering::Relaxed) {
                self.faults.run.push(format!("cancelled after {:.1} s", passed.as_secs_f64()));
                return Ok(passed);
            }
            // The last interval ends with the run; its snapshot arrives slightly later.
            if passed >= self.scenario.duration && self.collected.intervals.len() >= whole {
                return Ok(self.scenario.duration);
            }
            self.sample(progress)?;
        }
    }

    /// Polls all parts once.
    fn sample(&mut self, progress: &mut impl FnMut(&Progress)) -> Result<(), TestbedError> {
        let wait = self.until_next_event().min(SAMPLE_WAIT);
        if let Some(report) = self.fleet.hear(wait)? {
            self.collected.add_report(self.scenario, report);
        }
        self.do_due_events();
        self.listen_to_box()?;
        let snapshots: Vec<_> = self.radio.snapshots().collect();
        for snapshot in snapshots {
            if let Some(middlebox) = &self.middlebox {
                middlebox.ask(snapshot.index as usize);
            }
            self.report_chosen_rates(&snapshot.station_rates);
            self.collected.add_snapshot(snapshot);
            progress(&results::progress(self.scenario, &self.collected, &self.faults));
        }
        self.radio.check()
    }

    fn until_next_event(&self) -> Duration {
        let passed = self.radio.clock().now().saturating_since(self.origin);
        let next = self.scenario.events.get(self.next_event).map(|event| event.at);
        let next = self.pending.iter().map(|&(at, _)| at).chain(next).min();
        next.map_or(Duration::MAX, |at| Duration::from_nanos(at.saturating_sub(passed).as_nanos()))
    }

    fn do_due_events(&mut self) {
        let scenario = self.scenario;
        loop {
            let event = scenario.events.get(self.next_event);
            let pending = self.pending.iter().enumerate().min_by_key(|(_, (at, _))| *at);
            let is_first = |at: Span| event.is_none_or(|event| at <= event.at);
            let is_due = |at: Span| self.origin + at <= self.radio.clock().now();
            match (pending, event) {
                (Some((place, &(at, _))), _) if is_first(at) => {
                    if !is_due(at) {
                        return;
                    }
                    let (at, what) = self.pending.remove(place);
                    self.do_pending(at, what);
                }
                (_, Some(event)) if is_due(event.at) => {
                    self.next_event += 1;
                    self.do_event(event);
                }
                _ => return,
            }
        }
    }

    fn do_pending(&mut self, at: Span, what: Pending) {
        let scenario = self.scenario;
        match what {
            Pending::Come(host, access_point) => {
                let number = self.stations.iter().position(|&station| station == host).expect("events name stations");
                self.radio.station_comes(number, access_point);
                self.collected.add_event(at, "roamed", scenario.hosts[host].name.clone());
                self.schedule_association_report(host, at);
            }
            Pending::ReportAssociation(host) => {
                let access_point = &scenario.access_points[scenario.access_point_at(host, at)];
                let mac = plan::host(scenario, host).mac;
                self.middlebox.iter().for_each(|middlebox| middlebox.place(mac, &access_point.name));
            }
        }
    }

    /// Schedules the delayed report of a station's access point to the box, as from a Wi-Fi controller.
    fn schedule_association_report(&mut self, host: usize, at: Span) {
        let named = !self.scenario.manager.access_points.is_empty();
        let knows = named && self.scenario.access_points.iter().any(|point| point.channel.is_some());
        if let Some(delay) = self.scenario.telemetry.associations.filter(|_| knows) {
            self.pending.push((at + delay, Pending::ReportAssociation(host)));
        }
    }

    fn do_event(&mut self, event: &Event) {
        let number = |host: usize| self.stations.iter().position(|&h| h == host).expect("events name stations");
        let name = |host: usize| self.scenario.hosts[host].name.clone();
        let (what, detail) = match event.action {
            Action::Insert => {
                self.inserted_at.get_or_insert(event.at);
                self.middlebox.iter().for_each(Middlebox::insert);
                ("insert", String::new())
            }
            Action::Bypass => {
                self.middlebox.iter().for_each(Middlebox::bypass);
                ("bypass", String::new())
            }
            Action::Join(host) => {
                self.radio.join_station(number(host));
                // The box may have forgotten the station when it left.
                self.report_rate(host, event.at);
                self.schedule_association_report(host, event.at);
                ("join", name(host))
            }
            Action::Leave(host) => {
                self.radio.leave_station(number(host));
                if let Some(middlebox) = self.middlebox.as_ref().filter(|_| self.scenario.telemetry.stations) {
                    middlebox.observe(plan::host(self.scenario, host).mac, None);
                }
                ("leave", name(host))
            }
            Action::Rate(host, rate) => {
                self.radio.set_rate(number(host), rate);
                self.report_rate(host, event.at);
                ("rate", format!("{} {}", name(host), rate.bit_rate()))
            }
            Action::Roam { station: host, access_point, gap } => {
                self.radio.station_goes(number(host));
                self.pending.push((event.at + gap, Pending::Come(host, access_point)));
                ("roam", format!("{} to {}", name(host), self.scenario.access_points[access_point].name))
            }
        };
        self.collected.add_event(event.at, what, detail);
    }

    /// Reports a station's rate after the events up to `at` to the box, if the scenario reports rates.
    fn report_rate(&self, host: usize, at: Span) {
        let informed = self.middlebox.as_ref().filter(|_| self.scenario.telemetry.rates);
        if let (Some(middlebox), Some(rate)) = (informed, self.scenario.rate_at(host, at)) {
            middlebox.observe(plan::host(self.scenario, host).mac, Some(rate));
        }
    }

    /// Reports the senders' present rates to the box, as if polled by a Wi-Fi controller.
    fn report_chosen_rates(&mut self, rates: &[Option<PhyRate>]) {
        self.reported_rates.resize(rates.len(), None);
        let informed = self.middlebox.as_ref().filter(|_| self.scenario.telemetry.rates);
        let Some(middlebox) = informed else { return };
        for (number, &host) in self.stations.iter().enumerate() {
            if let Some(rate) = rates[number].filter(|&rate| self.reported_rates[number] != Some(rate)) {
                self.reported_rates[number] = Some(rate);
                middlebox.observe(plan::host(self.scenario, host).mac, Some(rate));
            }
        }
    }

    fn listen_to_box(&mut self) -> Result<(), TestbedError> {
        let Some(middlebox) = &mut self.middlebox else { return Ok(()) };
        let answers: Vec<_> = middlebox.answers().collect();
        for answer in answers {
            let now = self.radio.clock().now().saturating_since(self.origin);
            match answer {
                Answer::Status(index, mut status) => {
                    let end = self.scenario.measure.interval * (index as u64 + 1);
                    // A box inserted at the end of the interval may answer after its insertion.
                    if self.inserted_at.is_none_or(|at| end <= at) {
                        middlebox::as_before_insertion(&mut status);
                    }
                    self.collected.note_over_share(self.scenario, end, &status.stations);
                    self.collected.note_calls(end, &status.packets);
                    self.collected.note_guard(end, &status.guard);
                    self.collected.add_status(index, *status);
                }
                Answer::Done(command) => match command.as_str() {
                    "insert" => self.collected.add_event(now, "inserted", String::new()),
                    "bypass" => self.collected.add_event(now, "bypassed", String::new()),
                    _ => {}
                },
                Answer::Failed(why) => {
                    middlebox.check_alive()?;
                    self.faults.middlebox.push(format!("it refused or did not answer: {why}"));
                }
            }
        }
        Ok(())
    }

    /// Waits for the last samples, ends everything in order and makes the report.
    fn finish(mut self, length: Span) -> Result<RunResult, TestbedError> {
        let deadline = std::time::Instant::now() + LAST_SAMPLES;
        while std::time::Instant::now() < deadline {
            if let Some(report) = self.fleet.hear(SAMPLE_WAIT)? {
                self.collected.add_report(self.scenario, report);
            }
            self.listen_to_box()?;
        }
        if let Some(status) = &self.collected.last_status
            && !status.packets.conserved
        {
            self.faults.middlebox.push("its account of packets does not add up".to_owned());
        }
        if let Some(status) = &self.collected.last_status
            && status.hold.lapses > 0
        {
            let times = status.hold.lapses;
            self.faults.run.push(format!("the box was held up so long that traffic went past it, {times} times"));
        }
        self.collected.cut_transfers();
        drop(self.fleet);
        drop(self.middlebox);
        self.radio.stop()?;
        Ok(results::report(self.scenario, &self.collected, length, self.faults))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_needs_the_box() {
        let text = "version = 1\nname = \"plain\"\nduration = \"2 s\"\nradio = { standard = \"802.11b\" }\n\
                    station = [{ name = \"sta\", rate = \"11 Mb/s\" }]\nserver = [{ name = \"server\" }]\n\
                    ping = [{ name = \"ping\", stations = [\"sta\"], server = \"server\", interval = \"1 s\" }]\n";
        let plain = Scenario::parse(text, "plain.toml").expect("a right scenario");
        let event = "event = [{ at = \"1 s\", do = \"insert\" }]\n";
        let managed = Scenario::parse(&format!("{text}{event}"), "managed.toml").expect("a right scenario");
        let options = TestbedOptions::new("evenair-lab", "evenaird");
        assert!(!needs_box(&plain, &options) && needs_box(&managed, &options));
        assert!(needs_box(&plain, &TestbedOptions { record: Some("file".into()), ..options.clone() }));
        assert!(needs_box(&plain, &TestbedOptions { always_box: true, ..options }));
    }
}
