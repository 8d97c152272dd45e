//! The access points of one contention domain and their stations on the medium.
//!
//! The medium is that of the testbed: the same crate, driven from event to event instead of by a clock. A packet from a
//! station goes to the wired side (stations communicate with servers only). A packet for a station that is not associated
//! is dropped, as an access point does. With several domains (`domains`), each domain knows all stations by the same numbers,
//! and treats stations at other access points as departed.

use std::collections::BTreeMap;

use evenair_ap::{AirQueues, Received, Tag, TaggedMpdu, TxStatus, Unsent};
use evenair_medium::{
    AccessCategory, Counters, DropReason, MeasuredAirtime, Medium, Mpdu, NodeId, PpduCounters, QueueState, RateControl,
    To, Totals,
};
use evenair_results::period::FlowPeriod;
use evenair_scenario::{AirPlan, AppKind, Scenario, StationPlan};
use evenair_sched::Cause;
use evenair_units::hint::prefetch;
use evenair_units::{Airtime, Bytes, Dbm, Instant, Limit, Streams};
use evenair_wifi::PhyRate;
use evenair_workload::Direction;

use crate::bss::BssCounters;
use crate::categories::Categories;
use crate::medium_counters::{MediumCounters, RunCounters};
use crate::packet::{PacketId, Pool};
use crate::prefetch::MANY;

/// Who sent a frame over the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// By its number on the medium.
    AccessPoint(usize),
    /// By its number among the stations.
    Station(usize),
}

/// Why a packet was lost at the access point or at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Medium(DropReason),
    /// By the queue in front of the MAC; `None`: its node left.
    Queue(Option<Cause>),
    NotAssociated,
}

impl Loss {
    /// Its name in results.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Medium(DropReason::BufferFull) | Self::Queue(Some(Cause::Overflow)) => "buffer full",
            Self::Queue(Some(Cause::Delay)) => "queue delay",
            Self::Medium(DropReason::RetryLimit) => "retry limit",
            Self::Medium(DropReason::Left) | Self::Queue(None) => "station left",
            Self::NotAssociated => "not associated",
            Self::Medium(DropReason::BroadcastCollision) => "broadcast collided",
            Self::Medium(DropReason::Late) => "came too late",
        }
    }
}

/// A packet as it goes to a queue or a MAC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AirFrame {
    pub(crate) packet: PacketId,
    pub(crate) category: AccessCategory,
}

/// A frame that was received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// When it was received.
    pub(crate) at: Instant,
    /// When it came to its sender's buffer.
    pub(crate) since: Instant,
    pub(crate) category: AccessCategory,
    /// Transmissions it took.
    pub(crate) attempts: u32,
    /// Size of the IP packet.
    pub(crate) msdu: Bytes,
}

/// The end of a packet's way over the air.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) domain: usize,
    pub(crate) sender: Sender,
    pub(crate) at: Instant,
    /// As in [`PacketRecord`](evenair_results::PacketRecord).
    pub(crate) outcome: &'static str,
}

#[derive(Debug)]
pub(crate) struct ContentionDomain {
    pub(crate) medium: Medium<PacketId>,
    /// In front of the MACs, where there are any.
    queues: Option<Box<AirQueues<PacketId>>>,
    /// Nodes of this medium that are access points: the first ones.
    points: usize,
    plan: AirPlan,
    stations: Vec<Station>,
    /// At the same places.
    links: Vec<Link>,
    /// At the same places: the one application that uses the buffer, where it is one that sends datagrams.
    sole_senders: Vec<Option<u32>>,
    /// Whose each node is or was; the access points' mean nothing.
    owner: Vec<usize>,
    /// What stations were that have gone to another access point, which is not known yet at the old one.
    gone: BTreeMap<usize, NodeId>,
    /// Of each access point.
    queue_averages: Vec<QueueAverage>,
    /// The access points' are the last.
    losses: Vec<Losses>,
    /// Places with losses in this interval.
    lossy: Vec<u32>,
    pub(crate) medium_counters: MediumCounters,
    /// Where access points have names.
    bss: Option<Box<BssCounters>>,
    /// Where there is EDCA.
    categories: Option<Box<Categories>>,
    chooses_rates: bool,
}

