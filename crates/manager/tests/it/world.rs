//! A closed loop in virtual time: TCP-like sources, the manager, and a medium.
//!
//! The medium is either DCF, or one that follows the formulas exactly, in order of arrival and without losses, so that any unfairness or
//! waste is caused by the manager. Sources keep a fixed window of full segments in flight, receivers acknowledge every second segment,
//! timestamps are those of RFC 7323. The wire has a fixed delay.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use evenair_manager::{Command, Config, Manager, Mode, Observation, Output, StationConfig};
use evenair_packet::{Content, IpMeta, MacAddr, PacketMeta, Port, TcpFlags, TcpMeta, Timestamps, Transport};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use evenair_wifi::{PhyRate, Standard, adwiser_80211b};

use crate::air::{Air, Formula, Frame};

pub const SEGMENT: u64 = 1448;
pub const HEADER: u64 = 52;
/// Number of each packet of a handshake.
const HANDSHAKE: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Up,
    Down,
}

#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub station: usize,
    pub way: Way,
    /// Segments in flight.
    pub window: u32,
    pub start: Span,
}

/// One TCP connection: sender and receiver state in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    next: u32,
    acked: u32,
    received: u32,
    acknowledged: u32,
    /// The latest timestamp that each end has received, the station's first.
    stamps: [u32; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// IP-level bits of DATA and ACKs that crossed the medium.
    pub ip_bits: u64,
    pub data_segments: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// A packet arrives at the box.
    Arrive(u64),
    /// There may be an event on the medium.
    Air,
    Start(usize),
    Deadline,
}

#[derive(Clone, Debug)]
struct InFlight {
    flow: usize,
    meta: PacketMeta,
}

pub struct World {
    pub manager: Manager<u64>,
    pub rates: Vec<PhyRate>,
    pub sources: Vec<Source>,
    pub tallies: Vec<Tally>,
    pub now: Instant,
    pub mode_changes: Vec<(Instant, Mode)>,
    /// Numbers of the packets released toward the WLAN, by flow.
    pub released: Vec<Vec<u64>>,
    pub air: Box<dyn Air>,
    /// Largest number of packets in the access point's queue.
    pub ap_queue_peak: usize,
    /// Lateness of the driver's calls at deadlines, at most.
    pub wake_delay: Span,
    /// By flow: time from the release of each segment of a download to its ACK, and of each ACK of an upload to its echo.
    pub trips: Vec<Vec<Span>>,
    /// Those under way: end of the segment or timestamp, and the instant of its release.
    under_way: Vec<VecDeque<(u32, Instant)>>,
    /// Whether the ends use timestamps.
    pub timestamps: bool,
    ap_queue: usize,
    connections: Vec<Connection>,
    packets: Vec<Option<InFlight>>,
    events: BinaryHeap<Reverse<(Instant, u64, Happening)>>,
    sequence: u64,
    wire_delay: Span,
    next_deadline: Option<Instant>,
    next_air: Option<Instant>,
}

pub fn rate(kbps: u64) -> PhyRate {
    Standard::Dot11b.rate(BitRate::from_kbps(kbps)).expect("a rate of 802.11b")
}

pub fn mac(station: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, station as u8])
}

/// 802.11b as published, with these stations at weight one. Sources have no recovery, so queues must lose nothing.
pub fn config(rates: &[PhyRate]) -> Config {
    let station = |(i, &rate)| StationConfig { mac: mac(i), rate, weight: 1, class: None };
    Config {
        rts_threshold: Some(Bytes(1000)),
        stations: rates.iter().enumerate().map(station).collect(),
        aqm: None,
        queue_limit: Limit::Packets(100),
        ..Config::new(adwiser_80211b())
    }
}

pub fn sources(downs: &[usize], ups: &[usize]) -> Vec<Source> {
    let source = |way| move |&station| Source { station, way, window: 40, start: Span::ZERO };
    downs.iter().map(source(Way::Down)).chain(ups.iter().map(source(Way::Up))).collect()
}

