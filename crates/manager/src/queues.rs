//! The tree of queues that a policy describes.
//!
//! At the top are the operator's policy classes, if there is a tree of them (`classes`), then the origin of the
//! traffic (via the Internet link or not), then the policy's levels.
//!
//! Flows that their station has not answered, such as a scan or a flood of first packets from the wire, share one queue of the station and
//! have no sparse-flow priority, if flows have queues of their own and such priority.
//!
//! A node of the tree is created for the first connection that needs it and removed with the last one. Its weight
//! follows from its level; the weight of a station is its configured weight, multiplied by C_i if medium time is to
//! be fair, because the server's work is counted in bits (equation 2 of Hegde et al., 2013).

mod attained;
pub(crate) mod classes;
mod config;
pub(crate) mod discipline;
mod layout;
mod sparse;
mod state;

pub(crate) use config::TreeConfig;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::hint::black_box;
use core::net::IpAddr;

use attained::{Attained, InLevels};
use evenair_packet::TcpMeta;
use evenair_sched::{Codel, CodelConfig, Hsfq, NodeId, Verdict};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};

use crate::flows::tcp::supersedes;
use crate::held::{Held, Service};
use crate::ids::{ClassId, Direction, FlowId, StationId};
use crate::pacer::aggregating::runs::RunLimit;
use crate::{DropReason, Level};
use classes::nodes::{ClassNodes, LEAD as LEAD_OF_MINIMUM};
use sparse::{Credit, LEAD, LEAD_ABOVE};

/// Why a packet is served now.
#[derive(Clone, Copy, Debug)]
enum Why {
    /// Sparse-flow priority of its queue.
    Sparse,
    /// This class is below its minimum.
    Minimum(NodeId),
    /// The run of its station goes on.
    Run,
    /// The order of tags.
    Turn,
}

/// What distinguishes a node from its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Share {
    /// Whether it is over the Internet link.
    Origin(bool),
    Direction(Direction),
    Class(Option<ClassId>),
    Application(Option<ClassId>),
    Station(StationId),
    Host(IpAddr),
    Flow(FlowId),
    /// All unanswered flows of a station.
    Unanswered,
}

#[derive(Clone, Debug)]
struct Node {
    share: Share,
    /// For a queue: its station (the first of several, which may have gone since); service from it lately, in virtual bits and in time at
    /// C_i; C of that mixture, before any service C_i; the flows that use it, and their class; the bytes it holds.
    station: StationId,
    served_bits: u64,
    served_time: Span,
    mixture: BitRate,
    users: u32,
    class: Option<ClassId>,
    bytes: Bytes,
    codel: Codel,
    credit: Credit,
    attained: Attained,
    last_held: Instant,
    /// Its index in the list of active queues.
    recent_at: Option<usize>,
    in_urgent: bool,
    /// For a node above queues: the number of its children in each level of attained service.
    in_levels: InLevels,
}

#[derive(Clone, Debug)]
pub(crate) struct Queues<P> {
    levels: Vec<Level>,
    /// The tree of classes above all levels, if the policy has one; whether ceilings are suspended.
    classes: Option<ClassNodes>,
    lifted: bool,
    /// Whether shares are of medium time, and not of virtual bits.
    by_time: bool,
    /// Weights above all levels: of traffic that is not over the Internet link, and of traffic that is.
    origins: Option<[u64; 2]>,
    limit: Limit,
    aqm: Option<CodelConfig>,
    /// Whether CoDel's target is at least a round of all queues.
    aqm_by_rounds: bool,
    /// Limit of all queues together, in packets.
    held_limit: usize,
    hsfq: Hsfq<Held<P>>,
    /// IP-level bytes held.
    bytes: Bytes,
    /// Nodes by number.
    nodes: Vec<Option<Node>>,
    children: BTreeMap<(Share, NodeId), NodeId>,
    /// Queues that may be active.
    recent: Vec<NodeId>,
    /// Whether sparse queues have priority, and these queues, in the order in which they became non-empty. The first one holds a packet,
    /// has credit left, and no node above it is too far ahead.
    sparse_first: bool,
    urgent: VecDeque<NodeId>,
    /// Whether flows of a station weigh more the less they were served.
    by_attained: bool,
    /// Whether these weights differ; false: the flows are distinguished, but weigh the same.
    levels_weigh: bool,
    /// The limit of a run, and the run that has begun.
    run_limit: RunLimit,
    run: Option<Run>,
    /// Medium time for charged airtime: `(numerator, denominator)`.
    pace: (u64, u64),
}

