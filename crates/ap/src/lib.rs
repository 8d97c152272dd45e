//! Queues between the network layer and the MAC of the access point and of stations, for the simulator and the testbed.
//!
//! The MAC holds a few packets, like a driver, and takes the next packet from the queue when it has room. So packets wait
//! in the queue, where a discipline chooses the next one. With EDCA each access category has a queue.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use evenair_medium::{AccessCategory, Medium, Mpdu, NodeId, QueueState, To};
use evenair_sched::{AirtimeReport, Cause, Config, Discipline, Feedback, GROUP, News, Packet, Progress};
use evenair_units::{Airtime, BitRate, Bytes, Instant, Span};
use evenair_wifi::{Phy, PhyRate};

/// A queue in front of a MAC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// The discipline, with the size of the buffer.
    pub config: Config,
    /// Packets that the MAC holds besides.
    pub driver: u32,
    /// All packets of a station are one flow.
    pub by_station: bool,
    /// Of a discipline with classes: the class of each application's packets, in the order of the scenario's.
    pub class_of_app: Vec<u32>,
    /// The class of packets that belong to no application.
    pub default_class: u32,
}

/// What a queue may know of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag {
    /// Key of its connection or of what is like one, the same both ways.
    pub connection: u64,
    /// It goes the one way of that, and not the other.
    pub forth: bool,
    /// The number of the station that it goes to or comes from.
    pub station: u32,
    /// The number of the application that it belongs to; [`u32::MAX`]: to none.
    pub app: u32,
    /// The information of its segment about its connection.
    pub progress: Option<Progress>,
}

/// What a MAC made of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TxResult {
    /// It was received, after so many attempts.
    Delivered {
        /// This one included.
        attempts: u32,
        /// Medium time of all of them, with RTS, CTS, ACK and SIFS.
        airtime: Airtime,
    },
    /// It was given up at a retry limit.
    GivenUp,
    /// It was never sent.
    Unsent,
}

/// The completion of a packet that a MAC had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxStatus {
    /// For whom it was.
    pub to: To,
    /// The packet's access category.
    pub category: AccessCategory,
    /// What the MAC made of it.
    pub result: TxResult,
}

/// A packet that a node received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// The number of the station that it came from, or at a station its own.
    pub station: u32,
    /// The packet's access category.
    pub category: AccessCategory,
    /// Attempts of its sender.
    pub attempts: u32,
    /// Medium time of all of them, with RTS, CTS, ACK and SIFS.
    pub airtime: Airtime,
}

/// A packet for a queue, and what the queue may know of it.
#[derive(Debug)]
pub struct TaggedMpdu<F> {
    /// The packet as the MAC gets it.
    pub mpdu: Mpdu<F>,
    /// For the queue.
    pub tag: Tag,
}

/// A packet that a queue dropped, or lost with its node.
#[derive(Debug)]
pub struct Unsent<F> {
    /// Whose queue.
    pub from: NodeId,
    /// Why the queue dropped it; `None`: its node left, or the one that it is for.
    pub cause: Option<Cause>,
    /// What.
    pub frame: F,
}

/// All queues of one medium. Nodes whose MAC has the buffer have none here.
#[derive(Debug)]
pub struct AirQueues<F> {
    nodes: BTreeMap<NodeId, Queue<F>>,
    /// When which queue is to be looked at although nothing happens.
    wakes: BTreeSet<(Instant, NodeId)>,
    unsent: VecDeque<Unsent<F>>,
    /// Those to whom nothing more is sent.
    flushed: BTreeSet<NodeId>,
}

struct Queue<F> {
    driver: usize,
    by_station: bool,
    /// The discipline shares airtime, and so gets reports of it.
    by_airtime: bool,
    class_of_app: Vec<u32>,
    default_class: u32,
    /// One, or with EDCA one for each category.
    ac_queues: Vec<AcQueue<F>>,
    wakes: Option<Instant>,
}

struct AcQueue<F> {
    discipline: Box<dyn Discipline<Item<F>> + Send>,
    /// The packets that the MAC has.
    below: VecDeque<Below>,
}

/// A packet that the MAC has.
#[derive(Clone, Copy, Debug)]
struct Below {
    /// When it came to the queue.
    since: Instant,
    class: u32,
    /// Its [`Packet::host`] and [`Packet::airtime`].
    host: u64,
    expected: Span,
    to: To,
    size: Bytes,
    rate: PhyRate,
}