impl World {
    pub fn new(config: Config, rates: &[PhyRate], sources: Vec<Source>) -> Self {
        let air = Formula::new(config.phy.clone(), config.rts_threshold);
        Self::over(Box::new(air), config, rates, sources)
    }

    pub fn over(air: Box<dyn Air>, config: Config, rates: &[PhyRate], sources: Vec<Source>) -> Self {
        let flows = sources.len();
        let mut world = Self {
            rates: rates.to_vec(),
            manager: Manager::new(config, Instant::ZERO),
            tallies: vec![Tally::default(); flows],
            now: Instant::ZERO,
            mode_changes: Vec::new(),
            released: vec![Vec::new(); flows],
            air,
            ap_queue_peak: 0,
            wake_delay: Span::ZERO,
            trips: vec![Vec::new(); flows],
            under_way: vec![VecDeque::new(); flows],
            timestamps: true,
            ap_queue: 0,
            connections: vec![Connection::default(); flows],
            packets: Vec::new(),
            events: BinaryHeap::new(),
            sequence: 0,
            wire_delay: Span::from_millis(2),
            next_deadline: None,
            next_air: None,
            sources,
        };
        for flow in 0..flows {
            world.schedule(Instant::ZERO + world.sources[flow].start, Happening::Start(flow));
        }
        world
    }

    pub fn command(&mut self, command: Command) {
        self.manager.handle_command(self.now, command);
        self.drain();
    }

    pub fn tell(&mut self, observation: Observation) {
        self.manager.handle_observation(self.now, observation);
        self.drain();
    }

    /// Runs for this time, and returns what crossed the medium in it, by flow.
    pub fn run(&mut self, span: Span) -> Vec<Tally> {
        let before = self.tallies.clone();
        let end = self.now + span;
        while let Some(&Reverse((at, _, happening))) = self.events.peek() {
            if at > end {
                break;
            }
            self.events.pop();
            self.now = at;
            match happening {
                Happening::Start(flow) => self.start(flow),
                Happening::Arrive(packet) => {
                    let meta = self.packets[packet as usize].as_ref().unwrap().meta.clone();
                    self.note_arrival(packet, &meta);
                    self.manager.handle_packet(at, packet, &meta);
                }
                Happening::Air => {
                    self.next_air = None;
                    while let Some(frame) = self.air.advance(at) {
                        self.carried(frame.packet);
                    }
                }
                Happening::Deadline if self.next_deadline == Some(at) => {
                    self.next_deadline = None;
                    self.manager.handle_timeout(at);
                }
                Happening::Deadline => {}
            }
            self.drain();
        }
        self.now = end;
        let difference = |(after, before): (&Tally, &Tally)| Tally {
            ip_bits: after.ip_bits - before.ip_bits,
            data_segments: after.data_segments - before.data_segments,
        };
        self.tallies.iter().zip(&before).map(difference).collect()
    }

    fn note_release(&mut self, packet: u64) {
        let InFlight { flow, meta } = self.packets[packet as usize].as_ref().unwrap();
        let tcp = meta.tcp().unwrap();
        let key = if tcp.payload.0 > 0 { Some(tcp.seq_end()) } else { tcp.timestamps.map(|stamps| stamps.value) };
        self.under_way[*flow].extend(key.map(|key| (key, self.now)));
    }

    fn note_arrival(&mut self, packet: u64, meta: &PacketMeta) {
        let flow = self.packets[packet as usize].as_ref().unwrap().flow;
        let tcp = meta.tcp().unwrap();
        let answered = if tcp.payload.0 == 0 { Some(tcp.ack) } else { tcp.timestamps.map(|stamps| stamps.echo) };
        let Some(answered) = answered.filter(|_| meta.ingress == Port::Wlan) else { return };
        while let Some((_, at)) = self.under_way[flow].front().copied().filter(|(key, _)| *key <= answered) {
            self.under_way[flow].pop_front();
            self.trips[flow].push(self.now.saturating_since(at));
        }
    }

