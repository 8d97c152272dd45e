//! The scenario's events in a run, the telemetry of the box, and its state each second.

use std::sync::Arc;

use evenair_manager::Command;
use evenair_medium::RateControl;
use evenair_scenario::{Action, Event};
use evenair_units::{Instant, Span};

use crate::event_queue::Task;
use crate::middlebox::station_of;
use crate::watch;
use crate::world::World;

/// Interval of the reports of the senders' rates to the box.
const RATES_INTERVAL: Span = Span::from_secs(1);
/// Interval of the reports of signals to the box, if there are any.
const SIGNALS_INTERVAL: Span = Span::from_secs(1);

/// The scenario's events.
impl World {
    /// Starts the reports to the box.
    pub(crate) fn begin_reports(&mut self) {
        let scenario = &self.scenario;
        if let Some(middlebox) = &mut self.middlebox {
            middlebox.schedule(&mut self.event_queue);
            if scenario.radio.rate_control != RateControl::Fixed && scenario.telemetry.rates {
                self.event_queue.schedule(Instant::ZERO + RATES_INTERVAL, Task::Rates);
            }
            if let Some(interval) = middlebox.losses_interval() {
                self.event_queue.schedule(Instant::ZERO + interval, Task::Losses);
            }
            if middlebox.reports_signals() {
                self.event_queue.schedule(Instant::ZERO, Task::Signals);
            }
        }
    }

    pub(crate) fn do_event(&mut self) {
        let number = self.next_event;
        self.next_event += 1;
        if let Some(next) = self.scenario.events.get(self.next_event) {
            self.event_queue.schedule(Instant::ZERO + next.at, Task::Event);
        }
        self.act(number);
    }

    /// Inserts a command's events before the scenario's remaining ones.
    pub(crate) fn obey(&mut self, events: Vec<Event>) {
        let numbers = self.next_event..self.next_event + events.len();
        Arc::make_mut(&mut self.scenario).events.splice(self.next_event..self.next_event, events);
        self.next_event = numbers.end;
        for number in numbers {
            self.act(number);
            self.drain_air();
        }
    }

    /// Performs the event of this index.
    fn act(&mut self, number: usize) {
        let scenario = Arc::clone(&self.scenario);
        let name = |host: usize| scenario.hosts[host].name.clone();
        match scenario.events[number].action {
            Action::Insert => self.command("insert", Command::Insert),
            Action::Bypass => self.command("bypass", Command::Bypass),
            Action::Join(host) => {
                self.note("join", name(host));
                let station = self.domains.first.station_of(host);
                self.domains.join(station);
                self.schedule_association_report(host);
            }
            Action::Leave(host) => {
                self.note("leave", name(host));
                let station = self.domains.first.station_of(host);
                self.domains.of_mut(station).leave(self.now, station);
                self.observe(host, None);
            }
            Action::Rate(host, rate) => {
                self.note("rate", format!("{} {}", name(host), rate.bit_rate()));
                let station = self.domains.first.station_of(host);
                self.domains.all_mut().for_each(|air| air.set_rate(station, rate));
                self.observe(host, Some(rate));
            }
            Action::Roam { station: host, access_point, gap } => {
                let to = &scenario.access_points[access_point].name;
                self.note("roam", format!("{} to {to}", name(host)));
                let station = self.domains.first.station_of(host);
                self.domains.go(self.now, station);
                let task = Task::Come { host: host as u32, access_point: access_point as u16 };
                self.event_queue.schedule(self.now + gap, task);
            }
        }
    }

    /// A roaming station associates with its new access point.
    pub(crate) fn come(&mut self, host: usize, access_point: usize) {
        let station = self.domains.first.station_of(host);
        self.domains.come(self.now, station, access_point);
        self.note("roamed", self.scenario.hosts[host].name.clone());
        self.schedule_association_report(host);
    }