#[derive(Debug)]
struct Item<F> {
    since: Instant,
    flow: u64,
    class: u32,
    /// At which it is likely to be sent.
    rate: PhyRate,
    /// What it is expected to take, where the discipline asks for that.
    expected: Span,
    tag: Tag,
    mpdu: Mpdu<F>,
}

impl<F> Packet for Item<F> {
    fn size(&self) -> Bytes {
        self.mpdu.msdu
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn host(&self) -> u64 {
        match self.mpdu.to {
            To::Node(_) => u64::from(self.tag.station),
            To::Broadcast => GROUP,
        }
    }

    fn rate(&self) -> Option<BitRate> {
        (self.mpdu.to != To::Broadcast).then(|| self.rate.bit_rate())
    }

    fn airtime(&self) -> Span {
        self.expected
    }

    fn class(&self) -> u32 {
        self.class
    }

    fn connection(&self) -> u64 {
        self.tag.connection
    }

    fn progress(&self) -> Option<Progress> {
        self.tag.progress
    }
}

impl<F> fmt::Debug for Queue<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ac_queues.iter().map(|ac_queue| ac_queue.discipline.len())).finish()
    }
}

impl<F> Default for AirQueues<F> {
    /// No queue yet.
    fn default() -> Self {
        Self { nodes: BTreeMap::new(), wakes: BTreeSet::new(), unsent: VecDeque::new(), flushed: BTreeSet::new() }
    }
}

