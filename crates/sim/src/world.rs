//! The world: the event loop, and the hops of a packet.
//!
//! ```text
//! station ~ medium ~ access point -.- [box] - LAN switch - server
//! station ~ medium ~ access point -'               `------- router - Internet link - server
//! ```
//!
//! Between an access point and the box there may be a path that delays packets (`paths`).
//!
//! Events are processed one at a time: the next event of the medium, a packet's arrival after a wire or a path, or the next
//! entry of the event queue (a TCP timer, an application, the box, an event of the scenario). At equal times they are processed
//! in this order. The medium advances by itself until the TX status of a frame is known or another event is due. Immediate
//! consequences of an event (an acknowledgment, a release of the box) are processed before the next event. Nothing here depends
//! on a clock, on addresses in memory, or on anything but the scenario and its seed.

use std::sync::Arc;

use evenair_ap::{Received, TxResult, TxStatus, Unsent};
use evenair_manager::{Event as BoxEvent, GuardStep, Mode, Output};
use evenair_medium::{AccessCategory, DropReason, Event as AirEvent};
use evenair_packet::Port;
use evenair_results::{CountedAirtime, DELIVERED, EventRecord, LISTED, PageLog, TransferLog};
use evenair_scenario::{Action, AppKind, Scenario};
use evenair_sched::Cause;
use evenair_units::{Bytes, Instant, Span, Streams};
use evenair_workload::Direction;

use crate::apps::{App, Way};
use crate::backlogged::Backlogged;
use crate::connections::{Connections, way_from};
use crate::domain::{AirFrame, Delivery, End, Loss, Sender};
use crate::domains::ContentionDomains;
use crate::event_queue::{EventQueue, Side, Task};
use crate::meter::{IntervalSample, Meter};
use crate::middlebox::{Middlebox, station_of};
use crate::packet::{Body, Carries, Packet, PacketId, Pool};
use crate::packet_log::PacketLog;
use crate::paths::Paths;
use crate::report::counted_airtime;
use crate::run_log::RunLog;
use crate::tcp::Config;
use crate::trace::Tracer;
use crate::watch::Watch;
use crate::wire::{Leads, TO_ACCESS_POINT, Wire};
use crate::wlan_record::WlanRecord;
use crate::{SimError, SimOptions};

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) now: Instant,
    pub(crate) event_queue: EventQueue,
    pub(crate) pool: Pool,
    pub(crate) domains: ContentionDomains,
    pub(crate) wire: Wire,
    pub(crate) paths: Paths,
    pub(crate) middlebox: Option<Middlebox>,
    pub(crate) connections: Connections,
    pub(crate) apps: Vec<App>,
    /// Routing of each application, indexed like `apps`.
    pub(crate) ways: Vec<Way>,
    /// Indices of the bulk transfers.
    bulk: Vec<u32>,
    pub(crate) meter: Meter,
    pub(crate) tracer: Option<Box<Tracer>>,
    pub(crate) packet_log: Option<Box<PacketLog>>,
    /// A trace or record needs the transmissions on the air.
    pub(crate) watches_air: bool,
    pub(crate) watch: Option<Box<Watch>>,
    pub(crate) wlan_record: Option<Box<WlanRecord>>,
    pub(crate) arrived: u64,
    pub(crate) lost: u64,
    pub(crate) next_event: usize,
    ticks: u64,
    pub(crate) run_log: RunLog,
    pub(crate) pages: PageLog,
    pub(crate) transfers: TransferLog,
    /// Airtime at the end of each period.
    pub(crate) airtime: Vec<CountedAirtime>,
    pub(crate) backlogged: Backlogged,
    /// Nanoseconds for which each station was backlogged in each period.
    pub(crate) backlogged_ns: Vec<Vec<u64>>,
}

