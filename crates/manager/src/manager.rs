//! The manager: inputs, outputs, and the state that all parts of it share.

mod age;
mod ahead;
mod calls;
mod charged;
mod classes;
mod collect;
mod harm;
mod links;
mod neighbours;
mod path;
mod probes;
mod receive;
mod reports;
mod roaming;
mod unheard;
mod unheld;
mod upkeep;
mod uplink;
mod waiting;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_packet::{PacketMeta, Port};
use evenair_units::{BitRate, Instant, Span};
use evenair_wifi::{PhyRate, mixed_capacity};

use crate::airtime_model::{AirtimeModel, AirtimeModels};
use crate::domain::groups::Memberships;
use crate::domain::{Domain, Domains, Medium};
use crate::flows::{Flow, Flows};
use crate::held::{Arrival, Arrived, Held};
use crate::ids::{DomainId, FlowId};
use crate::manager::harm::record::Harm;
use crate::pacer::marks::Next;
use crate::queues::classes::totals::Totals;
use crate::receiver::Receiver;
use crate::stations::Stations;
use crate::stations::access_points::Table;
use crate::stations::neighbours::Neighbours;
use crate::voice::{Calls, Dialogs};
use crate::wan::{Waits, Wan};
use crate::{Command, Config, Counters, Event, Mode, Observation, Output, Reason};

/// The inline manager. `P` is the driver's handle of a packet, which the manager owns while it holds the packet.
#[derive(Debug)]
pub struct Manager<P> {
    config: Config,
    mode: Mode,
    /// While draining: the end of the drain limit.
    drain_until: Instant,
    /// The airtime model of each domain.
    models: AirtimeModels,
    stations: Stations,
    flows: Flows,
    access_points: Table,
    /// The state of each contention domain.
    domains: Domains<P>,
    /// Waiting times for the WLAN, of all domains.
    waits: Waits,
    /// The Internet link, if configured.
    wan: Option<Wan<P>>,
    neighbours: Neighbours,
    calls: Calls,
    dialogs: Dialogs,
    receiver: Receiver<P>,
    /// Domains with waiting frames to groups, and the groups with members.
    waiting_groups: Vec<DomainId>,
    memberships: Memberships,
    /// Total traffic of each policy class.
    totals: Totals,
    /// Whether the policy reads code points.
    reads_dscp: bool,
    counters: Counters,
    harm: Harm,
    outputs: VecDeque<Output<P>>,
}

