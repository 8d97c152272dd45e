//! IP packets as bytes: headers from the simulated state, payloads of zeros.

use std::net::{IpAddr, Ipv6Addr};

use etherparse::{
    Ethernet2Header, Icmpv6Header, Icmpv6Type, IpDscp, IpNumber, Ipv4Header, Ipv6Header, TcpHeader, UdpHeader,
};
use evenair_packet::MacAddr;
use evenair_scenario::Scenario;
use evenair_workload::Direction;

use super::frame::Msdu;
use crate::connections::station_port;
pub(super) use crate::middlebox::mac_of;
use crate::middlebox::{BOX, BOX_LOCAL, FIRST_DATAGRAM_PORT, FIRST_SERVER_PORT, Ports, Talk, probe_len, talk};
use crate::packet::{Body, Packet};
use crate::tcp::Segment;

/// An access point's address on the air, by its number.
pub(super) fn bssid(access_point: usize) -> MacAddr {
    MacAddr([0x02, 0xea, 0, 0, 0, 1 + access_point as u8])
}

/// Initial hop limit, as in Linux.
const TTL: u8 = 64;
static ZEROS: [u8; 65_536] = [0; 65_536];

/// Addresses of each application's two ends.
#[derive(Debug)]
pub(super) struct Addresses {
    talks: Vec<Talk>,
}

/// An IP packet, and the hosts of the LAN and the WLAN between which it travels.
pub(super) struct IpPacket {
    pub(super) source: MacAddr,
    pub(super) destination: MacAddr,
    ether_type: [u8; 2],
    bytes: Vec<u8>,
}

impl Addresses {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self { talks: scenario.apps.iter().map(|app| talk(scenario, app)).collect() }
    }

    /// The packet's bytes.
    pub(super) fn packet(&self, packet: &Packet, segment: Option<&Segment>) -> IpPacket {
        let talk = &self.talks[packet.app as usize];
        if let Body::Probe = packet.body {
            return probe(talk, packet.way);
        }
        let server_port = FIRST_SERVER_PORT + packet.app as u16;
        let station_port = match packet.body {
            Body::Tcp { serial, .. } => station_port(serial),
            _ => FIRST_DATAGRAM_PORT + packet.app as u16,
        };
        let (from, to, ports) = match packet.way {
            Direction::Up => (talk.station, talk.server, Ports { source: station_port, destination: server_port }),
            Direction::Down => (talk.server, talk.station, Ports { source: server_port, destination: station_port }),
        };
        let mut bytes = ip_header(from.1, to.1, packet.len.0, segment.is_some(), talk.dscp);
        let payload = packet.len.0 as usize - bytes.len();
        match segment {
            Some(segment) => tcp(from.1, to.1, ports, segment, &mut bytes),
            // All other packets are datagrams.
            None => {
                let zeros = &ZEROS[..payload - UdpHeader::LEN];
                let Ports { source, destination } = ports;
                let header = match (from.1, to.1) {
                    (IpAddr::V4(a), IpAddr::V4(b)) => {
                        UdpHeader::with_ipv4_checksum(source, destination, &v4(a, b, 0, false), zeros)
                    }
                    (IpAddr::V6(a), IpAddr::V6(b)) => {
                        UdpHeader::with_ipv6_checksum(source, destination, &v6(a, b, 0, false), zeros)
                    }
                    _ => unreachable!("both ends of an application have the same IP"),
                };
                bytes.extend(header.expect("a packet is shorter than 64 KiB").to_bytes());
                bytes.extend(zeros);
            }
        }
        debug_assert_eq!(bytes.len() as u64, packet.len.0);
        IpPacket { source: from.0, destination: to.0, ether_type: ether_type(from.1), bytes }
    }
}

impl IpPacket {
    /// The packet with an Ethernet header, without the padding of short frames.
    pub(super) fn ethernet(&self) -> Vec<u8> {
        let header = Ethernet2Header {
            source: self.source.0,
            destination: self.destination.0,
            ether_type: u16::from_be_bytes(self.ether_type).into(),
        };
        [&header.to_bytes()[..], &self.bytes].concat()
    }

    /// The packet with an LLC/SNAP header (IEEE 802.2, RFC 1042).
    pub(super) fn msdu(&self) -> Msdu {
        let bytes = [&[0xaa, 0xaa, 0x03, 0, 0, 0][..], &self.ether_type, &self.bytes].concat();
        Msdu { source: self.source, destination: self.destination, bytes }
    }
}

const fn ether_type(address: IpAddr) -> [u8; 2] {
    if address.is_ipv4() { [0x08, 0x00] } else { [0x86, 0xdd] }
}

/// A probe of the box, or its answer: ARP (RFC 826, RFC 5227) or neighbour discovery (RFC 4861, 4.3 and 4.4).
fn probe(talk: &Talk, way: Direction) -> IpPacket {
    let (station, address) = talk.station;
    let (source, destination) = if way == Direction::Down { (BOX, station) } else { (station, BOX) };
    let (ether_type, mut bytes) = match address {
        IpAddr::V4(address) => {
            let nobody = [0; 4];
            let (operation, sender, target) = match way {
                Direction::Down => (1, nobody, address.octets()),
                Direction::Up => (2, address.octets(), nobody),
            };
            let head = [0, 1, 8, 0, 6, 4, 0, operation];
            ([0x08, 0x06], [&head[..], &source.0, &sender, &destination.0, &target].concat())
        }
        IpAddr::V6(address) => ([0x86, 0xdd], neighbour_discovery(address, way, source)),
    };
    bytes.resize(probe_len(address).0 as usize, 0);
    IpPacket { source, destination, ether_type, bytes }
}