#[derive(Debug)]
struct Station {
    host: usize,
    /// What the box takes for its rate.
    reported_rate: PhyRate,
    /// What happened at the nodes that it was before it left, where it did.
    before: Option<Box<Counters>>,
    buffer: Limit,
}

/// A station's buffer while its sender makes up for what it has missed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    limit: Limit,
    packets: usize,
    bytes: Bytes,
    /// There is a buffer.
    keeps: bool,
    /// The buffer has nothing, or there is none.
    pub(crate) is_empty: bool,
}

impl Room {
    /// Of a station that is not associated: it has no buffer that could be full.
    const NONE: Self = Self { limit: Limit::Unlimited, packets: 0, bytes: Bytes::ZERO, keeps: false, is_empty: true };

    /// Whether it takes a packet; if so, that comes into it.
    #[inline]
    pub(crate) fn take(&mut self, msdu: Bytes) -> bool {
        let admits = self.limit.admits(self.packets, self.bytes, msdu);
        if admits && self.keeps {
            (self.packets, self.bytes, self.is_empty) = (self.packets + 1, self.bytes + msdu, false);
        }
        admits
    }
}

/// What every packet to or from a station needs to know of it.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// While it is associated.
    node: Option<NodeId>,
    rate: PhyRate,
    /// The one that it is at, or was at last.
    access_point: NodeId,
}

/// Time average of an access point's queue.
#[derive(Debug, Default)]
struct QueueAverage {
    packets: usize,
    since: Instant,
    /// Packets times nanoseconds.
    area: u128,
}

/// Frames lost at one place.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    total: LossCounts,
    /// Of them those before this interval.
    before: LossCounts,
    /// There are some in this interval.
    is_new: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct LossCounts {
    buffer_full: u64,
    queue_delay: u64,
    retry_limit: u64,
    left: u64,
    not_associated: u64,
    broadcast_collided: u64,
    late: u64,
}

impl ContentionDomain {
    /// A domain of the scenario, with all stations associated that are there in the beginning.
    pub(crate) fn new(scenario: &Scenario, plan: AirPlan, streams: &Streams) -> Self {
        let (mut medium, points) = plan.build(streams);
        medium.count_backlog();
        let station = |spec: &StationPlan| Station {
            host: spec.host,
            reported_rate: spec.rate,
            before: None,
            buffer: spec.node.buffer,
        };
        // Who sleeps until the buffer has room has to know what a queue would do.
        let sole = |spec: &StationPlan| sole_sender(scenario, spec.host).filter(|_| plan.station_queue.is_none());
        let links =
            plan.stations.iter().map(|spec| Link { node: None, rate: spec.rate, access_point: points[0] }).collect();
        let sole_senders = plan.stations.iter().map(sole).collect();
        let stations: Vec<_> = plan.stations.iter().map(station).collect();
        let names = stations.iter().map(|station| scenario.hosts[station.host].name.clone());
        let queues = (plan.ap_queue.is_some() || plan.station_queue.is_some()).then(|| {
            let mut queues = Box::new(AirQueues::default());
            let all = plan.ap_queue.iter().flat_map(|spec| points.iter().map(move |&point| (spec, point)));
            all.for_each(|(spec, point)| queues.add(&medium, point, spec));
            queues
        });
        let senders = stations.len() + points.len();
        let point_names: Vec<_> =
            plan.access_points.iter().map(|point| scenario.access_points[point.number].name.clone()).collect();
        let has_names = scenario.access_points.iter().any(|point| point.channel.is_some());
        let mut air = Self {
            medium,
            queues,
            points: points.len(),
            owner: vec![usize::MAX; plan.nodes_before_stations()],
            gone: BTreeMap::new(),
            queue_averages: points.iter().map(|_| QueueAverage::default()).collect(),
            losses: vec![Losses::default(); senders],
            lossy: Vec::new(),
            bss: has_names.then(|| Box::new(BssCounters::new(scenario, &plan))),
            plan,
            medium_counters: MediumCounters::new(scenario, names.chain(point_names), points.len()),
            categories: scenario.radio.edca.map(|_| Box::new(Categories::new(senders))),
            chooses_rates: scenario.radio.rate_control != RateControl::Fixed,
            stations,
            links,
            sole_senders,
        };
        for station in 0..air.stations.len() {
            let here =
                air.plan.access_points.iter().position(|point| point.number == air.plan.stations[station].access_point);
            here.into_iter().for_each(|point| air.join(station, point));
        }
        air
    }