/// A round of pairs, in medium time, from which on stations take turns by pairs. If each took one packet, their next one would come after
/// half of it, which is as long as the shortest timer of a delayed acknowledgment (Linux: 40 ms) less what it takes to the station.
const PAIRED_ROUND: Span = Span::from_millis(60);

/// A run that has begun: packets released together for one station.
#[derive(Clone, Copy, Debug)]
struct Run {
    node: NodeId,
    /// The rest of its limit.
    left: RunLimit,
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
    pub(crate) const fn len(&self) -> usize {
        self.hsfq.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.hsfq.is_empty()
    }

    /// Sum of the weights at the top of the tree that have packets to send.
    pub(crate) fn ready_weight(&self) -> u64 {
        self.hsfq.ready_weight()
    }

    /// Takes a flow's packets out of a queue, in order.
    pub(crate) fn take(&mut self, leaf: NodeId, id: FlowId) -> VecDeque<Held<P>> {
        let taken = self.hsfq.take(leaf, |held| held.flow == id);
        let node = self.node(leaf);
        let bytes = taken.iter().map(|held| held.ip_len).sum();
        node.bytes = node.bytes - bytes;
        self.note_held(leaf, u32::try_from(taken.len()).unwrap_or(u32::MAX), bytes, false);
        self.tidy_urgent();
        taken
    }

    /// Appends a packet to its flow's queue, regardless of the limit.
    pub(crate) fn push(&mut self, leaf: NodeId, held: Held<P>, now: Instant) {
        let place = self.recent.len();
        self.note_held(leaf, 1, held.ip_len, true);
        let node = self.node(leaf);
        node.bytes += held.ip_len;
        let last_held = core::mem::replace(&mut node.last_held, now);
        if node.recent_at.is_none() {
            node.recent_at = Some(place);
            self.recent.push(leaf);
        }
        let was_empty = self.hsfq.queue(leaf).is_empty();
        if was_empty {
            self.begin_attaining(leaf, last_held, now);
        }
        self.hsfq.enqueue(leaf, held);
        if was_empty && self.sparse_first && self.node(leaf).share != Share::Unanswered {
            self.consider_urgent(leaf, now);
        }
    }

    /// Gives a queue that was empty sparse-flow priority, if it has credit.
    fn consider_urgent(&mut self, leaf: NodeId, now: Instant) {
        let in_use = self.recent.len();
        let node = self.node(leaf);
        node.credit.refill(now, in_use);
        if node.credit.is_left() && !core::mem::replace(&mut node.in_urgent, true) {
            self.urgent.push_back(leaf);
            self.tidy_urgent();
        }
    }

