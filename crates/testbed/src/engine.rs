//! The real-time loop: simulated air and wires between TAP devices.
//!
//! Simulated time is the monotonic clock. The loop sleeps until the model's next deadline or until a device is readable,
//! lets the model process its due events *at their own simulated instants*, and hands frames over as soon as it can.
//! Devices are read eagerly, so that frames wait in the model's queues and never in the kernel's. Nothing in the loop
//! blocks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use evenair_link::{DelayConfig, DelayLine};
use evenair_medium::{Counters, MeasuredAirtime, Totals};
use evenair_scenario::{AirPlan, Place, Scenario};
use evenair_sys::rt::{Waker, thread_cpu_ns};
use evenair_sys::tap::Tap;
use evenair_units::{Airtime, Instant, Span, Streams};
use evenair_workload::Direction;

use crate::air::{self, Air, BssTotals, Output};
use crate::calls::Calls;
use crate::error::TestbedError;
use crate::lateness::Record;
use crate::meter::Meter;
use crate::owners::Owners;
use crate::paths::{Arrival, Paths};
use crate::plan;
use crate::radio::{Command, Snapshot};
use crate::topology::{self, Port};
use crate::vlan;
use crate::waiter::{Clock, Ready, Waiter};
use crate::wire::{self, Wire};

/// Maximum number of frames read from one device before the others have their turn.
const BATCH: usize = 64;
/// Size of the read buffer in bytes: a TAP device gives at most MTU + 18.
const FRAME_MAX: usize = 2048;

pub(crate) struct Engine {
    clock: Clock,
    waiter: Waiter,
    taps: Vec<(Port, Tap)>,
    by_port: BTreeMap<Port, usize>,
    air: Air,
    wire: Wire,
    /// Wired paths between the box and the access points.
    paths: Paths,
    /// Calls by telephone programs.
    calls: Calls,
    waker: Arc<Waker>,
    inbox: Receiver<Command>,
    outbox: Sender<Snapshot>,
    blank_meter: Meter,
    counts: Counts,
    schedule: Option<Schedule>,
    /// The latest time passed to the model.
    reached: Instant,
}

/// Counters since the start of measuring.
struct Counts {
    meter: Meter,
    record: Record,
    air_losses: BTreeMap<(air::Place, air::Reason), u64>,
    refused_by_device: u64,
    /// Packet-nanoseconds in the access points' queues, since the last snapshot.
    queue_area: u128,
    queue_since: Instant,
    queue_packets: usize,
    medium_base: Vec<Totals>,
    senders_base: Counters,
    access_point_base: Counters,
    /// Airtime of each station at the start of measuring.
    airtime_base: Vec<Airtime>,
    measured_base: Vec<MeasuredAirtime>,
    access_point_airtime_base: Vec<Airtime>,
    bss_base: Vec<BssTotals>,
    cpu_base_ns: u64,
    wire_base: BTreeMap<wire::Port, u64>,
}

/// The engine's ends of the channels to the thread that started it.
pub(crate) struct Channels {
    /// Wakes the loop once a command is in the inbox.
    pub(crate) waker: Arc<Waker>,
    pub(crate) inbox: Receiver<Command>,
    pub(crate) outbox: Sender<Snapshot>,
}

#[derive(Clone, Copy)]
struct Schedule {
    start: Instant,
    interval: Span,
    next: u64,
}

impl Schedule {
    fn due(&self) -> Instant {
        self.start + self.interval * self.next
    }
}

impl Engine {
    /// An engine for the calling thread, which must run the loop.
    pub(crate) fn new(
        scenario: &Scenario,
        clock: Clock,
        taps: Vec<(Port, Tap)>,
        channels: Channels,
    ) -> Result<Self, TestbedError> {
        let Channels { waker, inbox, outbox } = channels;
        let waiter = Waiter::new(clock, taps.iter().map(|(_, tap)| tap), &waker)?;
        let station_hosts = topology::stations(scenario);
        let number_of = |host: usize| station_hosts.iter().position(|&h| h == host).unwrap_or(usize::MAX);
        let owners = Owners::new(scenario, number_of);
        let meter = Meter::new(scenario, owners.clone());
        let macs: Vec<_> = station_hosts.iter().map(|&host| plan::host(scenario, host).mac).collect();
        let air = Air::new(AirPlan::all(scenario), &macs, owners, &Streams::new(scenario.seed))
            .with_vlans(vlan::of_access_points(scenario));
        Ok(Self {
            clock,
            waiter,
            by_port: taps.iter().enumerate().map(|(index, &(port, _))| (port, index)).collect(),
            taps,
            wire: wired_side(scenario, &Streams::new(scenario.seed)),
            paths: Paths::new(scenario, &Streams::new(scenario.seed)),
            calls: Calls::new(scenario),
            counts: Counts::new(meter.clone(), &air, &BTreeMap::new(), clock.now()),
            blank_meter: meter,
            air,
            waker,
            inbox,
            outbox,
            schedule: None,
            reached: Instant::ZERO,
        })
    }

