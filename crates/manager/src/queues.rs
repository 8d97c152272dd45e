//! The tree of queues that a policy describes.
//!
//! At the top are the operator's policy classes, if there is a tree of them (`classes`), then the origin of the
//! traffic (via the Internet link or not), then the policy's levels.
//!
//! Flows that their station has not answered, such as a scan or a flood of first packets from the wire, share one queue of the
//! station and have no sparse-flow priority, where flows have queues of their own and such priority.
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

/// Why a packet goes now.
#[derive(Clone, Copy, Debug)]
enum Why {
    /// Its queue uses little.
    Sparse,
    /// This class is below its minimum.
    Minimum(NodeId),
    /// The run of its station goes on.
    Run,
    /// It is its turn.
    Turn,
}

/// By what the children of a node are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Share {
    /// Over the Internet link, or not.
    Origin(bool),
    Direction(Direction),
    Class(Option<ClassId>),
    Application(Option<ClassId>),
    Station(StationId),
    Host(IpAddr),
    Flow(FlowId),
    /// All flows together that their station has not answered.
    Unanswered,
}

#[derive(Clone, Debug)]
struct Node {
    share: Share,
    /// Of a queue: its station (the first one, where several share it, which may have gone since); what was served from
    /// it lately, in virtual bits and in time at C_i, and C of that mixture, before anything was served C_i; the
    /// connections that use it, and their class; the bytes it holds.
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
    /// Its place in the list of those that may be active.
    recent_at: Option<usize>,
    in_urgent: bool,
    /// Of a node above queues: how many of them have attained how little.
    in_levels: InLevels,
}

#[derive(Clone, Debug)]
pub(crate) struct Queues<P> {
    levels: Vec<Level>,
    /// Above all else, where the policy has a tree of classes; whether their ceilings do not count now.
    classes: Option<ClassNodes>,
    lifted: bool,
    /// Shares are of medium time, and not of virtual bits.
    by_time: bool,
    /// Above all levels: the weights of what does not come over the Internet link, and of what does.
    origins: Option<[u64; 2]>,
    limit: Limit,
    aqm: Option<CodelConfig>,
    /// Its target is as long as a round of all queues at least.
    aqm_by_rounds: bool,
    /// Of all queues together, in packets.
    held_limit: usize,
    hsfq: Hsfq<Held<P>>,
    /// IP-level bytes held.
    bytes: Bytes,
    /// By node number.
    nodes: Vec<Option<Node>>,
    children: BTreeMap<(Share, NodeId), NodeId>,
    /// Queues that may be active.
    recent: Vec<NodeId>,
    /// Whether queues that use little go before their turn, and those that do, in the order in which they came to hold
    /// something. The first one holds something, has credit left, and nothing above it is too far ahead.
    sparse_first: bool,
    urgent: VecDeque<NodeId>,
    /// Whether those of one station weigh more that were served less; false: they are distinguished, and weigh the same.
    by_attained: bool,
    levels_weigh: bool,
    /// How long a run may be, and the one that has begun.
    run_limit: RunLimit,
    run: Option<Run>,
    /// What is charged takes so much medium time: `(numerator, denominator)`.
    pace: (u64, u64),
}

/// A turn of a station that has begun.
#[derive(Clone, Copy, Debug)]
struct Run {
    node: NodeId,
    /// What it may still take.
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

    /// The weights of what is at the top of the tree and has something to send.
    pub(crate) fn ready_weight(&self) -> u64 {
        self.hsfq.ready_weight()
    }

    /// Takes out what a connection holds in a queue, in its order.
    pub(crate) fn take(&mut self, leaf: NodeId, id: FlowId) -> VecDeque<Held<P>> {
        let taken = self.hsfq.take(leaf, |held| held.flow == id);
        let node = self.node(leaf);
        let bytes = taken.iter().map(|held| held.ip_len).sum();
        node.bytes = node.bytes - bytes;
        self.note_held(leaf, u32::try_from(taken.len()).unwrap_or(u32::MAX), bytes, false);
        self.tidy_urgent();
        taken
    }

    /// Appends a packet to its connection's queue, whatever the limit says.
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

