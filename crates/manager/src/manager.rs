//! The manager: what happens to a packet, from in to out.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_packet::{Edits, FlowKey, MacAddr, PacketMeta, Port, TcpMeta};
use evenair_sched::NodeId;
use evenair_units::{BitRate, Bytes, Instant};
use evenair_wifi::{PhyRate, mixed_capacity};

use crate::cost::{Load, Medium, Packets};
use crate::flow::{Flow, FlowId, Flows};
use crate::queues::{Held, Queues, Room, Service};
use crate::rate::ServiceRate;
use crate::server::Server;
use crate::station::{StationId, Stations};
use crate::{Command, Config, Counters, DropReason, Event, FlowReport, Mode, Observation, Output, Reason, Report};

/// The inline manager. `P` is the driver's handle of a packet, which the manager owns while it holds the packet.
#[derive(Clone, Debug)]
pub struct Manager<P> {
    config: Config,
    mode: Mode,
    /// While draining: when patience ends.
    drain_until: Instant,
    medium: Medium,
    stations: Stations,
    flows: Flows,
    queues: Queues<P>,
    server: Server,
    rate: ServiceRate,
    counters: Counters,
    outputs: VecDeque<Output<P>>,
}

impl<P> Manager<P> {
    /// A manager in [`Mode::Bypassed`].
    ///
    /// # Panics
    /// If `config` does not pass [`Config::check`].
    pub fn new(config: Config, now: Instant) -> Self {
        config.check().expect("a driver hands in a checked configuration");
        let medium = Medium::new(config.phy.clone(), config.rts_threshold);
        let stations = Stations::new(&config, &medium, now);
        let capacity = configured_capacity(&config, &medium, &stations);
        Self {
            mode: Mode::Bypassed,
            drain_until: Instant::MAX,
            stations,
            flows: Flows::default(),
            queues: Queues::new(&config),
            server: Server::new(config.pacing_slack, now),
            rate: ServiceRate::new(config.charge, config.controller, capacity, now),
            counters: Counters::default(),
            outputs: VecDeque::new(),
            medium,
            config,
        }
    }

    /// Takes a packet that came in. `now` never goes back.
    pub fn handle_packet(&mut self, now: Instant, packet: P, meta: &PacketMeta) {
        self.counters.received += 1;
        match self.classify(now, meta) {
            Some((id, tcp)) => match meta.ingress {
                Port::Wire => self.toward_wlan(now, Held { packet, flow: id, tcp: tcp.clone(), ip_len: meta.ip_len() }),
                Port::Wlan => self.toward_wire(packet, id, tcp, meta.ip_len()),
            },
            None => self.pass(now, packet, meta),
        }
        self.serve(now);
    }

