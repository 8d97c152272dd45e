//! Flows, of TCP and of other protocols: their table, and the direction of their data.
//!
//! The table is a search tree and not a hash table: its cost is bounded whatever addresses an attacker makes up, and
//! it needs no secret. An index in front of it (`index`) answers most lookups at less cost. Connections are kept in
//! the order of use; the least recently used is evicted first. A connection with held packets is not evicted.

mod answers;
pub(crate) mod datagrams;
pub(crate) mod recency;
pub(crate) mod tcp;
mod watched;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::hint::black_box;
use core::net::IpAddr;

use evenair_packet::{FlowKey, MacAddr, PacketMeta, Port, TcpFlags, TcpMeta, Vlan};
use evenair_sched::NodeId;
use evenair_units::{Bytes, Instant, Limit, Span};

use crate::held::Tags;
use crate::ids::{DOWN, Direction, DomainId, FlowId, StationId, UP};
use crate::index::{self, Index};
use crate::packet_cost::{Charge, PacketCost, Packets};
use crate::queues::classes::PolicyNode;
use crate::receiver::FlowReceiver;
use crate::uplink::Released;
use crate::voice::Talk;
use answers::Answers;
use datagrams::{Unconfirmed, Uplink};
use recency::{Look, Recency};
use tcp::Tcp;
use watched::Watched;

/// Idle time after which a flow is forgotten. This does no harm: a later packet is taken up in the middle.
const FLOW_IDLE: Span = Span::from_secs(120);
/// Flows forgotten at once, at most, so that no tick takes long.
const EXPIRED_AT_ONCE: usize = 1024;
/// IP-level bytes at which both volumes of a flow are halved, so that a change of its direction is noticed.
const VOLUME_MEMORY: u64 = 1 << 20;
/// The direction changes when the other volume is this many times as large; so a flow that sends as much either way does not alternate
/// between queues.
const TURN_FACTOR: u64 = 2;
/// A flow without TCP's acknowledgments is a conversation, whose ways do not acknowledge each other, if the smaller volume is at least
/// this part of the larger one. The acknowledgments of a transfer over QUIC, at most one of 80 bytes for each packet, are a sixteenth.
const CONVERSATION: u64 = 8;

/// A flow's key: the same addresses may be in use in several VLANs, and a connection between two stations that a router on the wired side
/// joins crosses the box twice, once for each of its ends on the WLAN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) vlan: Option<Vlan>,
    pub(crate) flow: FlowKey,
    pub(crate) low_is_station: bool,
}

/// Whether its station has answered a flow, by any packet of it other than a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Not answered; packets that have come from the wire.
    None(u8),
    /// Not answered, but one of the few unanswered flows with a queue of its own: a stream in one direction.
    OneWay,
    /// Answered.
    Given,
}

/// Packets after which an unanswered flow counts as a stream, and not as part of a flood of first packets.
const PERSISTENT: u8 = 4;
/// Unanswered streams of a station with queues of their own, at most.
pub(crate) const ONE_WAY: u32 = 8;

impl Key {
    /// The key of a packet's flow.
    pub(crate) fn of(meta: &PacketMeta) -> Self {
        let (flow, forward) = meta.flow();
        Self { vlan: meta.vlan, flow, low_is_station: forward == (meta.ingress == Port::Wlan) }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) key: Key,
    /// A number that is never used again.
    pub(crate) serial: u64,
    pub(crate) station: StationId,
    /// The destination, as long as it is the address of an unheard station.
    pub(crate) unheard: Option<MacAddr>,
    /// The contention domain whose medium it waits for.
    pub(crate) domain: DomainId,
    /// Whether its station has answered it.
    pub(crate) answer: Answer,
    /// The direction by which it is queued.
    pub(crate) direction: Direction,
    /// The direction inferred from its packets.
    pub(crate) leaning: Direction,
    /// Its node in the operator's policy, as determined when `placed_at` was set.
    pub(crate) place: PolicyNode,
    pub(crate) placed_at: Option<u32>,
    /// The code point that determines its class, and the latest one seen in the direction of its data.
    pub(crate) dscp: u8,
    pub(crate) latest_dscp: u8,
    /// State of TCP flows.
    pub(crate) tcp: Tcp,
    pub(crate) answers: Answers,
    /// Releases whose arrival is unconfirmed: detects losses behind the box.
    pub(crate) in_doubt: Released,
    /// State of flows of other protocols.
    pub(crate) uplink: Uplink,
    pub(crate) unconfirmed: Unconfirmed,
    /// Its queue in the policy's tree.
    pub(crate) leaf: Option<NodeId>,
    /// Its identity for a discipline in the tree's place, constant while that holds packets of it.
    pub(crate) tags: Option<Tags>,
    /// Bytes by which its releases so far cost more, or less, than was charged to a discipline. Charged to its next packet.
    uncharged: i64,
    /// Packets held for the WLAN.
    pub(crate) held: u32,
    /// Whether its far end is beyond the Internet link; its queue before that link, by direction.
    pub(crate) beyond: bool,
    pub(crate) links: [OnLink; 2],
    /// Detection of calls; for UDP, once enabled.
    pub(crate) talk: Option<Box<Talk>>,
    /// Receiver control: its windows and held ACKs.
    pub(crate) receiver: FlowReceiver,
    /// Flow statistics.
    pub(crate) watched: Watched,
    pub(crate) released: Bytes,
    pub(crate) from_wlan: Bytes,
    pub(crate) dropped: u64,
    /// A congestion signal is pending for an upload with a standing queue: its next new DATA packet is dropped or CE-marked, unless the
    /// queue has gone by then.
    pub(crate) ce_pending: bool,
    /// Duplicate ACKs that its newest held packet stands for, in addition to itself.
    pub(crate) merged: u8,
    up_volume: u64,
    down_volume: u64,
}