    fn schedule(&mut self, at: Instant, happening: Happening) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, happening)));
    }

    fn drain(&mut self) {
        while let Some(output) = self.manager.poll_output() {
            match output {
                Output::Release { packet: HANDSHAKE, .. } => {}
                Output::Release { packet, port: Port::Wlan, .. } => {
                    let flow = self.packets[packet as usize].as_ref().unwrap().flow;
                    self.released[flow].push(packet);
                    self.note_release(packet);
                    self.ap_queue += 1;
                    self.ap_queue_peak = self.ap_queue_peak.max(self.ap_queue);
                    self.offer(packet);
                }
                Output::Release { packet, port: Port::Wire, .. } => self.deliver(packet),
                Output::Drop { packet, .. } => self.packets[packet as usize] = None,
                Output::Event(evenair_manager::Event::ModeChanged(mode)) => self.mode_changes.push((self.now, mode)),
                Output::Probe { .. } | Output::Consume { .. } | Output::Event(_) => {}
            }
        }
        if let Some(at) = self.air.deadline()
            && self.next_air.is_none_or(|next| at < next)
        {
            self.next_air = Some(at);
            self.schedule(at.max(self.now), Happening::Air);
        }
        if let Some((at, _)) = self.manager.poll_deadline() {
            let at = at.max(self.now) + self.wake_delay;
            if self.next_deadline.is_none_or(|next| at < next || next < self.now) {
                self.next_deadline = Some(at);
                self.schedule(at, Happening::Deadline);
            }
        }
    }

    fn start(&mut self, flow: usize) {
        self.open(flow, TcpFlags::SYN, true);
        self.open(flow, TcpFlags::SYN.with(TcpFlags::ACK), false);
        self.send_window(flow);
    }

    /// A packet of a handshake goes through the manager only, and not over the medium.
    fn open(&mut self, flow: usize, flags: TcpFlags, from_wlan: bool) {
        let ingress = if from_wlan { Port::Wlan } else { Port::Wire };
        let mut meta = self.meta(flow, ingress, Segment::new(TcpFlags::ACK, 0, 0, 0));
        if let Some(IpMeta { transport: Transport::Tcp(tcp), .. }) = &mut meta.ip {
            (tcp.flags, tcp.mss) = (flags, Some(1460));
        }
        self.manager.handle_packet(self.now, HANDSHAKE, &meta);
        self.drain();
    }

    fn send_window(&mut self, flow: usize) {
        while self.connections[flow].next < self.connections[flow].acked + self.sources[flow].window {
            let seq = self.connections[flow].next;
            self.connections[flow].next += 1;
            let sender = if self.sources[flow].way == Way::Down { Port::Wire } else { Port::Wlan };
            let meta =
                self.meta(flow, sender, Segment::new(TcpFlags::ACK, 1 + seq.wrapping_mul(SEGMENT as u32), 1, SEGMENT));
            self.send(flow, meta);
        }
    }

    fn send(&mut self, flow: usize, meta: PacketMeta) {
        let number = self.packets.len() as u64;
        let from_wire = meta.ingress == Port::Wire;
        self.packets.push(Some(InFlight { flow, meta }));
        if from_wire {
            self.schedule(self.now + self.wire_delay, Happening::Arrive(number));
        } else {
            self.offer(number);
        }
    }

    /// Queues a packet for the medium.
    fn offer(&mut self, packet: u64) {
        let InFlight { flow, meta } = self.packets[packet as usize].as_ref().unwrap();
        let station = self.sources[*flow].station;
        let (from_station, rate) = (meta.ingress == Port::Wlan, self.rates[station]);
        self.air.offer(self.now, Frame { packet, station, from_station, ip_len: meta.ip_len(), rate });
    }

    fn carried(&mut self, packet: u64) {
        let InFlight { flow, meta } = self.packets[packet as usize].clone().unwrap();
        self.tallies[flow].ip_bits += meta.ip_len().bits();
        if meta.tcp().unwrap().payload.0 > 0 {
            self.tallies[flow].data_segments += 1;
        }
        match meta.ingress {
            Port::Wire => {
                self.ap_queue -= 1;
                self.deliver(packet);
            }
            Port::Wlan => self.schedule(self.now, Happening::Arrive(packet)),
        }
    }

    /// Delivers a packet to its host.
    fn deliver(&mut self, packet: u64) {
        let InFlight { flow, meta } = self.packets[packet as usize].take().unwrap();
        let tcp = meta.tcp().unwrap();
        let connection = &mut self.connections[flow];
        if let Some(stamps) = tcp.timestamps {
            connection.stamps[usize::from(meta.ingress == Port::Wlan)] = stamps.value;
        }
        if tcp.payload.0 > 0 {
            connection.received += 1;
            if connection.received - connection.acknowledged >= 2 {
                connection.acknowledged = connection.received;
                let ack = 1 + connection.received.wrapping_mul(SEGMENT as u32);
                let meta = self.meta(flow, meta.ingress.opposite(), Segment::new(TcpFlags::ACK, 1, ack, 0));
                self.send(flow, meta);
            }
        } else {
            connection.acked = connection.acked.max(tcp.ack.wrapping_sub(1) / SEGMENT as u32);
            self.send_window(flow);
        }
    }

    fn meta(&self, flow: usize, ingress: Port, segment: Segment) -> PacketMeta {
        let station = self.sources[flow].station;
        let mut meta = packet(ingress, station, flow as u16, segment);
        if let (true, Some(IpMeta { transport: Transport::Tcp(tcp), .. })) = (self.timestamps, &mut meta.ip) {
            let value = 1 + (self.now.as_nanos() / 1_000_000) as u32;
            let echo = self.connections[flow].stamps[usize::from(ingress == Port::Wire)];
            tcp.timestamps = Some(Timestamps { value, echo });
        }
        meta
    }
}