    /// Number of the station that is host `host`.
    ///
    /// # Panics
    /// If it is none.
    pub(crate) fn station_of(&self, host: usize) -> usize {
        self.stations.iter().position(|station| station.host == host).expect("applications and events name stations")
    }

    /// A station comes to an access point, by its number on the medium.
    pub(crate) fn join(&mut self, station: usize, point: usize) {
        if self.links[station].node.is_none() {
            let access_point = NodeId(point as u32);
            let node = self.plan.join(&mut self.medium, access_point, station);
            (self.links[station].node, self.links[station].access_point) = (Some(node), access_point);
            if let (Some(queues), Some(spec)) = (&mut self.queues, &self.plan.station_queue) {
                queues.add(&self.medium, node, spec);
            }
            let others = self.plan.stations[station].hidden_from.iter();
            others.filter_map(|&other| self.links[other].node).for_each(|other| self.medium.hide(node, other));
            let points = self.plan.stations[station].hidden_from_points.iter().filter(|&&other| other != point);
            points.for_each(|&other| self.medium.hide(node, NodeId(other as u32)));
            self.owner.push(station);
            self.bss.iter_mut().for_each(|bss| bss.join(point));
        }
    }

    /// A station goes to another access point, which its own does not know yet.
    pub(crate) fn go(&mut self, now: Instant, station: usize) {
        if let Some(node) = self.links[station].node {
            self.leave(now, station);
            self.gone.insert(station, node);
        }
    }

    /// Its access point learns that a station has gone, and gives up what it has for it.
    pub(crate) fn give_up(&mut self, now: Instant, station: usize) {
        let Some(node) = self.gone.remove(&station) else { return };
        let point = self.links[station].access_point;
        self.medium_counters.count_ppdus(station, ppdus(&mut self.medium, node, point));
        match &mut self.queues {
            Some(queues) if queues.has(point) => queues.flush(node),
            _ => self.medium.flush(now, point, node),
        }
    }

    pub(crate) fn leave(&mut self, now: Instant, number: usize) {
        let station = &mut self.stations[number];
        if let Some(node) = self.links[number].node.take() {
            self.queues.iter_mut().for_each(|queues| queues.remove(node));
            self.medium.remove_node(now, node);
            self.medium_counters.count_ppdus(number, ppdus(&mut self.medium, node, self.links[number].access_point));
            let before = station.before.get_or_insert_default();
            **before = [**before, self.medium.counters(node)].into_iter().sum();
            if self.chooses_rates {
                self.medium_counters.use_rates(number, self.medium.take_rates_used(node));
            }
        }
    }

    /// For frames to and from the station that are queued from now on.
    pub(crate) fn set_rate(&mut self, station: usize, rate: PhyRate) {
        (self.links[station].rate, self.stations[station].reported_rate) = (rate, rate);
    }

    /// The stations, by host, toward which senders have come to another rate since the last call.
    pub(crate) fn changed_rates(&mut self) -> Vec<(usize, PhyRate)> {
        let medium = &self.medium;
        let chosen = |(node, access_point): (NodeId, NodeId)| {
            let toward_station = medium.rate_toward(access_point, node);
            toward_station.or_else(|| medium.rate_toward(node, access_point))
        };
        let changed = |(station, link): (&mut Station, &Link)| {
            let ends = link.node.map(|node| (node, link.access_point));
            let rate = ends.and_then(chosen).filter(|&rate| rate != station.reported_rate)?;
            station.reported_rate = rate;
            Some((station.host, rate))
        };
        self.stations.iter_mut().zip(&self.links).filter_map(changed).collect()
    }