impl World {
    /// The world at the start of a run. `tcp` is the configuration of every host's TCP.
    pub(crate) fn new(whole: Arc<Scenario>, tcp: &Config, options: &SimOptions) -> Result<Self, SimError> {
        let scenario = &*whole;
        let (streams, listed) = (Streams::new(scenario.seed), options.listed.unwrap_or(LISTED));
        let mut domains = ContentionDomains::new(scenario, &streams);
        for host in (0..scenario.hosts.len()).filter(|&host| scenario.hosts[host].place.is_station()) {
            if !scenario.is_present(host, Span::ZERO) {
                let station = domains.first.station_of(host);
                domains.of_mut(station).leave(Instant::ZERO, station);
            }
        }
        let wire = Wire::new(scenario, &streams);
        let is_watched = options.watching.is_some();
        let is_commanded = scenario.events.iter().any(|event| matches!(event.action, Action::Insert | Action::Bypass));
        let apps = App::all(scenario, tcp, &domains.first, &wire, &streams)?;
        let bulk = bulk(scenario);
        let mut world = Self {
            now: Instant::ZERO,
            event_queue: EventQueue::default(),
            pool: Pool::default(),
            middlebox: (options.has_box || is_watched || is_commanded)
                .then(|| Middlebox::new(scenario, options.without)),
            connections: Connections::with_room_for(bulk.len()),
            bulk,
            ways: apps.iter().map(App::way).collect(),
            apps,
            meter: Meter::new(scenario),
            tracer: None,
            packet_log: None,
            watches_air: false,
            watch: options.watching.map(|watching| Box::new(Watch::new(watching))),
            wlan_record: options.record_wlan.then(|| Box::new(WlanRecord::new(scenario))),
            arrived: 0,
            lost: 0,
            next_event: 0,
            ticks: 0,
            run_log: RunLog::new(listed),
            pages: PageLog::new(scenario).listing(listed),
            transfers: TransferLog::new(scenario).listing(listed),
            airtime: Vec::new(),
            backlogged: Backlogged::new(domains.first.hosts().count()),
            backlogged_ns: Vec::new(),
            domains,
            wire,
            paths: Paths::new(scenario, &streams),
            scenario: whole,
        };
        world.begin();
        Ok(world)
    }

    /// Schedules the scenario's events and applications.
    fn begin(&mut self) {
        let scenario = Arc::clone(&self.scenario);
        self.begin_associations();
        for (number, app) in scenario.apps.iter().enumerate() {
            self.event_queue.schedule(Instant::ZERO + app.start, Task::Start(number as u32));
            if let Some(stop) = app.stop {
                self.event_queue.schedule(Instant::ZERO + stop, Task::Stop(number as u32));
            }
        }
        if let Some(event) = scenario.events.first() {
            self.event_queue.schedule(Instant::ZERO + event.at, Task::Event);
        }
        self.begin_reports();
        self.begin_watch();
    }

    /// Processes what is due before `stop`, in order, up to `most` events; returns whether that is all. Events at `stop`
    /// itself are not processed.
    pub(crate) fn run_before(&mut self, stop: Instant, most: u32) -> bool {
        for _ in 0..most {
            let (wire, path) = (self.wire.deadline(), self.paths.deadline());
            let next = wire.min(path).min(self.event_queue.next());
            let air = self.domains.deadline();
            if air <= next && air < stop {
                self.run_air(air, next, stop);
            } else if next >= stop {
                return true;
            } else {
                self.now = next;
                if wire == next {
                    self.take_from_wire();
                } else if path == next {
                    self.take_from_path();
                } else {
                    let task = self.event_queue.pop().expect("it has an entry");
                    if self.is_large() {
                        self.prefetch_next_event();
                    }
                    self.perform(task);
                }
            }
            self.drain_air();
        }
        false
    }

    /// Advances the time to `now`; nothing may be due before it.
    pub(crate) fn come_to(&mut self, now: Instant) {
        if now > Instant::ZERO {
            self.visit_sinks(now - Span::from_nanos(1));
        }
        self.now = now;
    }

    /// End of the present interval.
    pub(crate) fn next_tick(&self) -> Instant {
        Instant::ZERO + self.scenario.measure.interval * (self.ticks + 1)
    }