impl<F: Send + 'static> AirQueues<F> {
    /// A node's MAC gets a queue above it; its own buffer has no limit that matters.
    pub fn add(&mut self, medium: &Medium<F>, node: NodeId, spec: &QueueSpec) {
        let seed = medium.stream_of(node, "queue hash").next_u64();
        let ac_queues = if medium.has_edca(node) { AccessCategory::ALL.len() } else { 1 };
        let ac_queue = |_| AcQueue { discipline: spec.config.build(seed), below: VecDeque::new() };
        let queue = Queue {
            driver: spec.driver as usize,
            by_station: spec.by_station,
            by_airtime: matches!(spec.config, Config::Mac80211(_)),
            class_of_app: spec.class_of_app.clone(),
            default_class: spec.default_class,
            ac_queues: (0..ac_queues).map(ac_queue).collect(),
            wakes: None,
        };
        self.nodes.insert(node, queue);
    }

    /// Whether a node has a queue here.
    pub fn has(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    /// A packet to be sent comes to a node that has a queue here.
    ///
    /// # Panics
    /// If it has none.
    pub fn handle_frame(&mut self, now: Instant, medium: &mut Medium<F>, from: NodeId, packet: TaggedMpdu<F>) {
        let TaggedMpdu { mpdu, tag } = packet;
        let queue = self.nodes.get_mut(&from).expect("the node has a queue");
        let flow = if queue.by_station { u64::from(tag.station) } else { 2 * tag.connection + u64::from(tag.forth) };
        let class = queue.class_of_app.get(tag.app as usize).copied().unwrap_or(queue.default_class);
        let (mut rate, mut expected) = (mpdu.rate, Span::ZERO);
        if queue.by_airtime && mpdu.to != To::Broadcast {
            rate = rate_of(medium, from, mpdu.to, mpdu.rate);
            expected = attempt(medium, mpdu.msdu, rate);
        }
        let ac_queue = queue.index_of(mpdu.category);
        let item = Item { since: now, flow, class, rate, expected, tag, mpdu };
        queue.ac_queues[ac_queue].discipline.handle_packet(now, item);
        self.refill(now, medium, from);
    }

    /// A node's MAC may have room for more.
    pub fn refill(&mut self, now: Instant, medium: &mut Medium<F>, node: NodeId) {
        let Some(queue) = self.nodes.get_mut(&node) else { return };
        let mut wakes: Option<Instant> = None;
        for ac_queue in &mut queue.ac_queues {
            let discipline = &mut ac_queue.discipline;
            while ac_queue.below.len() < queue.driver {
                let Some(item) = discipline.poll_packet(now) else {
                    wakes = discipline.poll_deadline(now).into_iter().chain(wakes).min();
                    break;
                };
                let host = item.host();
                let Item { since, class, expected, mpdu, .. } = item;
                let Mpdu { to, msdu: size, rate, .. } = mpdu;
                if matches!(to, To::Node(to) if self.flushed.contains(&to)) {
                    discipline.handle_airtime(now, &AirtimeReport::Sent { host, took: Span::ZERO, expected });
                    self.unsent.push_back(Unsent { from: node, cause: None, frame: mpdu.frame });
                    continue;
                }
                ac_queue.below.push_back(Below { since, class, host, expected, to, size, rate });
                medium.handle_frame(now, node, mpdu);
            }
            while let Some(dropped) = discipline.poll_drop() {
                let (cause, frame) = (Some(dropped.cause), dropped.packet.mpdu.frame);
                self.unsent.push_back(Unsent { from: node, cause, frame });
            }
        }
        if queue.wakes != wakes {
            queue.wakes.take().map(|at| self.wakes.remove(&(at, node)));
            wakes.map(|at| self.wakes.insert((at, node)));
            queue.wakes = wakes;
        }
    }

    /// A packet has left a node's MAC: when it came to the queue. `None` where the node has none. The queue learns what
    /// became of it, and the signal of who it was for, which a node knows from what comes from there.
    pub fn leave(&mut self, now: Instant, medium: &mut Medium<F>, node: NodeId, status: TxStatus) -> Option<Instant> {
        let queue = self.nodes.get_mut(&node)?;
        let by_airtime = queue.by_airtime;
        let ac_queue = queue.index_of(status.category);
        let ac_queue = &mut queue.ac_queues[ac_queue];
        // Those for other receivers may be overtaken by an aggregate.
        let place = ac_queue.below.iter().position(|below| below.to == status.to)?;
        let below = ac_queue.below.remove(place)?;
        if let To::Node(peer) = below.to {
            if by_airtime {
                let took = sent_for(medium, node, &below, status.result);
                let report = AirtimeReport::Sent { host: below.host, took, expected: below.expected };
                ac_queue.discipline.handle_airtime(now, &report);
            }
            let news = [signal(medium, peer, node), Some(news(medium, &below, status.result))];
            for news in news.into_iter().flatten() {
                ac_queue.discipline.handle_feedback(now, &Feedback { class: below.class, news });
            }
        }
        Some(below.since)
    }

    /// A node has received a packet. A receiver knows of the attempt that it received, and not of those before.
    pub fn receive(&mut self, now: Instant, medium: &Medium<F>, node: NodeId, packet: &Received) {
        let Some(queue) = self.nodes.get_mut(&node).filter(|queue| queue.by_airtime) else { return };
        let ac_queue = queue.index_of(packet.category);
        let took = packet.airtime.0 / u64::from(packet.attempts.max(1));
        let took = if medium.config().aggregation.is_some() { took } else { took + medium.config().phy.difs() };
        let report = AirtimeReport::Received { host: packet.station.into(), took };
        queue.ac_queues[ac_queue].discipline.handle_airtime(now, &report);
    }

    /// When [`Self::handle_timeout`] is to be called.
    pub fn poll_deadline(&self) -> Option<Instant> {
        self.wakes.first().map(|&(at, _)| at)
    }

    /// Looks at the queues that have waited for this moment.
    pub fn handle_timeout(&mut self, now: Instant, medium: &mut Medium<F>) {
        while let Some(&(at, node)) = self.wakes.first()
            && at <= now
        {
            self.wakes.remove(&(at, node));
            self.nodes.get_mut(&node).expect("it waits").wakes = None;
            self.refill(now, medium, node);
        }
    }

    /// What was dropped here, in the order in which it was.
    pub fn poll_unsent(&mut self) -> Option<Unsent<F>> {
        self.unsent.pop_front()
    }

    /// What a node's queue holds, without what its MAC has.
    pub fn queue(&self, node: NodeId) -> QueueState {
        let ac_queues = self.nodes.get(&node).into_iter().flat_map(|queue| &queue.ac_queues);
        ac_queues
            .map(|ac_queue| QueueState { packets: ac_queue.discipline.len(), bytes: ac_queue.discipline.bytes() })
            .sum()
    }

    /// Nothing is to be sent to a node any more: what queues hold for it is lost when its turn comes. What a MAC has is the
    /// medium's to give up.
    pub fn flush(&mut self, to: NodeId) {
        self.flushed.insert(to);
    }

    /// A node leaves, with its queue. The medium reports the frames in its MAC.
    pub fn remove(&mut self, node: NodeId) {
        let Some(queue) = self.nodes.remove(&node) else { return };
        queue.wakes.map(|at| self.wakes.remove(&(at, node)));
        for item in queue.ac_queues.into_iter().flat_map(|mut ac_queue| ac_queue.discipline.take_all()) {
            self.unsent.push_back(Unsent { from: node, cause: None, frame: item.mpdu.frame });
        }
    }
}

