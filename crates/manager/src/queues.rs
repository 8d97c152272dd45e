//! The tree of queues that a policy describes.
//!
//! A node of the tree appears when the first connection needs it and goes with the last one. Its weight follows from
//! its level; a station's is, where medium time is to be fair, its own weight times C_i, because the server's work is
//! counted in bits (equation 2 of Hegde et al., 2013).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use evenair_packet::TcpMeta;
use evenair_sched::{Codel, CodelConfig, Hsfq, NodeId, Verdict};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use evenair_wifi::mixed_capacity;

use crate::flow::{Flow, FlowId, Flows};
use crate::sparse::{Credit, LEAD, LEAD_ABOVE};
use crate::station::{Station, StationId, Stations};
use crate::tcp::supersedes;
use crate::{ClassId, Config, Direction, DropReason, Hop, Level, QueueReport, WanConfig};

/// A queue counts as active for this long after it held something: longer than the pauses of a connection that waits
/// for its window, shorter than a user's.
const ACTIVE: Span = Span::from_secs(1);

/// A packet that is held.
#[derive(Clone, Debug)]
pub(crate) struct Held<P> {
    pub(crate) packet: P,
    pub(crate) flow: FlowId,
    /// `None`: another protocol.
    pub(crate) tcp: Option<TcpMeta>,
    pub(crate) ip_len: Bytes,
    /// Its transport understands marks of congestion (RFC 3168).
    pub(crate) takes_marks: bool,
    /// It is to be marked when it leaves.
    pub(crate) marked: bool,
    /// Since when.
    pub(crate) since: Instant,
}

/// What tells the children of a node apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Share {
    /// Over the Internet link, or not.
    Origin(bool),
    Direction(Direction),
    Class(Option<ClassId>),
    Station(StationId),
    Flow(FlowId),
}

/// What a packet is served as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// Its virtual length.
    pub(crate) bits: u64,
    /// C_i of its station.
    pub(crate) capacity: BitRate,
}

#[derive(Clone, Debug)]
struct Node {
    share: Share,
    /// Of a queue: its station (the first one, where several share it, which may have gone since); what was served from
    /// it lately, in virtual bits and in time at C_i, and C of that mixture, before anything was served C_i; the
    /// connections that use it; the bytes it holds.
    station: StationId,
    served_bits: u64,
    served_time: Span,
    mixture: BitRate,
    users: u32,
    bytes: Bytes,
    codel: Codel,
    credit: Credit,
    last_held: Instant,
    /// Its place in the list of those that may be active.
    recent_at: Option<usize>,
    in_urgent: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Queues<P> {
    levels: Vec<Level>,
    /// Above all levels: the weights of what does not come over the Internet link, and of what does.
    origins: Option<[u64; 2]>,
    limit: Limit,
    aqm: Option<CodelConfig>,
    /// Of all queues together, in packets.
    held_limit: usize,
    hsfq: Hsfq<Held<P>>,
    /// By node number.
    nodes: Vec<Option<Node>>,
    children: BTreeMap<(Share, NodeId), NodeId>,
    /// Queues that may be active.
    recent: Vec<NodeId>,
    /// Whether queues that use little go before their turn, and those that do, in the order in which they came to hold
    /// something. The first one holds something, has credit left, and nothing above it is too far ahead.
    sparse_first: bool,
    urgent: VecDeque<NodeId>,
}

impl Node {
    fn note_service(&mut self, service: Service) {
        self.served_bits += service.bits;
        self.served_time += service.capacity.time_for_bits(service.bits);
        match BitRate::from_bits_over(self.served_bits, self.served_time) {
            BitRate::ZERO => {}
            mixture => self.mixture = mixture,
        }
    }
}

impl<P> Queues<P> {
    pub(crate) fn new(config: &Config) -> Self {
        let origins = config.wan.as_ref().map(|wan| [wan.lan_permille.into(), (1000 - wan.lan_permille).into()]);
        Self { origins, ..Self::with(config, levels(config), config.aqm) }
    }

    /// The queues before one direction of the Internet link: no level of directions, since all go the same way, and no
    /// weights by rates, since the link has one.
    pub(crate) fn of_link(config: &Config, wan: &WanConfig) -> Self {
        let of_link = |level: Level| match level {
            Level::Direction { .. } => None,
            Level::Station { .. } => Some(Level::Station { time_fair: false }),
            Level::Class { .. } | Level::Flow => Some(level),
        };
        let mut levels: Vec<Level> = levels(config).into_iter().filter_map(of_link).collect();
        if levels.is_empty() {
            levels.push(Level::Flow);
        }
        Self::with(config, levels, config.aqm.map(|_| wan.aqm))
    }