    /// Advances the medium from `air` until a frame's TX status is known, something else is due at `next`, or the interval ends
    /// at `stop`. A trace and records of packets get the frames on the air step by step.
    fn run_air(&mut self, air: Instant, next: Instant, stop: Instant) {
        let limit = next.min(stop - Span::from_nanos(1));
        if self.watches_air {
            self.now = air;
            self.domains.handle_timeout(air);
        } else if self.domains.are_several() {
            self.now = self.domains.advance(limit);
        } else {
            self.now = self.domains.first.advance(air, limit);
        }
    }

    fn perform(&mut self, task: Task) {
        match task {
            Task::Tcp { connection, side } => {
                if self.connections.fire(&mut self.event_queue, self.now, connection, side) {
                    if side == Side::Station && self.connections.are_many() {
                        self.prefetch_station(self.connections.get(connection).app);
                    }
                    self.pump(connection, side);
                }
            }
            Task::App(app) => self.wake_app(app),
            Task::Box => {
                if let Some(middlebox) = &mut self.middlebox {
                    middlebox.fire(self.now);
                    self.drain_box();
                }
            }
            Task::Start(app) => self.start_app(app),
            Task::Stop(app) => self.stop_app(app),
            Task::Event => self.do_event(),
            Task::Rates => self.report_rates(),
            Task::Losses => self.report_losses(),
            Task::Signals => self.report_signals(),
            Task::Come { host, access_point } => self.come(host as usize, access_point.into()),
            Task::Association(host) => self.report_association(host as usize),
            Task::Watch => self.watch_second(),
        }
    }

    /// Ends the interval.
    pub(crate) fn end_interval(&mut self) {
        self.ticks += 1;
        let at = self.scenario.measure.interval * self.ticks;
        let (queue_packets, queue_area) = self.domains.take_queue(self.now);
        let mode = self.middlebox.as_ref().map_or(Mode::Bypassed, Middlebox::mode);
        let managing = self.middlebox.as_ref().filter(|_| mode != Mode::Bypassed);
        let interval_sample = IntervalSample {
            at,
            mode: evenair_view::mode(mode),
            queue_packets,
            queue_area,
            service_rate_mbps: managing.map(|middlebox| middlebox.report(self.now).service_rate.as_mbps_f64()),
        };
        let (apps, connections) = (&self.apps, &self.connections);
        let sample = |app: usize| Some((app, apps[app].sample(connections)?));
        self.meter.end_interval(&interval_sample, self.bulk.iter().filter_map(|&app| sample(app as usize)));
        self.meter.end_interval_of_sites(&self.wire, self.middlebox.as_ref().map(|m| m.report(self.now).counters));
        if self.domains.end_interval(self.now, || self.meter.take_period()) {
            let counted = counted_airtime(self);
            self.airtime.push(counted);
            let backlogged = self.backlogged.take(self.now);
            self.backlogged_ns.push(backlogged);
        }
        self.meter.note_progress(&interval_sample);
    }

    /// Checks that every packet that was made has arrived, was lost, or is held somewhere.
    ///
    /// # Panics
    /// If a packet is missing.
    pub(crate) fn check_conservation(&self) {
        let in_box = self.middlebox.as_ref().map_or(0, |middlebox| middlebox.held());
        let held = (self.domains.held() + self.wire.held() + self.paths.held()) as u64 + in_box;
        assert_eq!(self.pool.created(), self.arrived + self.lost + held, "packets went missing");
        assert_eq!(self.pool.under_way() as u64, held, "packets are under way nowhere");
        let queued = self.domains.held() as u64 + in_box;
        assert_eq!(self.backlogged.packets(), queued, "stations' queued packets are miscounted");
    }

    pub(crate) fn note(&mut self, what: &str, detail: String) {
        let at_s = self.now.saturating_since(Instant::ZERO).as_secs_f64();
        self.run_log.push(EventRecord { at_s, what: what.to_owned(), detail });
    }
}

/// The path of a packet.
impl World {
    /// One end of an application sends a packet.
    pub(crate) fn send(&mut self, packet: Packet) {
        let id = self.pool.add(packet);
        self.send_made(&packet, id);
    }

