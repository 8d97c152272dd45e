//! LAS-ACK: least attained service over both directions of a TCP connection.
//!
//! A packet's priority is the volume that its connection has transferred so far: the packets that this queue accepted, and
//! the data of the other direction that its ACKs report. So short connections have priority, downloads and uploads alike,
//! without knowledge of their length. Equal volumes are served in the order of arrival.
//!
//! Source: Heusse, Urvoy-Keller, Duda, "An Experimental Comparison of Layer 2 and 3 Mechanisms for Improving User Perceived
//! Performance of 802.11 Wireless LANs", Institut Eurecom RR-08-220, 2008. There a full queue drops its tail, which may mean
//! the arriving packet ([`Overflow::TailDrop`]) or the last packet in the order of service, of the connection served most
//! ([`Overflow::MostServed`]). Only with the second are losses as published (`evenair reproduce las01`).
//!
//! Extensions:
//! - If both directions of a connection pass here, its volume counts once: ACKs of data that passed here add nothing.
//! - A connection is forgotten after an idle time or, at the maximum number of connections, if it has been idle longer than
//!   others; never while it has packets here.
//! - Against starvation, of which the authors warn if sizes vary little: each n-th packet is the one that has waited longest
//!   ([`LasAckConfig::floor`]). A packet behind k others then waits for at most n (k + 1) services, unless it is dropped.
//!
//! Finding a connection, and the next packet, takes O(log n).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Limit, Span};
use minicbor::{Decode, Encode};

use crate::line::exceeds;
use crate::{Cause, Discipline, Dropped, Packet, Progress};

/// Connections checked for expiry at each arrival. Two, so that the list shrinks even if every packet opens a connection.
const LOOKS: usize = 2;
/// Maximum number of checks for an expired connection at the limit; after these a recently idle one is forgotten.
const SEARCH: usize = 64;

/// Parameters of LAS-ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct LasAckConfig {
    /// Limit of the queue.
    #[n(0)]
    pub limit: Limit,
    /// What to drop when it is full.
    #[n(1)]
    pub overflow: Overflow,
    /// Each n-th packet sent is the one that has waited longest; `None`: disabled, as published.
    #[n(2)]
    pub floor: Option<u32>,
    /// Idle time after which a connection is forgotten.
    #[n(3)]
    pub expire: Span,
    /// Maximum number of known connections, in addition to those with packets here.
    #[n(4)]
    pub connections: u32,
}

/// What to drop when the queue is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum Overflow {
    /// The arriving packet.
    #[n(0)]
    TailDrop,
    /// The last packet of the connection that has been served most; possibly the arriving one.
    #[n(1)]
    MostServed,
}

impl Default for LasAckConfig {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(100),
            overflow: Overflow::MostServed,
            floor: None,
            expire: Span::from_secs(60),
            connections: 1_000_000,
        }
    }
}

/// State of a connection.
#[derive(Clone, Debug, Default)]
struct Connection {
    volume: u64,
    /// Last acknowledgment number, by direction of the acknowledged data.
    acked: [Option<u32>; 2],
    /// Whether data of each direction passes here, so that its ACKs add nothing.
    passes: [bool; 2],
    /// Number of its packets here.
    held: u32,
    seen: Instant,
}

/// Position in the queue: volume of the connection at arrival, and arrival number.
type Place = (u64, u64);

/// A queue under LAS-ACK.
#[derive(Clone, Debug)]
pub struct LasAck<P> {
    config: LasAckConfig,
    connections: BTreeMap<u64, Connection>,
    /// Each connection once, with the time when it was last seen at its insertion here.
    watched: VecDeque<(Instant, u64)>,
    queue: BTreeMap<Place, P>,
    /// Volume by arrival number. Kept only with a floor.
    arrivals: BTreeMap<u64, u64>,
    arrived: u64,
    sent: u64,
    bytes: Bytes,
    drops: VecDeque<Dropped<P>>,
}

impl Connection {
    /// Adds the progress of the other direction. Numbers wrap around; those that go back are ignored.
    fn learn(&mut self, progress: Progress) {
        let (forth, back) = (usize::from(progress.forth), usize::from(!progress.forth));
        if progress.opens && self.held == 0 {
            *self = Self { seen: self.seen, ..Self::default() };
        }
        self.passes[forth] |= progress.has_data;
        let Some(ack) = progress.ack else { return };
        let new = self.acked[back].map_or(0, |last| ack.wrapping_sub(last));
        if new < 1 << 31 {
            self.acked[back] = Some(ack);
            self.volume += if self.passes[back] { 0 } else { u64::from(new) };
        }
    }
}