    /// To be called at the deadline, or any time later.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.serve(now);
        if self.mode == Mode::Draining && now >= self.drain_until {
            self.release_all(now);
        }
        if now >= self.rate.next_tick() {
            self.tick(now);
        }
    }

    /// Takes a command.
    pub fn handle_command(&mut self, now: Instant, command: Command) {
        match command {
            Command::Insert => self.set_mode(now, Mode::Inserted),
            Command::Bypass if self.mode == Mode::Inserted => {
                self.drain_until = now.saturating_add(self.config.drain_limit);
                self.set_mode(now, if self.queues.is_empty() { Mode::Bypassed } else { Mode::Draining });
            }
            Command::Bypass => {}
            Command::Reconfigure(config) => match config.check() {
                Ok(()) => self.reconfigure(now, config),
                Err(error) => self.tell(Event::ConfigRefused(error)),
            },
        }
        self.serve(now);
    }

    /// Takes an observation.
    pub fn handle_observation(&mut self, now: Instant, observation: Observation) {
        let (mac, rate) = match observation {
            Observation::StationRate { mac, rate } => (mac, Some(rate)),
            Observation::StationGone { mac } => (mac, None),
        };
        let has_rate = rate.is_none_or(|rate| self.config.phy.standard().rates().contains(&rate));
        let known = rate.is_none() || (!mac.is_multicast() && self.station(now, mac).is_some());
        if !has_rate || !known {
            return self.tell(Event::ObservationRefused(observation));
        }
        if let Some(id) = self.stations.observe(mac, rate, &self.medium) {
            self.queues.update_station(id, self.stations.get(id));
            self.update_capacity(now);
        }
        self.serve(now);
    }

    /// The next decision, oldest first.
    pub fn poll_output(&mut self) -> Option<Output<P>> {
        self.outputs.pop_front()
    }

    /// When, and why, [`Self::handle_timeout`] is to be called.
    pub fn poll_deadline(&self) -> Option<(Instant, Reason)> {
        let mut deadline = (self.rate.next_tick(), Reason::Tick);
        if !self.queues.is_empty() {
            deadline = deadline.min((self.server.free_at(), Reason::Release));
        }
        if self.mode == Mode::Draining {
            deadline = deadline.min((self.drain_until, Reason::DrainLimit));
        }
        Some(deadline)
    }

    /// The mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The state now. Takes time in proportion to the number of connections.
    pub fn report(&self, _now: Instant) -> Report {
        Report {
            flows: self.flows.iter().map(|flow| self.report_flow(flow)).collect(),
            queues: self.queues.report(&self.stations, &self.flows),
            ..self.report_recent(0)
        }
    }

    /// The state now, but for the queues, and with at most `flows` connections: those that were used last, the last one
    /// first. The time it takes does not grow with their number.
    pub fn report_recent(&self, flows: usize) -> Report {
        Report {
            mode: self.mode,
            service_rate: self.rate.rate(),
            capacity: self.rate.capacity(),
            throughput: self.rate.throughput(),
            stations: self.stations.report(),
            flows: self.flows.recent().take(flows).map(|flow| self.report_flow(flow)).collect(),
            queues: Vec::new(),
            counters: self.counters(),
        }
    }

    /// The totals alone.
    pub fn counters(&self) -> Counters {
        Counters { held: self.queues.len() as u64, ..self.counters }
    }

    fn report_flow(&self, flow: &Flow) -> FlowReport {
        FlowReport {
            key: flow.key.1,
            vlan: flow.key.0,
            station: self.stations.get(flow.station).mac,
            direction: flow.direction,
            d_milli: flow.ratio_milli(),
            released: flow.released,
            from_wlan: flow.from_wlan,
            backlog_packets: flow.held,
            dropped: flow.dropped,
        }
    }

    fn tell(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn set_mode(&mut self, now: Instant, mode: Mode) {
        if self.mode == mode {
            return;
        }
        if self.mode == Mode::Bypassed {
            // What crossed while nothing was managed says nothing about C.
            let account = self.server.take_account(now, false);
            self.rate.measure(now, account.elapsed);
        }
        self.mode = mode;
        self.tell(Event::ModeChanged(mode));
    }
}