    /// As [`World::send`], for a packet that is in the pool already.
    #[inline(always)]
    pub(crate) fn send_made(&mut self, packet: &Packet, id: PacketId) {
        let app = self.ways[packet.app as usize];
        self.meter.send(packet);
        match packet.way {
            Direction::Up => {
                let station = app.station as usize;
                if let Some(id) = self.take_delay_of_station(station, id) {
                    self.enter_station_mac(station, id);
                }
            }
            Direction::Down => {
                let port = app.first_port_down;
                self.send_wire(port, packet.len, id);
            }
        }
    }

    /// Hands a packet of a station to its MAC.
    #[inline(always)]
    pub(crate) fn enter_station_mac(&mut self, station: usize, id: PacketId) {
        let category = self.ways[self.pool.get(id).app as usize].category;
        self.send_up(station, AirFrame { packet: id, category });
    }

    /// Hands a packet to a station's MAC; it is lost if the station is not associated.
    #[inline(always)]
    pub(crate) fn send_up(&mut self, station: usize, frame: AirFrame) {
        self.log_enqueued(frame.packet);
        match self.domains.of_mut(station).send_up(self.now, station, &self.pool, frame) {
            Ok(()) => self.backlogged.enter(station as u32, self.now),
            Err(id) => {
                let domain = self.domains.domain_of(station);
                self.lose_on_air(domain, Sender::Station(station), Loss::NotAssociated, id);
            }
        }
    }

    /// Index of the station at one end of a packet's path.
    #[inline(always)]
    fn station_of(&self, id: PacketId) -> u32 {
        self.ways[self.pool.get(id).app as usize].station
    }

    #[inline(always)]
    fn send_wire(&mut self, port: u32, len: Bytes, id: PacketId) {
        if let Some(dropped) = self.wire.send(self.now, port, len, id) {
            self.lose(dropped);
        }
        if self.wire.has_many_to_sinks() {
            self.visit_sinks(self.now);
        }
    }

    /// Counts the arrivals at servers that only count, with their times. Batched, since nothing else depends on them: that
    /// is faster and does not interrupt the medium.
    #[inline(never)]
    fn visit_sinks(&mut self, until: Instant) {
        let now = self.now;
        while let Some((at, id)) = self.wire.arrival_at_sink(until) {
            self.now = at;
            self.arrive(id, Side::Server);
        }
        self.now = now;
    }

    fn take_from_wire(&mut self) {
        let Some((leads, id)) = self.wire.arrival(self.now) else { return };
        match leads {
            Leads::ToAccessPoint => self.enter_box(id),
            Leads::ToServer(_) | Leads::UpInternet => self.arrive(id, Side::Server),
            Leads::ToRouter | Leads::FromServer(_) | Leads::DownInternet => {
                let next = self.wire.next_port(leads).unwrap_or(TO_ACCESS_POINT);
                let len = self.pool.get(id).len;
                self.send_wire(next, len, id);
            }
        }
    }

    /// Handles a packet that arrives at the box, from either side.
    #[inline(always)]
    pub(crate) fn enter_box(&mut self, id: PacketId) {
        self.trace_wire(id, true);
        if let Some(record) = &mut self.wlan_record {
            let (packet, segment) = self.pool.whole(id);
            record.come(self.now, packet, segment);
        }
        match &mut self.middlebox {
            Some(middlebox) if middlebox.carries() => {
                if self.watch.as_mut().is_some_and(|watch| watch.loses_next(self.now)) {
                    return self.lose(id);
                }
                let station = self.ways[self.pool.get(id).app as usize].station;
                self.backlogged.enter(station, self.now);
                middlebox.handle_packet(self.now, id, &self.pool, &self.connections);
                self.drain_box();
            }
            Some(middlebox) if middlebox.wants_copies() || self.watch.as_ref().is_some_and(|w| w.is_observing()) => {
                middlebox.handle_packet(self.now, id, &self.pool, &self.connections);
                self.drain_box();
                self.leave_box(id);
            }
            _ => self.leave_box(id),
        }
    }