impl<F> Queue<F> {
    fn index_of(&self, category: AccessCategory) -> usize {
        if self.ac_queues.len() > 1 { category.index() } else { 0 }
    }
}

/// With what signal over noise a node's frames come, where that is known.
fn signal<F>(medium: &mut Medium<F>, from: NodeId, to: NodeId) -> Option<News> {
    let signal = medium.signal(from, to)?;
    Some(News::Signal(signal - medium.noise_floor()))
}

/// Whether a packet of this size is sent after RTS and CTS.
fn is_reserved<F>(medium: &Medium<F>, size: Bytes) -> bool {
    medium.config().rts_threshold.is_some_and(|threshold| size > threshold)
}

/// After how many attempts a packet of this size is given up.
fn retry_limit<F>(medium: &Medium<F>, size: Bytes) -> u32 {
    let config = medium.config();
    if is_reserved(medium, size) { config.long_retry_limit } else { config.short_retry_limit }
}

/// The rate at which a packet is sent: that which the rate control has come to, or the packet's own.
fn rate_of<F>(medium: &Medium<F>, from: NodeId, to: To, own: PhyRate) -> PhyRate {
    let To::Node(to) = to else { return own };
    medium.rate_toward(from, to).unwrap_or(own)
}

/// What one attempt takes, with the inter-frame space before it, in which others are silent too; with EDCA that is a few
/// slots longer.
fn attempt<F>(medium: &Medium<F>, size: Bytes, rate: PhyRate) -> Span {
    let phy = &medium.config().phy;
    let aggregates = medium.config().aggregation.is_some_and(|rules| rules.bytes >= size + size);
    if rate.mode().is_some() && aggregates {
        return in_aggregate(phy, size, rate);
    }
    phy.difs() + phy.exchange(size, rate, is_reserved(medium, size)).0
}

/// What a packet takes as a part of an aggregate, as Linux estimates it (`net/mac80211/airtime.c`): its bits, and a part of
/// an access's overhead that is the smaller the faster the rate is, from a half to a 64th.
fn in_aggregate(phy: &Phy, size: Bytes, rate: PhyRate) -> Span {
    /// By the time on air of a packet of 1,024 bytes, us: the binary logarithm of the frames in an aggregate.
    const AGGREGATES: [(u64, u32); 5] = [(400, 1), (250, 2), (150, 3), (70, 4), (20, 5)];
    let usual_us = rate.bit_rate().time_for(Bytes(1_024)).as_micros();
    let shift = AGGREGATES.iter().find(|&&(us, _)| usual_us > us).map_or(6, |&(_, shift)| shift);
    let overhead = phy.difs() + phy.ppdu(Bytes::ZERO, rate) + phy.sifs() + phy.block_ack(rate, 64);
    rate.bit_rate().time_for(size) + Span::from_nanos(overhead.as_nanos() >> shift)
}

/// What the attempts of a packet took, with the inter-frame space before each: what the medium counted, and of a packet that
/// was given up the retry limit at the last rate.
fn sent_for<F>(medium: &Medium<F>, node: NodeId, below: &Below, result: TxResult) -> Span {
    match result {
        TxResult::Delivered { airtime, .. } if below.rate.mode().is_some() => airtime.0,
        TxResult::Delivered { attempts, airtime } => airtime.0 + medium.config().phy.difs() * u64::from(attempts),
        TxResult::GivenUp => {
            let rate = rate_of(medium, node, below.to, below.rate);
            attempt(medium, below.size, rate) * u64::from(retry_limit(medium, below.size))
        }
        TxResult::Unsent => Span::ZERO,
    }
}

/// The TX status of a packet, from a driver's counts of attempts.
fn news<F>(medium: &Medium<F>, below: &Below, result: TxResult) -> News {
    let config = medium.config();
    let rts = is_reserved(medium, below.size);
    let limit = retry_limit(medium, below.size);
    let (attempts, delivered) = match result {
        TxResult::Delivered { attempts, .. } => (attempts, true),
        TxResult::GivenUp => (limit, false),
        TxResult::Unsent => (0, false),
    };
    let best = *config.phy.standard().rates().last().expect("a standard has rates");
    let took = config.phy.retried_cost(below.size, below.rate, rts, attempts).0;
    let at_best = config.phy.retried_cost(below.size, best, rts, 1).0;
    News::Fate { size: below.size, took, at_best, delivered }
}
