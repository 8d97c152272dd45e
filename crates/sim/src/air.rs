//! The access point and its stations on the medium.
//!
//! The medium is the testbed's: the same crate, driven from event to event instead of by a clock. A packet from a
//! station goes to the wired side (stations talk to servers only). A packet for a station that is not associated is
//! dropped, as an access point does.

use evenair_medium::{AccessCategory, Counters, DropReason, Medium, Mpdu, NodeId, RateControl, To, Totals};
use evenair_scenario::results::stretch::FlowStretch;
use evenair_scenario::{AirPlan, AirQueues, AppKind, Direction, Fate, Scenario, StationPlan, Unsent};
use evenair_sched::Cause;
use evenair_units::{Airtime, Bytes, Dbm, Instant, Limit, Streams};
use evenair_wifi::PhyRate;

use crate::categories::Categories;
use crate::packet::{PacketId, Pool};
use crate::tally::Tally;

/// Who sent a frame over the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    AccessPoint,
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

#[derive(Debug)]
pub(crate) struct Air {
    pub(crate) medium: Medium<PacketId>,
    /// In front of the MACs, where there are any.
    queues: Option<Box<AirQueues<PacketId>>>,
    access_point: NodeId,
    plan: AirPlan,
    stations: Vec<Station>,
    /// At the same places.
    links: Vec<Link>,
    /// At the same places: the one application that uses the buffer, where it is one that sends datagrams.
    sole_senders: Vec<Option<u32>>,
    /// Whose each node is or was; the access point's is beyond the stations.
    owner: Vec<usize>,
    queue: QueueAverage,
    /// The access point's are the last.
    losses: Vec<Losses>,
    /// Places with losses in this interval.
    lossy: Vec<u32>,
    pub(crate) tally: Tally,
    /// Where there is EDCA.
    categories: Option<Box<Categories>>,
    chooses_rates: bool,
}

#[derive(Debug)]
struct Station {
    host: usize,
    /// What the box takes for its rate.
    told_rate: PhyRate,
    /// What happened at the nodes that it was before it left, where it did.
    before: Option<Box<Counters>>,
    buffer: Limit,
}

/// What every packet to or from a station needs to know of it.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// While it is associated.
    node: Option<NodeId>,
    rate: PhyRate,
}

/// Time average of the access point's queue.
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
}

impl Air {
    /// All stations of the scenario, associated.
    pub(crate) fn new(scenario: &Scenario, streams: &Streams) -> Self {
        let plan = AirPlan::new(scenario);
        let (mut medium, access_point) = plan.build(streams);
        medium.count_backlog();
        let station = |spec: &StationPlan| Station {
            host: spec.host,
            told_rate: spec.rate,
            before: None,
            buffer: spec.node.buffer,
        };
        // Who sleeps until the buffer has room has to know what a queue would do.
        let sole = |spec: &StationPlan| sole_sender(scenario, spec.host).filter(|_| plan.station_queue.is_none());
        let links = plan.stations.iter().map(|spec| Link { node: None, rate: spec.rate }).collect();
        let sole_senders = plan.stations.iter().map(sole).collect();
        let stations: Vec<_> = plan.stations.iter().map(station).collect();
        let names = stations.iter().map(|station| scenario.hosts[station.host].name.clone());
        let queues = (plan.ap_queue.is_some() || plan.station_queue.is_some()).then(|| {
            let mut queues = Box::new(AirQueues::new(streams));
            plan.ap_queue.iter().for_each(|spec| queues.add(&medium, access_point, spec));
            queues
        });
        let mut air = Self {
            medium,
            queues,
            access_point,
            plan,
            owner: vec![usize::MAX],
            queue: QueueAverage::default(),
            losses: vec![Losses::default(); stations.len() + 1],
            lossy: Vec::new(),
            tally: Tally::new(scenario, names.chain(["ap".to_owned()])),
            categories: scenario.radio.edca.map(|_| Box::new(Categories::new(stations.len() + 1))),
            chooses_rates: scenario.radio.rate_control != RateControl::Fixed,
            stations,
            links,
            sole_senders,
        };
        (0..air.stations.len()).for_each(|station| air.join(station));
        air
    }

    /// Number of the station that is host `host`.
    ///
    /// # Panics
    /// If it is none.
    pub(crate) fn station_of(&self, host: usize) -> usize {
        self.stations.iter().position(|station| station.host == host).expect("applications and events name stations")
    }