impl<P: Send + 'static> Manager<P> {
    /// A manager in [`Mode::Bypassed`].
    ///
    /// # Panics
    /// If `config` does not pass [`Config::check`].
    pub fn new(config: Config, now: Instant) -> Self {
        config.check().expect("a driver hands in a checked configuration");
        let access_points = Table::of(&config.access_points);
        let models = config.airtime_models(&access_points);
        let mut stations = Stations::new(config.default_rate, &config.stations, &models, now);
        stations.set_rssi(config.rssi.clone());
        let domain = |(at, name)| {
            let id = DomainId::at(at);
            Domain::new(id, name, &config, configured_medium(&config, &models[id], &stations, id), now)
        };
        let domains = Domains::new(access_points.domains().enumerate().map(domain).collect());
        Self {
            mode: Mode::Bypassed,
            drain_until: Instant::MAX,
            stations,
            flows: Flows::default(),
            access_points,
            domains,
            waits: Waits::default(),
            wan: config.wan.as_ref().map(|wan| Wan::new(&config.tree(), config.pacing_slack, wan, now)),
            neighbours: Neighbours::default(),
            calls: Calls::default(),
            dialogs: Dialogs::default(),
            receiver: Receiver::default(),
            waiting_groups: Vec::new(),
            memberships: Memberships::default(),
            totals: Totals::new(&config.policy),
            reads_dscp: config.policy.reads_dscp(),
            counters: Counters::default(),
            harm: Harm::new(now),
            outputs: VecDeque::new(),
            models,
            config,
        }
    }

    /// Handles a packet that came in. `now` never goes back.
    pub fn handle_packet(&mut self, now: Instant, packet: P, meta: &PacketMeta) {
        self.counters.received += 1;
        self.note_neighbour(now, meta);
        let Some(packet) = self.take_probe_answer(now, packet, meta) else { return self.serve(now) };
        self.counters.received_bytes += meta.ip_len().0;
        self.counters.unread_bytes += if meta.is_unread() { meta.ip_len().0 } else { 0 };
        let takes_marks = meta.takes_marks();
        match self.on_arrival(now, meta) {
            Arrival::Of(flow, tcp) => {
                let domain = self.flows.get(flow).domain;
                if meta.ingress == Port::Wlan {
                    let flow = self.flows.get(flow);
                    let station = self.stations.get(flow.station);
                    let airtime = self.models[station.domain].packet_airtime(meta.ip_len(), station.rate);
                    self.domains.touch(flow.domain).pacer.on_heard(now, airtime);
                }
                let ip_len = meta.ip_len();
                match (meta.ingress, tcp) {
                    (Port::Wire, tcp) => {
                        self.note_for_limit(now, flow, tcp, ip_len);
                        let tcp = tcp.cloned();
                        let timestamp = meta.rtp().map(|rtp| rtp.timestamp);
                        let (marked, since, came) = (false, now, now);
                        let held = Held { packet, flow, tcp, ip_len, takes_marks, marked, since, came, timestamp };
                        self.enter_from_wire(now, held);
                    }
                    (Port::Wlan, Some(tcp)) => {
                        self.toward_wire(now, Arrived { packet, flow, ip_len, takes_marks }, tcp)
                    }
                    (Port::Wlan, None) => {
                        self.datagram_toward_wire(now, Arrived { packet, flow, ip_len, takes_marks });
                    }
                }
                self.learn_costs(domain);
            }
            Arrival::Passes => self.pass(now, packet, meta),
            Arrival::Group => self.handle_group(now, packet, meta),
            Arrival::Untracked => self.handle_untracked(now, packet, meta),
        }
        self.serve(now);
    }

    /// Handles the deadline. May be called at it, or any time later.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.serve(now);
        if self.mode == Mode::Draining && now >= self.drain_until {
            self.release_all(now);
        }
        if now >= self.next_tick() {
            self.tick(now);
        }
        self.judge_limit(now);
        self.settle_domains();
    }

    /// Handles a command of the operator.
    pub fn handle_command(&mut self, now: Instant, command: Command) {
        if !matches!(command, Command::Reconfigure(_)) {
            self.overrule_guard(now);
        }
        match command {
            Command::Insert => self.insert(now),
            Command::Bypass if self.mode == Mode::Inserted => {
                self.drain_until = now.saturating_add(self.config.drain_limit);
                self.set_mode(now, if self.holds_nothing() { Mode::Bypassed } else { Mode::Draining });
            }
            Command::Bypass => {}
            Command::Reconfigure(config) => match config.check() {
                Ok(()) => self.reconfigure(now, *config),
                Err(error) => self.tell(Event::ConfigRefused(error)),
            },
        }
        self.serve(now);
    }

    /// Handles an observation about the WLAN.
    pub fn handle_observation(&mut self, now: Instant, observation: Observation) {
        let (mac, rate) = match observation {
            Observation::StationRate { mac, rate } => (mac, Some(rate)),
            Observation::StationGone { mac } => (mac, None),
            Observation::AccessPointLosses { access_point, total } => {
                if !self.tell_losses(access_point, total) {
                    self.tell(Event::ObservationRefused(observation));
                }
                return;
            }
            Observation::RateReport(report) => return self.handle_rate_report(now, &report),
            Observation::Bridged { .. } => return,
            Observation::StationAt { mac, place } => return self.handle_place_report(now, mac, place),
            Observation::StationNetwork { mac, .. } | Observation::StationGroup { mac, .. } => {
                return self.tell_membership(now, mac, observation);
            }
        };
        let has_rate = rate.is_none_or(|rate| self.models.have_rate(rate));
        let known = rate.is_none() || (!mac.is_multicast() && self.named_station(now, mac).is_some());
        if !has_rate || !known {
            return self.tell(Event::ObservationRefused(observation));
        }
        rate.into_iter().for_each(|rate| self.models.note(rate));
        if let Some(id) = self.stations.observe(mac, rate, &self.models) {
            self.update_station(id);
            self.update_capacity(now, id);
        }
        self.serve(now);
    }

    /// The next decision, oldest first; `None`: all were returned.
    pub fn poll_output(&mut self) -> Option<Output<P>> {
        self.outputs.pop_front()
    }

    /// When [`Self::handle_timeout`] has to be called, and the reason.
    pub fn poll_deadline(&self) -> Option<(Instant, Reason)> {
        let mut deadline = (self.next_tick(), Reason::Tick);
        let (touched, due) = self.domains.deadlines();
        let touched = touched.iter().filter_map(|&id| self.due(id));
        if let Some(at) = touched.chain(due).chain(self.due(DomainId::DEFAULT)).min() {
            deadline = deadline.min((at, Reason::Release));
        }
        if let Some(at) = self.wan.as_ref().and_then(Wan::deadline) {
            deadline = deadline.min((at, Reason::Release));
        }
        if let Some(at) = self.receiver.line.deadline() {
            deadline = deadline.min((at, Reason::Release));
        }
        if let Some(at) = self.groups_due() {
            deadline = deadline.min((at, Reason::Release));
        }
        if let Some(at) = self.limit_deadline() {
            deadline = deadline.min((at, Reason::Tick));
        }
        if self.mode == Mode::Draining {
            deadline = deadline.min((self.drain_until, Reason::DrainLimit));
        }
        Some(deadline)
    }

    /// When the present interval of all domains ends.
    fn next_tick(&self) -> Instant {
        self.domains[DomainId::DEFAULT].pacer.next_tick()
    }

    /// When the next packet of a domain may be released, if it holds any.
    fn due(&self, id: DomainId) -> Option<Instant> {
        (self.domains[id].len() > 0).then(|| self.free_at(id))
    }

    /// When the next packet of a domain may be released.
    fn free_at(&self, id: DomainId) -> Instant {
        let domain = &self.domains[id];
        let free = domain.shaped_until().max(domain.pacer.ready_at(|| self.next_packet(domain)));
        domain.quiet_until().map_or(free, |until| free.max(until))
    }

    /// The next packet of a domain, and its time in the unit of the account.
    fn next_packet(&self, domain: &Domain<P>) -> Next {
        if let Some(discipline) = &domain.discipline {
            return Next { own: discipline.expected_airtime(), in_run: false };
        }
        let airtime = |head: &Held<P>| {
            let station = self.stations.get(self.flows.get(head.flow).station);
            let model = &self.models[station.domain];
            let airtime = model.packet_airtime(head.ip_len, station.paced_rate(model, self.config.default_rate));
            domain.pacer.account().own(airtime, &station.paced)
        };
        let own = domain.queues.peek().map_or(Span::ZERO, airtime);
        Next { own, in_run: domain.queues.is_in_run() }
    }

    /// The PHY rate of a flow's station.
    fn rate_of(&self, id: FlowId) -> PhyRate {
        self.stations.get(self.flows.get(id).station).rate
    }

    /// The airtime model of a flow's station.
    fn model_of(&self, id: FlowId) -> &AirtimeModel {
        &self.models[self.stations.get(self.flows.get(id).station).domain]
    }

    /// Whether a bypassed box needs copies of the packets that the bridge carries, from which the harm guard gets its baseline. Copies go
    /// to [`Self::handle_packet`], and their release is to be ignored.
    pub fn wants_copies(&self) -> bool {
        self.domains.iter().any(harm::can_do_harm)
    }

    /// Whether a box that the guard has bypassed is inserted at the end of this interval. From then on packets are no copies.
    pub fn is_trial_due(&self, now: Instant) -> bool {
        self.mode == Mode::Bypassed && self.harm.bypassed.is_some() && self.harm.trials.is_due(now)
    }

    /// The mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    fn tell(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn insert(&mut self, now: Instant) {
        if self.mode == Mode::Bypassed {
            self.domains.iter_mut().for_each(|domain| domain.begin(now));
        }
        self.set_mode(now, Mode::Inserted);
    }

    fn set_mode(&mut self, now: Instant, mode: Mode) {
        if self.mode == mode {
            return;
        }
        if self.mode == Mode::Bypassed {
            // Throughput while nothing was managed does not change C.
            for domain in self.domains.iter_mut() {
                domain.pacer.tick_unmanaged(now, false);
            }
            self.stations.take_confirmed(self.domains.iter().count());
            self.begin_limit(now);
        }
        if mode == Mode::Inserted {
            self.begin_receiver(now);
        }
        self.mode = mode;
        self.tell(Event::ModeChanged(mode));
    }
}

