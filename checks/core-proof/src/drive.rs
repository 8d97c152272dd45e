//! A simulated second of the core, with every crate of it at work: a wired host sends TCP segments faster than the
//! wireless network can carry them, over a wired link, through the manager, to a station on the medium, which sends
//! something back.
//!
//! Each thing that does not come out as it must has a number, which becomes the exit code.

use alloc::vec;
use alloc::vec::Vec;

use evenair_link::{Link, LinkConfig};
use evenair_manager::{Charge, Command, Config, Controller, Manager, Output};
use evenair_medium::{AccessCategory, Event, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, To};
use evenair_packet::{FlowKey, PacketMeta, Port, parse};
use evenair_sched::Hsfq;
use evenair_units::{BitRate, Bytes, Instant, Limit, Span, Streams};
use evenair_wifi::{Phy, PhyRate, Standard, TcpShape, bianchi, tcp_capacity};

const SECOND: Instant = Instant::from_nanos(1_000_000_000);
/// 1500 bytes at IP level every 1.2 ms: 10 Mb/s, nearly twice what TCP gets out of 802.11b at 11 Mb/s.
const SEND_INTERVAL: Span = Span::from_micros(1_200);
const IP_LEN: usize = 1_500;
const STATION_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const HOST_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Drives everything. The number of the first check that failed, if one did.
pub fn drive() -> Result<(), i32> {
    closed_forms()?;
    turns_of_a_queue()?;
    metadata()?;
    let first = World::new(1)?.run()?;
    let again = World::new(1)?.run()?;
    let other = World::new(2)?.run()?;
    check(40, first == again)?;
    check(41, first != other)
}

fn check(number: i32, holds: bool) -> Result<(), i32> {
    if holds { Ok(()) } else { Err(number) }
}

/// `wifi`: the closed forms give plausible numbers, the one in floating point too.
fn closed_forms() -> Result<(), i32> {
    let (phy, rate) = radio()?;
    let capacity = tcp_capacity(&phy, rate, &TcpShape::ADWISER);
    check(10, capacity > BitRate::from_mbps(4) && capacity < BitRate::from_mbps(7))?;
    let solution = bianchi::Model::basic_access(&phy, 10, Bytes(IP_LEN as u64), rate).solve();
    check(11, solution.p > 0.1 && solution.p < 0.9)
}

/// `sched`: two queues of one weight take turns.
fn turns_of_a_queue() -> Result<(), i32> {
    let mut queue = Hsfq::new();
    let leaves = [queue.add(evenair_sched::NodeId::ROOT, 1), queue.add(evenair_sched::NodeId::ROOT, 1)];
    for leaf in leaves {
        for item in 0..10 {
            queue.enqueue(leaf, item);
        }
    }
    let mut taken = vec![];
    while let Some((_, item)) = queue.dequeue(|_| 1) {
        taken.push(item);
    }
    let in_turn: Vec<i32> = (0..10).flat_map(|item| [item, item]).collect();
    check(12, taken == in_turn)
}

/// `packet`: a segment is understood, and its metadata survive being written and read.
fn metadata() -> Result<(), i32> {
    let meta = parse(Port::Wire, &segment(7));
    let tcp = meta.tcp().ok_or(13)?;
    check(14, tcp.seq == 7 && tcp.payload == Bytes(IP_LEN as u64 - 40))?;
    check(15, meta.ip.as_ref().is_some_and(|ip| FlowKey::of(ip).0.names_ports()))?;
    let mut written = vec![];
    minicbor::encode(&meta, &mut written).map_err(|_| 18)?;
    check(16, minicbor::decode::<PacketMeta>(&written).is_ok_and(|read| read == meta))
}

fn radio() -> Result<(Phy, PhyRate), i32> {
    let phy = Phy::default_for(Standard::Dot11b);
    let rate = Standard::Dot11b.rate(BitRate::from_mbps(11)).ok_or(17)?;
    Ok((phy, rate))
}

/// An Ethernet frame with IPv4 and TCP, toward the station.
fn segment(seq: u32) -> Vec<u8> {
    let mut frame = vec![0; 14 + IP_LEN];
    frame[0..6].copy_from_slice(&STATION_MAC);
    frame[6..12].copy_from_slice(&HOST_MAC);
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    let ip = &mut frame[14..];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&(IP_LEN as u16).to_be_bytes());
    ip[8] = 64;
    ip[9] = 6;
    ip[12..16].copy_from_slice(&[10, 0, 0, 2]);
    ip[16..20].copy_from_slice(&[10, 0, 0, 1]);
    let tcp = &mut ip[20..];
    tcp[0..4].copy_from_slice(&[0, 80, 0x9c, 0x40]);
    tcp[4..8].copy_from_slice(&seq.to_be_bytes());
    tcp[12] = 5 << 4;
    tcp[13] = 0x10;
    frame
}