    fn with(config: &Config, levels: Vec<Level>, aqm: Option<CodelConfig>) -> Self {
        Self {
            origins: None,
            sparse_first: config.sparse_first && levels.contains(&Level::Flow),
            urgent: VecDeque::new(),
            levels,
            limit: config.queue_limit,
            aqm,
            held_limit: config.held_limit.map_or(usize::MAX, |packets| packets as usize),
            hsfq: Hsfq::new(),
            nodes: Vec::new(),
            children: BTreeMap::new(),
            recent: Vec::new(),
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.hsfq.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.hsfq.is_empty()
    }

    /// The queue for a connection, made if need be. To be paired with [`Self::detach`].
    pub(crate) fn attach(&mut self, id: FlowId, flow: &Flow, station: &Station) -> NodeId {
        let mut at = NodeId::ROOT;
        if let Some(weights) = self.origins {
            let share = (Share::Origin(flow.beyond), weights[usize::from(flow.beyond)]);
            at = self.child(at, share, (flow.station, station.capacity));
        }
        for i in 0..self.levels.len() {
            let share = share_of(&self.levels[i], id, flow, station);
            at = self.child(at, share, (flow.station, station.capacity));
        }
        self.node(at).users += 1;
        at
    }

    fn child(&mut self, parent: NodeId, (share, weight): (Share, u64), station: (StationId, BitRate)) -> NodeId {
        match self.children.get(&(share, parent)) {
            Some(&child) => child,
            None => self.add(parent, share, weight, station),
        }
    }

    fn add(&mut self, parent: NodeId, share: Share, weight: u64, (station, capacity): (StationId, BitRate)) -> NodeId {
        let id = self.hsfq.add(parent, weight);
        if self.nodes.len() <= id.index() {
            self.nodes.resize(id.index() + 1, None);
        }
        let node = Node {
            share,
            station,
            served_bits: 0,
            served_time: Span::ZERO,
            mixture: capacity,
            users: 0,
            bytes: Bytes::ZERO,
            codel: Codel::default(),
            credit: Credit::FULL,
            last_held: Instant::ZERO,
            recent_at: None,
            in_urgent: false,
        };
        self.nodes[id.index()] = Some(node);
        self.children.insert((share, parent), id);
        id
    }

    /// A connection does not use its queue any more, and holds nothing in it.
    pub(crate) fn detach(&mut self, leaf: NodeId) {
        self.node(leaf).users -= 1;
        if self.node(leaf).users > 0 {
            return;
        }
        self.forget_recent(leaf);
        if self.node(leaf).in_urgent {
            self.urgent.retain(|&urgent| urgent != leaf);
            self.tidy_urgent();
        }
        let mut id = leaf;
        while let Some(parent) = self.hsfq.parent(id).filter(|_| !self.hsfq.has_children(id)) {
            self.hsfq.remove(id);
            let node = self.nodes[id.index()].take().expect("a node of the tree is known here");
            self.children.remove(&(node.share, parent));
            id = parent;
        }
    }

    /// Takes out what a connection holds in a queue, in its order.
    pub(crate) fn take(&mut self, leaf: NodeId, id: FlowId) -> VecDeque<Held<P>> {
        let taken = self.hsfq.take(leaf, |held| held.flow == id);
        let node = self.node(leaf);
        node.bytes = node.bytes - taken.iter().map(|held| held.ip_len).sum();
        self.tidy_urgent();
        taken
    }

    /// Appends a packet to its connection's queue, whatever the limit says.
    pub(crate) fn push(&mut self, leaf: NodeId, held: Held<P>, now: Instant) {
        let place = self.recent.len();
        let node = self.node(leaf);
        node.bytes += held.ip_len;
        node.last_held = now;
        if node.recent_at.is_none() {
            node.recent_at = Some(place);
            self.recent.push(leaf);
        }
        let was_empty = self.hsfq.queue(leaf).is_empty();
        self.hsfq.enqueue(leaf, held);
        if was_empty && self.sparse_first {
            self.consider_urgent(leaf, now);
        }
    }

    /// A queue that was empty holds something: it goes before its turn if it has used little.
    fn consider_urgent(&mut self, leaf: NodeId, now: Instant) {
        let in_use = self.recent.len();
        let node = self.node(leaf);
        node.credit.refill(now, in_use);
        if node.credit.is_left() && !core::mem::replace(&mut node.in_urgent, true) {
            self.urgent.push_back(leaf);
            self.tidy_urgent();
        }
    }

    /// Sees to it that the first of the urgent queues may be served ahead.
    fn tidy_urgent(&mut self) {
        while let Some(&leaf) = self.urgent.front()
            && !self.may_go_ahead(leaf)
        {
            self.urgent.pop_front();
            self.node(leaf).in_urgent = false;
        }
    }

    fn may_go_ahead(&self, leaf: NodeId) -> bool {
        let Some(node) = &self.nodes[leaf.index()] else { return false };
        node.credit.is_left() && !self.hsfq.queue(leaf).is_empty() && !self.is_far_ahead(leaf, node.mixture)
    }

    /// Something above a queue, whose station has this C_i, is too far ahead of its turns.
    fn is_far_ahead(&self, leaf: NodeId, capacity: BitRate) -> bool {
        let mut at = self.hsfq.parent(leaf);
        while let Some(id) = at.filter(|&id| id != NodeId::ROOT) {
            let of_station = matches!(self.nodes[id.index()], Some(Node { share: Share::Station(_), .. }));
            let most = if of_station { LEAD } else { LEAD_ABOVE };
            if capacity.time_for_bits(self.hsfq.lead(id)) > most {
                return true;
            }
            at = self.hsfq.parent(id);
        }
        false
    }

    /// The queue whose head goes next, and whether that is before its turn.
    fn next(&self) -> Option<(NodeId, bool)> {
        match self.urgent.front() {
            Some(&leaf) => Some((leaf, true)),
            None => self.hsfq.peek().map(|(leaf, _)| (leaf, false)),
        }
    }

    /// Whether this packet can be held, beside so many `elsewhere`. Takes at most one packet out to that end; ask again then.
    ///
    /// The limit counts packets of DATA; ACKs may be [`ACKS_PER_PACKET`] times as many. Data are dropped at the tail.
    /// Where ACKs fill a queue, the head goes if the newcomer says all that it said: then
    /// nothing is lost, and the sender hears the news sooner. The same holds where all queues together are full, whoever
    /// filled them: to look for the longest queue would cost an attacker's packet more than it is worth.
    pub(crate) fn make_room(&mut self, leaf: NodeId, held: &Held<P>, elsewhere: usize) -> Room<P> {
        let queue = self.hsfq.queue(leaf);
        let bytes = self.nodes[leaf.index()].as_ref().map_or(Bytes::ZERO, |node| node.bytes);
        let is_pure_ack = held.tcp.as_ref().is_some_and(TcpMeta::is_pure_ack);
        let packets = if is_pure_ack { queue.len() / ACKS_PER_PACKET } else { queue.len() };
        if self.len() + elsewhere < self.held_limit && self.limit.admits(packets, bytes, held.ip_len) {
            return Room::Enough;
        }
        let superseded = |head: &&Held<P>| {
            let both = held.tcp.as_ref().zip(head.tcp.as_ref());
            head.flow == held.flow && both.is_some_and(|(later, earlier)| supersedes(later, earlier))
        };
        if queue.front().filter(superseded).is_none() {
            return Room::None(DropReason::QueueFull);
        }
        let head = self.drop_head(leaf).expect("the head was just seen");
        Room::Made(head, DropReason::AckSuperseded)
    }

    /// The head that goes next.
    pub(crate) fn peek(&self) -> Option<&Held<P>> {
        let (leaf, _) = self.next()?;
        self.hsfq.queue(leaf).front()
    }

    /// The head that goes next, and whether its sender is to be told that its queue is a standing one. To be asked once
    /// for each head. `data_packets` tells for how many packets of DATA a queue stands.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        data_packets: impl FnOnce(&Held<P>, usize) -> usize,
    ) -> Option<(&Held<P>, Verdict)> {
        let (leaf, _) = self.next()?;
        let head = self.hsfq.queue(leaf).front()?;
        let Some(aqm) = &self.aqm else { return Some((head, Verdict::Serve)) };
        let short = data_packets(head, self.hsfq.queue(leaf).len()) <= SHORT;
        let node = self.nodes[leaf.index()].as_mut().expect("a node of the tree is known here");
        let verdict = node.codel.judge(now, now.saturating_since(head.since), short, aqm);
        Some((head, verdict))
    }