/// A flow's queue before one direction of the Internet link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OnLink {
    pub(crate) leaf: Option<NodeId>,
    /// Packets held.
    pub(crate) held: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Flows {
    by_key: BTreeMap<Key, FlowId>,
    by_station: BTreeSet<(StationId, FlowId)>,
    /// Flows to unheard stations.
    by_unheard: BTreeSet<(MacAddr, FlowId)>,
    index: Index,
    slots: Vec<Option<Flow>>,
    /// Kept apart from the flows: a packet of one flow changes its neighbours in the order of use, of which nothing else is needed then.
    recency: Recency,
    vacant: Vec<FlowId>,
    /// Flows added in total.
    added: u64,
}

impl Flow {
    /// Address and port on its station's side, and those of the far end.
    pub(crate) fn ends(&self) -> [(IpAddr, u16); 2] {
        let Key { flow: key, low_is_station, .. } = &self.key;
        if *low_is_station { [key.low(), key.high()] } else { [key.high(), key.low()] }
    }

    /// The address on its station's side.
    pub(crate) fn own_address(&self) -> IpAddr {
        self.ends()[0].0
    }

    /// A flow whose first seen packet has the TCP header `tcp`, if it is of TCP.
    pub(crate) fn new(key: Key, station: StationId, ingress: Port, tcp: Option<&TcpMeta>) -> Self {
        // Stations send requests, and servers answer with more.
        let guess = tcp.map_or(Direction::Down, |tcp| first_guess(ingress, tcp));
        Self {
            key,
            serial: 0,
            station,
            unheard: None,
            domain: DomainId::DEFAULT,
            answer: Answer::None(0),
            direction: guess,
            leaning: guess,
            place: PolicyNode::default(),
            placed_at: None,
            dscp: 0,
            latest_dscp: 0,
            tcp: Tcp::default(),
            answers: Answers::default(),
            in_doubt: Released::default(),
            uplink: Uplink::default(),
            unconfirmed: Unconfirmed::default(),
            leaf: None,
            tags: None,
            uncharged: 0,
            held: 0,
            beyond: false,
            links: [OnLink::default(); 2],
            talk: None,
            receiver: FlowReceiver::default(),
            watched: Watched::default(),
            released: Bytes::ZERO,
            from_wlan: Bytes::ZERO,
            dropped: 0,
            ce_pending: false,
            merged: 0,
            up_volume: 0,
            down_volume: 0,
        }
    }

    /// Updates the direction: the inferred one follows the larger volume, and a SYN begins another connection. True: the flow may leave
    /// the queue of unanswered flows.
    pub(crate) fn note_packet(&mut self, ingress: Port, tcp: Option<&TcpMeta>, ip_len: Bytes) -> bool {
        if let Some(tcp) = tcp.filter(|tcp| tcp.begins()) {
            (self.up_volume, self.down_volume) = (0, 0);
            self.leaning = first_guess(ingress, tcp);
            self.ce_pending = false;
        }
        if let Some(tcp) = tcp {
            self.receiver.note_arrival(ingress, tcp);
            if ingress == Port::Wire {
                self.answers.note_offered(tcp);
            }
        }
        let data = tcp.map_or(ip_len, |tcp| tcp.payload);
        match ingress {
            Port::Wlan => self.up_volume += data.0,
            Port::Wire => self.down_volume += data.0,
        }
        if self.up_volume.max(self.down_volume) >= VOLUME_MEMORY {
            self.up_volume /= 2;
            self.down_volume /= 2;
        }
        self.leaning = match self.leaning {
            Direction::Up if self.down_volume > self.up_volume * TURN_FACTOR => Direction::Down,
            Direction::Down if self.up_volume > self.down_volume * TURN_FACTOR => Direction::Up,
            stays => stays,
        };
        self.note_answer(ingress, tcp)
    }