    /// A queue that was empty holds a packet: it gets sparse-flow priority if it has used little.
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
        let is_there = node.credit.is_left() && !self.hsfq.queue(leaf).is_empty() && !self.hsfq.is_paused(leaf);
        is_there && !self.is_far_ahead(leaf, node.mixture)
    }

    /// Something above a queue, whose station has this C_i, is too far ahead of its turns.
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

    /// The queue whose head goes next, and why: it uses little, a class is below its minimum, it has its turn.
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

    /// From now on a run may be so long, and what is charged takes so much medium time: `(numerator, denominator)`.
    pub(crate) fn set_run(&mut self, limit: RunLimit, pace: (u64, u64)) {
        (self.run_limit, self.pace) = (limit, (pace.0, pace.1.max(1)));
    }

    /// The next packet goes on a run that has begun.
    pub(crate) fn is_in_run(&self) -> bool {
        self.run.is_some() && matches!(self.next(), Some((_, Why::Run)))
    }

    /// A packet of a run, or one that begins a run, was served.
    fn note_run(&mut self, leaf: NodeId, service: &Service) {
        let node = self.station_node(leaf);
        let left = self.run.filter(|run| run.node == node).map_or(self.run_limit, |run| run.left);
        let RunLimit { time, frames } = left;
        let left = RunLimit { time: time.saturating_sub(service.undisturbed), frames: frames.saturating_sub(1) };
        let goes_on = left.time > Span::ZERO && left.frames > 0;
        self.run = goes_on.then_some(Run { node, left });
    }

    /// The node of a queue's station; the queue itself where stations are no level of the policy.
    fn station_node(&self, leaf: NodeId) -> NodeId {
        let is_station = |id: &NodeId| matches!(self.nodes[id.index()], Some(Node { share: Share::Station(_), .. }));
        let up = core::iter::successors(Some(leaf), |&id| self.hsfq.parent(id));
        up.take_while(|&id| id != NodeId::ROOT).find(is_station).unwrap_or(leaf)
    }

    /// Time has come this far: classes at their ceilings may go on.
    pub(crate) fn refresh(&mut self, now: Instant) {
        self.lifted = false;
        let go = self.classes.as_mut().map(|classes| classes.refresh(now));
        go.into_iter().flatten().for_each(|node| self.hsfq.resume(node));
    }

    /// Ceilings do not count until [`Self::refresh`] is called: all is to be taken out.
    pub(crate) fn lift_ceilings(&mut self) {
        self.lifted = true;
        let go = self.classes.as_mut().map(ClassNodes::lift);
        go.into_iter().flatten().for_each(|node| self.hsfq.resume(node));
    }

    /// When something may go, as far as ceilings are asked.
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

    /// Whether this packet can be held, beside so many `elsewhere`. Takes at most one packet out to that end; ask
    /// again then.
    ///
    /// The limit counts packets of DATA; ACKs may be [`ACKS_PER_PACKET`] times as many. Data are dropped at the tail.
    /// Where ACKs fill a queue, the head goes if the newcomer says all that it said: then nothing is lost, and the
    /// sender hears the news sooner. The same holds where all queues together are full, whoever filled them: to look
    /// for the longest queue would cost an attacker's packet more than it is worth.
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

    /// Queues whose heads are to go soon, about in that order, until `see` says that it has seen enough.
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

    /// Whose packet goes next of a queue.
    pub(crate) fn head_flow(&self, leaf: NodeId) -> Option<FlowId> {
        let head = self.hsfq.queue(leaf).front()?;
        black_box((head.ip_len, head.since, head.takes_marks, head.tcp.as_ref().map(|tcp| tcp.payload)));
        Some(head.flow)
    }

    /// The head that goes next.
    pub(crate) fn peek(&self) -> Option<&Held<P>> {
        let (leaf, _) = self.next()?;
        self.hsfq.queue(leaf).front()
    }

    /// The head that goes next, and what is to happen to it where its queue stands. To be called once for each head. `data_packets` tells for how many packets of DATA a queue stands.
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

    /// What a standing queue is: none is that waits for its turn in a round of all others. Half a round more is none either.
    fn aqm_now(&self) -> Option<CodelConfig> {
        let aqm = self.aqm.as_ref()?;
        if !self.aqm_by_rounds {
            return Some(*aqm);
        }
        let in_use = u64::try_from(self.recent.len()).unwrap_or(u64::MAX);
        let round = self.run_limit.time * in_use;
        let target = aqm.target.max(round * 3 / 2);
        Some(CodelConfig { target, interval: aqm.interval.max(target) })
    }

    /// Takes the head that goes next out, unserved.
    pub(crate) fn drop_next(&mut self) -> Option<Held<P>> {
        let (leaf, _) = self.next()?;
        self.drop_head(leaf)
    }

    /// The same, where it is to be.
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
        // The others that are urgent come in between.
        if self.urgent.front() == Some(&leaf) {
            self.urgent.rotate_left(1);
        }
        self.tidy_urgent();
        Some(held)
    }

    /// How far a class may get ahead by its minimum, as a length.
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

    /// Charges a queue's station, and none above it, for what it was not served for; the queue alone where stations
    /// are no level of the policy.
    pub(crate) fn charge_station(&mut self, leaf: NodeId, bits: u64, time: Span) {
        let node = self.station_node(leaf);
        self.hsfq.charge(node, if self.by_time { time.as_nanos() } else { bits });
        self.tidy_urgent();
    }

    /// The packet last released has left the server.
    pub(crate) fn end_service(&mut self) {
        self.hsfq.end_service();
    }

    fn node(&mut self, id: NodeId) -> &mut Node {
        self.nodes[id.index()].as_mut().expect("a node of the tree is known here")
    }
}

/// An upload's sender gets a congestion signal when its ACKs stand for as many packets of DATA as the limit says. Until it
/// has, its window goes on growing, and then a loss makes every packet a duplicate ACK: these are to find room.
const ACKS_PER_PACKET: usize = 4;

/// A queue that stands for no more packets of DATA than this is not a standing one, however long they wait for their
/// turns: with fewer under way a loss is not noticed by duplicate ACKs (RFC 5681, 3.2: three of them), and costs its
/// connection a timeout.
const SHORT: usize = 4;

/// A sender of datagrams that has had so many signals, one after the other over about half a second, and whose queue
/// still stands, does not respond to them: all that it sends too much is dropped. Nothing that it sends waits longer than
/// this then, which leaves a call some room below what a conversation bears (ITU-T G.114: 150 ms from end to end).
const IGNORED: u32 = 8;
const FRESH: Span = Span::from_millis(100);

/// What is to happen to a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// It is served.
    Serve,
    /// Its sender gets a congestion signal.
    Signal,
    /// It is dropped for those behind it, which are fresher: its sender does not respond to signals.
    Stale,
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