    /// How strongly its access point receives each associated station, by host, where that is known.
    pub(crate) fn signals(&mut self) -> Vec<(usize, Dbm)> {
        let medium = &mut self.medium;
        let signal =
            |(station, link): (&Station, &Link)| Some((station.host, medium.signal(link.node?, link.access_point)?));
        self.stations.iter().zip(&self.links).filter_map(signal).collect()
    }

    /// A station sends a packet. Gives it back where the station is not associated; what is lost in a buffer comes out
    /// as an event.
    #[inline(always)]
    pub(crate) fn send_up(
        &mut self,
        now: Instant,
        station: usize,
        pool: &Pool,
        frame: AirFrame,
    ) -> Result<(), PacketId> {
        let Link { rate, node, access_point } = self.links[station];
        let AirFrame { packet: id, category } = frame;
        let Some(node) = node else { return Err(id) };
        let packet = pool.get(id);
        self.medium_counters.arrive(station, now, packet.made(now));
        if let Some(categories) = &mut self.categories {
            categories.arrive(station, category, now, packet.made(now));
        }
        if self.links.len() >= MANY {
            self.medium.prefetch(node, prefetch); // for when it is sent
        }
        let to = To::Node(access_point);
        let mpdu = Mpdu { to, msdu: packet.len, rate, category, frame: id };
        self.hand_over(now, node, mpdu, || pool.tag(id, station as u32));
        Ok(())
    }

    /// A packet comes to its access point for a station. Gives it back where the station is not associated.
    pub(crate) fn send_down(
        &mut self,
        now: Instant,
        station: usize,
        pool: &Pool,
        frame: AirFrame,
    ) -> Result<(), PacketId> {
        let Link { rate, node, access_point } = self.links[station];
        let AirFrame { packet: id, category } = frame;
        let Some(node) = node.or_else(|| self.gone.get(&station).copied()) else { return Err(id) };
        let packet = pool.get(id);
        let place = self.place_of_point(access_point);
        self.medium_counters.arrive(place, now, now);
        if let Some(categories) = &mut self.categories {
            categories.arrive(place, category, now, now);
        }
        let mpdu = Mpdu { to: To::Node(node), msdu: packet.len, rate, category, frame: id };
        self.hand_over(now, access_point, mpdu, || pool.tag(id, station as u32));
        self.note_queue(now, access_point);
        Ok(())
    }

    /// A packet to a group, of which a station is that which counts, comes to the station's access point.
    pub(crate) fn send_to_all(&mut self, now: Instant, station: usize, pool: &Pool, frame: AirFrame) {
        let Link { rate, access_point, .. } = self.links[station];
        let AirFrame { packet: id, category } = frame;
        let place = self.place_of_point(access_point);
        self.medium_counters.arrive(place, now, now);
        if let Some(categories) = &mut self.categories {
            categories.arrive(place, category, now, now);
        }
        let mpdu = Mpdu { to: To::Broadcast, msdu: pool.get(id).len, rate, category, frame: id };
        self.hand_over(now, access_point, mpdu, || pool.tag(id, station as u32));
        self.note_queue(now, access_point);
    }

    /// To the queue in front of the MAC, or to the MAC.
    #[inline(always)]
    fn hand_over(&mut self, now: Instant, from: NodeId, mpdu: Mpdu<PacketId>, tag: impl FnOnce() -> Tag) {
        match &mut self.queues {
            Some(queues) if queues.has(from) => {
                queues.handle_frame(now, &mut self.medium, from, TaggedMpdu { mpdu, tag: tag() });
            }
            _ => self.medium.handle_frame(now, from, mpdu),
        }
    }

    /// A frame has left a MAC, of which the queue above may have the next and learns its fate. When the frame came to that
    /// queue; `None` where there is none.
    #[inline(always)]
    pub(crate) fn leave_queue(&mut self, now: Instant, from: NodeId, status: TxStatus) -> Option<Instant> {
        if self.queues.is_none() { None } else { self.refill_queue(now, from, status) }
    }