    /// Whether this packet lets the flow leave the queue of unanswered flows.
    fn note_answer(&mut self, ingress: Port, tcp: Option<&TcpMeta>) -> bool {
        let answers = ingress == Port::Wlan && !tcp.is_some_and(|tcp| tcp.flags.contains(TcpFlags::RST));
        match (&mut self.answer, answers) {
            (Answer::Given, _) | (Answer::OneWay, false) => false,
            (Answer::None(packets), false) => {
                *packets = packets.saturating_add(1);
                *packets >= PERSISTENT
            }
            (Answer::None(_) | Answer::OneWay, true) => true,
        }
    }

    /// Prefetches all of the flow that a packet needs.
    pub(crate) fn bring(&self) {
        let lines = (self.placed_at, self.uplink.ratio_milli(), self.watched.charged, self.up_volume, self.released);
        black_box((self.key.flow.protocol(), self.leaf, self.held, self.dscp, self.direction, lines));
    }

    /// Takes note of a packet's code point.
    pub(crate) fn note_dscp(&mut self, meta: &PacketMeta) {
        let way = if meta.ingress == Port::Wlan { Direction::Up } else { Direction::Down };
        if let Some(ip) = meta.ip.as_ref().filter(|_| way == self.leaning || self.placed_at.is_none()) {
            self.latest_dscp = ip.dscp;
        }
    }

    /// Packets held of one direction, whatever they wait for.
    pub(crate) fn held_toward(&self, direction: Direction) -> u32 {
        match direction {
            Direction::Down => self.held + self.links[DOWN].held,
            Direction::Up => self.receiver.line.held + self.links[UP].held,
        }
    }

    /// Packets held, whatever they wait for.
    pub(crate) fn held_anywhere(&self) -> u32 {
        self.held + self.receiver.line.held + self.links.iter().map(|link| link.held).sum::<u32>()
    }

    /// Whether its two directions do not acknowledge each other, as in a call: holding packets to the station does not slow down packets
    /// from it.
    pub(crate) fn is_conversation(&self) -> bool {
        let (up, down) = (self.up_volume, self.down_volume);
        !self.is_tcp() && up.min(down) * CONVERSATION >= up.max(down)
    }

    /// Whether it is datagrams toward the station, which hardly answers.
    pub(crate) fn is_one_way_down(&self) -> bool {
        self.direction == Direction::Down && !self.is_tcp() && !self.is_conversation()
    }

    /// Whether it is an upload whose sender is clocked by packets that are held here.
    pub(crate) fn is_clocked_upload(&self) -> bool {
        self.direction == Direction::Up && !self.is_conversation()
    }

    /// Whether its held ACKs stand for more of its DATA packets than a queue may hold.
    pub(crate) fn is_ahead(&self, limit: Limit) -> bool {
        const FULL_SIZE: Bytes = Bytes(1500);
        let packets = self.data_packets(self.held as usize);
        self.is_clocked_upload() && !limit.admits(packets, FULL_SIZE * packets as u64, FULL_SIZE)
    }

    /// DATA packets that this number of held packets stands for.
    pub(crate) fn data_packets(&self, held: usize) -> usize {
        match self.is_clocked_upload() {
            true => (held as u64 * u64::from(self.ratio_milli()) / 1_000) as usize,
            false => held,
        }
    }

    /// Whether DATA have come from the wire since its SYN.
    pub(crate) const fn has_downloaded(&self) -> bool {
        self.down_volume > 0
    }

    /// Notes a release toward the WLAN; returns what crosses the WLAN because of it.
    pub(crate) fn note_release(&mut self, tcp: Option<&TcpMeta>, ip_len: Bytes) -> PacketCost {
        match tcp {
            Some(tcp) => {
                self.in_doubt.release(tcp);
                self.tcp.note_release(tcp, ip_len)
            }
            None => PacketCost([Packets::one(ip_len), self.uplink.pay(), Packets::default(), Packets::default()]),
        }
    }