struct World {
    link: Link<PacketMeta>,
    manager: Manager<u32>,
    medium: Medium<u32>,
    access_point: NodeId,
    station: NodeId,
    rate: PhyRate,
    next_send: Instant,
    sent: u32,
    received: u64,
    last_received: Option<u32>,
    answers: u64,
}

/// What one run came to. Equal seeds give equal ones.
#[derive(PartialEq)]
struct Outcome {
    received: u64,
    answers: u64,
    attempts: u64,
    busy: Span,
    counters: evenair_manager::Counters,
}

impl World {
    fn new(seed: u64) -> Result<Self, i32> {
        let (phy, rate) = radio()?;
        let mut config = Config::new(phy.clone());
        config.controller = Controller::Fixed(BitRate::from_mbps(5));
        config.charge = Charge::Bits;
        config.queue_limit = Limit::Packets(50);
        let mut manager = Manager::new(config, Instant::ZERO);
        manager.handle_command(Instant::ZERO, Command::Insert);

        let mut medium = Medium::new(MediumConfig::new(phy), &Streams::new(seed));
        let access_point = medium.add_node(NodeConfig::dcf(Limit::Packets(50)));
        let station = medium.add_node(NodeConfig::dcf(Limit::Packets(50)));

        let config = LinkConfig {
            rate: Some(BitRate::from_mbps(100)),
            delay: Span::from_millis(1),
            buffer: Limit::Unlimited,
        };
        Ok(Self {
            link: Link::new(config),
            manager,
            medium,
            access_point,
            station,
            rate,
            next_send: Instant::ZERO,
            sent: 0,
            received: 0,
            last_received: None,
            answers: 0,
        })
    }

    fn run(mut self) -> Result<Outcome, i32> {
        let mut now = Instant::ZERO;
        while now < SECOND {
            self.step(now)?;
            let deadlines = [
                Some(self.next_send),
                self.link.poll_deadline(),
                self.manager.poll_deadline().map(|(at, _)| at),
                self.medium.poll_deadline(),
            ];
            let next = deadlines.into_iter().flatten().min().ok_or(20)?;
            check(21, next > now)?;
            now = next;
        }
        self.outcome(now)
    }

    /// Lets every machine do what is due.
    fn step(&mut self, now: Instant) -> Result<(), i32> {
        if now >= self.next_send {
            let frame = segment(self.sent);
            self.sent += 1;
            self.next_send = now + SEND_INTERVAL;
            self.link.handle_frame(now, Bytes(frame.len() as u64), parse(Port::Wire, &frame));
        }
        while let Some((_, meta)) = self.link.poll_frame(now) {
            let number = meta.tcp().ok_or(22)?.seq;
            self.manager.handle_packet(now, number, &meta);
        }
        if self.manager.poll_deadline().is_some_and(|(at, _)| at <= now) {
            self.manager.handle_timeout(now);
        }
        while let Some(output) = self.manager.poll_output() {
            if let Output::Release { packet, port, .. } = output {
                check(23, port == Port::Wlan)?;
                self.transmit(now, self.access_point, self.station, Bytes(IP_LEN as u64), packet);
            }
        }
        if self.medium.poll_deadline().is_some_and(|at| at <= now) {
            self.medium.handle_timeout(now);
        }
        while let Some(event) = self.medium.poll_event() {
            self.on_medium(event)?;
        }
        Ok(())
    }

    fn transmit(&mut self, now: Instant, from: NodeId, to: NodeId, msdu: Bytes, frame: u32) {
        self.medium.handle_frame(now, from, Mpdu { to: To::Node(to), msdu, rate: self.rate, category: AccessCategory::BestEffort, frame });
    }

    /// The station answers every second segment, as TCP does.
    fn on_medium(&mut self, event: Event<u32>) -> Result<(), i32> {
        let Event::Delivered { at, from, frame, .. } = event else {
            return Ok(());
        };
        if from == self.station {
            self.answers += 1;
            return Ok(());
        }
        // What the manager holds may be dropped, but never overtaken.
        check(24, self.last_received.is_none_or(|last| last < frame))?;
        self.last_received = Some(frame);
        self.received += 1;
        if self.received % 2 == 0 {
            self.transmit(at, self.station, self.access_point, Bytes(40), frame);
        }
        Ok(())
    }

    fn outcome(self, now: Instant) -> Result<Outcome, i32> {
        let report = self.manager.report(now);
        let counters = report.counters;
        // 5 Mb/s are 417 packets of 1500 bytes; ACKs are charged too. Twice as many were sent.
        check(30, self.received > 300 && self.received < 450)?;
        check(31, self.answers > 140)?;
        check(32, counters.received == counters.released + counters.dropped() + counters.held)?;
        check(33, counters.received > 800 && counters.dropped() > 0 && counters.held > 0)?;
        let totals = self.medium.totals(now);
        check(34, totals.busy > Span::from_millis(500) && totals.busy < Span::from_secs(1))?;
        let attempts = self.medium.counters(self.access_point).attempts;
        Ok(Outcome { received: self.received, answers: self.answers, attempts, busy: totals.busy, counters })
    }
}