    /// Runs until the stop command.
    pub(crate) fn run(mut self) -> Result<(), TestbedError> {
        let mut ready = Ready::default();
        loop {
            self.advance(self.clock.now());
            self.waiter.wait(self.deadline(), &mut ready)?;
            if ready.woken && self.obey() {
                return Ok(());
            }
            for &device in &ready.devices {
                self.read(device)?;
            }
        }
    }

    fn model_deadline(&self) -> Option<Instant> {
        earlier(earlier(self.air.poll_deadline(), self.wire.poll_deadline()), self.paths.poll_deadline())
    }

    fn deadline(&self) -> Option<Instant> {
        earlier(self.model_deadline(), self.schedule.map(|schedule| schedule.due()))
    }

    /// Processes all due events of the model, and hands over its outputs.
    fn advance(&mut self, now: Instant) {
        while let Some(due) = self.schedule.filter(|schedule| schedule.due() <= now) {
            self.advance_model(due.due().max(self.reached));
            self.tick(now);
        }
        self.advance_model(now);
    }

    fn advance_model(&mut self, now: Instant) {
        let mut idle_at_first = None;
        // Each instant separately, so that idle time before a frame was due does not count as its lateness.
        while let Some(due) = self.model_deadline().filter(|&due| due <= now) {
            let due = due.max(self.reached);
            self.reached = due;
            self.air.handle_timeout(due);
            if self.hand_over(due) {
                idle_at_first.get_or_insert_with(|| self.air.idle(due));
            }
        }
        self.reached = self.reached.max(now);
        if let Some(idle_before) = idle_at_first {
            // If these frames had been handed over when they were due, answers might have filled this idle time.
            let idle = self.air.idle(self.reached);
            self.counts.record.idle_for_late += idle.saturating_sub(idle_before);
        }
    }

    /// Hands over the model's outputs; returns whether there was any frame.
    fn hand_over(&mut self, now: Instant) -> bool {
        let frames_before = self.counts.record.lateness.count();
        loop {
            if let Some(output) = self.air.poll_output() {
                self.hand_over_air(output);
            } else if let Some(delivery) = self.wire.poll_frame(now) {
                self.write(Port::Wire(delivery.port), delivery.at, &delivery.frame);
            } else if let Some(Arrival { at, access_point, way, frame }) = self.paths.poll_frame(now) {
                match way {
                    Direction::Up => self.write_to_box(at, access_point, frame),
                    Direction::Down => self.air.handle_frame_at(now, access_point, &frame),
                }
            } else {
                break;
            }
        }
        self.note_queue(now);
        self.counts.record.lateness.count() > frames_before
    }

    fn hand_over_air(&mut self, output: Output) {
        match output {
            Output::ToStation { at, station, frame } => {
                self.write(Port::Station(station), at, &frame);
                self.counts.meter.count(station, Direction::Down, &frame);
            }
            Output::ToAllStations { at, access_point, except, frame } => {
                let hears = |station: &usize| Some(*station) != except && self.air.is_at(*station, access_point);
                for station in (0..self.air.stations()).filter(hears).collect::<Vec<_>>() {
                    self.write(Port::Station(station), at, &frame);
                }
                self.counts.meter.count_group(&frame);
            }
            Output::ToWire { at, station, frame } => {
                self.counts.meter.count(station, Direction::Up, &frame);
                self.send_up(at, self.air.access_point_of(station), frame);
            }
            Output::Update { at, access_point, frame } => self.send_up(at, access_point, frame),
            Output::Lost { place, reason } => {
                *self.counts.air_losses.entry((place, reason)).or_default() += 1;
            }
        }
    }

    /// Sends a frame from an access point toward the box.
    fn send_up(&mut self, at: Instant, access_point: usize, frame: Vec<u8>) {
        if let Some(frame) = self.paths.handle_frame(at, access_point, Direction::Up, frame) {
            self.write_to_box(at, access_point, frame);
        }
    }