    /// The charge to a discipline for a packet that begins to wait behind the waiting ones of this flow. Never negative: an excess may
    /// take several packets to make up for.
    pub(crate) fn charge(&mut self, tcp: Option<&TcpMeta>, ip_len: Bytes) -> Charge {
        let expected = match tcp {
            Some(tcp) => self.tcp.expected_cost(tcp, ip_len),
            None => PacketCost::alone(Packets::one(ip_len)),
        };
        let expected = expected.bytes();
        let due = expected.0 as i64 + self.uncharged;
        self.uncharged = due.min(0);
        Charge { expected, due: Bytes(due.max(0) as u64) }
    }

    /// Notes the real cost of a release, of which a discipline was charged the expected one.
    pub(crate) fn settle(&mut self, expected: Bytes, cost: &PacketCost) {
        self.uncharged += cost.bytes().0 as i64 - expected.0 as i64;
    }

    /// Segments of its data for each ACK, in thousandths; for other protocols than TCP, packets from the WLAN for each packet toward it.
    pub(crate) fn ratio_milli(&self) -> u32 {
        match (self.is_tcp(), self.direction) {
            (true, Direction::Up) => self.tcp.upload_ratio_milli(),
            (true, Direction::Down) => self.tcp.download_ratio_milli(),
            (false, Direction::Up) => self.uplink.ratio_milli(),
            (false, Direction::Down) => 1_000,
        }
    }

    pub(crate) const fn is_tcp(&self) -> bool {
        /// IANA "Assigned Internet Protocol Numbers".
        const TCP: u8 = 6;
        self.key.flow.names_ports() && matches!(self.key.flow.protocol(), Some(TCP))
    }
}

/// A flow's key as a number, for the index.
fn hash(key: &Key) -> u64 {
    let Key { vlan, flow: key, low_is_station } = key;
    let vlan =
        vlan.map_or(0, |vlan| 1 << 63 | u64::from(vlan.id) << 32 | u64::from(vlan.inner.map_or(1 << 16, u32::from)));
    let (low, high) = (key.low(), key.high());
    let kind = u64::from(key.kind()) << 1 | u64::from(*low_is_station);
    let ports = u64::from(low.1) << 48 | u64::from(high.1) << 32 | kind;
    match (low.0, high.0) {
        (IpAddr::V4(low), IpAddr::V4(high)) => {
            index::hash([vlan, ports, u64::from(u32::from(low)) << 32 | u64::from(u32::from(high))])
        }
        (low, high) => {
            let halves = |address: IpAddr| match address {
                IpAddr::V4(v4) => [0, u32::from(v4).into()],
                IpAddr::V6(v6) => [(u128::from(v6) >> 64) as u64, u128::from(v6) as u64],
            };
            index::hash([vlan, ports].into_iter().chain(halves(low)).chain(halves(high)))
        }
    }
}

/// The direction before any volume is known: the called end is expected to send, as servers do; in the middle of a connection, DATA show
/// the direction, and a pure ACK acknowledges DATA.
fn first_guess(ingress: Port, tcp: &TcpMeta) -> Direction {
    let syn = tcp.flags.contains(TcpFlags::SYN);
    let sender_has_data = match () {
        () if syn => tcp.flags.contains(TcpFlags::ACK),
        () => tcp.payload > Bytes::ZERO,
    };
    if sender_has_data == (ingress == Port::Wire) { Direction::Down } else { Direction::Up }
}

impl Flows {
    pub(crate) fn find(&mut self, key: &Key, now: Instant) -> Option<FlowId> {
        let id = self.look_up(key)?;
        self.recency.touch(id, now);
        Some(id)
    }

    /// The hash of a packet's flow.
    pub(crate) fn hash(meta: &PacketMeta) -> u64 {
        hash(&Key::of(meta))
    }

    /// Prefetches the index entry of a hash.
    pub(crate) fn ask(&self, hash: u64) {
        self.index.ask(hash);
    }

    /// The flow that a hash probably belongs to.
    pub(crate) fn guess(&self, hash: u64) -> Option<FlowId> {
        self.index.get(hash, |_| true).map(FlowId)
    }

    /// A flow returned by [`Self::guess`].
    pub(crate) fn guessed(&self, id: FlowId) -> Option<&Flow> {
        self.slots.get(id.0 as usize)?.as_ref()
    }

    /// Prefetches the neighbours of a guessed flow in the order of use, from between which it will be removed.
    pub(crate) fn bring_neighbours(&self, id: FlowId) {
        self.recency.prefetch(id);
    }

