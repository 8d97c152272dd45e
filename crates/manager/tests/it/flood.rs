//! Floods of one station, or of the wire, cost the established traffic of others next to nothing.
//!
//! The medium serves frames of the access point one at a time, each for its airtime at 54 Mb/s; frames of stations do not contend with
//! them, so that any loss or delay is caused by the manager.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use evenair_manager::{Command, Config, Controller, Manager, Output, StationConfig};
use evenair_packet::{Control, MacAddr, PacketMeta, Port, TcpFlags, TcpMeta, Transport};
use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::{Phy, Standard};

use crate::world::{Segment, mac, packet};

const SECONDS: u64 = 4;
/// Packets a second of the established flow, and of a flood.
const ESTABLISHED: u64 = 500;
const FLOOD: u64 = 30_000;
/// The first second is not measured.
const WARM_UP: u64 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flood {
    None,
    /// A station opens connections, from ever new ports.
    Syn,
    /// Hosts on the wire open connections to all stations, that of the established flow among them.
    SynFromWire,
    /// A host on the wire sends to unused addresses.
    MadeUp,
    /// A host on the wire sends control packets of full size to a station.
    Control,
    /// The same from ever new addresses.
    ControlOfMany,
    /// The same to all.
    ControlToAll,
    /// A host on the wire sends frames to a station that are neither IP nor control.
    Unread,
    /// A host on the wire sends to a group.
    Multicast,
    /// A host on the wire sends to all.
    Broadcast,
}

/// Which packets of the established flow arrived, and how long each took.
struct Became {
    sent: usize,
    delays: Vec<Span>,
    /// Airtime of the flood.
    carried: Span,
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
        Flood::SynFromWire => {
            let mut meta = packet(Port::Wire, usize::from(d % 3), 0, Segment::new(TcpFlags::SYN, number as u32, 0, 0));
            let ip = meta.ip.as_mut().unwrap();
            ip.src = IpAddr::V4(Ipv4Addr::new(13, b, c, d));
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
        Flood::Control => Some(frame(MacAddr([6, 8, 0, 0, 0, 1]), mac(1), Some(Control::Arp))),
        Flood::ControlOfMany => Some(frame(MacAddr([6, 8, a, b, c, d]), mac(1), Some(Control::Arp))),
        Flood::ControlToAll => Some(frame(MacAddr([6, 8, a, b, c, d]), MacAddr::BROADCAST, Some(Control::Arp))),
        Flood::Unread => Some(frame(MacAddr([6, 8, 0, 0, 0, 1]), mac(1), None)),
        Flood::Multicast => {
            let mut meta = packet(Port::Wire, 0, 1, Segment::new(TcpFlags::ACK, 1, 1, 1400));
            meta.dst = MacAddr([1, 0, 0x5e, 1, 1, 1]);
            let ip = meta.ip.as_mut().unwrap();
            ip.dst = IpAddr::V4(Ipv4Addr::new(239, 1, 1, 1));
            (ip.protocol, ip.transport) = (17, Transport::Udp { src_port: 9, dst_port: 9 });
            Some(meta)
        }
        Flood::Broadcast => Some(frame(MacAddr([6, 8, 0, 0, 0, 1]), MacAddr::BROADCAST, None)),
    }
}

/// Reply of a host to a SYN for a closed port (RFC 9293, 3.5.2).
fn reset(syn: &PacketMeta) -> PacketMeta {
    let mut meta = PacketMeta { ingress: Port::Wlan, src: syn.dst, dst: syn.src, ..syn.clone() };
    let ip = meta.ip.as_mut().unwrap();
    (ip.src, ip.dst) = (ip.dst, ip.src);
    if let Transport::Tcp(tcp) = &mut ip.transport {
        (tcp.src_port, tcp.dst_port) = (tcp.dst_port, tcp.src_port);
        (tcp.flags, tcp.seq, tcp.ack) = (TcpFlags::RST.with(TcpFlags::ACK), 0, tcp.seq.wrapping_add(1));
    }
    meta
}