    #[inline(never)]
    fn refill_queue(&mut self, now: Instant, from: NodeId, status: TxStatus) -> Option<Instant> {
        let queues = self.queues.as_mut()?;
        let since = queues.leave(now, &mut self.medium, from, status);
        queues.refill(now, &mut self.medium, from);
        since
    }

    /// A frame was received by a node whose queue may count what its station sends; `packet` by the number of that station.
    #[inline(always)]
    pub(crate) fn come_to_queue(&mut self, now: Instant, from: NodeId, to: To, packet: impl FnOnce(u32) -> Received) {
        let (Some(queues), To::Node(to)) = (&mut self.queues, to) else { return };
        let station = if (from.0 as usize) < self.points { to } else { from };
        queues.receive(now, &self.medium, to, &packet(self.owner[station.0 as usize] as u32));
    }

    /// A packet that was dropped in front of a MAC.
    pub(crate) fn poll_unsent(&mut self) -> Option<Unsent<PacketId>> {
        self.queues.as_mut()?.poll_unsent()
    }

    /// When the medium or a queue has something to do; [`Instant::MAX`] where neither has.
    pub(crate) fn deadline(&self) -> Instant {
        let medium = self.medium.deadline();
        let queues = self.queues.as_ref().and_then(|queues| queues.poll_deadline());
        queues.map_or(medium, |at| at.min(medium))
    }