/// Packets in.
impl<P> Manager<P> {
    /// The connection of a TCP packet between one station and the wire. `None` for all that is not held.
    fn classify<'m>(&mut self, now: Instant, meta: &'m PacketMeta) -> Option<(FlowId, &'m TcpMeta)> {
        let mac = match meta.ingress {
            Port::Wlan => meta.src,
            Port::Wire => meta.dst,
        };
        if mac.is_multicast() || meta.dst.is_multicast() {
            return None;
        }
        let station = self.station(now, mac);
        let (ip, tcp) = (meta.ip.as_ref()?, meta.tcp()?);
        let (key, forward) = FlowKey::of(ip)?;
        let key = (meta.vlan, key, forward == (meta.ingress == Port::Wlan));
        let found = match (self.flows.find(&key, now), station) {
            (Some(found), _) => Some(found),
            (None, Some(station)) => self.track(now, Flow::new(key, station, meta.ingress, tcp)),
            (None, None) => None,
        };
        let Some(id) = found else {
            self.counters.untracked += 1;
            return None;
        };
        self.flows.get_mut(id).note_packet(meta.ingress, tcp);
        self.settle(now, id, station);
        Some((id, tcp))
    }

    fn station(&mut self, now: Instant, mac: MacAddr) -> Option<StationId> {
        let (id, new) = self.stations.seen(mac, &self.medium, now)?;
        if new {
            self.tell(Event::StationLearned(mac));
        }
        Some(id)
    }

    fn track(&mut self, now: Instant, flow: Flow) -> Option<FlowId> {
        if self.flows.is_full() {
            let evicted = self.flows.evict()?;
            forget(evicted, &mut self.queues, &mut self.stations);
        }
        self.stations.get_mut(flow.station).flows += 1;
        Some(self.flows.insert(flow, now))
    }

    /// Moves a connection, with all it holds, to the queue of its present station and direction. All of it, because its
    /// packets must not pass each other.
    fn settle(&mut self, now: Instant, id: FlowId, station: Option<StationId>) {
        let flow = self.flows.get_mut(id);
        let (station, direction) = (station.unwrap_or(flow.station), flow.leaning);
        if (flow.station, flow.direction) == (station, direction) {
            return;
        }
        self.stations.get_mut(flow.station).flows -= 1;
        self.stations.get_mut(station).flows += 1;
        (flow.station, flow.direction) = (station, direction);
        let Some(old) = flow.leaf.take() else { return };
        let held = self.queues.take(old, id);
        self.queues.detach(old);
        if !held.is_empty() {
            let leaf = self.leaf(id);
            held.into_iter().for_each(|held| self.queues.push(leaf, held, now));
        }
    }

    /// The queue of a connection, made if need be.
    fn leaf(&mut self, id: FlowId) -> NodeId {
        let flow = self.flows.get_mut(id);
        if let Some(leaf) = flow.leaf {
            return leaf;
        }
        let leaf = self.queues.attach(id, flow, self.stations.get(flow.station));
        flow.leaf = Some(leaf);
        leaf
    }

    fn toward_wire(&mut self, packet: P, id: FlowId, tcp: &TcpMeta, ip_len: Bytes) {
        let flow = self.flows.get_mut(id);
        flow.from_wlan += ip_len;
        let crossed = flow.tcp.note_arrival(tcp, ip_len);
        self.rate.note_crossed(&self.medium, &crossed, self.stations.get(flow.station).rate);
        let ahead = self.mode == Mode::Inserted && tcp.payload.0 > 0 && flow.is_ahead(self.config.queue_limit);
        if ahead && flow.tcp.tell_to_slow_down() {
            return self.discard(packet, id, DropReason::SenderAhead);
        }
        self.release(packet, Port::Wire);
    }

    fn toward_wlan(&mut self, now: Instant, held: Held<P>) {
        if self.mode == Mode::Bypassed {
            self.account_release(&held);
            return self.release(held.packet, Port::Wlan);
        }
        let leaf = self.leaf(held.flow);
        loop {
            match self.queues.make_room(leaf, &held) {
                Room::Enough => break,
                Room::Made(head, reason) => {
                    self.flows.get_mut(head.flow).held -= 1;
                    self.discard(head.packet, head.flow, reason);
                }
                Room::None(reason) => return self.discard(held.packet, held.flow, reason),
            }
        }
        self.flows.get_mut(held.flow).held += 1;
        if self.queues.is_empty() && self.server.wake(now) {
            self.queues.end_service();
        }
        self.queues.push(leaf, held, now);
    }

    /// Lets a packet pass that is not held, and charges what it takes of the medium.
    fn pass(&mut self, now: Instant, packet: P, meta: &PacketMeta) {
        if self.mode != Mode::Bypassed {
            let ip_len = meta.ip_len();
            let mac = if meta.ingress == Port::Wlan { meta.src } else { meta.dst };
            if !mac.is_multicast() {
                let known = self.station(now, mac);
                let rate = known.map_or(self.config.default_rate, |id| self.stations.get(id).rate);
                let load = Load([Packets::one(ip_len), Packets::default(), Packets::default()]);
                self.server.bypass(self.rate.wait(&self.medium, &load, rate));
            }
            if meta.dst.is_multicast() {
                // From a station it goes up as a unicast to its access point, which then broadcasts it.
                self.server.bypass(self.rate.stretch(self.medium.broadcast_airtime(ip_len)));
            }
        }
        self.release(packet, meta.ingress.opposite());
    }
}

/// Packets out.
impl<P> Manager<P> {
    /// Releases what the server is free for.
    fn serve(&mut self, now: Instant) {
        while self.mode != Mode::Bypassed && self.server.free_at() <= now && !self.queues.is_empty() {
            let Some((held, load)) = self.pop(now) else { break };
            let rate = self.stations.get(self.flows.get(held.flow).station).rate;
            self.server.release(now, self.rate.wait(&self.medium, &load, rate));
            self.note_unanswered(&held.tcp, &load, rate);
            self.counters.queued += 1;
            self.release(held.packet, Port::Wlan);
        }
        if self.mode == Mode::Draining && self.queues.is_empty() {
            self.set_mode(now, Mode::Bypassed);
        }
    }

    /// Patience with draining has ended: everything goes out in the order of service.
    fn release_all(&mut self, now: Instant) {
        while let Some((held, _)) = self.pop(now) {
            self.counters.queued += 1;
            self.release(held.packet, Port::Wlan);
        }
        self.set_mode(now, Mode::Bypassed);
    }

    fn pop(&mut self, now: Instant) -> Option<(Held<P>, Load)> {
        let (flows, stations) = (&mut self.flows, &self.stations);
        let mut load = Load::default();
        let held = self.queues.pop(now, |held| {
            let flow = flows.get_mut(held.flow);
            flow.held -= 1;
            flow.released += held.ip_len;
            load = flow.tcp.note_release(&held.tcp, held.ip_len);
            Service { bits: load.bits(), capacity: stations.get(flow.station).capacity }
        })?;
        Some((held, load))
    }

