//! The path of a packet through the manager: arrival, waiting, release.

use evenair_packet::{PacketMeta, Port, TcpMeta};
use evenair_sched::NodeId;
use evenair_units::{Bytes, Instant, Span};
use evenair_wifi::PhyRate;

use super::charged::Charging;
use super::probes::note_for_probes;
use super::{Manager, forget};
use crate::flows::tcp::{MERGED, repeats};
use crate::flows::{Answer, Flow, Key, ONE_WAY};
use crate::held::{Arrival, Arrived, Held, Service};
use crate::ids::{DOWN, DomainId, FlowId, StationId, UP};
use crate::latency::Leg;
use crate::pacer::{Completion, Outgoing};
use crate::packet_cost::{PacketCost, Packets};
use crate::queues::{Judgement, Room};
use crate::{Counter, DropReason, Mode, Output, StationCounter};

/// IP-level size below which one-way datagrams are charged for their airtime, most of which is preamble, back-off and acknowledgment.
/// Larger ones are charged for their virtual length in bits, since C_i, which is that of TCP with full packets, includes their overhead.
const SMALL: Bytes = Bytes(750);

/// Arrivals.
impl<P: Send + 'static> Manager<P> {
    /// Classifies a packet: the flow of a packet between one station and the wire, or why it has none.
    pub(super) fn on_arrival<'m>(&mut self, now: Instant, meta: &'m PacketMeta) -> Arrival<'m> {
        let mac = match meta.ingress {
            Port::Wlan => meta.src,
            Port::Wire => meta.dst,
        };
        match meta.ingress {
            Port::Wire if mac.is_multicast() => return Arrival::Group,
            Port::Wlan if mac.is_multicast() || meta.dst.is_multicast() => return Arrival::Passes,
            Port::Wire | Port::Wlan => {}
        }
        let station = match meta.ingress {
            Port::Wlan => self.heard_station(now, mac),
            Port::Wire => Some(self.station_toward(now, mac, meta)),
        };
        let tcp = meta.tcp();
        if let (Port::Wlan, Some(id)) = (meta.ingress, station) {
            if let Some(ip) = &meta.ip {
                self.note_address(now, id, (meta.vlan, ip.src), false);
            }
            self.see_vlan(now, id, meta.vlan);
        }
        let key = Key::of(meta);
        if meta.control.is_some() && self.passes_as_control(now, meta, &key, station) {
            return Arrival::Passes;
        }
        let found = match (self.flows.find(&key, now), station) {
            (Some(found), _) => Some(found),
            (None, Some(station)) => {
                let beyond = self.config.wan.as_ref().is_some_and(|wan| wan.is_beyond(&key.flow, key.low_is_station));
                let mut flow = Flow::new(key, station, meta.ingress, tcp);
                flow.beyond = beyond;
                let of = self.stations.get(station);
                flow.domain = self.domain_of_flow(&flow.key, of.domain);
                flow.unheard = of.is_shared.then_some(mac);
                self.track(now, flow)
            }
            (None, None) => None,
        };
        let Some(id) = found else {
            self.counters[Counter::Untracked] += 1;
            return Arrival::Untracked;
        };
        let flow = self.flows.get_mut(id);
        let may_part = flow.note_packet(meta.ingress, tcp, meta.ip_len());
        flow.note_dscp(meta);
        // A packet to an unheard address does not take a flow from a station that was heard.
        let station = station.filter(|&station| !self.stations.get(station).is_shared);
        self.settle(now, id, station);
        if may_part {
            self.part(now, id, meta.ingress);
        }
        self.note_voice(now, id, meta);
        Arrival::Of(id, tcp)
    }

    fn track(&mut self, now: Instant, flow: Flow) -> Option<FlowId> {
        if self.flows.is_full(self.config.flow_limit) {
            let evicted = self.flows.evict()?;
            forget(evicted, &mut self.domains, self.wan.as_mut(), &mut self.stations);
        }
        self.stations.get_mut(flow.station).join(flow.answer);
        self.domains.touch(flow.domain).receiver.note_new(flow.is_tcp());
        Some(self.flows.insert(flow, now))
    }

    /// Moves a flow, with all its held packets, to the queue of its present station, direction and class, and to the contention domain of
    /// that station. Complete, because its packets must not overtake each other.
    pub(super) fn settle(&mut self, now: Instant, id: FlowId, station: Option<StationId>) {
        let flow = self.flows.get_mut(id);
        let (station, direction) = (station.unwrap_or(flow.station), flow.leaning);
        let moved = (flow.station, flow.direction) != (station, direction);
        if moved {
            self.stations.get_mut(flow.station).leave(flow.answer);
            self.stations.get_mut(station).join(flow.answer);
            flow.direction = direction;
            let is_unheard = self.stations.get(station).is_shared;
            let unheard = flow.unheard.filter(|_| is_unheard);
            self.flows.set_station(id, station, unheard);
        }
        let moved = self.place(id, moved) || moved;
        if moved {
            self.settle_on_links(now, id);
        }
        let flow = self.flows.get(id);
        let domain = self.domain_of_flow(&flow.key, self.stations.get(station).domain);
        // A discipline does not give back packets that it holds.
        let stays = flow.domain == domain || flow.held > 0 && self.domains[flow.domain].discipline.is_some();
        let domain = if stays { flow.domain } else { domain };
        if moved || !stays {
            self.move_held(now, id, domain);
        }
    }

    /// Gives an unanswered flow a queue of its own: its station has answered it, or it continues and is one of the first few of its
    /// station.
    fn part(&mut self, now: Instant, id: FlowId, ingress: Port) {
        let flow = self.flows.get_mut(id);
        let station = self.stations.get_mut(flow.station);
        let had_own = flow.answer == Answer::OneWay;
        match ingress {
            Port::Wlan => {
                station.one_way -= u32::from(had_own);
                flow.answer = Answer::Given;
            }
            Port::Wire if station.one_way < ONE_WAY => {
                station.one_way += 1;
                flow.answer = Answer::OneWay;
            }
            Port::Wire => return,
        }
        if !had_own {
            let domain = flow.domain;
            self.settle_on_links(now, id);
            self.move_held(now, id, domain);
        }
    }

    /// The queue of a flow, created if needed.
    pub(super) fn leaf(&mut self, id: FlowId) -> NodeId {
        let flow = self.flows.get_mut(id);
        if let Some(leaf) = flow.leaf {
            return leaf;
        }
        let leaf = self.domains.touch(flow.domain).queues.attach(id, flow, self.stations.get(flow.station));
        flow.leaf = Some(leaf);
        leaf
    }

    pub(super) fn toward_wire(&mut self, now: Instant, arrived: Arrived<P>, tcp: &TcpMeta) {
        let flow = self.flows.get_mut(arrived.flow);
        flow.from_wlan += arrived.ip_len;
        self.totals.of(flow.place.class).from_wlan += arrived.ip_len;
        let new = tcp.payload.0 > 0 && flow.tcp.is_new(tcp);
        self.note_passage(now, arrived.flow, Port::Wlan, tcp);
        let flow = self.flows.get_mut(arrived.flow);
        flow.watched.again[1] += u64::from(tcp.payload.0 > 0 && !new);
        let crossed = flow.tcp.note_arrival(tcp, arrived.ip_len);
        self.note_acknowledged(now, arrived.flow, tcp, &crossed);
        let flow = self.flows.get_mut(arrived.flow);
        let (domain, station) = (flow.domain, flow.station);
        if let Some(answered) = flow.answers.note_arrival(tcp) {
            let domain = self.domains.touch(answered.domain());
            domain.pacer.on_completion(now, answered, station, &mut self.stations.get_mut(station).paced);
            domain.probes.iter_mut().for_each(|probes| probes.note_completion(now));
            let news = domain.observed.as_mut().is_some_and(|observed| observed.answer(now, answered.number()));
            if news {
                self.infer_rates(now, answered.domain());
            }
        } else if flow.answers.is_older(tcp) {
            self.domains.touch(domain).pacer.on_older_packet(now);
        }
        self.time_answer(now, &arrived, tcp);
        let flow = self.flows.get(arrived.flow);
        let station = self.stations.get_mut(flow.station);
        let model = &self.models[station.domain];
        let domain = self.domains.touch(domain);
        if tcp.payload > Bytes::ZERO {
            let airtime = station.packet_airtime(arrived.ip_len, model, self.config.default_rate);
            domain.pacer.on_data(now, airtime, flow.station, &station.paced);
            station.paced.note_data(now);
        }
        domain.pacer.on_crossed(model, &crossed, station.rate);
        let charged = Charging::new(domain, model, &self.config).of_packet(station, arrived.ip_len);
        station.note_packet(false, arrived.ip_len, model.packet_airtime(arrived.ip_len, station.rate), charged);
        let confirmed = if flow.answers.is_forged() { arrived.ip_len.bits() } else { crossed.bits() };
        station.confirmed += confirmed;
        // A retransmission is spared: its loss would cost a timeout, and its sender has already slowed down.
        let signals = new && self.should_signal(arrived.flow) && {
            let flow = self.flows.get_mut(arrived.flow);
            flow.ce_pending = false;
            flow.tcp.signal_congestion()
        };
        self.pass_or_signal(now, arrived, Some(tcp), signals);
    }

    /// Passes measured costs on to their stations.
    pub(super) fn learn_costs(&mut self, domain: DomainId) {
        let pacer = &mut self.domains.touch(domain).pacer;
        while let Some((id, cost)) = pacer.take_learned() {
            self.stations.find_mut(id).into_iter().for_each(|station| station.paced.learn(cost));
        }
    }

    /// Handles a packet of another protocol than TCP from the WLAN. The flow's next packet toward the WLAN pays for it; without one, or in
    /// a conversation, its station pays. One direction of a call does not wait because of the other.
    pub(super) fn datagram_toward_wire(&mut self, now: Instant, arrived: Arrived<P>) {
        let managed = self.mode != Mode::Bypassed && self.holds_for_wlan();
        let flow = self.flows.get_mut(arrived.flow);
        flow.from_wlan += arrived.ip_len;
        self.totals.of(flow.place.class).from_wlan += arrived.ip_len;
        let unpaid = match flow.is_conversation() {
            true => Some(Packets::one(arrived.ip_len)),
            false => flow.uplink.note_arrival(now, arrived.ip_len, flow.held > 0),
        };
        let confirmed = flow.unconfirmed.confirm(now) + arrived.ip_len;
        let station = self.stations.get_mut(flow.station);
        let model = &self.models[station.domain];
        let domain = self.domains.touch(flow.domain);
        let charged = Charging::new(domain, model, &self.config).of_packet(station, arrived.ip_len);
        station.note_packet(false, arrived.ip_len, model.packet_airtime(arrived.ip_len, station.rate), charged);
        station.confirmed += confirmed.bits();
        let own = PacketCost::alone(Packets::one(arrived.ip_len));
        let airtime = station.packet_airtime(arrived.ip_len, model, self.config.default_rate);
        domain.pacer.on_data(now, airtime, flow.station, &station.paced);
        domain.pacer.on_crossed(model, &own, station.rate);
        if let Some(packets) = unpaid.filter(|_| managed) {
            let cost = PacketCost::alone(packets);
            let address = flow.key.flow.ether_type().is_none().then(|| flow.own_address());
            station.note_uncontrolled(address, model.airtime(&cost, station.rate));
            domain.pacer.on_unscheduled(model, &cost, station.rate);
        }
        let signals = self.should_signal(arrived.flow) && {
            let flow = self.flows.get_mut(arrived.flow);
            flow.ce_pending = false;
            flow.uplink.signal_congestion(now)
        };
        self.pass_or_signal(now, arrived, None, signals);
    }

    /// Whether the sender of an upload gets a congestion signal: its queue of ACKs stands, or they stand for more DATA than a queue may
    /// hold.
    fn should_signal(&mut self, id: FlowId) -> bool {
        let flow = self.flows.get_mut(id);
        // A queue that has gone since needs no signal.
        flow.ce_pending &= flow.held > 0 && flow.is_clocked_upload();
        let is_ahead = flow.ce_pending || flow.is_ahead(self.config.queue_limit);
        is_ahead && self.mode == Mode::Inserted && self.holds_for_wlan()
    }

    /// Whether packets toward the WLAN are held, and unpaid airtime becomes a debt.
    fn holds_for_wlan(&self) -> bool {
        self.config.controller.holds()
    }

    /// Counts a duplicate ACK that takes the place of the newest held one; false: any other packet. A receiver sends one for each segment behind a
    /// hole, at the price of an access each. An upload whose station holds seconds of DATA has hundreds of them in a recovery, which would
    /// take the medium from its DATA.
    fn merge(&mut self, id: DomainId, leaf: NodeId, held: &Held<P>) -> bool {
        let Some(later) = held.tcp.as_ref().filter(|tcp| tcp.sacked_to.is_some()) else { return false };
        let newest = self.domains[id].queues.newest(leaf).filter(|newest| newest.flow == held.flow);
        let earlier = newest.and_then(|newest| newest.tcp.as_ref());
        let is_repeated =
            self.config.controller.drops_useless() && earlier.is_some_and(|earlier| repeats(later, earlier));
        let flow = self.flows.get_mut(held.flow);
        flow.merged = if is_repeated && flow.merged + 1 < MERGED { flow.merged + 1 } else { 0 };
        flow.merged > 0
    }

    fn pass_or_signal(&mut self, now: Instant, arrived: Arrived<P>, tcp: Option<&TcpMeta>, signals: bool) {
        let Arrived { packet, flow, ip_len, takes_marks } = arrived;
        if !self.is_within_limit(now, flow, tcp, ip_len) {
            return self.discard_toward(UP, packet, flow, DropReason::UplinkLimit);
        }
        if signals && !takes_marks {
            return self.discard_toward(UP, packet, flow, DropReason::SenderAhead);
        }
        let (tcp, marked, since, came, timestamp) = (tcp.cloned(), signals, now, now, None);
        let held = Held { packet, flow, tcp, ip_len, takes_marks, marked, since, came, timestamp };
        self.delay_or_leave(now, held);
    }

    pub(super) fn toward_wlan(&mut self, now: Instant, held: Held<P>) {
        if self.mode == Mode::Bypassed {
            self.account_release(now, &held);
            return self.send(now, held, Port::Wlan);
        }
        if self.goes_first(now, &held) {
            return self.pass_call(now, held);
        }
        let id = self.flows.get(held.flow).domain;
        if self.domains[id].discipline.is_some() {
            return self.hold_in_discipline(now, held);
        }
        let (leaf, elsewhere) = (self.leaf(held.flow), self.held() - self.domains[id].queues.len());
        if self.merge(id, leaf, &held) {
            let before = self.domains.touch(id).queues.replace_newest(leaf, held);
            return self.discard(before.packet, before.flow, DropReason::AckSuperseded);
        }
        loop {
            match self.domains.touch(id).queues.make_room(leaf, &held, elsewhere) {
                Room::Enough => break,
                Room::Made(head, reason) => {
                    self.flows.get_mut(head.flow).held -= 1;
                    self.discard(head.packet, head.flow, reason);
                }
                Room::None(reason) => return self.discard(held.packet, held.flow, reason),
            }
        }
        self.flows.get_mut(held.flow).held += 1;
        self.wake(now, id);
        self.domains.touch(id).queues.push(leaf, held, now);
    }
}