    pub(crate) fn join(&mut self, station: usize) {
        if self.links[station].node.is_none() {
            let node = self.plan.join(&mut self.medium, self.access_point, station);
            self.links[station].node = Some(node);
            if let (Some(queues), Some(spec)) = (&mut self.queues, &self.plan.station_queue) {
                queues.add(&self.medium, node, spec);
            }
            let others = self.plan.stations[station].hidden_from.iter();
            others.filter_map(|&other| self.links[other].node).for_each(|other| self.medium.hide(node, other));
            self.owner.push(station);
        }
    }

    pub(crate) fn leave(&mut self, now: Instant, number: usize) {
        let station = &mut self.stations[number];
        if let Some(node) = self.links[number].node.take() {
            self.queues.iter_mut().for_each(|queues| queues.remove(node));
            self.medium.remove_node(now, node);
            let before = station.before.get_or_insert_default();
            **before = [**before, self.medium.counters(node)].into_iter().sum();
            if self.chooses_rates {
                self.tally.use_rates(number, self.medium.take_rates_used(node));
            }
        }
    }

    /// For frames to and from the station that are queued from now on.
    pub(crate) fn set_rate(&mut self, station: usize, rate: PhyRate) {
        (self.links[station].rate, self.stations[station].told_rate) = (rate, rate);
    }

    /// The stations, by host, toward which senders have come to another rate since the last call.
    pub(crate) fn changed_rates(&mut self) -> Vec<(usize, PhyRate)> {
        let (medium, access_point) = (&self.medium, self.access_point);
        let chosen = |node: NodeId| {
            let toward_station = medium.rate_toward(access_point, node);
            toward_station.or_else(|| medium.rate_toward(node, access_point))
        };
        let changed = |(station, link): (&mut Station, &Link)| {
            let rate = link.node.and_then(chosen).filter(|&rate| rate != station.told_rate)?;
            station.told_rate = rate;
            Some((station.host, rate))
        };
        self.stations.iter_mut().zip(&self.links).filter_map(changed).collect()
    }

    /// How strongly the access point receives each associated station, by host, where that is known.
    pub(crate) fn signals(&mut self) -> Vec<(usize, Dbm)> {
        let (medium, access_point) = (&mut self.medium, self.access_point);
        let signal =
            |(station, link): (&Station, &Link)| Some((station.host, medium.signal(link.node?, access_point)?));
        self.stations.iter().zip(&self.links).filter_map(signal).collect()
    }

    /// A station sends a packet. Gives it back where the station is not associated; what is lost in a buffer comes out
    /// as an event.
    pub(crate) fn send_up(
        &mut self,
        now: Instant,
        station: usize,
        pool: &Pool,
        category: AccessCategory,
        frame: PacketId,
    ) -> Result<(), PacketId> {
        let Link { rate, node } = self.links[station];
        let Some(node) = node else { return Err(frame) };
        let packet = pool.get(frame);
        self.tally.arrive(station, now, packet.made(now));
        if let Some(categories) = &mut self.categories {
            categories.arrive(station, category, now, packet.made(now));
        }
        let to = To::Node(self.access_point);
        self.hand_over(now, node, station, pool, Mpdu { to, msdu: packet.len, rate, category, frame });
        Ok(())
    }

    /// A packet comes to the access point for a station. Gives it back where the station is not associated.
    pub(crate) fn send_down(
        &mut self,
        now: Instant,
        station: usize,
        pool: &Pool,
        category: AccessCategory,
        frame: PacketId,
    ) -> Result<(), PacketId> {
        let Link { rate, node } = self.links[station];
        let Some(node) = node else { return Err(frame) };
        let packet = pool.get(frame);
        self.tally.arrive(self.stations.len(), now, now);
        if let Some(categories) = &mut self.categories {
            categories.arrive(self.stations.len(), category, now, now);
        }
        let mpdu = Mpdu { to: To::Node(node), msdu: packet.len, rate, category, frame };
        self.hand_over(now, self.access_point, station, pool, mpdu);
        self.note_queue(now);
        Ok(())
    }

    /// To the queue in front of the MAC, or to the MAC.
    fn hand_over(&mut self, now: Instant, from: NodeId, station: usize, pool: &Pool, mpdu: Mpdu<PacketId>) {
        match &mut self.queues {
            Some(queues) if queues.has(from) => {
                let tag = pool.tag(mpdu.frame, station as u32);
                queues.handle_frame(now, &mut self.medium, from, mpdu, tag);
            }
            _ => self.medium.handle_frame(now, from, mpdu),
        }
    }

