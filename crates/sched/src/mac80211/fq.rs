//! The flows of all stations: FQ-CoDel for each station, with a common limit.
//!
//! As in Linux `include/net/fq_impl.h`: a flow hashes to one of the queues, and at the limit the queue with the most bytes,
//! of any station, loses its head. CoDel's state stays with the queue. Here each station has its own queues. In Linux all
//! stations share 4096, and a flow whose queue is in use by another station goes to a default queue of its own station, where
//! later packets of the same flow may overtake it once that queue is free.

use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Limit, mix};

use super::Mac80211Config;
use crate::codel::Codel;
use crate::codel_queue::{self, CodelQueueConfig};
use crate::line::{Line, exceeds};
use crate::{Cause, Dropped, Packet};

/// Bytes that a flow may send in a round of its station's flows (mac80211 `ieee80211_txq_setup_flows`).
const QUANTUM: i64 = 300;

/// Identifies a queue of a station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    host: u64,
    queue: u32,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    line: Line<P>,
    deficit: i64,
}

/// Backlogged flows of a station; new ones have priority.
#[derive(Clone, Debug, Default)]
struct Lists {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: usize,
}

/// The flows of all stations.
#[derive(Clone, Debug)]
pub(super) struct Flows<P> {
    queues: u32,
    seed: u64,
    limit: Limit,
    /// Flows that are in a list of their station.
    flows: BTreeMap<Key, Flow<P>>,
    stations: BTreeMap<u64, Lists>,
    laws: BTreeMap<Key, Codel>,
    /// Queues with packets, by length.
    lengths: BTreeSet<(Bytes, Key)>,
    len: usize,
    bytes: Bytes,
    drops: VecDeque<Dropped<P>>,
}

impl<P: Packet> Flows<P> {
    pub(super) fn new(config: &Mac80211Config) -> Self {
        Self {
            queues: config.queues,
            seed: config.seed,
            limit: config.limit,
            flows: BTreeMap::new(),
            stations: BTreeMap::new(),
            laws: BTreeMap::new(),
            lengths: BTreeSet::new(),
            len: 0,
            bytes: Bytes::ZERO,
            drops: VecDeque::new(),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(super) fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.drops.pop_front()
    }

    /// Whether a station has packets.
    pub(super) fn has(&self, host: u64) -> bool {
        self.stations.get(&host).is_some_and(|lists| lists.packets > 0)
    }

    /// The queue of a flow of a station.
    fn place(&self, host: u64, flow: u64) -> Key {
        // Uniform over all queues, without a division.
        let queue = ((u128::from(mix(flow ^ self.seed)) * u128::from(self.queues)) >> 64) as u32;
        Key { host, queue }
    }

    pub(super) fn push(&mut self, now: Instant, packet: P) {
        let host = packet.host();
        let key = self.place(host, packet.flow());
        if let Entry::Vacant(flow) = self.flows.entry(key) {
            flow.insert(Flow { line: Line::default(), deficit: QUANTUM });
            self.stations.entry(host).or_default().new.push_back(key.queue);
        }
        self.change(key, |line| line.push(now, packet));
        while exceeds(self.limit, self.len, self.bytes) {
            let &(_, longest) = self.lengths.last().expect("something is held");
            let (_, packet) = self.change(longest, Line::pop).expect("it has packets");
            self.drops.push_back(Dropped { packet, cause: Cause::Overflow });
        }
    }

    /// The next packet of a station, after its CoDel.
    pub(super) fn pop(&mut self, now: Instant, host: u64, config: &CodelQueueConfig) -> Option<P> {
        loop {
            let lists = self.stations.get_mut(&host)?;
            let is_new = !lists.new.is_empty();
            let list = if is_new { &mut lists.new } else { &mut lists.old };
            let queue = *list.front()?;
            let key = Key { host, queue };
            let flow = self.flows.get_mut(&key).expect("flows of the lists are kept");
            if flow.deficit <= 0 {
                flow.deficit += QUANTUM;
                list.pop_front();
                lists.old.push_back(queue);
                continue;
            }
            if let Some(packet) = self.pop_from(now, key, config) {
                let flow = self.flows.get_mut(&key).expect("it is in a list");
                flow.deficit -= packet.size().0 as i64;
                return Some(packet);
            }
            self.retire(key, is_new);
        }
    }

    fn pop_from(&mut self, now: Instant, key: Key, config: &CodelQueueConfig) -> Option<P> {
        let mut law = self.laws.get(&key).copied().unwrap_or_default();
        let mut drops = core::mem::take(&mut self.drops);
        let packet = self.change(key, |line| codel_queue::pop(&mut law, config, now, line, &mut drops));
        self.drops = drops;
        self.laws.insert(key, law);
        packet
    }

    /// Takes an empty flow off the head of its list. A new one waits for a round of the old ones, so that it is not new again
    /// at once.
    fn retire(&mut self, key: Key, is_new: bool) {
        let lists = self.stations.get_mut(&key.host).expect("its station has lists");
        let list = if is_new { &mut lists.new } else { &mut lists.old };
        list.pop_front();
        if is_new && !lists.old.is_empty() {
            lists.old.push_back(key.queue);
            return;
        }
        self.flows.remove(&key);
    }

    /// Changes a queue, and updates lengths and totals.
    fn change<R>(&mut self, key: Key, change: impl FnOnce(&mut Line<P>) -> R) -> R {
        let line = &mut self.flows.get_mut(&key).expect("the flow is in a list").line;
        let (packets, before) = (line.len(), line.bytes());
        let result = change(line);
        let lists = self.stations.get_mut(&key.host).expect("its station has lists");
        lists.packets = lists.packets + line.len() - packets;
        self.len = self.len + line.len() - packets;
        self.bytes = self.bytes + line.bytes() - before;
        self.lengths.remove(&(before, key));
        if !line.is_empty() {
            self.lengths.insert((line.bytes(), key));
        }
        result
    }

    pub(super) fn take_all(&mut self) -> Vec<P> {
        (self.len, self.bytes) = (0, Bytes::ZERO);
        self.stations.clear();
        self.lengths.clear();
        core::mem::take(&mut self.flows).into_values().flat_map(|mut flow| flow.line.take_all()).collect()
    }
}