    fn look_up(&mut self, key: &Key) -> Option<FlowId> {
        let hash = hash(key);
        let is_it = |id: u32| self.slots[id as usize].as_ref().is_some_and(|flow| flow.key == *key);
        if let Some(id) = self.index.get(hash, is_it) {
            return Some(FlowId(id));
        }
        let id = *self.by_key.get(key)?;
        self.index.note(hash, id.0, self.by_key.len());
        Some(id)
    }

    pub(crate) fn is_full(&self, limit: u32) -> bool {
        self.by_key.len() >= limit as usize
    }

    /// Adds a flow that is not in the table yet.
    pub(crate) fn insert(&mut self, mut flow: Flow, now: Instant) -> FlowId {
        let (key, station, unheard) = (flow.key, flow.station, flow.unheard);
        self.added += 1;
        flow.serial = self.added;
        let id = match self.vacant.pop() {
            Some(id) => {
                self.slots[id.0 as usize] = Some(flow);
                id
            }
            None => {
                self.slots.push(Some(flow));
                FlowId(u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 flows"))
            }
        };
        self.by_key.insert(key, id);
        self.by_station.insert((station, id));
        self.by_unheard.extend(unheard.map(|mac| (mac, id)));
        self.recency.add(id, now);
        id
    }

    pub(crate) fn get(&self, id: FlowId) -> &Flow {
        self.slots[id.0 as usize].as_ref().expect("a flow that is referred to is there")
    }

    pub(crate) fn get_mut(&mut self, id: FlowId) -> &mut Flow {
        self.slots[id.0 as usize].as_mut().expect("a flow that is referred to is there")
    }

    /// Assigns a flow to another station, which was heard, or is known by the address `unheard` only.
    pub(crate) fn set_station(&mut self, id: FlowId, station: StationId, unheard: Option<MacAddr>) {
        if let Some(mac) = core::mem::replace(&mut self.get_mut(id).unheard, unheard) {
            self.by_unheard.remove(&(mac, id));
        }
        self.by_unheard.extend(unheard.map(|mac| (mac, id)));
        let before = core::mem::replace(&mut self.get_mut(id).station, station);
        self.by_station.remove(&(before, id));
        self.by_station.insert((station, id));
    }

    /// The flows of a station.
    pub(crate) fn of_station(&self, station: StationId) -> impl Iterator<Item = FlowId> {
        let all = (station, FlowId(0))..=(station, FlowId(u32::MAX));
        self.by_station.range(all).map(|&(_, id)| id)
    }

    /// The flows to an unheard station.
    pub(crate) fn of_unheard(&self, mac: MacAddr) -> impl Iterator<Item = FlowId> {
        let all = (mac, FlowId(0))..=(mac, FlowId(u32::MAX));
        self.by_unheard.range(all).map(|&(_, id)| id)
    }

    /// Removes the least recently used flow if it holds nothing.
    pub(crate) fn evict(&mut self) -> Option<Flow> {
        let (id, _) = self.recency.oldest()?;
        if self.get(id).held_anywhere() > 0 {
            // It is in use; the next eviction looks at others.
            self.recency.move_to_front(id);
            return None;
        }
        self.recency.remove(id);
        let flow = self.slots[id.0 as usize].take()?;
        self.by_key.remove(&flow.key);
        self.index.forget(hash(&flow.key), id.0);
        self.by_station.remove(&(flow.station, id));
        if let Some(mac) = flow.unheard {
            self.by_unheard.remove(&(mac, id));
        }
        self.vacant.push(id);
        Some(flow)
    }

    /// Removes idle flows, and hands each to `gone`.
    pub(crate) fn expire(&mut self, now: Instant, mut gone: impl FnMut(Flow)) {
        for _ in 0..EXPIRED_AT_ONCE {
            match self.recency.oldest() {
                Some((_, used)) if now.saturating_since(used) >= FLOW_IDLE => {
                    self.evict().into_iter().for_each(&mut gone)
                }
                _ => return,
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.by_key.values().map(|&id| self.get(id))
    }

    /// Begins a walk through all flows, in place of an earlier one.
    pub(crate) fn start_walk(&mut self) {
        self.recency.start_walk();
    }

    /// The next step of the walk; `None`: it is complete.
    pub(crate) fn look(&mut self) -> Option<Look> {
        self.recency.look()
    }

    /// Flows used since then, most recent first.
    pub(crate) fn used_since(&self, since: Instant) -> impl Iterator<Item = &Flow> {
        self.recency.used_since(since).map(|id| self.get(id))
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = FlowId> + use<> {
        self.by_key.values().copied().collect::<Vec<_>>().into_iter()
    }
}
