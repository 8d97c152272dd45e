//! One tin of CAKE, without its shaper: equal shares for hosts, equal shares for the flows of a host, priority for sparse
//! flows, COBALT in each flow's queue.
//!
//! - Flows find their queues in a set-associative table (`ways`): few share a queue, unlike the random collisions of FQ-CoDel.
//! - DRR++: a new flow has priority until it has used a quantum, and then joins the round robin of backlogged flows; an empty
//!   flow keeps its state until its COBALT state has decayed (*decaying*), so that it cannot escape by pausing.
//! - A flow's quantum in a round is divided by the number of backlogged flows of its host, so that hosts get equal bytes
//!   regardless of their number of flows.
//! - When all queues together are full, the head of the longest is dropped.
//!
//! Source: Høiland-Jørgensen, Täht, Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways", IEEE
//! LANMAN 2018, and the behaviour of Linux' `sch_cake`. The host is the one on the WLAN side of the bottleneck, a station
//! (`dual-dsthost`, `dual-srchost`).
//!
//! Not here: the shaper and the tins by DSCP (the caller decides how much is sent, and which packets bypass it), the ACK filter
//! (also off by default in Linux), hosts on the far side.

mod cobalt;
mod ways;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Limit, Rng, Streams};
use minicbor::{Decode, Encode};

use crate::codel::CodelConfig;
use crate::line::{Line, exceeds};
use crate::{Cause, Discipline, Dropped, Packet};

use cobalt::Cobalt;
use ways::Ways;

/// Fractions of a byte in which deficits are kept, so that a quantum can be divided among many flows.
const PARTS: i64 = 1 << 16;

/// Parameters of CAKE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct CakeConfig {
    /// Control law of each queue; 5 and 100 ms.
    #[n(0)]
    pub codel: CodelConfig,
    /// Number of queues, and of host entries; 1024.
    #[n(1)]
    pub queues: u32,
    /// Bytes that a host may send in a round; 1514.
    #[n(2)]
    pub quantum: Bytes,
    /// Limit of all queues together; 4 MiB.
    #[n(3)]
    pub limit: Limit,
    /// Seed of the hash that assigns flows to queues, and of the drops of unresponsive flows.
    #[n(4)]
    pub seed: u64,
}

impl Default for CakeConfig {
    fn default() -> Self {
        Self {
            codel: CodelConfig::RFC,
            queues: 1024,
            quantum: Bytes(1514),
            limit: Limit::Bytes(Bytes(4 << 20)),
            seed: 0,
        }
    }
}

/// The state of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No state.
    #[default]
    Absent,
    /// In the list of new flows, within its first quantum.
    Sparse,
    /// In the round, but without a packet in its last turn.
    Paused,
    /// In the round, backlogged.
    Bulk,
    /// Empty, until its COBALT state has decayed.
    Decaying,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    line: Line<P>,
    cobalt: Cobalt,
    deficit: i64,
    stage: Stage,
    /// Whether it has an entry in the list of decaying flows, possibly a stale one.
    is_listed_decaying: bool,
    host: u32,
}

/// A host with known flows.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    flows: u32,
    bulk: u32,
}

/// The list that a flow was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    New,
    Old,
    Decaying,
}

/// Queues of flows under CAKE.
#[derive(Clone, Debug)]
pub struct Cake<P> {
    config: CakeConfig,
    flows: Box<[Flow<P>]>,
    hosts: Box<[Host]>,
    flow_ways: Ways,
    host_ways: Ways,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    decaying: VecDeque<u32>,
    rng: Rng,
    len: usize,
    bytes: Bytes,
    drops: VecDeque<Dropped<P>>,
}

impl<P: Packet> Cake<P> {
    /// Empty queues.
    ///
    /// # Panics
    /// If there are no queues, or a quantum of nothing.
    pub fn new(config: CakeConfig) -> Self {
        assert!(config.queues > 0 && config.quantum > Bytes::ZERO, "no queue would ever be served");
        let streams = Streams::new(config.seed);
        let table = |name| Ways::new(config.queues as usize, streams.stream(name).next_u64());
        let flow = |_| Flow {
            line: Line::default(),
            cobalt: Cobalt::default(),
            deficit: 0,
            stage: Stage::Absent,
            is_listed_decaying: false,
            host: 0,
        };
        Self {
            flows: (0..config.queues).map(flow).collect(),
            hosts: (0..config.queues).map(|_| Host::default()).collect(),
            flow_ways: table("flows"),
            host_ways: table("hosts"),
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            rng: streams.stream("loss"),
            len: 0,
            bytes: Bytes::ZERO,
            drops: VecDeque::new(),
            config,
        }
    }

    /// A flow's share of its host's quantum.
    fn quantum(&self, place: u32) -> i64 {
        let host = &self.hosts[self.flows[place as usize].host as usize];
        (self.config.quantum.0 as i64 * PARTS / i64::from(host.bulk.max(1))).max(1)
    }

    /// Moves a flow to a stage, and updates the host's counts.
    fn set_stage(&mut self, place: u32, stage: Stage) {
        let flow = &mut self.flows[place as usize];
        let host = &mut self.hosts[flow.host as usize];
        host.flows -= u32::from(flow.stage != Stage::Absent);
        host.bulk -= u32::from(flow.stage == Stage::Bulk);
        host.flows += u32::from(stage != Stage::Absent);
        host.bulk += u32::from(stage == Stage::Bulk);
        flow.stage = stage;
    }

