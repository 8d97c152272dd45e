//! Floods of one station, or of the wire, cost the established traffic of others next to nothing.
//!
//! The medium serves frames of the access point one at a time, each for its airtime at 54 Mb/s; what stations send does not
//! contend with them, so that whatever is lost or late is the manager's doing.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use evenair_manager::{Command, Config, Manager, Output, StationConfig};
use evenair_packet::{MacAddr, PacketMeta, Port, TcpFlags, TcpMeta, Transport};
use evenair_units::{Bytes, Instant, Span};
use evenair_wifi::{Phy, Standard};

use crate::world::{Segment, mac, packet};

const SECONDS: u64 = 4;
/// Packets in a second of the flow that is established, and of a flood.
const ESTABLISHED: u64 = 500;
const FLOOD: u64 = 30_000;
/// The first second is not looked at.
const WARM_UP: u64 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flood {
    None,
    /// A station opens connections, from ever new ports.
    Syn,
    /// A host on the wire sends to addresses that nobody has.
    MadeUp,
}

/// Which packets of the established flow arrived, and how long each took.
struct Became {
    sent: usize,
    delays: Vec<Span>,
}

impl Became {
    fn p99(&self) -> Span {
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        delays[delays.len() * 99 / 100]
    }
}

/// A datagram of the established flow, toward station 0 or from it.
fn established(ingress: Port) -> PacketMeta {
    let mut meta = packet(ingress, 0, 0, Segment::new(TcpFlags::ACK, 0, 0, 148));
    let ip = meta.ip.as_mut().unwrap();
    let ports = if ingress == Port::Wire { (7, 8) } else { (8, 7) };
    (ip.protocol, ip.transport) = (17, Transport::Udp { src_port: ports.0, dst_port: ports.1 });
    meta
}

fn attack(flood: Flood, number: u64) -> Option<PacketMeta> {
    let [.., a, b, c, d] = number.to_be_bytes();
    match flood {
        Flood::None => None,
        Flood::Syn => {
            let mut meta = packet(Port::Wlan, 1, 0, Segment::new(TcpFlags::SYN, number as u32, 0, 0));
            let ip = meta.ip.as_mut().unwrap();
            ip.dst = IpAddr::V4(Ipv4Addr::new(11, a, b, c));
            if let Transport::Tcp(TcpMeta { src_port, .. }) = &mut ip.transport {
                *src_port = 1_024 + u16::from(d);
            }
            Some(meta)
        }
        Flood::MadeUp => {
            let mut meta = packet(Port::Wire, 0, 1, Segment::new(TcpFlags::ACK, 1, 1, 500));
            meta.dst = MacAddr([6, 7, a, b, c, d]);
            let ip = meta.ip.as_mut().unwrap();
            ip.dst = IpAddr::V4(Ipv4Addr::new(12, b, c, d));
            (ip.protocol, ip.transport) = (17, Transport::Udp { src_port: 9, dst_port: 9 });
            Some(meta)
        }
    }
}

/// Runs a box with this flood beside the established flow, whose station answers each packet.
fn run(flood: Flood) -> Became {
    let phy = Phy::default_for(Standard::Dot11g);
    let rate = *phy.standard().rates().last().expect("a standard has rates");
    let station = |n| StationConfig { mac: mac(n), rate, weight: 1, class: None };
    let config = Config { stations: (0..3).map(station).collect(), ..Config::new(phy) };
    let (phy, mut manager) = (config.phy.clone(), Manager::new(config, Instant::ZERO));
    manager.handle_command(Instant::ZERO, Command::Insert);
    let mut air: VecDeque<(Instant, u64)> = VecDeque::new();
    let mut free = Instant::ZERO;
    let mut came = vec![Instant::ZERO; (SECONDS * ESTABLISHED) as usize];
    let (mut delays, mut sent, mut attacked) = (Vec::new(), 0, 0);
    // A step is as long as a packet of the flood is from the next.
    for step in 0..SECONDS * FLOOD {
        let now = Instant::ZERO + Span::from_nanos(step * 1_000_000_000 / FLOOD);
        while let Some(&(at, number)) = air.front().filter(|(at, _)| *at <= now) {
            air.pop_front();
            if number < ATTACK {
                if came[number as usize] >= Instant::ZERO + Span::from_secs(WARM_UP) {
                    delays.push(at.saturating_since(came[number as usize]));
                }
                manager.handle_packet(now, ANSWER, &established(Port::Wlan));
            }
        }
        if step % (FLOOD / ESTABLISHED) == 0 {
            let number = step / (FLOOD / ESTABLISHED);
            came[number as usize] = now;
            // Those under way at the end are not counted.
            sent += usize::from(step >= WARM_UP * FLOOD);
            manager.handle_packet(now, number, &established(Port::Wire));
        }
        if let Some(meta) = attack(flood, step) {
            attacked += 1;
            manager.handle_packet(now, ATTACK, &meta);
        }
        if manager.poll_deadline().is_some_and(|(at, _)| at <= now) {
            manager.handle_timeout(now);
        }
        while let Some(output) = manager.poll_output() {
            if let Output::Release { packet, port: Port::Wlan, .. } = output {
                let ip_len = if packet < ATTACK { Bytes(200) } else { Bytes(552) };
                let airtime = phy.access_cost(ip_len, rate, false).0;
                free = free.max(now) + airtime;
                air.push_back((free, packet));
            }
        }
    }
    assert_eq!(attacked, if flood == Flood::None { 0 } else { SECONDS * FLOOD });
    Became { sent, delays }
}

/// Numbers of the flood's packets, and of answers; those of the established flow are smaller.
const ATTACK: u64 = 1_000_000;
const ANSWER: u64 = 2_000_000;

#[test]
fn a_flood_costs_the_established_flow_of_another_station_next_to_nothing() {
    let alone = run(Flood::None);
    assert!(alone.delays.len() * 1000 >= alone.sent * 995, "{} of {}", alone.delays.len(), alone.sent);
    for flood in [Flood::Syn, Flood::MadeUp] {
        let beside = run(flood);
        let (got, sent) = (beside.delays.len(), beside.sent);
        assert!(got * 100 > sent * 99, "{flood:?}: {got} of {sent} arrived");
        let (before, after) = (alone.p99(), beside.p99());
        println!("{flood:?}: {got} of {sent} arrived, p99 {before} alone and {after} beside it");
        assert!(after <= before + Span::from_millis(20), "{flood:?}: p99 {before} alone and {after} beside it");
    }
}
