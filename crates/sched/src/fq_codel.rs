//! FQ-CoDel: flows hashed to queues, deficit round robin between these, CoDel inside each.
//!
//! A queue that becomes active is *new* and has priority over the *old* ones until it has used one quantum, so that sparse
//! flows (calls, DNS, the start of a page) see almost no queue. A queue that has used its quantum goes to the end of the old
//! ones; so does a new one that runs empty, so that it cannot stay new by sending sparsely on purpose.
//!
//! Source: RFC 8290; drops at the limit follow its section 4.1: half of the queue with the most bytes, at most 64 packets, from
//! its head.
//!
//! Bound: backlogged queues get equal bytes, to within a quantum and a packet in each round. Flows with the same hash share
//! one queue; the seed decides which. No weights.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Limit, mix};
use minicbor::{Decode, Encode};

use crate::codel::Codel;
use crate::codel_queue;
use crate::line::{Line, exceeds};
use crate::{Cause, CodelQueueConfig, Discipline, Dropped, Packet};

/// Maximum number of packets dropped at once (RFC 8290, 4.1).
const DROP_BATCH: usize = 64;

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct FqCodelConfig {
    /// CoDel of each queue; by default it marks (RFC 8290, 5.2.6).
    #[n(0)]
    pub codel: CodelQueueConfig,
    /// Number of queues; 1024 (RFC 8290, 5.2.3).
    #[n(1)]
    pub flows: u32,
    /// Bytes that a queue may send in a round; 1514 (RFC 8290, 5.2.4).
    #[n(2)]
    pub quantum: Bytes,
    /// Limit of all queues together; 10240 packets (RFC 8290, 5.2.1).
    #[n(3)]
    pub limit: Limit,
    /// Seed of the hash that assigns flows to queues.
    #[n(4)]
    pub seed: u64,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        Self {
            codel: CodelQueueConfig { ecn: true, ..CodelQueueConfig::default() },
            flows: 1024,
            quantum: Bytes(1514),
            limit: Limit::Packets(10_240),
            seed: 0,
        }
    }
}

#[derive(Clone, Debug)]
struct Flow<P> {
    line: Line<P>,
    codel: Codel,
    deficit: i64,
    /// Whether it is in one of the two lists.
    active: bool,
}

/// Queues of flows under FQ-CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    config: FqCodelConfig,
    flows: Box<[Flow<P>]>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    len: usize,
    bytes: Bytes,
    drops: VecDeque<Dropped<P>>,
}

impl<P: Packet> FqCodel<P> {
    /// Empty queues.
    ///
    /// # Panics
    /// If the number of queues or the quantum is zero.
    pub fn new(config: FqCodelConfig) -> Self {
        assert!(config.flows > 0 && config.quantum > Bytes::ZERO, "no queue would ever be served");
        let flow = |_| Flow { line: Line::default(), codel: Codel::default(), deficit: 0, active: false };
        Self {
            flows: (0..config.flows).map(flow).collect(),
            config,
            new: VecDeque::new(),
            old: VecDeque::new(),
            len: 0,
            bytes: Bytes::ZERO,
            drops: VecDeque::new(),
        }
    }

    /// The queue of a flow.
    fn place(&self, flow: u64) -> u32 {
        // Uniform over all queues, without a division.
        ((u128::from(mix(flow ^ self.config.seed)) * u128::from(self.config.flows)) >> 64) as u32
    }

    fn quantum(&self) -> i64 {
        self.config.quantum.0 as i64
    }

    /// Drops from the head of the longest queue.
    fn shed(&mut self) {
        let longest = (0..self.flows.len()).max_by_key(|&flow| self.flows[flow].line.bytes());
        let line = &mut self.flows[longest.expect("there are queues")].line;
        for _ in 0..line.len().div_ceil(2).min(DROP_BATCH) {
            let (_, packet) = line.pop().expect("it is that long");
            self.len -= 1;
            self.bytes = self.bytes - packet.size();
            self.drops.push_back(Dropped { packet, cause: Cause::Overflow });
        }
    }

    /// The next queue to serve, and whether it is a new one. Queues that have used their quantum go behind the others.
    fn turn(&mut self) -> Option<(u32, bool)> {
        let quantum = self.quantum();
        loop {
            let (list, is_new) = if self.new.is_empty() { (&mut self.old, false) } else { (&mut self.new, true) };
            let place = *list.front()?;
            let flow = &mut self.flows[place as usize];
            if flow.deficit > 0 {
                return Some((place, is_new));
            }
            flow.deficit += quantum;
            list.pop_front();
            self.old.push_back(place);
        }
    }
}

impl<P: Packet> Discipline<P> for FqCodel<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        let place = self.place(packet.flow());
        let quantum = self.quantum();
        let flow = &mut self.flows[place as usize];
        if !flow.active {
            (flow.active, flow.deficit) = (true, quantum);
            self.new.push_back(place);
        }
        self.len += 1;
        self.bytes += packet.size();
        flow.line.push(now, packet);
        while exceeds(self.config.limit, self.len, self.bytes) {
            self.shed();
        }
    }

    fn poll_packet(&mut self, now: Instant) -> Option<P> {
        loop {
            let (place, is_new) = self.turn()?;
            let flow = &mut self.flows[place as usize];
            let (packets, bytes) = (flow.line.len(), flow.line.bytes());
            let Flow { codel, line, .. } = flow;
            let packet = codel_queue::pop(codel, &self.config.codel, now, line, &mut self.drops);
            self.len -= packets - flow.line.len();
            self.bytes = self.bytes - (bytes - flow.line.bytes());
            if let Some(packet) = packet {
                flow.deficit -= packet.cost().0 as i64;
                return Some(packet);
            }
            // It is empty: a new one stays among the old ones for a round, an old one becomes inactive.
            if is_new {
                self.new.pop_front();
                self.old.push_back(place);
            } else {
                self.old.pop_front();
                flow.active = false;
            }
        }
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
