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

/// Sender of a frame over the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// By its index on the medium.
    AccessPoint(usize),
    /// By its index among the stations.
    Station(usize),
}

/// Why a packet was lost at the access point or at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Medium(DropReason),
    /// Dropped by the queue in front of the MAC; `None`: its node left.
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

/// A packet on its way into a queue or a MAC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AirFrame {
    pub(crate) packet: PacketId,
    pub(crate) category: AccessCategory,
}

/// A frame that was received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Time of reception.
    pub(crate) at: Instant,
    /// Time at which it entered its sender's buffer.
    pub(crate) since: Instant,
    pub(crate) category: AccessCategory,
    /// Transmissions that it took.
    pub(crate) attempts: u32,
    /// Size of the IP packet.
    pub(crate) msdu: Bytes,
}

/// How a packet's transmission over the air ended.
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
    /// Queues in front of the MACs, if any.
    queues: Option<Box<AirQueues<PacketId>>>,
    /// Number of access points, which are the first nodes of this medium.
    points: usize,
    plan: AirPlan,
    stations: Vec<Station>,
    /// Link state of each station, by the same index.
    links: Vec<Link>,
    /// By the same index: the application that alone uses the station's buffer, if it sends datagrams.
    sole_senders: Vec<Option<u32>>,
    /// Station of each node, also after it has left; meaningless for access points.
    owner: Vec<usize>,
    /// Former nodes of stations that have roamed without their old access point knowing it yet.
    gone: BTreeMap<usize, NodeId>,
    /// By access point.
    queue_averages: Vec<QueueAverage>,
    /// By sender: stations first, then access points.
    losses: Vec<Losses>,
    /// Senders with losses in this interval, by index in `losses`.
    lossy: Vec<u32>,
    pub(crate) medium_counters: MediumCounters,
    /// If access points have names.
    bss: Option<Box<BssCounters>>,
    /// If EDCA is in use.
    categories: Option<Box<Categories>>,
    chooses_rates: bool,
}

#[derive(Debug)]
struct Station {
    host: usize,
    /// PHY rate that was last reported to the box.
    reported_rate: PhyRate,
    /// Counters of the station's earlier nodes, if it has left before.
    before: Option<Box<Counters>>,
    buffer: Limit,
}

/// Room in a station's buffer while its sender makes up the datagrams that it has missed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    limit: Limit,
    packets: usize,
    bytes: Bytes,
    /// The station is associated and so has a buffer.
    keeps: bool,
    /// The buffer is empty or there is none.
    pub(crate) is_empty: bool,
}

impl Room {
    /// Of a station that is not associated and so has no buffer.
    const NONE: Self = Self { limit: Limit::Unlimited, packets: 0, bytes: Bytes::ZERO, keeps: false, is_empty: true };

    /// Takes a packet if there is room for it; returns whether it did.
    #[inline]
    pub(crate) fn take(&mut self, msdu: Bytes) -> bool {
        let admits = self.limit.admits(self.packets, self.bytes, msdu);
        if admits && self.keeps {
            (self.packets, self.bytes, self.is_empty) = (self.packets + 1, self.bytes + msdu, false);
        }
        admits
    }
}

/// Per-packet state of a station.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// `None` while it is not associated.
    node: Option<NodeId>,
    rate: PhyRate,
    /// Its present or last access point.
    access_point: NodeId,
}

/// Time-averaged queue length of an access point.
#[derive(Debug, Default)]
struct QueueAverage {
    packets: usize,
    since: Instant,
    /// Packet-nanoseconds.
    area: u128,
}