/// A solicitation or an advertisement for an address.
fn neighbour_discovery(address: Ipv6Addr, way: Direction, source: MacAddr) -> Vec<u8> {
    const SOLICITED: u8 = 0x40;
    let (type_u8, flags, option, from, to) = match way {
        Direction::Down => (135, 0, 1, BOX_LOCAL, address),
        Direction::Up => (136, SOLICITED, 2, address, BOX_LOCAL),
    };
    // The target, and an eight-byte option with the sender's MAC address.
    let payload = [&address.octets()[..], &[option, 1], &source.0].concat();
    let kind = Icmpv6Type::Unknown { type_u8, code_u8: 0, bytes5to8: [flags, 0, 0, 0] };
    let (from, to) = (from.octets(), to.octets());
    let message = Icmpv6Header::with_checksum(kind, from, to, &payload).expect("it is short");
    let header = Ipv6Header {
        payload_length: (message.header_len() + payload.len()) as u16,
        next_header: IpNumber::IPV6_ICMP,
        hop_limit: u8::MAX,
        source: from,
        destination: to,
        ..Ipv6Header::default()
    };
    [&header.to_bytes()[..], &message.to_bytes(), &payload].concat()
}

fn v4(from: std::net::Ipv4Addr, to: std::net::Ipv4Addr, payload: u16, is_tcp: bool) -> Ipv4Header {
    let protocol = if is_tcp { IpNumber::TCP } else { IpNumber::UDP };
    // Datagrams may not be fragmented, so their identification is unused (RFC 6864).
    Ipv4Header::new(payload, TTL, protocol, from.octets(), to.octets()).expect("a packet is shorter than 64 KiB")
}

fn v6(from: Ipv6Addr, to: Ipv6Addr, payload: u16, is_tcp: bool) -> Ipv6Header {
    Ipv6Header {
        payload_length: payload,
        next_header: if is_tcp { IpNumber::TCP } else { IpNumber::UDP },
        hop_limit: TTL,
        source: from.octets(),
        destination: to.octets(),
        ..Ipv6Header::default()
    }
}

/// The IP header of a packet of `len` bytes, with capacity for the rest of it.
fn ip_header(from: IpAddr, to: IpAddr, len: u64, is_tcp: bool, dscp: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(len as usize);
    match (from, to) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let mut header = v4(a, b, (len - 20) as u16, is_tcp);
            header.dont_fragment = true;
            header.dscp = IpDscp::try_new(dscp).expect("the scenario's checks see to it");
            header.header_checksum = header.calc_header_checksum();
            out.extend(header.to_bytes());
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            // The upper six bits of the traffic class (RFC 2474).
            let header = Ipv6Header { traffic_class: dscp << 2, ..v6(a, b, (len - 40) as u16, is_tcp) };
            out.extend(header.to_bytes());
        }
        _ => unreachable!("both ends of an application have the same IP"),
    }
    out
}

fn tcp(from: IpAddr, to: IpAddr, ports: Ports, segment: &Segment, out: &mut Vec<u8>) {
    let flags = segment.flags;
    let mut header = TcpHeader::new(ports.source, ports.destination, segment.wire_seq(), segment.window);
    header.acknowledgment_number = if flags.ack { segment.wire_ack() } else { 0 };
    (header.syn, header.ack, header.fin, header.rst) = (flags.syn, flags.ack, flags.fin, flags.rst);
    header.psh = flags.psh;
    header.set_options_raw(&options(segment)).expect("options have 40 bytes at most");
    debug_assert_eq!(header.header_len_u16() as u64, segment.header_len().0);
    let zeros = &ZEROS[..segment.len as usize];
    let checksum = match (from, to) {
        (IpAddr::V4(a), IpAddr::V4(b)) => header.calc_checksum_ipv4_raw(a.octets(), b.octets(), zeros),
        (IpAddr::V6(a), IpAddr::V6(b)) => header.calc_checksum_ipv6_raw(a.octets(), b.octets(), zeros),
        _ => unreachable!("both ends of an application have the same IP"),
    };
    header.checksum = checksum.expect("a packet is shorter than 64 KiB");
    out.extend(header.to_bytes());
    out.extend(zeros);
}

/// TCP options as Linux lays them out (RFC 9293, 3.2; RFC 7323; RFC 2018), with NOPs in front for alignment.
fn options(segment: &Segment) -> Vec<u8> {
    const NOP: u8 = 1;
    let mut out = Vec::new();
    let stamps = segment.timestamps.map(|stamps| {
        let mut option = vec![8, 10];
        option.extend(stamps.value.to_be_bytes());
        option.extend(stamps.echo.to_be_bytes());
        option
    });
    if let Some(syn) = &segment.syn {
        out.extend([2, 4]);
        out.extend(syn.mss.to_be_bytes());
        if syn.sack_permitted {
            out.extend([4, 2]);
        }
        out.extend(stamps.into_iter().flatten());
        if let Some(shift) = syn.window_shift {
            out.extend([3, 3, shift]);
        }
        out.resize(out.len().next_multiple_of(4), NOP);
        return out;
    }
    if let Some(stamps) = stamps {
        out.extend([NOP, NOP]);
        out.extend(stamps);
    }
    if !segment.sack.is_empty() {
        out.extend([NOP, NOP, 5, 2 + 8 * segment.sack.len() as u8]);
        for block in segment.sack.iter(segment.ack) {
            out.extend((block.start as u32).to_be_bytes());
            out.extend((block.end as u32).to_be_bytes());
        }
    }
    out
}