    #[inline(always)]
    pub(crate) fn leave_box(&mut self, id: PacketId) {
        let packet = self.pool.get(id);
        if let (Direction::Up, Body::Probe) = (packet.way, packet.body) {
            // The box itself is the destination of the answer, even if late or unrequested.
            return self.end(id);
        }
        self.trace_wire(id, false);
        if let Some(record) = &mut self.wlan_record {
            let (packet, segment) = self.pool.whole(id);
            record.leave(self.now, packet, segment);
        }
        let packet = self.pool.get(id);
        let app = self.ways[packet.app as usize];
        match packet.way {
            Direction::Up => {
                let (port, len) = (app.first_port_up, packet.len);
                self.send_wire(port, len, id);
            }
            Direction::Down => {
                if let Some(id) = self.take_path(app.station as usize, Direction::Down, id) {
                    self.enter_access_point(id);
                }
            }
        }
    }

    /// Hands a packet for a station to its access point.
    #[inline(always)]
    pub(crate) fn enter_access_point(&mut self, id: PacketId) {
        let app = self.ways[self.pool.get(id).app as usize];
        self.log_enqueued(id);
        let frame = AirFrame { packet: id, category: self.category_of(id) };
        let station = app.station as usize;
        let air = self.domains.of_mut(station);
        let sent = if app.group {
            air.send_to_all(self.now, station, &self.pool, frame);
            Ok(())
        } else {
            air.send_down(self.now, station, &self.pool, frame)
        };
        match sent {
            Ok(()) => self.backlogged.enter(app.station, self.now),
            Err(id) => {
                let (domain, point) = self.domains.place_of(station);
                self.lose_on_air(domain, Sender::AccessPoint(point), Loss::NotAssociated, id);
            }
        }
    }

    /// Carries out the manager's decisions.
    pub(crate) fn drain_box(&mut self) {
        let are_copies = self.middlebox.as_ref().is_some_and(|middlebox| !middlebox.carries());
        while let Some(output) = self.middlebox.as_mut().and_then(Middlebox::poll_output) {
            if let (Output::Release { packet, .. } | Output::Drop { packet, .. } | Output::Consume { packet }, false) =
                (&output, are_copies)
            {
                self.backlogged.leave(self.station_of(*packet), self.now);
            }
            match output {
                Output::Release { .. } | Output::Drop { .. } | Output::Consume { .. } if are_copies => {}
                Output::Release { packet, port, edits } => {
                    self.pool.edit(packet, &edits);
                    let way = self.pool.get(packet).way;
                    assert_eq!(port == Port::Wlan, way == Direction::Down, "the box turned a packet round");
                    self.leave_box(packet);
                }
                Output::Drop { packet, .. } => self.lose(packet),
                Output::Probe { station, address, .. } => self.send_probe(station, address),
                Output::Consume { packet } => self.end(packet),
                Output::Event(BoxEvent::ModeChanged(Mode::Inserted)) => self.note("inserted", String::new()),
                Output::Event(BoxEvent::ModeChanged(Mode::Bypassed)) => self.note("bypassed", String::new()),
                Output::Event(BoxEvent::StationOverShare { mac, over }) => {
                    let what = if over { "over its share" } else { "within its share" };
                    let name =
                        station_of(mac).map_or_else(|| mac.to_string(), |host| self.scenario.hosts[host].name.clone());
                    self.note(what, name);
                }
                Output::Event(BoxEvent::Guard { domain, step, .. }) => {
                    let what = match step {
                        GuardStep::Opened => "guard: nothing held",
                        GuardStep::Restored => "guard: no gain",
                        GuardStep::Bypassed => "guard: bypass",
                        GuardStep::Measuring => "guard: measures without holding",
                        GuardStep::Trying => "guard: trial",
                        GuardStep::Proven => "guard: trial succeeded",
                    };
                    self.note(what, domain.to_string());
                }
                Output::Event(event) => self.note_call(&event),
            }
        }
        if let Some(middlebox) = &mut self.middlebox {
            middlebox.schedule(&mut self.event_queue);
        }
    }

