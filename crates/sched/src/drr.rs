//! Deficit round robin: a queue for each flow, which may send a quantum in a round, and keeps the unused part while it has
//! packets.
//!
//! Source: Shreedhar and Varghese, "Efficient Fair Queueing Using Deficit Round Robin", SIGCOMM 1995, with buffer stealing: an
//! arrival when all queues together are at their limit drops the last packet of the longest queue.
//!
//! Bound: while two flows are backlogged, their bytes differ by at most a quantum and two packets of the largest size (the
//! paper's theorem 2 with equal quanta). O(1) for the server if the quantum is no less than a packet; finding a flow's queue,
//! and the longest, takes O(log n) here, and O(n) when a queue loses its only packet to another. Only flows with packets have
//! state. The only bound on delay is a round.

use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Limit};
use minicbor::{Decode, Encode};

use crate::line::{Line, exceeds};
use crate::{Cause, Discipline, Dropped, Packet};

/// Parameters of deficit round robin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct DrrConfig {
    /// Bytes that a flow may send in a round. If a packet is larger, the flow skips rounds.
    #[n(0)]
    pub quantum: Bytes,
    /// Limit of all queues together.
    #[n(1)]
    pub limit: Limit,
}

impl Default for DrrConfig {
    /// A quantum of an Ethernet frame, 100 packets.
    fn default() -> Self {
        Self { quantum: Bytes(1514), limit: Limit::Packets(100) }
    }
}

#[derive(Clone, Debug)]
struct Queue<P> {
    line: Line<P>,
    deficit: u64,
}

/// Queues of flows under deficit round robin.
#[derive(Clone, Debug)]
pub struct Drr<P> {
    config: DrrConfig,
    queues: BTreeMap<u64, Queue<P>>,
    /// Flows with packets, in the order of their turns.
    round: VecDeque<u64>,
    /// Whether the first flow of the round has got its quantum.
    turn_began: bool,
    /// Flows by queue length and key.
    lengths: BTreeSet<(Bytes, u64)>,
    len: usize,
    bytes: Bytes,
    drops: VecDeque<Dropped<P>>,
}

impl<P: Packet> Drr<P> {
    /// No queues yet.
    ///
    /// # Panics
    /// If the quantum is zero.
    pub fn new(config: DrrConfig) -> Self {
        assert!(config.quantum > Bytes::ZERO, "no flow would ever be served");
        Self {
            config,
            queues: BTreeMap::new(),
            round: VecDeque::new(),
            turn_began: false,
            lengths: BTreeSet::new(),
            len: 0,
            bytes: Bytes::ZERO,
            drops: VecDeque::new(),
        }
    }

    /// Changes a queue, and updates its entry in `lengths`.
    fn change<R>(&mut self, key: u64, change: impl FnOnce(&mut Queue<P>) -> R) -> R {
        let queue = self.queues.get_mut(&key).expect("it has packets");
        let (packets, before) = (queue.line.len(), queue.line.bytes());
        let result = change(queue);
        let after = queue.line.bytes();
        self.len = self.len + queue.line.len() - packets;
        self.bytes = self.bytes + after - before;
        if packets > 0 {
            self.lengths.remove(&(before, key));
        }
        if queue.line.is_empty() {
            self.queues.remove(&key);
        } else {
            self.lengths.insert((after, key));
        }
        result
    }

    /// Drops the last packet of the longest queue.
    fn shed(&mut self) {
        let &(_, key) = self.lengths.last().expect("something is held");
        let packet = self.change(key, |queue| queue.line.pop_back()).expect("it has packets");
        self.drops.push_back(Dropped { packet, cause: Cause::Overflow });
        if !self.queues.contains_key(&key) {
            self.turn_began &= self.round.front() != Some(&key);
            self.round.retain(|&other| other != key);
        }
    }
}

impl<P: Packet> Discipline<P> for Drr<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        let key = packet.flow();
        if let Entry::Vacant(queue) = self.queues.entry(key) {
            queue.insert(Queue { line: Line::default(), deficit: 0 });
            self.round.push_back(key);
        }
        self.change(key, |queue| queue.line.push(now, packet));
        while exceeds(self.config.limit, self.len, self.bytes) {
            self.shed();
        }
    }

    fn poll_packet(&mut self, _now: Instant) -> Option<P> {
        loop {
            let key = *self.round.front()?;
            let begins = !core::mem::replace(&mut self.turn_began, true);
            let quantum = if begins { self.config.quantum.0 } else { 0 };
            let queue = self.queues.get_mut(&key).expect("flows of the round have packets");
            queue.deficit += quantum;
            let cost = queue.line.front().expect("and so it is not empty").cost().0;
            if cost > queue.deficit {
                self.turn_began = false;
                self.round.rotate_left(1);
                continue;
            }
            queue.deficit -= cost;
            let (_, packet) = self.change(key, |queue| queue.line.pop()).expect("its head is there");
            if !self.queues.contains_key(&key) {
                self.round.pop_front();
                self.turn_began = false;
            }
            return Some(packet);
        }
    }

    fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.drops.pop_front()
    }

    fn take_all(&mut self) -> Vec<P> {
        let queues = core::mem::take(&mut self.queues);
        self.round.clear();
        self.lengths.clear();
        (self.turn_began, self.len, self.bytes) = (false, 0, Bytes::ZERO);
        queues.into_values().flat_map(|mut queue| queue.line.take_all()).collect()
    }

    fn len(&self) -> usize {
        self.len
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }
}