impl<P: Packet> LasAck<P> {
    /// An empty queue without known connections.
    pub fn new(config: LasAckConfig) -> Self {
        Self {
            config,
            connections: BTreeMap::new(),
            watched: VecDeque::new(),
            queue: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            arrived: 0,
            sent: 0,
            bytes: Bytes::ZERO,
            drops: VecDeque::new(),
        }
    }

    /// Number of known connections.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Volume of a connection, if it is known.
    pub fn volume(&self, connection: u64) -> Option<Bytes> {
        self.connections.get(&connection).map(|known| Bytes(known.volume))
    }

    /// Forgets expired connections.
    fn expire(&mut self, now: Instant) {
        for _ in 0..LOOKS {
            let Some(&(_, key)) = self.watched.front() else { return };
            let known = &self.connections[&key];
            if known.held == 0 && now.saturating_since(known.seen) >= self.config.expire {
                self.watched.pop_front();
                self.connections.remove(&key);
            } else if now.saturating_since(self.watched[0].0) >= self.config.expire {
                self.watched.pop_front();
                self.watched.push_back((known.seen, key));
            } else {
                return;
            }
        }
    }

    /// Forgets one connection: the first checked one that was not seen since its insertion, or else the one that has been
    /// idle longest.
    fn forget_one(&mut self) {
        let mut silent: Option<(Instant, u64)> = None;
        for _ in 0..SEARCH.min(self.watched.len()) {
            let (then, key) = self.watched.pop_front().expect("there are that many");
            let known = &self.connections[&key];
            if known.held == 0 && known.seen == then {
                self.connections.remove(&key);
                return;
            }
            self.watched.push_back((known.seen, key));
            if known.held == 0 && silent.is_none_or(|(seen, _)| known.seen < seen) {
                silent = Some((known.seen, key));
            }
        }
        if let Some((_, key)) = silent {
            self.connections.remove(&key);
            let at = self.watched.iter().rposition(|&(_, other)| other == key).expect("it was just put there");
            self.watched.remove(at);
        }
    }

    /// Removes the packet at a position.
    fn remove(&mut self, place: Place) -> P {
        let packet = self.queue.remove(&place).expect("it is there");
        self.arrivals.remove(&place.1);
        self.bytes = self.bytes - packet.size();
        let known = self.connections.get_mut(&packet.connection()).expect("it has packets here");
        known.held -= 1;
        packet
    }
}

impl<P: Packet> Discipline<P> for LasAck<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        self.expire(now);
        let (key, size) = (packet.connection(), packet.size());
        let is_full = !self.config.limit.admits(self.queue.len(), self.bytes, size);
        if is_full && self.config.overflow == Overflow::TailDrop {
            return self.drops.push_back(Dropped { packet, cause: Cause::Overflow });
        }
        if !self.connections.contains_key(&key) {
            if self.connections.len() >= self.config.connections as usize {
                self.forget_one();
            }
            self.connections.insert(key, Connection::default());
            self.watched.push_back((now, key));
        }
        let known = self.connections.get_mut(&key).expect("it was made if it was not there");
        known.seen = now;
        if let Some(progress) = packet.progress() {
            known.learn(progress);
        }
        let place = (known.volume, self.arrived);
        known.volume += size.0;
        known.held += 1;
        self.arrived += 1;
        self.bytes += size;
        self.queue.insert(place, packet);
        if self.config.floor.is_some() {
            self.arrivals.insert(place.1, place.0);
        }
        while exceeds(self.config.limit, self.queue.len(), self.bytes) {
            let (&most, _) = self.queue.last_key_value().expect("more is held than nothing");
            let packet = self.remove(most);
            // It was not served, but the data that it acknowledged count.
            self.connections.get_mut(&packet.connection()).expect("it had packets here").volume -= packet.size().0;
            self.drops.push_back(Dropped { packet, cause: Cause::Overflow });
        }
    }

    fn poll_packet(&mut self, _now: Instant) -> Option<P> {
        let (&least, _) = self.queue.first_key_value()?;
        self.sent += 1;
        let is_oldest = self.config.floor.is_some_and(|n| self.sent.is_multiple_of(u64::from(n)));
        let oldest = self.arrivals.first_key_value().filter(|_| is_oldest);
        let place = oldest.map_or(least, |(&arrived, &volume)| (volume, arrived));
        Some(self.remove(place))
    }

    fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.drops.pop_front()
    }

    fn take_all(&mut self) -> Vec<P> {
        let places: Vec<Place> = self.queue.keys().copied().collect();
        places.into_iter().map(|place| self.remove(place)).collect()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }
}