    /// A frame has left a MAC, of which the queue above may have the next and learns its fate. When it came to its sender,
    /// which the MAC says was at `enqueued`.
    pub(crate) fn settle_queue(
        &mut self,
        now: Instant,
        from: NodeId,
        category: AccessCategory,
        enqueued: Instant,
        fate: Fate,
    ) -> Instant {
        let Some(queues) = &mut self.queues else { return enqueued };
        let since = queues.leave(now, &mut self.medium, from, category, fate).unwrap_or(enqueued);
        queues.refill(now, &mut self.medium, from);
        since
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

    /// Whether the station's buffer would have taken a packet before one of `left` bytes left it. One that is not
    /// associated has none that could be full.
    pub(crate) fn had_room(&self, station: usize, msdu: Bytes, left: Option<Bytes>) -> bool {
        let Some(node) = self.links[station].node else { return true };
        let buffer = self.stations[station].buffer;
        let queue = self.medium.queue(node);
        let (packets, bytes) = left.map_or((0, Bytes::ZERO), |bytes| (1, bytes));
        buffer.admits(queue.packets + packets, queue.bytes + bytes, msdu)
    }

    /// Whether the station has nothing to send, or nowhere to send it.
    pub(crate) fn is_empty(&self, station: usize) -> bool {
        self.links[station].node.is_none_or(|node| self.held_by(node) == 0)
    }

    pub(crate) fn sender(&self, node: NodeId) -> Sender {
        if node == self.access_point { Sender::AccessPoint } else { Sender::Station(self.owner[node.0 as usize]) }
    }

    /// Which host a node is; `None` for the access point.
    pub(crate) fn host_of(&self, node: NodeId) -> Option<usize> {
        match self.sender(node) {
            Sender::AccessPoint => None,
            Sender::Station(station) => Some(self.stations[station].host),
        }
    }

    /// The application that alone uses the station's buffer, where it is one that sends datagrams.
    pub(crate) fn sole_sender(&self, station: usize) -> Option<u32> {
        self.sole_senders[station]
    }

    fn note_queue(&mut self, now: Instant) {
        let packets = self.held_by(self.access_point);
        let queue = &mut self.queue;
        let time = now.saturating_since(queue.since);
        queue.area += u128::from(time.as_nanos()) * queue.packets as u128;
        self.tally.stay(queue.packets, time);
        queue.since = now;
        queue.packets = packets;
    }

    /// A frame that came to its sender's buffer at `since` was delivered at `at`.
    pub(crate) fn deliver(
        &mut self,
        at: Instant,
        from: NodeId,
        category: AccessCategory,
        since: Instant,
        attempts: u32,
    ) {
        let (place, sojourn) = (self.place_of(from), at.saturating_since(since));
        self.tally.leave(place, at, false);
        self.tally.deliver(place, sojourn, attempts);
        if let Some(categories) = &mut self.categories {
            categories.deliver(place, category, at, sojourn);
        }
        if from == self.access_point {
            self.note_queue(at);
        }
    }

    /// A frame left its sender's buffer, or found no room in it.
    pub(crate) fn drop(&mut self, at: Instant, from: NodeId, category: AccessCategory, found_no_room: bool) {
        let place = self.place_of(from);
        self.tally.leave(place, at, found_no_room);
        if let Some(categories) = &mut self.categories {
            categories.lose(place, category, at, found_no_room);
        }
        if from == self.access_point {
            self.note_queue(at);
        }
    }

    fn place_of_sender(&self, sender: Sender) -> usize {
        match sender {
            Sender::AccessPoint => self.stations.len(),
            Sender::Station(station) => station,
        }
    }

    /// The number of a sender in what is counted.
    fn place_of(&self, node: NodeId) -> usize {
        self.place_of_sender(self.sender(node))
    }

    /// An interval has ended; `flows` gives what applications counted in the stretch, where one ends too.
    pub(crate) fn end_interval(&mut self, now: Instant, flows: impl FnOnce() -> Vec<FlowStretch>) {
        let Self { medium, access_point, stations, links, losses, lossy, tally, .. } = self;
        for place in lossy.drain(..) {
            let losses = &mut losses[place as usize];
            let before = std::mem::replace(&mut losses.before, losses.total);
            losses.is_new = false;
            for ((reason, frames), (_, before)) in losses.total.reasons().into_iter().zip(before.reasons()) {
                tally.lose(place as usize, reason, frames - before);
            }
        }
        let counters = |place: usize| {
            let station = stations.get(place);
            let node = links.get(place).map_or(Some(*access_point), |link| link.node);
            let counters = node.map_or_else(Counters::default, |node| medium.counters(node));
            match station {
                Some(Station { before: Some(before), .. }) => [**before, counters].into_iter().sum(),
                _ => counters,
            }
        };
        if tally.end_interval(now, medium.totals(now), medium.has_repeated(), counters) {
            if self.chooses_rates {
                let nodes = links.iter().map(|link| link.node).chain([Some(*access_point)]);
                for (place, node) in nodes.enumerate().filter_map(|(place, node)| Some((place, node?))) {
                    tally.use_rates(place, medium.take_rates_used(node));
                }
            }
            let categories = self.categories.as_mut().map(|categories| categories.take(now)).unwrap_or_default();
            tally.end_stretch(flows(), medium.take_backlog_chain().unwrap_or_default(), categories);
        }
    }

    /// Packets in the access point's queue, and packets times nanoseconds since the last call.
    pub(crate) fn take_queue(&mut self, now: Instant) -> (usize, u128) {
        self.note_queue(now);
        (self.queue.packets, std::mem::take(&mut self.queue.area))
    }

    pub(crate) fn lose(&mut self, place: Sender, category: AccessCategory, loss: Loss) {
        let place = self.place_of_sender(place);
        let losses = self.losses_at(place);
        match loss {
            Loss::Medium(DropReason::BufferFull) | Loss::Queue(Some(Cause::Overflow)) => losses.buffer_full += 1,
            Loss::Medium(DropReason::RetryLimit) => losses.retry_limit += 1,
            Loss::Queue(Some(Cause::Delay)) => losses.queue_delay += 1,
            Loss::Medium(DropReason::Left) | Loss::Queue(None) => losses.left += 1,
            Loss::Medium(DropReason::BroadcastCollision) => unreachable!("nobody broadcasts"),
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

    /// Packets that the access point's buffer has lost so far.
    pub(crate) fn access_point_overflows(&self) -> u64 {
        self.losses[self.place_of_sender(Sender::AccessPoint)].total.buffer_full
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
        self.tally.never_arrived(place, frames);
        if let Some(categories) = &mut self.categories {
            categories.never_arrived(place, category, frames);
        }
    }

    /// Losses: of the host that is a station (`None`: of the access point), why, how many.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (Option<usize>, &'static str, u64)> + '_ {
        let hosts = self.stations.iter().map(|station| Some(station.host)).chain([None]);
        hosts
            .zip(&self.losses)
            .flat_map(|(host, losses)| losses.total.reasons().map(|(reason, frames)| (host, reason, frames)))
    }

    /// Packets in all buffers of the air.
    pub(crate) fn held(&self) -> usize {
        let nodes = self.links.iter().filter_map(|link| link.node).chain([self.access_point]);
        nodes.map(|node| self.held_by(node)).sum()
    }

    pub(crate) fn access_point_counters(&self) -> Counters {
        self.medium.counters(self.access_point)
    }

    pub(crate) fn totals(&self, now: Instant) -> Totals {
        self.medium.totals(now)
    }

    /// Medium time of all accesses: the access point's and, by host, each station's.
    pub(crate) fn airtime(&self) -> impl Iterator<Item = (Option<usize>, Airtime)> + '_ {
        let of = |node: NodeId| -> Counters { self.medium.counters(node) };
        let stations = self.stations.iter().zip(&self.links).map(move |(station, link)| {
            let now = link.node.map_or(Airtime::ZERO, |node| of(node).airtime);
            let before = station.before.as_ref().map_or(Airtime::ZERO, |before| before.airtime);
            (Some(station.host), Airtime(before.0 + now.0))
        });
        [(None, of(self.access_point).airtime)].into_iter().chain(stations)
    }
}

impl LossCounts {
    /// The reasons' names in results, and how many frames.
    fn reasons(&self) -> [(&'static str, u64); 5] {
        [
            ("buffer full", self.buffer_full),
            ("queue delay", self.queue_delay),
            ("retry limit", self.retry_limit),
            ("station left", self.left),
            ("not associated", self.not_associated),
        ]
    }
}

/// The application of `host`, where it is the only one and sends datagrams up.
fn sole_sender(scenario: &Scenario, host: usize) -> Option<u32> {
    let mut own = scenario.apps.iter().enumerate().filter(|(_, app)| app.station == host);
    let (number, app) = own.next()?;
    let floods = matches!(app.kind, AppKind::Udp(_)) && app.direction == Direction::Up;
    (floods && own.next().is_none()).then_some(number as u32)
}