    /// Lets everything on the air happen that is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.medium.handle_timeout(now);
        if let Some(queues) = &mut self.queues {
            queues.handle_timeout(now, &mut self.medium);
        }
    }

    /// The same from what is due at `at`, up to `limit` or until something has become of a frame; until when.
    pub(crate) fn advance(&mut self, at: Instant, limit: Instant) -> Instant {
        if self.queues.is_none() {
            return self.medium.advance(limit);
        }
        self.handle_timeout(at);
        at
    }

    /// Packets that a node holds.
    fn held_by(&self, node: NodeId) -> usize {
        let above = self.queues.as_ref().map_or(0, |queues| queues.queue(node).packets);
        self.medium.queue(node).packets + above
    }

    /// Packets that its access points hold.
    pub(crate) fn queued(&self) -> usize {
        (0..self.points as u32).map(|point| self.held_by(NodeId(point))).sum()
    }

    /// The PHY rate toward a station that is associated.
    pub(crate) fn rate(&self, station: usize) -> Option<PhyRate> {
        let link = &self.links[station];
        let node = link.node?;
        Some(self.medium.rate_toward(link.access_point, node).unwrap_or(link.rate))
    }

    /// What the station's buffer for a category has room for before one of `left` bytes leaves it. Only where no queue stands
    /// above it.
    #[inline]
    pub(crate) fn room(&self, station: usize, category: AccessCategory, left: Option<Bytes>) -> Room {
        let Some(node) = self.links[station].node else { return Room::NONE };
        let QueueState { packets, bytes } = self.medium.queue_of(node, category);
        let is_empty = packets == 0;
        let (packets, bytes) = left.map_or((packets, bytes), |left| (packets + 1, bytes + left));
        // MPDUs that were received keep their room until the sender knows.
        let held = self.medium.held_of(node, category);
        let (packets, bytes) = (packets.max(held.packets), bytes.max(held.bytes));
        Room { limit: self.stations[station].buffer, packets, bytes, keeps: true, is_empty }
    }

    /// Has the memory fetched that a frame of a station needs.
    #[inline]
    pub(crate) fn prefetch(&self, station: usize) {
        self.medium_counters.prefetch(station);
        self.links[station].node.into_iter().for_each(|node| self.medium.prefetch(node, prefetch));
    }

    /// Whether the station has nothing to send, or nowhere to send it.
    pub(crate) fn is_empty(&self, station: usize) -> bool {
        self.links[station].node.is_none_or(|node| self.held_by(node) == 0)
    }

    pub(crate) fn sender(&self, node: NodeId) -> Sender {
        let number = node.0 as usize;
        if number < self.points { Sender::AccessPoint(number) } else { Sender::Station(self.owner[number]) }
    }

    /// The access point that a sender is, or is associated with, or was last; by its number among the scenario's.
    pub(crate) fn access_point_of(&self, sender: Sender) -> usize {
        let point = match sender {
            Sender::AccessPoint(point) => point,
            Sender::Station(station) => self.links[station].access_point.0 as usize,
        };
        self.plan.access_points[point].number
    }

    /// Whether a node belongs to a network of others.
    pub(crate) fn is_obss(&self, node: NodeId) -> bool {
        (self.points..self.plan.nodes_before_stations()).contains(&(node.0 as usize))
    }

    /// Which host a node is, or by its number among the scenario's which access point.
    pub(crate) fn host_of(&self, node: NodeId) -> Result<usize, usize> {
        match self.sender(node) {
            Sender::AccessPoint(point) => Err(self.plan.access_points[point].number),
            Sender::Station(station) => Ok(self.stations[station].host),
        }
    }

    /// The hosts that are stations, by their numbers here.
    pub(crate) fn hosts(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.stations.iter().map(|station| station.host)
    }

    /// The application that alone uses the station's buffer, where it is one that sends datagrams.
    pub(crate) fn sole_sender(&self, station: usize) -> Option<u32> {
        self.sole_senders[station]
    }

    fn note_queue(&mut self, now: Instant, point: NodeId) {
        let packets = self.held_by(point);
        let point = point.0 as usize;
        let queue = &mut self.queue_averages[point];
        let time = now.saturating_since(queue.since);
        queue.area += u128::from(time.as_nanos()) * queue.packets as u128;
        self.medium_counters.stay(point, queue.packets, time);
        queue.since = now;
        queue.packets = packets;
    }

    /// A node, which is this sender, delivered a frame.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, from: NodeId, sender: Sender, delivery: Delivery) {
        let Delivery { at, since, category, attempts, msdu } = delivery;
        let (place, sojourn) = (self.place_of_sender(sender), at.saturating_since(since));
        self.medium_counters.leave(place, at, false);
        self.medium_counters.deliver(place, sojourn, attempts);
        if let Some(categories) = &mut self.categories {
            categories.deliver(place, category, at, sojourn);
        }
        if let Some(bss) = &mut self.bss {
            bss.deliver(from, msdu);
        }
        if let Sender::AccessPoint(_) = sender {
            self.note_queue(at, from);
        }
    }

    /// A frame left its sender's buffer, or found no room in it.
    pub(crate) fn drop(&mut self, at: Instant, from: NodeId, category: AccessCategory, found_no_room: bool) {
        let sender = self.sender(from);
        let place = self.place_of_sender(sender);
        self.medium_counters.leave(place, at, found_no_room);
        if let Some(categories) = &mut self.categories {
            categories.lose(place, category, at, found_no_room);
        }
        if let Sender::AccessPoint(_) = sender {
            self.note_queue(at, from);
        }
    }

    /// The number of a sender in what is counted.
    fn place_of_sender(&self, sender: Sender) -> usize {
        match sender {
            Sender::AccessPoint(point) => self.stations.len() + point,
            Sender::Station(station) => station,
        }
    }

    fn place_of_point(&self, point: NodeId) -> usize {
        self.stations.len() + point.0 as usize
    }

    /// An interval has ended; `flows` gives what applications counted in the period, where one ends too: whether one does.
    pub(crate) fn end_interval(&mut self, now: Instant, flows: impl FnOnce() -> Vec<FlowPeriod>) -> bool {
        let Self { medium, points, stations, links, losses, lossy, medium_counters, .. } = self;
        for place in lossy.drain(..) {
            let losses = &mut losses[place as usize];
            let before = std::mem::replace(&mut losses.before, losses.total);
            losses.is_new = false;
            for ((reason, frames), (_, before)) in losses.total.reasons().into_iter().zip(before.reasons()) {
                medium_counters.lose(place as usize, reason, frames - before);
            }
        }
        let counters = |place: usize| {
            let station = stations.get(place);
            let node = links.get(place).map_or_else(|| Some(NodeId((place - links.len()) as u32)), |link| link.node);
            let counters = node.map_or_else(Counters::default, |node| medium.counters(node));
            match station {
                Some(Station { before: Some(before), .. }) => [**before, counters].into_iter().sum(),
                _ => counters,
            }
        };
        self.bss.iter_mut().for_each(|bss| bss.end_interval(medium));
        // Nodes that send frames of their own have airtime without packets, too.
        let may_send = medium.has_repeated() || self.plan.beacons.is_some();
        let ends = medium_counters.end_interval(now, medium.totals(now), may_send, counters);
        if ends {
            if self.chooses_rates {
                let nodes =
                    links.iter().map(|link| link.node).chain((0..*points as u32).map(|point| Some(NodeId(point))));
                for (place, node) in nodes.enumerate().filter_map(|(place, node)| Some((place, node?))) {
                    medium_counters.use_rates(place, medium.take_rates_used(node));
                }
            }
            if medium.aggregates() {
                for (station, link) in links.iter().enumerate() {
                    if let Some(node) = link.node.or_else(|| self.gone.get(&station).copied()) {
                        medium_counters.count_ppdus(station, ppdus(medium, node, link.access_point));
                    }
                }
            }
            let categories = self.categories.as_mut().map(|categories| categories.take(now)).unwrap_or_default();
            medium_counters.end_period(flows(), medium.take_backlog_chain().unwrap_or_default(), categories);
        }
        ends
    }

    /// Packets in the access points' queues, and packets times nanoseconds since the last call.
    pub(crate) fn take_queue(&mut self, now: Instant) -> (usize, u128) {
        (0..self.points as u32).for_each(|point| self.note_queue(now, NodeId(point)));
        let taken = self.queue_averages.iter_mut().map(|queue| (queue.packets, std::mem::take(&mut queue.area)));
        taken.fold((0, 0), |sum, queue| (sum.0 + queue.0, sum.1 + queue.1))
    }

    pub(crate) fn lose(&mut self, place: Sender, category: AccessCategory, loss: Loss) {
        let place = self.place_of_sender(place);
        let losses = self.losses_at(place);
        match loss {
            Loss::Medium(DropReason::BufferFull) | Loss::Queue(Some(Cause::Overflow)) => losses.buffer_full += 1,
            Loss::Medium(DropReason::RetryLimit) => losses.retry_limit += 1,
            Loss::Queue(Some(Cause::Delay)) => losses.queue_delay += 1,
            Loss::Medium(DropReason::Left) | Loss::Queue(None) => losses.left += 1,
            Loss::Medium(DropReason::BroadcastCollision) => losses.broadcast_collided += 1,
            Loss::Medium(DropReason::Late) => losses.late += 1,
            Loss::NotAssociated => {
                losses.not_associated += 1;
                self.never_arrived(place, category, 1);
            }
        }
    }

    /// Datagrams that were never made because the buffer was full when they were due.
    pub(crate) fn lose_unmade(&mut self, station: usize, category: AccessCategory, datagrams: u64) {
        self.losses_at(station).buffer_full += datagrams;
        self.never_arrived(station, category, datagrams);
    }

    /// Packets that each access point's buffer has lost so far, by its number among the scenario's.
    pub(crate) fn overflows(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let losses = &self.losses[self.stations.len()..];
        self.plan.access_points.iter().zip(losses).map(|(point, losses)| (point.number, losses.total.buffer_full))
    }

    /// What is lost at a place now.
    fn losses_at(&mut self, place: usize) -> &mut LossCounts {
        let losses = &mut self.losses[place];
        if !std::mem::replace(&mut losses.is_new, true) {
            self.lossy.push(place as u32);
        }
        &mut losses.total
    }

    fn never_arrived(&mut self, place: usize, category: AccessCategory, frames: u64) {
        self.medium_counters.never_arrived(place, frames);
        if let Some(categories) = &mut self.categories {
            categories.never_arrived(place, category, frames);
        }
    }

    /// Losses: of the host that is a station, or of an access point, why, how many.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (Result<usize, usize>, &'static str, u64)> + '_ {
        let points = self.plan.access_points.iter().map(|point| Err(point.number));
        let hosts = self.stations.iter().map(|station| Ok(station.host)).chain(points);
        hosts
            .zip(&self.losses)
            .flat_map(|(host, losses)| losses.total.reasons().map(|(reason, frames)| (host, reason, frames)))
    }

    /// Packets in all buffers of the air.
    pub(crate) fn held(&self) -> usize {
        let points = (0..self.points as u32).map(NodeId);
        let kept: usize = points.clone().map(|point| self.medium.kept(point).packets).sum();
        let nodes = self.links.iter().filter_map(|link| link.node).chain(points);
        kept + nodes.map(|node| self.held_by(node)).sum::<usize>()
    }

    /// What happened at the access points.
    pub(crate) fn access_point_counters(&self) -> Counters {
        (0..self.points as u32).map(|point| self.medium.counters(NodeId(point))).sum()
    }

    pub(crate) fn totals(&self, now: Instant) -> Totals {
        self.medium.totals(now)
    }

    /// Medium time of all accesses: the access points', by their numbers, and, by host, each station's.
    pub(crate) fn airtime(&self) -> impl Iterator<Item = (Result<usize, usize>, Airtime)> + '_ {
        let of = |node: NodeId| -> Counters { self.medium.counters(node) };
        let stations = self.stations.iter().zip(&self.links).map(move |(station, link)| {
            let now = link.node.map_or(Airtime::ZERO, |node| of(node).airtime);
            let before = station.before.as_ref().map_or(Airtime::ZERO, |before| before.airtime);
            (Ok(station.host), Airtime(before.0 + now.0))
        });
        let points = self.plan.access_points.iter().zip(0..);
        points.map(move |(point, node)| (Err(point.number), of(NodeId(node)).airtime)).chain(stations)
    }

    /// Measured airtime of each station, by host, in all its associations on this medium.
    pub(crate) fn measured_airtime(&self) -> impl Iterator<Item = (usize, MeasuredAirtime)> + '_ {
        self.stations.iter().zip(&self.links).map(|(station, link)| {
            let before = station.before.as_ref().map_or_else(MeasuredAirtime::default, |before| before.measured);
            let now = link.node.map_or_else(MeasuredAirtime::default, |node| self.medium.counters(node).measured);
            (station.host, before + now)
        })
    }

    /// All that was counted in the run, and of the access points with their stations, where they have names.
    pub(crate) fn finish(self) -> (RunCounters, Option<BssCounters>) {
        (self.medium_counters.finish(), self.bss.map(|bss| *bss))
    }
}