    /// Hands a frame of an access point to the box, in the access point's VLAN.
    fn write_to_box(&mut self, at: Instant, access_point: usize, frame: Vec<u8>) {
        let frame = vlan::tag(self.air.vlans()[access_point], frame);
        self.write(Port::AccessPoint, at, &frame);
    }

    /// Hands a frame, which arrived at `at` in simulated time, to a machine.
    fn write(&mut self, port: Port, at: Instant, frame: &[u8]) {
        let now = self.clock.now();
        if let Some(way) = self.way_of_call(port, false) {
            self.calls.come(now, way, frame);
        }
        let tap = &self.taps[self.by_port[&port]].1;
        self.counts.record.lateness.record(now.saturating_since(at));
        // The interface is down or the kernel is out of memory: the frame is lost as on a real interface.
        self.counts.refused_by_device += u64::from(tap.write(frame).is_err());
    }

    /// Direction of call packets that leave or reach the machine at a port; `None` if it is no host, or has no calls.
    fn way_of_call(&self, port: Port, leaves: bool) -> Option<Direction> {
        let of_station = match port {
            _ if self.calls.is_empty() => return None,
            Port::Station(_) => true,
            Port::Wire(wire::Port::LanHost(_) | wire::Port::WanHost(_)) => false,
            Port::AccessPoint | Port::Wire(_) => return None,
        };
        Some(if of_station == leaves { Direction::Up } else { Direction::Down })
    }

    fn read(&mut self, device: usize) -> Result<(), TestbedError> {
        let mut buffer = [0; FRAME_MAX];
        for _ in 0..BATCH {
            let now = self.clock.now();
            let Some(n) = self.taps[device].1.read(&mut buffer)? else {
                self.waiter.note_empty(device, now);
                return Ok(());
            };
            self.counts.record.ingress_lag.record(self.waiter.lag(device, now));
            // The model must process due events before new input.
            self.advance(now);
            self.take_in(now, device, buffer[..n].to_vec());
        }
        Ok(())
    }

    fn take_in(&mut self, now: Instant, device: usize, frame: Vec<u8>) {
        if let Some(way) = self.way_of_call(self.taps[device].0, true) {
            self.calls.leave(now, way, &frame);
        }
        match self.taps[device].0 {
            Port::Station(station) => self.air.handle_station_frame(now, station, frame),
            Port::AccessPoint => self.take_from_box(now, frame),
            Port::Wire(port) => self.wire.handle_frame(now, port, frame),
        }
        self.hand_over(now);
    }

    /// Handles a frame that the box sends toward the stations.
    fn take_from_box(&mut self, now: Instant, frame: Vec<u8>) {
        let (vlan, frame) = vlan::untag(self.air.vlans(), frame);
        for access_point in self.air.access_points_toward(vlan, &frame) {
            if let Some(frame) = self.paths.handle_frame(now, access_point, Direction::Down, frame.clone()) {
                self.air.handle_frame_at(now, access_point, &frame);
            }
        }
    }

    /// Executes a command; returns true for the stop command.
    fn obey(&mut self) -> bool {
        self.waker.clear();
        while let Ok(command) = self.inbox.try_recv() {
            let now = self.clock.now();
            self.advance(now);
            match command {
                Command::Measure { start, interval } => self.measure_from(now, start, interval),
                Command::Join(station) => self.air.join(station),
                Command::Leave(station) => self.air.leave(now, station),
                Command::Rate(station, rate) => self.air.set_rate(station, rate),
                Command::Go(station) => self.air.go(now, station),
                Command::Come(station, access_point) => self.air.come(now, station, access_point),
                Command::Stop => return true,
            }
            self.hand_over(now);
        }
        false
    }

    fn measure_from(&mut self, now: Instant, start: Instant, interval: Span) {
        // Interval number zero is the start itself: it resets the counters.
        self.schedule = Some(Schedule { start: start.max(now), interval, next: 0 });
        self.calls.begin(start.max(now));
    }

    fn tick(&mut self, now: Instant) {
        let Some(schedule) = &mut self.schedule else { return };
        let due = schedule.due();
        let number = schedule.next;
        schedule.next += 1;
        if number == 0 {
            self.air.take_senders(now);
            self.air.split_airtime(now);
            self.counts = Counts::new(self.blank_meter.clone(), &self.air, self.wire.drops(), now);
            return;
        }
        let snapshot = self.snapshot(number - 1, due, now);
        // The receiver is gone: the run is being stopped.
        let _ = self.outbox.send(snapshot);
    }