/// Removes a flow that has left the table from queues and station.
fn forget<P: Send + 'static>(flow: Flow, domains: &mut Domains<P>, wan: Option<&mut Wan<P>>, stations: &mut Stations) {
    if let Some(leaf) = flow.leaf {
        domains.touch(flow.domain).queues.detach(leaf);
    }
    for (link, on_link) in wan.into_iter().flat_map(|wan| wan.links.iter_mut().zip(flow.links)) {
        if let Some(leaf) = on_link.leaf {
            link.queues.detach(leaf);
        }
    }
    stations.get_mut(flow.station).leave(flow.answer);
}

/// The initial state of a contention domain.
fn configured_medium(config: &Config, model: &AirtimeModel, stations: &Stations, id: DomainId) -> Medium {
    Medium { standard: model.standard(), capacity: configured_capacity(config, model, stations, id) }
}

/// Initial C*: as if all configured stations of a domain were active; without any, C at the default rate.
fn configured_capacity(config: &Config, model: &AirtimeModel, stations: &Stations, id: DomainId) -> BitRate {
    let there = stations.iter().filter(|station| station.domain == id);
    let parts: Vec<_> = there.map(|s| (s.weight() * s.capacity.as_bps(), s.capacity)).collect();
    match mixed_capacity(&parts) {
        BitRate::ZERO => model.capacity(model.default_rate(config.default_rate)),
        capacity => capacity,
    }
}