/// Frames lost at one sender.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    total: LossCounts,
    /// Losses before this interval.
    before: LossCounts,
    /// There are losses in this interval.
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
    /// A domain of the scenario, with all stations associated that are present at the start.
    pub(crate) fn new(scenario: &Scenario, plan: AirPlan, streams: &Streams) -> Self {
        let (mut medium, points) = plan.build(streams);
        medium.count_backlog();
        let station = |spec: &StationPlan| Station {
            host: spec.host,
            reported_rate: spec.rate,
            before: None,
            buffer: spec.node.buffer,
        };
        // A sender that sleeps until the buffer has room would have to know what a queue does.
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

    /// Index of the station that is host `host`.
    ///
    /// # Panics
    /// If the host is no station.
    pub(crate) fn station_of(&self, host: usize) -> usize {
        self.stations.iter().position(|station| station.host == host).expect("applications and events name stations")
    }

    /// Associates a station with an access point, given by its index on the medium.
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

    /// A station roams to another access point; its old access point does not know it yet.
    pub(crate) fn go(&mut self, now: Instant, station: usize) {
        if let Some(node) = self.links[station].node {
            self.leave(now, station);
            self.gone.insert(station, node);
        }
    }

    /// The old access point learns that a station has gone, and drops its packets.
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

    /// Sets the PHY rate of frames to and from the station that are queued from now on.
    pub(crate) fn set_rate(&mut self, station: usize, rate: PhyRate) {
        (self.links[station].rate, self.stations[station].reported_rate) = (rate, rate);
    }

    /// Stations, by host, with a changed downlink PHY rate since the last call.
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

    /// Signal strength at which its access point receives each associated station, by host, where it is known.
    pub(crate) fn signals(&mut self) -> Vec<(usize, Dbm)> {
        let medium = &mut self.medium;
        let signal =
            |(station, link): (&Station, &Link)| Some((station.host, medium.signal(link.node?, link.access_point)?));
        self.stations.iter().zip(&self.links).filter_map(signal).collect()
    }

    /// Sends a packet of a station. Gives it back if the station is not associated; losses in a buffer are reported as
    /// events.
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
            self.medium.prefetch(node, prefetch); // for its transmission
        }
        let to = To::Node(access_point);
        let mpdu = Mpdu { to, msdu: packet.len, rate, category, frame: id };
        self.hand_over(now, node, mpdu, || pool.tag(id, station as u32));
        Ok(())
    }

    /// Hands a packet for a station to its access point. Gives it back if the station is not associated.
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

    /// Hands a group-addressed packet to the access point of `station`, whose reception counts.
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

    /// Hands a frame to the queue in front of the MAC, or to the MAC.
    #[inline(always)]
    fn hand_over(&mut self, now: Instant, from: NodeId, mpdu: Mpdu<PacketId>, tag: impl FnOnce() -> Tag) {
        match &mut self.queues {
            Some(queues) if queues.has(from) => {
                queues.handle_frame(now, &mut self.medium, from, TaggedMpdu { mpdu, tag: tag() });
            }
            _ => self.medium.handle_frame(now, from, mpdu),
        }
    }

    /// Reports the TX status of a frame to the queue in front of its MAC, which may then release the next frame. Returns
    /// when the frame entered that queue; `None` if there is no queue.
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

    /// Reports a received frame to the queue of the receiving node, which may account for uplink traffic; `packet` gets the
    /// station's index.
    #[inline(always)]
    pub(crate) fn come_to_queue(&mut self, now: Instant, from: NodeId, to: To, packet: impl FnOnce(u32) -> Received) {
        let (Some(queues), To::Node(to)) = (&mut self.queues, to) else { return };
        let station = if (from.0 as usize) < self.points { to } else { from };
        queues.receive(now, &self.medium, to, &packet(self.owner[station.0 as usize] as u32));
    }

    /// The next packet that was dropped in front of a MAC.
    pub(crate) fn poll_unsent(&mut self) -> Option<Unsent<PacketId>> {
        self.queues.as_mut()?.poll_unsent()
    }

    /// Next deadline of the medium or a queue; [`Instant::MAX`] without one.
    pub(crate) fn deadline(&self) -> Instant {
        let medium = self.medium.deadline();
        let queues = self.queues.as_ref().and_then(|queues| queues.poll_deadline());
        queues.map_or(medium, |at| at.min(medium))
    }

    /// Processes everything on the air that is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.medium.handle_timeout(now);
        if let Some(queues) = &mut self.queues {
            queues.handle_timeout(now, &mut self.medium);
        }
    }

    /// Processes what is due from `at` on, up to `limit` or until a frame's TX status is known; returns the time reached.
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

    /// Packets in its access points.
    pub(crate) fn queued(&self) -> usize {
        (0..self.points as u32).map(|point| self.held_by(NodeId(point))).sum()
    }

    /// PHY rate toward a station, if it is associated.
    pub(crate) fn rate(&self, station: usize) -> Option<PhyRate> {
        let link = &self.links[station];
        let node = link.node?;
        Some(self.medium.rate_toward(link.access_point, node).unwrap_or(link.rate))
    }

    /// Room of the station's buffer for a category before a frame of `left` bytes leaves it. Valid only if no queue is in
    /// front of the MAC.
    #[inline]
    pub(crate) fn room(&self, station: usize, category: AccessCategory, left: Option<Bytes>) -> Room {
        let Some(node) = self.links[station].node else { return Room::NONE };
        let QueueState { packets, bytes } = self.medium.queue_of(node, category);
        let is_empty = packets == 0;
        let (packets, bytes) = left.map_or((packets, bytes), |left| (packets + 1, bytes + left));
        // MPDUs that were received occupy the buffer until the sender learns of it.
        let held = self.medium.held_of(node, category);
        let (packets, bytes) = (packets.max(held.packets), bytes.max(held.bytes));
        Room { limit: self.stations[station].buffer, packets, bytes, keeps: true, is_empty }
    }

    /// Prefetches the state that a frame of a station needs.
    #[inline]
    pub(crate) fn prefetch(&self, station: usize) {
        self.medium_counters.prefetch(station);
        self.links[station].node.into_iter().for_each(|node| self.medium.prefetch(node, prefetch));
    }

    /// Whether the station's buffer is empty or it is not associated.
    pub(crate) fn is_empty(&self, station: usize) -> bool {
        self.links[station].node.is_none_or(|node| self.held_by(node) == 0)
    }

    pub(crate) fn sender(&self, node: NodeId) -> Sender {
        let number = node.0 as usize;
        if number < self.points { Sender::AccessPoint(number) } else { Sender::Station(self.owner[number]) }
    }

    /// Index in the scenario of the access point that is the sender, or of the sending station's present or last one.
    pub(crate) fn access_point_of(&self, sender: Sender) -> usize {
        let point = match sender {
            Sender::AccessPoint(point) => point,
            Sender::Station(station) => self.links[station].access_point.0 as usize,
        };
        self.plan.access_points[point].number
    }

    /// Whether a node belongs to an overlapping BSS.
    pub(crate) fn is_obss(&self, node: NodeId) -> bool {
        (self.points..self.plan.nodes_before_stations()).contains(&(node.0 as usize))
    }

    /// The host of a node, or the scenario's index of an access point as the error.
    pub(crate) fn host_of(&self, node: NodeId) -> Result<usize, usize> {
        match self.sender(node) {
            Sender::AccessPoint(point) => Err(self.plan.access_points[point].number),
            Sender::Station(station) => Ok(self.stations[station].host),
        }
    }

    /// Hosts of the stations, by station index.
    pub(crate) fn hosts(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.stations.iter().map(|station| station.host)
    }

    /// The application that alone uses the station's buffer, if it sends datagrams.
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

    /// Counts a frame of this sender that its node delivered.
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

    /// Counts a frame that left its sender's buffer undelivered, or that found no room in it.
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

    /// Index of a sender in the counters.
    fn place_of_sender(&self, sender: Sender) -> usize {
        match sender {
            Sender::AccessPoint(point) => self.stations.len() + point,
            Sender::Station(station) => station,
        }
    }

    fn place_of_point(&self, point: NodeId) -> usize {
        self.stations.len() + point.0 as usize
    }

    /// Ends an interval; `flows` returns the applications' counters if a period ends as well. Returns whether one did.
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
        // Nodes that send frames of their own use airtime without packets.
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

    /// Packets in the access points' queues, and packet-nanoseconds since the last call.
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

    /// Counts datagrams that were never made because the buffer was full when they were due.
    pub(crate) fn lose_unmade(&mut self, station: usize, category: AccessCategory, datagrams: u64) {
        self.losses_at(station).buffer_full += datagrams;
        self.never_arrived(station, category, datagrams);
    }

    /// Packets that each access point's buffer has dropped so far, by its index in the scenario.
    pub(crate) fn overflows(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let losses = &self.losses[self.stations.len()..];
        self.plan.access_points.iter().zip(losses).map(|(point, losses)| (point.number, losses.total.buffer_full))
    }

    /// Loss counters of a sender, for a loss that happens now.
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

    /// Losses by host of the station or index of the access point, with reason and number of frames.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (Result<usize, usize>, &'static str, u64)> + '_ {
        let points = self.plan.access_points.iter().map(|point| Err(point.number));
        let hosts = self.stations.iter().map(|station| Ok(station.host)).chain(points);
        hosts
            .zip(&self.losses)
            .flat_map(|(host, losses)| losses.total.reasons().map(|(reason, frames)| (host, reason, frames)))
    }

    /// Packets in all buffers of the domain.
    pub(crate) fn held(&self) -> usize {
        let points = (0..self.points as u32).map(NodeId);
        let kept: usize = points.clone().map(|point| self.medium.kept(point).packets).sum();
        let nodes = self.links.iter().filter_map(|link| link.node).chain(points);
        kept + nodes.map(|node| self.held_by(node)).sum::<usize>()
    }

    /// Counters of all access points together.
    pub(crate) fn access_point_counters(&self) -> Counters {
        (0..self.points as u32).map(|point| self.medium.counters(NodeId(point))).sum()
    }

    pub(crate) fn totals(&self, now: Instant) -> Totals {
        self.medium.totals(now)
    }

    /// Medium time of all accesses, by host of the station or index of the access point.
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

    /// Measured airtime of each station, by host, over all its associations on this medium.
    pub(crate) fn measured_airtime(&self) -> impl Iterator<Item = (usize, MeasuredAirtime)> + '_ {
        self.stations.iter().zip(&self.links).map(|(station, link)| {
            let before = station.before.as_ref().map_or_else(MeasuredAirtime::default, |before| before.measured);
            let now = link.node.map_or_else(MeasuredAirtime::default, |node| self.medium.counters(node).measured);
            (station.host, before + now)
        })
    }

    /// All counters of the run, and those of each BSS if access points have names.
    pub(crate) fn finish(self) -> (RunCounters, Option<BssCounters>) {
        (self.medium_counters.finish(), self.bss.map(|bss| *bss))
    }
}

impl LossCounts {
    /// Names of the reasons in results, with numbers of frames.
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

/// PPDUs in both directions between an access point and a node that is or was its station, since the last call.
fn ppdus(medium: &mut Medium<PacketId>, station: NodeId, access_point: NodeId) -> [PpduCounters; 2] {
    [medium.take_ppdus(access_point, station), medium.take_ppdus(station, access_point)]
}

/// The only application of `host`, if it sends datagrams up.
fn sole_sender(scenario: &Scenario, host: usize) -> Option<u32> {
    let mut own = scenario.apps.iter().enumerate().filter(|(_, app)| app.station == host);
    let (number, app) = own.next()?;
    let floods = matches!(app.kind, AppKind::Udp(_)) && app.direction == Direction::Up;
    (floods && own.next().is_none()).then_some(number as u32)
}