    /// Records the box's decision about a call.
    fn note_call(&mut self, event: &BoxEvent) {
        let (what, station) = match event {
            BoxEvent::AddressContested { claimant, .. } => ("address contested", claimant),
            BoxEvent::CallAdmitted { station, .. } => ("call admitted", station),
            BoxEvent::CallRefused { station, .. } => ("call refused", station),
            BoxEvent::CallRoamed { station, over: None, .. } => ("call roamed", station),
            BoxEvent::CallRoamed { station, over: Some(_), .. } => ("call roamed, one too many", station),
            BoxEvent::CallEnded { station, .. } => ("call ended", station),
            _ => return,
        };
        let name = |host: usize| self.scenario.hosts[host].name.clone();
        let name = station_of(*station).map_or_else(|| station.to_string(), name);
        self.note(what, name);
    }

    /// Handles the TX status of frames on the air.
    pub(crate) fn drain_air(&mut self) {
        self.drain_domain(0);
        if self.domains.are_several() {
            self.drain_others();
        }
    }

    /// The same for several domains: a report of one may cause an event in another.
    #[inline(never)]
    fn drain_others(&mut self) {
        let (mut domain, mut quiet) = (0, 1);
        while quiet < self.domains.count() {
            domain = (domain + 1) % self.domains.count();
            quiet = if self.drain_domain(domain) { 1 } else { quiet + 1 };
        }
    }

    /// Handles a domain's reports; returns whether there were any.
    #[inline(always)]
    fn drain_domain(&mut self, domain: usize) -> bool {
        self.trace_air(domain);
        let mut any = false;
        loop {
            any |= self.drain_medium(domain);
            let Some(Unsent { from, cause, frame }) = self.domains.at_mut(domain).poll_unsent() else { return any };
            any = true;
            let category = self.category_of(frame);
            let sender = self.domains.at(domain).sender(from);
            self.backlogged.leave(self.station_of(frame), self.now);
            self.lose_on_air(domain, sender, Loss::Queue(cause), frame);
            self.domains.at_mut(domain).drop(self.now, from, category, cause == Some(Cause::Overflow));
        }
    }

    #[inline(always)]
    fn drain_medium(&mut self, domain: usize) -> bool {
        let mut any = false;
        while let Some(event) = self.domains.at_mut(domain).medium.poll_event() {
            any = true;
            match event {
                AirEvent::Delivered { at, enqueued, from, to, msdu, attempts, airtime, frame } => {
                    if self.is_large() {
                        self.prefetch_next_sender(domain);
                    }
                    let packet = self.pool.get(frame);
                    self.meter.count(packet);
                    self.backlogged.leave(self.ways[packet.app as usize].station, at);
                    let category = self.category_of(frame);
                    let result = TxResult::Delivered { attempts, airtime };
                    let air = self.domains.at_mut(domain);
                    air.come_to_queue(self.now, from, to, |station| Received { station, category, attempts, airtime });
                    let enqueued =
                        air.leave_queue(self.now, from, TxStatus { to, category, result }).unwrap_or(enqueued);
                    let sender = air.sender(from);
                    let is_station = matches!(sender, Sender::Station(_));
                    let since = if is_station { packet.made(enqueued) } else { enqueued };
                    air.deliver(from, sender, Delivery { at, since, category, attempts, msdu });
                    self.log_delivered(frame, End { domain, sender, at, outcome: DELIVERED }, attempts);
                    match sender {
                        Sender::AccessPoint(_) => {
                            if self.connections.are_many() {
                                self.prefetch_queue(domain, from);
                            }
                            self.arrive(frame, Side::Station);
                        }
                        Sender::Station(station) => {
                            if self.connections.are_many() {
                                self.prefetch_arrival(frame, Side::Server);
                            }
                            self.catch_up(station, Some(msdu));
                            self.leave_access_point(station, frame);
                        }
                    }
                }
                AirEvent::Dropped { at, from, to, msdu, reason, frame } => {
                    let category = self.category_of(frame);
                    let result = if reason == DropReason::RetryLimit { TxResult::GivenUp } else { TxResult::Unsent };
                    let air = self.domains.at_mut(domain);
                    air.leave_queue(self.now, from, TxStatus { to, category, result });
                    let sender = air.sender(from);
                    self.backlogged.leave(self.station_of(frame), at);
                    self.lose_on_air(domain, sender, Loss::Medium(reason), frame);
                    let found_no_room = reason == DropReason::BufferFull;
                    self.domains.at_mut(domain).drop(at, from, category, found_no_room);
                    match sender {
                        Sender::AccessPoint(_) => {}
                        Sender::Station(station) if reason != DropReason::BufferFull => {
                            self.catch_up(station, Some(msdu))
                        }
                        Sender::Station(_) => {}
                    }
                }
            }
        }
        any
    }