/// The TCP header of a packet.
#[derive(Clone, Copy)]
pub struct Segment {
    flags: TcpFlags,
    seq: u32,
    ack: u32,
    payload: u64,
}

impl Segment {
    pub fn new(flags: TcpFlags, seq: u32, ack: u32, payload: u64) -> Self {
        Self { flags, seq, ack, payload }
    }
}

/// A TCP packet between a station and a wired host, connection `flow`.
pub fn packet(ingress: Port, station: usize, flow: u16, segment: Segment) -> PacketMeta {
    let Segment { flags, seq, ack, payload } = segment;
    let station_end = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, station as u8)), 40_000 + flow, mac(station));
    let wired_end = (IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1)), 5001, MacAddr([2, 0, 0, 0, 9, 1]));
    let (src, dst) = if ingress == Port::Wlan { (station_end, wired_end) } else { (wired_end, station_end) };
    let total_len = Bytes(payload + HEADER);
    let tcp = TcpMeta {
        src_port: src.1,
        dst_port: dst.1,
        seq,
        ack,
        flags,
        window: 60_000,
        payload: Bytes(payload),
        window_scale: None,
        mss: None,
        sacked_to: None,
        timestamps: None,
    };
    let transport = Transport::Tcp(tcp);
    let ip = IpMeta { src: src.0, dst: dst.0, protocol: 6, dscp: 0, ecn: 0, total_len, fragment: false, transport };
    let frame_len = Bytes(total_len.0 + 14);
    let content = Content::Opaque;
    PacketMeta {
        ingress,
        frame_len,
        src: src.2,
        dst: dst.2,
        vlan: None,
        ether_type: 0x0800,
        ip: Some(ip),
        content,
        control: None,
        encapsulation: None,
    }
}

pub fn bits(tallies: &[Tally]) -> Vec<f64> {
    tallies.iter().map(|tally| tally.ip_bits as f64).collect()
}

/// Jain's fairness index (Jain, Chiu, Hawe, 1984).
pub fn jain(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().sum();
    sum * sum / (x.len() as f64 * x.iter().map(|x| x * x).sum::<f64>())
}

pub fn close(a: f64, b: f64, permille: f64) -> bool {
    (a - b).abs() <= b.abs() * permille / 1000.0
}