impl LossCounts {
    /// The reasons' names in results, and how many frames.
    fn reasons(&self) -> [(&'static str, u64); 7] {
        [
            (Loss::Medium(DropReason::BufferFull).reason(), self.buffer_full),
            (Loss::Queue(Some(Cause::Delay)).reason(), self.queue_delay),
            (Loss::Medium(DropReason::RetryLimit).reason(), self.retry_limit),
            (Loss::Medium(DropReason::Left).reason(), self.left),
            (Loss::NotAssociated.reason(), self.not_associated),
            (Loss::Medium(DropReason::BroadcastCollision).reason(), self.broadcast_collided),
            (Loss::Medium(DropReason::Late).reason(), self.late),
        ]
    }
}

/// PPDUs from an access point to a node that is or was a station of it, and from there, since they were asked for last.
fn ppdus(medium: &mut Medium<PacketId>, station: NodeId, access_point: NodeId) -> [PpduCounters; 2] {
    [medium.take_ppdus(access_point, station), medium.take_ppdus(station, access_point)]
}

/// The application of `host`, where it is the only one and sends datagrams up.
fn sole_sender(scenario: &Scenario, host: usize) -> Option<u32> {
    let mut own = scenario.apps.iter().enumerate().filter(|(_, app)| app.station == host);
    let (number, app) = own.next()?;
    let floods = matches!(app.kind, AppKind::Udp(_)) && app.direction == Direction::Up;
    (floods && own.next().is_none()).then_some(number as u32)
}