    /// Reports the stations' initial access points.
    pub(crate) fn begin_associations(&mut self) {
        for host in 0..self.scenario.hosts.len() {
            let is_station = self.scenario.hosts[host].place.is_station();
            if is_station && self.scenario.is_present(host, Span::ZERO) {
                self.schedule_association_report(host);
            }
        }
    }

    /// Moves the frames of a station to the VLAN of its access point, and schedules the report of the association to the
    /// box.
    fn schedule_association_report(&mut self, host: usize) {
        let number = self.access_point_of(host);
        let Some(middlebox) = &mut self.middlebox else { return };
        if self.scenario.access_points[number].channel.is_none() {
            return;
        }
        middlebox.set_vlan(host, self.scenario.access_points[number].vlan);
        if let Some(delay) = middlebox.associations_delay() {
            self.event_queue.schedule(self.now + delay, Task::Association(host as u32));
        }
    }

    /// Reports an association, as a Wi-Fi controller does.
    pub(crate) fn report_association(&mut self, host: usize) {
        let number = self.access_point_of(host);
        if let Some(middlebox) = &mut self.middlebox {
            middlebox.report_association(self.now, host, &self.scenario.access_points[number].name);
            self.drain_box();
        }
    }

    /// Index of a station's present or last access point.
    fn access_point_of(&self, host: usize) -> usize {
        self.domains.access_point_of(self.domains.first.station_of(host))
    }

    fn command(&mut self, what: &str, command: Command) {
        self.note(what, String::new());
        if let Some(middlebox) = &mut self.middlebox {
            middlebox.command(self.now, command);
            self.drain_box();
        }
    }

    /// Reports the senders' rates, as if polled from an access point.
    pub(crate) fn report_rates(&mut self) {
        self.event_queue.schedule(self.now + RATES_INTERVAL, Task::Rates);
        let changed: Vec<_> = self.domains.all_mut().flat_map(|air| air.changed_rates()).collect();
        for (host, rate) in changed {
            self.observe(host, Some(rate));
        }
    }

    /// Reports losses, as if polled from an access point's counters.
    pub(crate) fn report_losses(&mut self) {
        let Some(middlebox) = &mut self.middlebox else { return };
        for (access_point, total) in self.domains.all().flat_map(|air| air.overflows()) {
            middlebox.report_losses(self.now, access_point, total);
        }
        if let Some(interval) = middlebox.losses_interval() {
            self.event_queue.schedule(self.now + interval, Task::Losses);
        }
        self.drain_box();
    }

    /// Reports the stations' signals, as if polled from an access point.
    pub(crate) fn report_signals(&mut self) {
        self.event_queue.schedule(self.now + SIGNALS_INTERVAL, Task::Signals);
        let Some(middlebox) = &mut self.middlebox else { return };
        let signals = self.domains.all_mut().flat_map(|air| air.signals());
        for (host, signal) in signals {
            middlebox.report_signal(self.now, host, signal);
        }
        self.drain_box();
    }

    fn observe(&mut self, host: usize, rate: Option<evenair_wifi::PhyRate>) {
        if let Some(middlebox) = &mut self.middlebox {
            middlebox.observe(self.now, host, rate);
            self.drain_box();
        }
    }

    /// Starts the watch feed, if it is asked for.
    pub(crate) fn begin_watch(&mut self) {
        if self.watch.is_some() {
            self.event_queue.schedule(self.now + watch::INTERVAL, Task::Watch);
        }
    }

    /// Records the box's state of this second.
    pub(crate) fn watch_second(&mut self) {
        self.begin_watch();
        let (Some(watch), Some(middlebox)) = (&mut self.watch, &self.middlebox) else { return };
        let report = middlebox.report(self.now);
        let name = |host: usize| self.scenario.hosts.get(host).map(|host| host.name.clone());
        let names = report.stations.iter().map(|station| name(station_of(station.mac)?)).collect();
        watch.take_second(self.now, &report, names);
    }
}