    /// The queue of a packet's flow, which takes part in the round from now on.
    fn wake(&mut self, packet: &P) -> u32 {
        let flows = &self.flows;
        let place = self.flow_ways.place(packet.flow(), |place| flows[place].stage != Stage::Absent) as u32;
        match self.flows[place as usize].stage {
            Stage::Absent | Stage::Decaying => {
                self.set_stage(place, Stage::Absent);
                let hosts = &self.hosts;
                let host = self.host_ways.place(packet.host(), |place| hosts[place].flows > 0);
                self.flows[place as usize].host = host as u32;
                self.set_stage(place, Stage::Sparse);
                self.flows[place as usize].deficit = self.quantum(place);
                self.new.push_back(place);
            }
            Stage::Paused => self.set_stage(place, Stage::Bulk),
            Stage::Sparse | Stage::Bulk => {}
        }
        place
    }

    /// Drops the head of the longest queue.
    fn shed(&mut self, now: Instant) {
        let backlogged = self.new.iter().chain(&self.old).copied();
        let longest = backlogged.max_by_key(|&place| self.flows[place as usize].line.bytes());
        let flow = &mut self.flows[longest.expect("more is held than is allowed") as usize];
        let (_, packet) = flow.line.pop().expect("it is the longest");
        flow.cobalt.note_overflow(now, &self.config.codel);
        self.forget(packet, Cause::Overflow);
    }

    fn forget(&mut self, packet: P, cause: Cause) {
        self.len -= 1;
        self.bytes = self.bytes - packet.size();
        self.drops.push_back(Dropped { packet, cause });
    }

    /// The next flow to serve. With `with_decaying` first a decaying one, which costs no turn.
    fn next(&mut self, with_decaying: bool) -> Option<(List, u32)> {
        while with_decaying && let Some(place) = self.decaying.pop_front() {
            let flow = &mut self.flows[place as usize];
            flow.is_listed_decaying = false;
            if flow.stage == Stage::Decaying {
                return Some((List::Decaying, place));
            }
        }
        let place = |list: List| move |&place: &u32| (list, place);
        self.new.front().map(place(List::New)).or_else(|| self.old.front().map(place(List::Old)))
    }

    fn unlist(&mut self, list: List) {
        match list {
            List::New => self.new.pop_front(),
            List::Old => self.old.pop_front(),
            List::Decaying => None,
        };
    }

    /// Gives a flow that has used its quantum the next one, and moves it to the end of the round.
    fn rotate(&mut self, list: List, place: u32) {
        let flow = &self.flows[place as usize];
        match (flow.stage, flow.line.is_empty()) {
            (Stage::Sparse, true) => self.set_stage(place, Stage::Paused),
            (Stage::Sparse, false) => self.set_stage(place, Stage::Bulk),
            _ => {}
        }
        let quantum = self.quantum(place);
        self.flows[place as usize].deficit += quantum;
        self.unlist(list);
        self.old.push_back(place);
    }

    /// Takes a flow without packets out of the round.
    fn rest(&mut self, now: Instant, list: List, place: u32) {
        self.unlist(list);
        let flow = &mut self.flows[place as usize];
        flow.cobalt.note_empty(now, &self.config.codel);
        if flow.cobalt.is_at_rest(now) {
            return self.set_stage(place, Stage::Absent);
        }
        if !flow.is_listed_decaying {
            flow.is_listed_decaying = true;
            self.decaying.push_back(place);
        }
        self.set_stage(place, Stage::Decaying);
    }

    /// The next packet of a flow to send; signalled ones before it are dropped.
    fn take(&mut self, now: Instant, place: u32) -> Option<P> {
        loop {
            let flow = &mut self.flows[place as usize];
            let (since, mut packet) = flow.line.pop()?;
            let is_last = flow.line.is_empty();
            let sojourn = now.saturating_since(since);
            let unmarked = flow.cobalt.signals(now, sojourn, &self.config.codel) && !packet.mark();
            let drops = flow.cobalt.drops(now, unmarked, &self.config.codel, &mut self.rng);
            if is_last || !drops {
                self.len -= 1;
                self.bytes = self.bytes - packet.size();
                return Some(packet);
            }
            self.forget(packet, Cause::Delay);
        }
    }
}

impl<P: Packet> Discipline<P> for Cake<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        let place = self.wake(&packet);
        self.len += 1;
        self.bytes += packet.size();
        self.flows[place as usize].line.push(now, packet);
        while exceeds(self.config.limit, self.len, self.bytes) {
            self.shed(now);
        }
    }

    fn poll_packet(&mut self, now: Instant) -> Option<P> {
        let mut with_decaying = true;
        while self.len > 0 {
            let (list, place) = self.next(with_decaying)?;
            with_decaying = false;
            if list != List::Decaying && self.flows[place as usize].deficit <= 0 {
                self.rotate(list, place);
            } else if let Some(packet) = self.take(now, place) {
                self.flows[place as usize].deficit -= packet.cost().0 as i64 * PARTS;
                return Some(packet);
            } else {
                self.rest(now, list, place);
            }
        }
        None
    }

    fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.drops.pop_front()
    }

    fn take_all(&mut self) -> Vec<P> {
        (self.len, self.bytes) = (0, Bytes::ZERO);
        self.flows.iter_mut().flat_map(|flow| flow.line.take_all()).collect()
    }

    fn len(&self) -> usize {
        self.len
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }
}