    fn snapshot(&mut self, index: u64, at: Instant, now: Instant) -> Snapshot {
        self.note_queue(now);
        let interval = self.schedule.map_or(Span::MAX, |schedule| schedule.interval);
        let area = std::mem::take(&mut self.counts.queue_area);
        self.air.split_airtime(now);
        let by_sender = self.air.take_senders(now);
        let counts = &self.counts;
        Snapshot {
            index,
            at,
            apps: counts.meter.counts(),
            other_bytes: counts.meter.other_bytes(),
            queue: self.air.access_point_queue(),
            queue_mean_packets: area as f64 / interval.as_nanos() as f64,
            media: self.air.totals(now).into_iter().zip(&counts.medium_base).map(|(now, &base)| now - base).collect(),
            senders: self.air.senders() - counts.senders_base,
            access_point: self.air.access_point_counters() - counts.access_point_base,
            by_sender,
            station_rates: (0..self.air.stations()).map(|station| self.air.chosen_rate(station)).collect(),
            access_point_airtime: less_air(self.air.access_point_airtime(), &counts.access_point_airtime_base),
            station_airtime: less_air(airtimes(&self.air), &counts.airtime_base),
            measured_airtime: measured(&self.air).into_iter().zip(&counts.measured_base).map(|(a, &b)| a - b).collect(),
            bss_totals: self
                .air
                .bss_totals()
                .into_iter()
                .zip(&counts.bss_base)
                .map(|(now, base)| now.since(base))
                .collect(),
            calls: self.calls.heard(now),
            lateness: counts.record.clone(),
            air_losses: counts.air_losses.clone(),
            wire_losses: less(self.wire.drops(), &counts.wire_base),
            refused_by_device: counts.refused_by_device,
            cpu: Span::from_nanos(thread_cpu_ns() - counts.cpu_base_ns),
        }
    }

    fn note_queue(&mut self, now: Instant) {
        let counts = &mut self.counts;
        let passed = now.saturating_since(counts.queue_since).as_nanos();
        counts.queue_area += u128::from(passed) * counts.queue_packets as u128;
        counts.queue_since = counts.queue_since.max(now);
        counts.queue_packets = self.air.access_point_queue().packets;
    }
}

impl Counts {
    fn new(meter: Meter, air: &Air, wire_base: &BTreeMap<wire::Port, u64>, now: Instant) -> Self {
        Self {
            meter,
            record: Record::default(),
            air_losses: BTreeMap::new(),
            refused_by_device: 0,
            queue_area: 0,
            queue_since: now,
            queue_packets: air.access_point_queue().packets,
            medium_base: air.totals(now),
            senders_base: air.senders(),
            access_point_base: air.access_point_counters(),
            airtime_base: airtimes(air),
            measured_base: measured(air),
            access_point_airtime_base: air.access_point_airtime(),
            bss_base: air.bss_totals(),
            cpu_base_ns: thread_cpu_ns(),
            wire_base: wire_base.clone(),
        }
    }
}

fn wired_side(scenario: &Scenario, streams: &Streams) -> Wire {
    let at = |place: Place| -> Vec<usize> {
        (0..scenario.hosts.len()).filter(|&index| scenario.hosts[index].place == place).collect()
    };
    let far = scenario.hosts.iter().enumerate().filter(|(_, host)| host.delay > Span::ZERO || host.jitter > Span::ZERO);
    let ways = far.map(|(number, host)| {
        let config = DelayConfig { delay: host.delay, jitter: host.jitter, ..DelayConfig::default() };
        (number, DelayLine::new(config, streams.stream(&format!("server jitter {}", host.name))))
    });
    Wire::new(&scenario.lan, &at(Place::Lan), scenario.wan.as_ref(), &at(Place::Wan), ways.collect())
        .with_vlans(&vlan::of_access_points(scenario))
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}

/// Airtime so far of each station.
fn airtimes(air: &Air) -> Vec<Airtime> {
    (0..air.stations()).map(|station| air.station_airtime(station)).collect()
}

/// Measured airtime so far of each station.
fn measured(air: &Air) -> Vec<MeasuredAirtime> {
    (0..air.stations()).map(|station| air.measured_airtime(station)).collect()
}

fn less_air(now: Vec<Airtime>, base: &[Airtime]) -> Vec<Airtime> {
    now.into_iter().zip(base).map(|(now, base)| Airtime(now.0.saturating_sub(base.0))).collect()
}

fn less(now: &BTreeMap<wire::Port, u64>, base: &BTreeMap<wire::Port, u64>) -> BTreeMap<wire::Port, u64> {
    now.iter().map(|(&port, &n)| (port, n - base.get(&port).copied().unwrap_or(0))).collect()
}