    /// Takes the head that goes next out, unserved.
    pub(crate) fn drop_next(&mut self) -> Option<Held<P>> {
        let (leaf, _) = self.next()?;
        self.drop_head(leaf)
    }

    fn drop_head(&mut self, leaf: NodeId) -> Option<Held<P>> {
        let head = self.hsfq.drop_head(leaf)?;
        let node = self.node(leaf);
        node.bytes = node.bytes - head.ip_len;
        self.tidy_urgent();
        Some(head)
    }

    /// Takes the packet that goes next; `service` tells what it is served as.
    pub(crate) fn pop(&mut self, now: Instant, service: impl FnOnce(&Held<P>) -> Service) -> Option<Held<P>> {
        let mut served = None;
        let bits = |held: &Held<P>| served.insert(service(held)).bits;
        let held = match self.next()? {
            (leaf, true) => self.hsfq.dequeue_ahead(leaf, bits).map(|held| (leaf, held)),
            (_, false) => self.hsfq.dequeue(bits),
        };
        let (leaf, held) = held?;
        let in_use = self.recent.len();
        let node = self.node(leaf);
        node.bytes = node.bytes - held.ip_len;
        node.last_held = now;
        if let Some(service) = served {
            node.note_service(service);
            node.credit.refill(now, in_use);
            node.credit.spend(service.capacity.time_for_bits(service.bits));
        }
        // The others that are urgent come in between.
        if self.urgent.front() == Some(&leaf) {
            self.urgent.rotate_left(1);
        }
        self.tidy_urgent();
        Some(held)
    }