    /// Removes urgent queues from the front until the first one may be served ahead.
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
        let is_there = node.credit.is_left() && !self.hsfq.queue(leaf).is_empty() && !self.hsfq.is_paused(leaf);
        is_there && !self.is_far_ahead(leaf, node.mixture)
    }

    /// Whether a node above a queue, whose station has this C_i, is too far ahead of its turns.
    fn is_far_ahead(&self, leaf: NodeId, capacity: BitRate) -> bool {
        let mut at = self.hsfq.parent(leaf);
        while let Some(id) = at.filter(|&id| id != NodeId::ROOT) {
            let of_station = matches!(self.nodes[id.index()], Some(Node { share: Share::Station(_), .. }));
            let most = if of_station { LEAD } else { LEAD_ABOVE };
            let lead = self.hsfq.lead(id);
            let lead = if self.by_time { Span::from_nanos(lead) } else { capacity.time_for_bits(lead) };
            if lead.mul_div(self.pace.0, self.pace.1) > most {
                return true;
            }
            at = self.hsfq.parent(id);
        }
        false
    }

    /// The queue to serve next, and why: sparse, of a class below its minimum, in the run, or in turn.
    fn next(&self) -> Option<(NodeId, Why)> {
        if let Some(&leaf) = self.urgent.front() {
            return Some((leaf, Why::Sparse));
        }
        let due = self.classes.as_ref().and_then(|classes| classes.due(|node| self.hsfq.peek_below(node).is_some()));
        if let Some((node, leaf)) = due.and_then(|node| Some((node, self.hsfq.peek_below(node)?))) {
            return Some((leaf, Why::Minimum(node)));
        }
        if let Some(leaf) = self.run.and_then(|run| self.hsfq.peek_below(run.node)) {
            return Some((leaf, Why::Run));
        }
        self.hsfq.peek().map(|(leaf, _)| (leaf, Why::Turn))
    }

    /// Sets the limit of runs, and medium time for charged airtime: `(numerator, denominator)`.
    pub(crate) fn set_run(&mut self, limit: RunLimit, pace: (u64, u64)) {
        let pairs = limit.of_data && limit.time * self.in_use() >= PAIRED_ROUND;
        self.run_limit = if limit.of_data && !pairs { RunLimit::SINGLE } else { limit };
        self.pace = (pace.0, pace.1.max(1));
    }

    /// Whether the next packet belongs to a run that has begun.
    pub(crate) fn is_in_run(&self) -> bool {
        self.run.is_some() && matches!(self.next(), Some((_, Why::Run)))
    }

    /// Notes the service of a packet that belongs to a run, or begins one.
    fn note_run(&mut self, leaf: NodeId, service: &Service) {
        let node = self.station_node(leaf);
        let left = self.run.filter(|run| run.node == node).map_or(self.run_limit, |run| run.left);
        let time = left.time.saturating_sub(service.undisturbed);
        let left = RunLimit { time, frames: left.frames.saturating_sub(1), ..left };
        let goes_on = left.time > Span::ZERO && left.frames > 0 && (service.is_data || !left.of_data);
        self.run = goes_on.then_some(Run { node, left });
    }

    /// The node of a queue's station; the queue itself if stations are no level of the policy.
    fn station_node(&self, leaf: NodeId) -> NodeId {
        let is_station = |id: &NodeId| matches!(self.nodes[id.index()], Some(Node { share: Share::Station(_), .. }));
        let up = core::iter::successors(Some(leaf), |&id| self.hsfq.parent(id));
        up.take_while(|&id| id != NodeId::ROOT).find(is_station).unwrap_or(leaf)
    }

    /// Resumes classes whose ceiling allows it at this time.
    pub(crate) fn refresh(&mut self, now: Instant) {
        self.lifted = false;
        let go = self.classes.as_mut().map(|classes| classes.refresh(now));
        go.into_iter().flatten().for_each(|node| self.hsfq.resume(node));
    }

    /// Suspends ceilings until [`Self::refresh`] is called, to take out all packets.
    pub(crate) fn lift_ceilings(&mut self) {
        self.lifted = true;
        let go = self.classes.as_mut().map(ClassNodes::lift);
        go.into_iter().flatten().for_each(|node| self.hsfq.resume(node));
    }

    /// When a packet may be served, by ceilings.
    pub(crate) fn ready_at(&self) -> Instant {
        let shut = self.classes.as_ref().filter(|_| !self.is_empty() && self.hsfq.peek().is_none());
        shut.and_then(ClassNodes::next_free).unwrap_or(Instant::ZERO)
    }

    fn note_held(&mut self, leaf: NodeId, packets: u32, bytes: Bytes, more: bool) {
        self.bytes = if more { self.bytes + bytes } else { self.bytes - bytes };
        let class = self.node(leaf).class;
        if let Some(classes) = &mut self.classes {
            classes.note_held(class, packets, bytes, more);
        }
    }

    /// Whether this packet can be held, with so many held `elsewhere`. Takes at most one packet out to make room; then ask again.
    ///
    /// The limit counts packets of DATA; ACKs may be [`ACKS_PER_PACKET`] times as many. Data are dropped at the tail. Where ACKs fill a
    /// queue, the head is dropped if the new ACK supersedes it: then no information is lost, and it reaches the sender sooner. The same
    /// holds if all queues together are full, whichever filled them: a search for the longest queue would cost more time than an
    /// attacker's packet is worth.
    pub(crate) fn make_room(&mut self, leaf: NodeId, held: &Held<P>, elsewhere: usize) -> Room<P> {
        let queue = self.hsfq.queue(leaf);
        let bytes = self.nodes[leaf.index()].as_ref().map_or(Bytes::ZERO, |node| node.bytes);
        let is_pure_ack = held.tcp.as_ref().is_some_and(TcpMeta::is_pure_ack);
        let packets = if is_pure_ack { queue.len() / ACKS_PER_PACKET } else { queue.len() };
        // No queue holds more than there is room left for others, so that the longest ones are full first (Choudhury and Hahne,
        // "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM ToN 6(2), 1998).
        let room = self.held_limit.saturating_sub(self.len() + elsewhere);
        if queue.len() < room && self.limit.admits(packets, bytes, held.ip_len) {
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

    /// The newest packet of a queue.
    pub(crate) fn newest(&self, leaf: NodeId) -> Option<&Held<P>> {
        self.hsfq.queue(leaf).back()
    }

    /// Replaces the newest packet of a queue, and returns it. The new one has waited since that one came.
    pub(crate) fn replace_newest(&mut self, leaf: NodeId, held: Held<P>) -> Held<P> {
        let Some(newest) = self.hsfq.newest_mut(leaf) else { return held };
        let (ip_len, since) = (held.ip_len, newest.since);
        let before = core::mem::replace(newest, Held { since, ..held });
        self.note_held(leaf, 0, before.ip_len, false);
        self.note_held(leaf, 0, ip_len, true);
        let node = self.node(leaf);
        node.bytes = node.bytes - before.ip_len + ip_len;
        before
    }

    /// Queues that are to be served soon, about in that order, until `see` returns false.
    pub(crate) fn soon(&self, see: impl FnMut(NodeId) -> bool) {
        self.hsfq.soon(see);
    }

    /// Prefetches the state of a queue.
    pub(crate) fn bring(&self, leaf: NodeId) {
        let node = self.nodes[leaf.index()].as_ref();
        let ours = node.map(|node| (node.bytes, node.credit, node.codel, node.share, node.mixture, node.class));
        black_box((ours, self.hsfq.weight(leaf), self.hsfq.queue(leaf).len()));
    }

    /// Prefetches the tail of a queue.
    pub(crate) fn bring_tail(&self, leaf: NodeId) {
        black_box(self.hsfq.queue(leaf).back().map(|held| held.flow));
    }

    /// The flow of the head of a queue.
    pub(crate) fn head_flow(&self, leaf: NodeId) -> Option<FlowId> {
        let head = self.hsfq.queue(leaf).front()?;
        black_box((head.ip_len, head.since, head.takes_marks, head.tcp.as_ref().map(|tcp| tcp.payload)));
        Some(head.flow)
    }

    /// The head to be served next.
    pub(crate) fn peek(&self) -> Option<&Held<P>> {
        let (leaf, _) = self.next()?;
        self.hsfq.queue(leaf).front()
    }

    /// The head to be served next, and CoDel's judgement of its queue. To be called once for each head. `data_packets`: the number of
    /// packets of DATA that a queue stands for.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        data_packets: impl FnOnce(&Held<P>, usize) -> usize,
    ) -> Option<(&Held<P>, Judgement)> {
        let (leaf, _) = self.next()?;
        let head = self.hsfq.queue(leaf).front()?;
        let Some(aqm) = self.aqm_now() else { return Some((head, Judgement::Serve)) };
        let short = data_packets(head, self.hsfq.queue(leaf).len()) <= SHORT;
        let node = self.nodes[leaf.index()].as_mut().expect("a node of the tree is known here");
        let sojourn = now.saturating_since(head.since);
        let verdict = node.codel.judge(now, sojourn, short, &aqm);
        let is_ignored = head.tcp.is_none() && !short && node.codel.signals() > IGNORED;
        let judgement = match verdict {
            _ if is_ignored && sojourn > FRESH => Judgement::Stale,
            Verdict::Serve => Judgement::Serve,
            Verdict::Signal => Judgement::Signal,
        };
        Some((head, judgement))
    }

    /// Queues that may be active.
    fn in_use(&self) -> u64 {
        u64::try_from(self.recent.len()).unwrap_or(u64::MAX)
    }

    /// CoDel settings for the present load: a queue that waits for one round of all others, and half a round more, is not a standing one.
    fn aqm_now(&self) -> Option<CodelConfig> {
        let aqm = self.aqm.as_ref()?;
        if !self.aqm_by_rounds {
            return Some(*aqm);
        }
        let round = self.run_limit.time * self.in_use();
        let target = aqm.target.max(round * 3 / 2);
        Some(CodelConfig { target, interval: aqm.interval.max(target) })
    }

    /// Takes out the next head, unserved.
    pub(crate) fn drop_next(&mut self) -> Option<Held<P>> {
        let (leaf, _) = self.next()?;
        self.drop_head(leaf)
    }

    /// Takes out the next head, if the condition holds for it.
    pub(crate) fn drop_next_if(&mut self, is_to_be: impl FnOnce(&Held<P>) -> bool) -> Option<Held<P>> {
        let (leaf, _) = self.next()?;
        is_to_be(self.hsfq.queue(leaf).front()?).then(|| self.drop_head(leaf))?
    }

    fn drop_head(&mut self, leaf: NodeId) -> Option<Held<P>> {
        let head = self.hsfq.drop_head(leaf)?;
        self.note_held(leaf, 1, head.ip_len, false);
        let node = self.node(leaf);
        node.bytes = node.bytes - head.ip_len;
        self.tidy_urgent();
        Some(head)
    }

    /// Takes the next packet; `service` gives its charge.
    pub(crate) fn pop(&mut self, now: Instant, service: impl FnOnce(&Held<P>) -> Service) -> Option<Held<P>> {
        let mut served = None;
        let by_time = self.by_time;
        let length = |held: &Held<P>| {
            let service = served.insert(service(held));
            if by_time { service.time.as_nanos() } else { service.bits }
        };
        let next = self.next()?;
        let held = match next {
            (leaf, Why::Sparse | Why::Run) => self.hsfq.dequeue_ahead(leaf, length).map(|held| (leaf, held)),
            (leaf, Why::Minimum(node)) => {
                let most = self.lead_of_minimum(leaf);
                self.hsfq.dequeue_below(node, most, length)
            }
            (_, Why::Turn) => self.hsfq.dequeue(length),
        };
        let (leaf, held) = held?;
        self.note_held(leaf, 1, held.ip_len, false);
        let (in_use, pace) = (self.recent.len(), self.pace);
        let node = self.node(leaf);
        node.bytes = node.bytes - held.ip_len;
        node.last_held = now;
        let class = node.class;
        if let Some(service) = served {
            node.note_service(service);
            node.credit.refill(now, in_use);
            node.credit.spend(service.capacity.time_for_bits(service.bits).mul_div(pace.0, pace.1));
            self.note_attained(leaf, service.bits);
            if matches!(next.1, Why::Run | Why::Turn) {
                self.note_run(leaf, &service);
            }
            self.note_class_service(class, &service);
        }
        // Other urgent queues are served in between.
        if self.urgent.front() == Some(&leaf) {
            self.urgent.rotate_left(1);
        }
        self.tidy_urgent();
        Some(held)
    }

    /// How far ahead its minimum may bring a class, in the unit of tags.
    fn lead_of_minimum(&self, leaf: NodeId) -> u64 {
        let mixture = self.nodes[leaf.index()].as_ref().map_or(BitRate::ZERO, |node| node.mixture);
        if self.by_time {
            LEAD_OF_MINIMUM.as_nanos()
        } else {
            mixture.mul_div(LEAD_OF_MINIMUM.as_nanos(), 1_000_000_000).as_bps()
        }
    }

    fn note_class_service(&mut self, class: Option<ClassId>, service: &Service) {
        let pause = self.classes.as_mut().map(|classes| classes.note_service(class, service));
        for node in pause.into_iter().flatten() {
            self.hsfq.pause(node);
        }
        if self.lifted {
            self.lift_ceilings();
        }
    }

    /// Charges a queue's station, and no node above it, for airtime outside of its service; the queue itself if stations are no level of
    /// the policy.
    pub(crate) fn charge_station(&mut self, leaf: NodeId, bits: u64, time: Span) {
        let node = self.station_node(leaf);
        self.hsfq.charge(node, if self.by_time { time.as_nanos() } else { bits });
        self.tidy_urgent();
    }

    /// Ends the service of the last released packet.
    pub(crate) fn end_service(&mut self) {
        self.hsfq.end_service();
    }

    fn node(&mut self, id: NodeId) -> &mut Node {
        self.nodes[id.index()].as_mut().expect("a node of the tree is known here")
    }
}

