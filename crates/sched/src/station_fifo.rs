//! A drop-tail queue for each station, served round robin by packet, as in Linux drivers such as ath9k before the
//! intermediate queues of mac80211 (2016).
//!
//! A station has its own limit, so that no station fills the buffer of another. Each gets one access in its turn, whatever
//! its airtime: without aggregation backlogged stations get equal packets, and the airtime of a packet of the slowest
//! determines the throughput of all (Heusse et al., "Performance Anomaly of 802.11b", INFOCOM 2003).
//!
//! Bound: between two packets of a backlogged station every other station sends at most one. O(log n) to find a station's
//! queue. Not here: flows within a station, any control of queue lengths.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Limit};

use crate::line::Line;
use crate::{Discipline, Dropped, Packet};

/// Drop-tail queues of stations, which take turns.
#[derive(Clone, Debug)]
pub struct StationFifo<P> {
    limit: Limit,
    /// Queues of stations with packets.
    lines: BTreeMap<u64, Line<P>>,
    /// The same stations in the order of their turns.
    ring: VecDeque<u64>,
    len: usize,
    bytes: Bytes,
    drops: VecDeque<Dropped<P>>,
}

impl<P> StationFifo<P> {
    /// No queues; each station's will have this limit.
    pub fn new(limit: Limit) -> Self {
        Self {
            limit,
            lines: BTreeMap::new(),
            ring: VecDeque::new(),
            len: 0,
            bytes: Bytes::ZERO,
            drops: VecDeque::new(),
        }
    }
}

impl<P: Packet> Discipline<P> for StationFifo<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        let (host, size) = (packet.host(), packet.size());
        let line = self.lines.entry(host).or_default();
        let was_empty = line.is_empty();
        let held = line.len();
        line.push_within(self.limit, now, packet, &mut self.drops);
        if line.len() > held {
            (self.len, self.bytes) = (self.len + 1, self.bytes + size);
            if was_empty {
                self.ring.push_back(host);
            }
        } else if was_empty {
            self.lines.remove(&host);
        }
    }

    fn poll_packet(&mut self, _now: Instant) -> Option<P> {
        let host = self.ring.pop_front()?;
        let line = self.lines.get_mut(&host).expect("stations of the ring have packets");
        let (_, packet) = line.pop().expect("and so it is not empty");
        if line.is_empty() {
            self.lines.remove(&host);
        } else {
            self.ring.push_back(host);
        }
        (self.len, self.bytes) = (self.len - 1, self.bytes - packet.size());
        Some(packet)
    }

    fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.drops.pop_front()
    }

    fn take_all(&mut self) -> Vec<P> {
        (self.len, self.bytes) = (0, Bytes::ZERO);
        self.ring.clear();
        core::mem::take(&mut self.lines).into_values().flat_map(|mut line| line.take_all()).collect()
    }

    fn len(&self) -> usize {
        self.len
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }
}