/// A frame of 1442 bytes from the wire that is not IP.
fn frame(src: MacAddr, dst: MacAddr, control: Option<Control>) -> PacketMeta {
    let plain = packet(Port::Wire, 1, 1, Segment::new(TcpFlags::ACK, 1, 1, 0));
    let ether_type = if control.is_some() { 0x0806 } else { 0x88b5 };
    PacketMeta { src, dst, control, ether_type, ip: None, frame_len: Bytes(1_442), ..plain }
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
    let mut carried = Span::ZERO;
    // A step is the interval between packets of the flood.
    for step in 0..SECONDS * FLOOD {
        let now = Instant::ZERO + Span::from_nanos(step * 1_000_000_000 / FLOOD);
        while let Some(&(at, number)) = air.front().filter(|(at, _)| *at <= now) {
            air.pop_front();
            if number < ATTACK {
                if came[number as usize] >= Instant::ZERO + Span::from_secs(WARM_UP) {
                    delays.push(at.saturating_since(came[number as usize]));
                }
                manager.handle_packet(now, ANSWER, &established(Port::Wlan));
            } else if let (Flood::SynFromWire, Some(syn)) = (flood, attack(flood, number - ATTACK)) {
                manager.handle_packet(now, ANSWER, &reset(&syn));
            }
        }
        if step % (FLOOD / ESTABLISHED) == 0 {
            let number = step / (FLOOD / ESTABLISHED);
            came[number as usize] = now;
            // Packets in flight at the end do not count.
            sent += usize::from(step >= WARM_UP * FLOOD);
            manager.handle_packet(now, number, &established(Port::Wire));
        }
        if let Some(meta) = attack(flood, step) {
            attacked += 1;
            manager.handle_packet(now, ATTACK + step, &meta);
        }
        if manager.poll_deadline().is_some_and(|(at, _)| at <= now) {
            manager.handle_timeout(now);
        }
        while let Some(output) = manager.poll_output() {
            if let Output::Release { packet, port: Port::Wlan, .. } = output {
                let airtime = match (packet < ATTACK, flood) {
                    (true, _) => phy.access_cost(Bytes(200), rate, false).0,
                    (false, Flood::Multicast | Flood::Broadcast | Flood::ControlToAll) => {
                        phy.data(Bytes(1_428), phy.lowest_basic())
                    }
                    (false, Flood::SynFromWire) => phy.access_cost(Bytes(52), rate, false).0,
                    (false, Flood::None | Flood::Syn | Flood::MadeUp) => phy.access_cost(Bytes(552), rate, false).0,
                    (false, _) => phy.access_cost(Bytes(1_428), rate, false).0,
                };
                carried += if packet < ATTACK { Span::ZERO } else { airtime };
                free = free.max(now) + airtime;
                air.push_back((free, packet));
            }
        }
    }
    assert_eq!(attacked, if flood == Flood::None { 0 } else { SECONDS * FLOOD });
    Became { sent, delays, carried }
}

/// First number of the flood's packets, beyond those of the established flow; number of replies, which leave by the wire.
const ATTACK: u64 = 1_000_000;
const ANSWER: u64 = 0;

#[test]
fn a_flood_costs_the_established_flow_of_another_station_next_to_nothing() {
    let alone = run(Flood::None);
    assert!(alone.delays.len() * 1000 >= alone.sent * 995, "{} of {}", alone.delays.len(), alone.sent);
    let of_control = [Flood::Control, Flood::ControlOfMany, Flood::ControlToAll];
    for flood in [Flood::Syn, Flood::SynFromWire, Flood::MadeUp, Flood::Unread, Flood::Multicast, Flood::Broadcast]
        .into_iter()
        .chain(of_control)
    {
        let beside = run(flood);
        let (got, sent) = (beside.delays.len(), beside.sent);
        assert!(got * 100 > sent * 99, "{flood:?}: {got} of {sent} arrived");
        let (before, after) = (alone.p99(), beside.p99());
        println!("{flood:?}: {got} of {sent} arrived, p99 {before} alone and {after} beside it");
        assert!(after <= before + Span::from_millis(20), "{flood:?}: p99 {before} alone and {after} beside it");
        let permille = beside.carried.as_nanos() / (SECONDS * 1_000_000);
        let most = match flood {
            Flood::Multicast => 640,
            Flood::Broadcast => 120,
            Flood::ControlToAll => 320,
            _ => 1_000,
        };
        assert!(permille <= most, "{flood:?} took {permille} permille of the medium");
    }
}

/// Packets of the first station's download that are released in two seconds, beside datagrams from the WLAN under this station's MAC
/// address and this IP address.
fn released_beside(attacker: usize, address: [u8; 4]) -> u64 {
    let phy = Phy::default_for(Standard::Dot11g);
    let rate = *phy.standard().rates().last().expect("a standard has rates");
    let station = |n| StationConfig { mac: mac(n), rate, weight: 1, class: None };
    let controller = Controller::Fixed(BitRate::from_mbps(10));
    let config = Config { stations: (0..3).map(station).collect(), controller, ..Config::new(phy) };
    let mut manager = Manager::new(config, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    let mut released = 0;
    for ms in 0..2_000 {
        let now = Instant::ZERO + Span::from_millis(ms);
        for n in 0..2 {
            let up = packet(Port::Wlan, n, 0, Segment::new(TcpFlags::ACK, 1, 1, 0));
            manager.handle_packet(now, ANSWER, &up);
            let down = packet(Port::Wire, n, 0, Segment::new(TcpFlags::ACK, ms as u32 * 1448, 1, 1448));
            manager.handle_packet(now, n as u64 + 1, &down);
        }
        if ms % 4 == 0 {
            let mut meta = packet(Port::Wlan, attacker, 7, Segment::new(TcpFlags::ACK, 0, 0, 1400));
            let ip = meta.ip.as_mut().unwrap();
            ip.src = IpAddr::from(address);
            (ip.protocol, ip.transport) = (17, Transport::Udp { src_port: 9, dst_port: 9 });
            manager.handle_packet(now, ANSWER, &meta);
        }
        manager.handle_timeout(now);
        while let Some(output) = manager.poll_output() {
            released += u64::from(matches!(output, Output::Release { packet: 1, .. }));
        }
    }
    released
}

#[test]
fn a_flood_under_a_stations_address_leaves_it_its_downloads() {
    let own = released_beside(2, [10, 0, 0, 2]);
    let (other, same) = (released_beside(0, [10, 0, 7, 7]), released_beside(0, [10, 0, 0, 0]));
    let (other, same) = (other as f64 / own as f64, same as f64 / own as f64);
    println!("of {own} beside a flood of another station: under another address {other:.2}, under its own {same:.2}");
    assert!(other >= 0.9 && same >= 0.5, "under another address {other:.2}, under its own {same:.2}");
    assert!(same < 0.95, "the canary: what is sent from its own address is paid for in part");
}