    /// Charges a queue's station, and none above it, for what it was not served for; the queue alone where stations are no
    /// level of the policy.
    pub(crate) fn charge_station(&mut self, leaf: NodeId, bits: u64) {
        let is_station = |id: &NodeId| matches!(self.nodes[id.index()], Some(Node { share: Share::Station(_), .. }));
        let up = core::iter::successors(Some(leaf), |&id| self.hsfq.parent(id));
        let node = up.take_while(|&id| id != NodeId::ROOT).find(is_station).unwrap_or(leaf);
        self.hsfq.charge(node, bits);
        self.tidy_urgent();
    }

    /// The packet last released has left the server.
    pub(crate) fn end_service(&mut self) {
        self.hsfq.end_service();
    }

    /// The station's rate or weight has changed.
    pub(crate) fn update_station(&mut self, id: StationId, station: &Station) {
        let Some(level) = self.levels.iter().find(|level| matches!(level, Level::Station { .. })) else { return };
        let weight = station_weight(level, station);
        let first = (Share::Station(id), NodeId::ROOT);
        for (_, &node) in self.children.range(first..).take_while(|((share, _), _)| *share == first.0) {
            self.hsfq.set_weight(node, weight);
        }
    }

    /// Some time has passed: what was served until now counts for half as much.
    pub(crate) fn age(&mut self, now: Instant) {
        self.forget_idle(now);
        for &leaf in &self.recent {
            let node = self.nodes[leaf.index()].as_mut().expect("queues that go are taken out");
            (node.served_bits, node.served_time) = (node.served_bits / 2, node.served_time / 2);
        }
    }

    /// Takes those out of the list of what may be active that have not been lately.
    fn forget_idle(&mut self, now: Instant) {
        let (nodes, hsfq) = (&mut self.nodes, &self.hsfq);
        let mut kept = 0;
        self.recent.retain(|&leaf| {
            let node = nodes[leaf.index()].as_mut().expect("queues that go are taken out");
            let active = !hsfq.queue(leaf).is_empty() || now.saturating_since(node.last_held) < ACTIVE;
            node.recent_at = active.then_some(kept);
            kept += usize::from(active);
            active
        });
    }

    /// Takes one out, at no more cost where there are many.
    fn forget_recent(&mut self, leaf: NodeId) {
        let Some(at) = self.node(leaf).recent_at.take() else { return };
        self.recent.swap_remove(at);
        if let Some(&moved) = self.recent.get(at) {
            self.node(moved).recent_at = Some(at);
        }
    }

    /// C* of the queues active in the last while (equation 1, applied to each node of the tree): `None` if there are
    /// none.
    pub(crate) fn capacity(&mut self, stations: &Stations, now: Instant) -> Option<BitRate> {
        // What is below a station is all its own: the station's node stands for it.
        let is_station = |level: &Level| matches!(level, Level::Station { .. });
        let depth = self.levels.iter().position(is_station).map_or(self.levels.len(), |index| index + 1);
        let of_one_station = self.levels.iter().any(|level| is_station(level) || *level == Level::Flow);
        self.forget_idle(now);
        let mut layer: BTreeMap<NodeId, BitRate> = BTreeMap::new();
        for &leaf in &self.recent {
            let node = self.nodes[leaf.index()].as_ref().expect("queues that go are taken out");
            // A queue of one station has that station's C_i at once when its rate changes; others have what they serve.
            let capacity = if of_one_station { stations.get(node.station).capacity } else { node.mixture };
            let top = (depth..self.levels.len()).fold(leaf, |id, _| self.hsfq.parent(id).unwrap_or(id));
            layer.insert(top, capacity);
        }
        for _ in 0..depth + usize::from(self.origins.is_some()) {
            let mut above: BTreeMap<NodeId, Vec<(u64, BitRate)>> = BTreeMap::new();
            for (id, capacity) in layer {
                let parent = self.hsfq.parent(id).expect("the root is above all layers");
                above.entry(parent).or_default().push((self.hsfq.weight(id), capacity));
            }
            layer = above.into_iter().map(|(id, parts)| (id, mixed_capacity(&parts))).collect();
        }
        layer.get(&NodeId::ROOT).copied()
    }