/// ACKs that a queue may hold for each packet of DATA of its limit. The sender of an upload gets a congestion signal when its ACKs stand
/// for as many packets of DATA as the limit says. Until it reacts its window grows, and then a loss makes every packet a duplicate ACK,
/// for which there has to be room.
const ACKS_PER_PACKET: usize = 4;

/// DATA packets up to which a queue does not count as standing, however long they wait: with fewer under way a loss does not cause three
/// duplicate ACKs (RFC 5681, 3.2), and costs a timeout.
const SHORT: usize = 4;

/// Congestion signals, one after the other over about half a second, after which a sender of datagrams whose queue still stands counts as
/// unresponsive: its excess is dropped. Then its packets wait no longer than `FRESH`, which leaves a call some of the delay that a
/// conversation tolerates (ITU-T G.114: 150 ms from end to end).
const IGNORED: u32 = 8;
const FRESH: Span = Span::from_millis(100);

/// Judgement of the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// It is served.
    Serve,
    /// Its sender gets a congestion signal.
    Signal,
    /// It is dropped in favour of newer packets, since its sender does not respond to signals.
    Stale,
}

/// Whether a queue has room for a packet.
#[derive(Clone, Debug)]
pub(crate) enum Room<P> {
    /// It has room.
    Enough,
    /// This packet was taken out, which may suffice or not.
    Made(Held<P>, DropReason),
    /// It has no room.
    None(DropReason),
}