    /// Handles a packet that has reached its end.
    #[inline(always)]
    fn arrive(&mut self, id: PacketId, side: Side) {
        let packet = self.pool.take(id);
        self.arrived += 1;
        match &packet.body {
            Body::Tcp { connection, serial, .. } => {
                if self.connections.is(*connection, *serial) {
                    let are_many = self.connections.are_many();
                    let tcp = self.connections.tcp_mut(*connection, side);
                    let segment = self.pool.segment(id);
                    if are_many {
                        tcp.prefetch(segment.len > 0);
                    }
                    tcp.handle_segment(self.now, segment);
                    if let Some(rtt) = tcp.take_rtt_sample() {
                        self.meter.round_trip(packet.app, side, rtt);
                    }
                    self.pump(*connection, side);
                }
            }
            Body::Datagram { sent } => {
                self.meter.delay(packet.app, self.now.saturating_since(*sent));
                self.receive_datagram(&packet);
            }
            Body::Speech { sent, .. } => {
                self.meter.delay(packet.app, self.now.saturating_since(*sent));
                self.receive_speech(&packet, *sent);
            }
            Body::Echo { sent } => {
                if side == Side::Station {
                    self.meter.echo(packet.app, self.now.saturating_since(*sent));
                }
                self.receive_echo(packet.app, *sent, side);
            }
            Body::Probe => self.answer_probe(&packet),
        }
    }

    /// Polls an endpoint's segments and events.
    pub(crate) fn pump(&mut self, connection: u32, side: Side) {
        let pair = self.connections.get(connection);
        let (app, serial) = (pair.app, pair.serial);
        let way = self.ways[app as usize];
        if way.only_counts {
            let received = self.connections.tcp_mut(connection, side).take_received();
            if received > Bytes::ZERO {
                self.meter.receive(app, received.0);
            }
        }
        loop {
            let tcp = self.connections.tcp_mut(connection, side);
            let segment = self.pool.next_segment();
            if tcp.transmit(self.now, segment) {
                let len = way.ip_header() + segment.size();
                let body = Body::Tcp { connection, serial, carries: Carries::of(segment) };
                let packet = Packet { app, way: way_from(side), len, body };
                let id = self.pool.add(packet);
                self.send_made(&packet, id);
            } else if let Some(event) = tcp.poll_event() {
                self.on_tcp_event(connection, side, event);
            } else {
                break;
            }
        }
        self.connections.schedule_or_close(&mut self.event_queue, connection, side);
    }

    #[inline(always)]
    pub(crate) fn lose_on_air(&mut self, domain: usize, place: Sender, loss: Loss, id: PacketId) {
        let category = self.category_of(id);
        self.domains.at_mut(domain).lose(place, category, loss);
        self.log_lost(id, End { domain, sender: place, at: self.now, outcome: loss.reason() });
        if let Some(record) = &mut self.wlan_record {
            record.lose(self.pool.get(id));
        }
        self.lose(id);
    }

    fn category_of(&self, id: PacketId) -> AccessCategory {
        match self.pool.remarked(id) {
            Some(dscp) => AccessCategory::of_dscp(dscp),
            None if self.is_probe(id) => AccessCategory::BestEffort,
            None => self.ways[self.pool.get(id).app as usize].category,
        }
    }

    fn lose(&mut self, id: PacketId) {
        self.pool.take(id);
        self.lost += 1;
    }
}

/// Indices of the bulk transfers.
fn bulk(scenario: &Scenario) -> Vec<u32> {
    let apps = (0..).zip(&scenario.apps);
    apps.filter(|(_, app)| matches!(app.kind, AppKind::Bulk { .. })).map(|(number, _)| number).collect()
}