/// Releases.
impl<P: Send + 'static> Manager<P> {
    /// Releases the packets that may go, in all domains.
    pub(super) fn serve(&mut self, now: Instant) {
        self.domains.touch(DomainId::DEFAULT).queues.refresh(now);
        self.serve_groups(now);
        self.serve_line(now);
        self.serve_links(now);
        self.serve_domain(now, DomainId::DEFAULT);
        self.domains.touch_due(now);
        while let Some(id) = self.domains.next_touched() {
            self.serve_domain(now, id);
            let due = self.due(id);
            self.domains.settle(id, due);
        }
        if self.mode == Mode::Draining && self.holds_nothing() {
            self.set_mode(now, Mode::Bypassed);
        }
    }

    /// Releases the packets that may go in one domain.
    fn serve_domain(&mut self, now: Instant, id: DomainId) {
        let missed = self.domains.take_groups(id, self.models.id(id));
        let managed = self.mode != Mode::Bypassed && self.holds_for_wlan();
        let domain = self.domains.touch(id);
        if missed > Span::ZERO {
            domain.groups.note_elsewhere(now, self.config.group_share, missed);
            domain.note_group(now, missed, managed);
        }
        domain.queues.refresh(now);
        domain.queues.set_run(domain.pacer.run_limit(now), domain.pacer.account().sparse_pace());
        domain.pacer.on_time(now);
        if let Some(probes) = &mut domain.probes {
            probes.expire(now);
            if probes.holds_until().is_some() {
                domain.pacer.on_pause(now);
            }
        }
        if self.mode != Mode::Bypassed && domain.len() > 0 {
            domain.pacer.shape(now);
        }
        while self.mode != Mode::Bypassed && self.domains[id].len() > 0 && self.free_at(id) <= now {
            self.look_ahead(id);
            let Some((mut held, cost, congested)) = self.take_next(now, id) else { break };
            let station = self.stations.get(self.flows.get(held.flow).station);
            let rate = station.rate;
            self.domains.touch(id).pacer.on_service(now, &self.models[station.domain], &cost, rate);
            self.pay_debt(held.flow, &cost, rate);
            self.note_standing(now, &held, &cost, rate);
            self.note_unanswered(&held, &cost, rate);
            let waited = now.saturating_since(held.since);
            self.waits.note(waited);
            self.domains.touch(id).waits.note(waited);
            self.note_time(held.flow, Leg::Box, waited);
            self.counters[Counter::Queued] += 1;
            held.marked |= congested;
            self.send(now, held, Port::Wlan);
            let domain = self.domains.touch(id);
            domain.pacer.on_served(domain.len() > 0);
        }
        let domain = self.domains.touch(id);
        // The medium may be idle because of the box.
        if domain.shaped_until() > now || domain.len() == 0 || domain.quiet_until().is_some() {
            domain.pacer.on_starved();
            domain.observed.iter_mut().for_each(|observed| observed.lose());
        }
        self.probe(now, id);
    }

    /// The drain limit has ended: releases all packets in the order of service.
    pub(super) fn release_all(&mut self, now: Instant) {
        self.domains.ids().for_each(|id| self.release_domain(now, id));
        self.release_line(now);
        self.release_links(now);
        self.release_groups(now);
        self.set_mode(now, Mode::Bypassed);
    }

    fn release_domain(&mut self, now: Instant, id: DomainId) {
        for held in self.drain_discipline(now, id) {
            self.account_release(now, &held);
            self.counters[Counter::Queued] += 1;
            self.send(now, held, Port::Wlan);
        }
        self.domains.touch(id).queues.lift_ceilings();
        while let Some((held, cost)) = self.pop_young(now, id) {
            let rate = self.rate_of(held.flow);
            self.note_standing(now, &held, &cost, rate);
            self.counters[Counter::Queued] += 1;
            self.send(now, held, Port::Wlan);
        }
    }

    pub(super) fn pop(&mut self, now: Instant, id: DomainId) -> Option<(Held<P>, PacketCost)> {
        let (flows, stations, models) = (&mut self.flows, &self.stations, &self.models);
        let domain = self.domains.touch(id);
        let account = domain.pacer.account();
        let observed = domain.observed.as_deref();
        let default_rate = self.config.default_rate;
        let mut cost = PacketCost::default();
        let held = domain.queues.pop(now, |held| {
            let flow = flows.get_mut(held.flow);
            flow.held -= 1;
            flow.released += held.ip_len;
            cost = flow.note_release(held.tcp.as_ref(), held.ip_len);
            let station = stations.get(flow.station);
            let airtime = station.airtime_of(&cost, &models[station.domain], default_rate);
            let real = account.medium(airtime.paced, &station.paced);
            let undisturbed = account.undisturbed(real);
            let measured = || account.ratio(&station.paced);
            let (charged, of) = observed.map_or_else(measured, |observed| observed.lean(flow.station, now));
            let is_small = held.ip_len < SMALL && flow.is_one_way_down();
            let in_airtime = || station.capacity.mul_div(airtime.charged.as_nanos(), 1_000_000_000).as_bps();
            let bits = if is_small { in_airtime() } else { cost.bits() };
            let (bits, time) = (bits * charged / of, airtime.charged.mul_div(charged, of));
            let is_data = held.tcp.as_ref().is_some_and(|tcp| tcp.payload > Bytes::ZERO);
            Service { bits, capacity: station.capacity, time, real, undisturbed, is_data }
        })?;
        Some((held, cost))
    }

    /// Sends congestion signals for standing queues, up to the next head to be served. True: that head is to be marked.
    ///
    /// For a download that head is DATA, and is dropped or marked. For an upload it is an ACK (of other protocols than TCP, whatever goes
    /// against the larger volume), whose loss signals nothing, since the next one repeats it: the signal goes with the upload's next DATA
    /// to their receiver, whose echo comes back through the queue. An ACK at the head of a download is served. In a conversation the
    /// excess packets are dropped.
    pub(super) fn signal_senders(&mut self, now: Instant, id: DomainId) -> bool {
        loop {
            let flows = &self.flows;
            let judged = self.domains.touch(id).queues.judge(now, |head, held| flows.get(head.flow).data_packets(held));
            let Some((head, judgement)) = judged.filter(|(_, judgement)| *judgement != Judgement::Serve) else {
                return false;
            };
            let of_upload = self.flows.get(head.flow).is_clocked_upload();
            if head.tcp.as_ref().map_or(of_upload, |tcp| tcp.payload == Bytes::ZERO) {
                let flow = self.flows.get_mut(head.flow);
                flow.ce_pending = flow.is_clocked_upload();
                return false;
            }
            if head.takes_marks && judgement == Judgement::Signal {
                return true;
            }
            let Some(head) = self.domains.touch(id).queues.drop_next() else { return false };
            self.flows.get_mut(head.flow).held -= 1;
            self.discard(head.packet, head.flow, DropReason::StandingQueue);
        }
    }

    /// Accounts for a release, also of a packet that was not held. Returns its cost.
    pub(super) fn account_release(&mut self, now: Instant, held: &Held<P>) -> PacketCost {
        let flow = self.flows.get_mut(held.flow);
        flow.released += held.ip_len;
        let cost = flow.note_release(held.tcp.as_ref(), held.ip_len);
        let rate = self.stations.get(flow.station).rate;
        self.note_standing(now, held, &cost, rate);
        self.note_unanswered(held, &cost, rate);
        cost
    }

    /// Counts the packet as backlog of the access point until it, or a later packet of its flow, is acknowledged.
    fn note_standing(&mut self, now: Instant, held: &Held<P>, cost: &PacketCost, rate: PhyRate) {
        self.charge(held, cost);
        let flow = self.flows.get_mut(held.flow);
        // Before access points that aggregate, an upload that goes on shows when its ACK has arrived.
        let goes_on = |tcp| self.domains[flow.domain].pacer.aggregates() && flow.tcp.has_sent_beyond(tcp);
        let more = flow.held > 0 || held.tcp.as_ref().is_some_and(goes_on);
        let station = self.stations.get_mut(flow.station);
        let model = &self.models[station.domain];
        station.paced.has_rate = station.has_known_rate();
        let Some(tcp) = &held.tcp else {
            flow.unconfirmed.note_release(now, held.ip_len);
            let cost = &PacketCost([Packets::one(held.ip_len), flow.uplink.expected(), <_>::default(), <_>::default()]);
            let airtime = station.airtime_of(cost, model, self.config.default_rate);
            let domain = self.domains.touch(flow.domain);
            domain.counted += airtime;
            let outgoing = Outgoing::unanswered(airtime.paced, Some(flow.station));
            let data = PacketCost::alone(flow.uplink.expected());
            let for_data = station.airtime_of(&data, model, self.config.default_rate).paced;
            let outgoing = Outgoing { completion: Completion::Unknown, for_data, ..outgoing };
            let mark = domain.pacer.on_release(now, outgoing, Some(&mut station.paced));
            if let Some(observed) = &mut domain.observed {
                let by_report = station.airtime_by_report(airtime.charged, cost, model);
                observed.release(mark.number(), flow.station, by_report);
            }
            note_for_probes(domain, now, station, airtime.paced, Completion::Unknown);
            return;
        };
        let is_due = flow.answers.is_due(tcp, more, flow.tcp.download_ratio_milli());
        let airtime = station.airtime_of(&cost.outstanding(), model, self.config.default_rate);
        let domain = self.domains.touch(flow.domain);
        domain.counted += airtime;
        let is_late = || flow.answers.oldest_due().is_some_and(|mark| domain.pacer.has_given_up(mark));
        let completion = match is_due && !is_late() && !flow.answers.is_forged() {
            true => Completion::Expected { managed: self.mode != Mode::Bypassed },
            false if flow.answers.is_forged() => Completion::Unknown,
            false => Completion::None,
        };
        let previous = flow.answers.newest();
        let outgoing = Outgoing::unanswered(airtime.paced, Some(flow.station));
        let for_data = station.airtime_of(&PacketCost::alone(cost.0[2]), model, self.config.default_rate).paced;
        let outgoing = Outgoing { completion, previous, for_data, ..outgoing };
        let mark = domain.pacer.on_release(now, outgoing, Some(&mut station.paced));
        if let Some(observed) = &mut domain.observed {
            let all = station.airtime_by_report(model.airtime(cost, rate), cost, model);
            observed.release(mark.number(), flow.station, all);
        }
        flow.answers.note_release(tcp, mark);
        note_for_probes(domain, now, station, airtime.paced, completion);
    }

    /// Charges a station in debt with its turns.
    fn pay_debt(&mut self, id: FlowId, cost: &PacketCost, rate: PhyRate) {
        let airtime = self.model_of(id).airtime(cost, rate);
        let flow = self.flows.get(id);
        let paid = self.stations.get_mut(flow.station).pay(flow.own_address(), airtime);
        if let Some(leaf) = flow.leaf.filter(|_| paid > Span::ZERO && airtime > Span::ZERO) {
            // At the rate of the released packet.
            let bits = u128::from(cost.bits()) * u128::from(paid.as_nanos()) / u128::from(airtime.as_nanos());
            self.domains.touch(flow.domain).queues.charge_station(leaf, u64::try_from(bits).unwrap_or(u64::MAX), paid);
        }
    }

    /// Counts a packet as crossed at its release, if its acknowledgment would not show that: one without data, or of another protocol than
    /// TCP.
    fn note_unanswered(&mut self, held: &Held<P>, cost: &PacketCost, rate: PhyRate) {
        if held.tcp.as_ref().is_none_or(|tcp| tcp.payload == Bytes::ZERO) {
            let own = PacketCost::alone(cost.0[0]);
            let flow = self.flows.get(held.flow);
            let model = &self.models[self.stations.get(flow.station).domain];
            self.domains.touch(flow.domain).pacer.on_crossed(model, &own, rate);
        }
    }

    /// Drops a packet toward the WLAN.
    pub(super) fn discard(&mut self, packet: P, flow: FlowId, reason: DropReason) {
        self.discard_toward(DOWN, packet, flow, reason);
    }

    pub(super) fn discard_toward(&mut self, direction: usize, packet: P, flow: FlowId, reason: DropReason) {
        self.flows.get_mut(flow).dropped += 1;
        self.count_for_station(flow, StationCounter::Dropped);
        self.total_of(flow).dropped += 1;
        if reason != DropReason::AckSuperseded {
            self.note_dropped(flow, direction);
        }
        self.counters.drops[reason] += 1;
        self.outputs.push_back(Output::Drop { packet, reason });
    }
}