    /// What is released without being held changes what its connection has sent all the same.
    fn account_release(&mut self, held: &Held<P>) {
        let flow = self.flows.get_mut(held.flow);
        flow.released += held.ip_len;
        let load = flow.tcp.note_release(&held.tcp, held.ip_len);
        let rate = self.stations.get(flow.station).rate;
        self.note_unanswered(&held.tcp, &load, rate);
    }

    /// Nobody will acknowledge a packet without data, so that its release is all that is ever seen of it.
    fn note_unanswered(&mut self, tcp: &TcpMeta, load: &Load, rate: PhyRate) {
        if tcp.payload == Bytes::ZERO {
            let own = Load([load.0[0], Packets::default(), Packets::default()]);
            self.rate.note_crossed(&self.medium, &own, rate);
        }
    }

    fn release(&mut self, packet: P, port: Port) {
        self.counters.released += 1;
        self.outputs.push_back(Output::Release { packet, port, edits: Edits::NONE });
    }

    fn discard(&mut self, packet: P, flow: FlowId, reason: DropReason) {
        self.flows.get_mut(flow).dropped += 1;
        match reason {
            DropReason::QueueFull => self.counters.dropped_queue_full += 1,
            DropReason::AckSuperseded => self.counters.dropped_ack_superseded += 1,
            DropReason::SenderAhead => self.counters.dropped_sender_ahead += 1,
        }
        self.outputs.push_back(Output::Drop { packet, reason });
    }
}

/// From time to time.
impl<P> Manager<P> {
    fn tick(&mut self, now: Instant) {
        let account = self.server.take_account(now, !self.queues.is_empty());
        let before = (self.rate.rate(), self.rate.capacity());
        if self.mode == Mode::Bypassed {
            self.rate.measure(now, account.elapsed);
        } else {
            self.rate.tick(now, account);
            self.set_capacity(now);
        }
        self.tell_rate(before);
        self.queues.age();
        let (queues, stations) = (&mut self.queues, &mut self.stations);
        self.flows.expire(now, |flow| forget(flow, queues, stations));
        self.stations.expire(now);
    }

    fn update_capacity(&mut self, now: Instant) {
        let before = (self.rate.rate(), self.rate.capacity());
        self.set_capacity(now);
        self.tell_rate(before);
    }

    /// C* of the active queues. Where there are none, the last one stands: nothing is known of who comes next.
    fn set_capacity(&mut self, now: Instant) {
        if let Some(capacity) = self.queues.capacity(&self.stations, now) {
            self.rate.set_capacity(capacity);
        }
    }

    fn tell_rate(&mut self, before: (BitRate, BitRate)) {
        let (service_rate, capacity) = (self.rate.rate(), self.rate.capacity());
        if before != (service_rate, capacity) {
            self.tell(Event::RateChanged { service_rate, capacity });
        }
    }

    /// Takes another configuration over. What is held stays held, in the order of service; C starts anew.
    fn reconfigure(&mut self, now: Instant, config: Config) {
        let before = (self.rate.rate(), self.rate.capacity());
        self.medium = Medium::new(config.phy.clone(), config.rts_threshold);
        self.stations.reconfigure(&config, &self.medium, now);
        self.server.set_slack(config.pacing_slack);
        self.rebuild_queues(&config, now);
        let capacity = self.queues.capacity(&self.stations, now);
        let capacity = capacity.unwrap_or_else(|| configured_capacity(&config, &self.medium, &self.stations));
        self.server.take_account(now, !self.queues.is_empty());
        self.rate = ServiceRate::new(config.charge, config.controller, capacity, now);
        self.config = config;
        self.tell_rate(before);
    }

    fn rebuild_queues(&mut self, config: &Config, now: Instant) {
        let fresh = Queues::new(config);
        let mut old = core::mem::replace(&mut self.queues, fresh);
        for id in self.flows.ids() {
            self.flows.get_mut(id).leaf = None;
        }
        let capacity = self.rate.capacity();
        while let Some(held) = old.pop(now, |held| Service { bits: held.ip_len.bits(), capacity }) {
            let leaf = self.leaf(held.flow);
            self.queues.push(leaf, held, now);
        }
    }
}

/// A connection has gone from the table.
fn forget<P>(flow: Flow, queues: &mut Queues<P>, stations: &mut Stations) {
    if let Some(leaf) = flow.leaf {
        queues.detach(leaf);
    }
    stations.get_mut(flow.station).flows -= 1;
}

/// C* before anything was seen: as if all configured stations were active; without any, C at the default rate.
fn configured_capacity(config: &Config, medium: &Medium, stations: &Stations) -> BitRate {
    let parts: Vec<_> = stations.iter().map(|s| (s.weight() * s.capacity.as_bps(), s.capacity)).collect();
    match mixed_capacity(&parts) {
        BitRate::ZERO => medium.capacity(config.default_rate),
        capacity => capacity,
    }
}