    /// What is held for `hop`, whose queues these are.
    pub(crate) fn report(&self, hop: Hop, stations: &Stations, flows: &Flows) -> Vec<QueueReport> {
        let held = |&&id: &&NodeId| !self.hsfq.queue(id).is_empty();
        self.children.values().filter(held).map(|&id| self.report_queue(hop, id, stations, flows)).collect()
    }

    fn report_queue(&self, hop: Hop, id: NodeId, stations: &Stations, flows: &Flows) -> QueueReport {
        let node = |id: NodeId| self.nodes.get(id.index()).and_then(Option::as_ref);
        let packets = u32::try_from(self.hsfq.queue(id).len()).unwrap_or(u32::MAX);
        let bytes = node(id).map_or(Bytes::ZERO, |node| node.bytes);
        let mut report = QueueReport { hop, direction: None, class: None, station: None, flow: None, packets, bytes };
        let mut at = Some(id);
        while let Some(id) = at {
            match node(id).map(|node| node.share) {
                Some(Share::Direction(direction)) => report.direction = Some(direction),
                Some(Share::Class(class)) => report.class = class,
                Some(Share::Station(station)) => report.station = Some(stations.get(station).mac),
                Some(Share::Flow(flow)) => report.flow = Some(flows.get(flow).key.1),
                Some(Share::Origin(_)) | None => {}
            }
            at = self.hsfq.parent(id);
        }
        report
    }

    fn node(&mut self, id: NodeId) -> &mut Node {
        self.nodes[id.index()].as_mut().expect("a node of the tree is known here")
    }
}

/// An upload's sender is told to slow down when its ACKs stand for as many packets of DATA as the limit says. Until it
/// has, its window goes on growing, and then a loss makes every packet a duplicate ACK: these are to find room.
const ACKS_PER_PACKET: usize = 4;

/// A queue that stands for no more packets of DATA than this is not a standing one, however long they wait for their
/// turns: with fewer under way a loss is not noticed by duplicate ACKs (RFC 5681, 3.2: three of them), and costs its
/// connection a timeout.
const SHORT: usize = 4;

/// The policy's levels. Where standing queues are told apart, each connection has a queue of its own, whose wait is its
/// own doing and no other's.
fn levels(config: &Config) -> Vec<Level> {
    let mut levels = config.policy.levels.clone();
    if config.aqm.is_some() && !levels.contains(&Level::Flow) {
        levels.push(Level::Flow);
    }
    levels
}

/// Whether a queue has room.
#[derive(Clone, Debug)]
pub(crate) enum Room<P> {
    /// It has.
    Enough,
    /// This one was taken out, which may be enough or not.
    Made(Held<P>, DropReason),
    /// It has not.
    None(DropReason),
}

fn share_of(level: &Level, id: FlowId, flow: &Flow, station: &Station) -> (Share, u64) {
    match level {
        Level::Direction { up, down } => {
            let weight = if flow.direction == Direction::Up { up } else { down };
            (Share::Direction(flow.direction), u64::from(*weight))
        }
        Level::Class { weights, other } => {
            let found = weights.iter().find(|(class, _)| Some(*class) == station.class());
            (Share::Class(found.map(|(class, _)| *class)), u64::from(found.map_or(*other, |(_, weight)| *weight)))
        }
        Level::Station { .. } => (Share::Station(flow.station), station_weight(level, station)),
        Level::Flow => (Share::Flow(id), 1),
    }
}

/// C_i counts in kb/s: fine enough, and the product with any weight keeps within 64 bits.
fn station_weight(level: &Level, station: &Station) -> u64 {
    match level {
        Level::Station { time_fair: true } => station.weight() * (station.capacity.as_bps() / 1_000).max(1),
        _ => station.weight(),
    }
}
