//! Probes as frames: requests for addresses of stations, to which these reply (see `evenair_manager`'s `probes`).
//!
//! They come from a MAC address that no host has, derived from the bridge's or the port's. So replies come to the box's rings, and the
//! kernel's own requests and replies for the box's addresses are not affected. For version 4 a probe is an ARP request from 0.0.0.0, which
//! changes no cache (RFC 5227, 1.1); for version 6 it is a neighbour solicitation from the link-local address of that MAC address (RFC
//! 4861, 4.3; RFC 4291, appendix A), to which the reply is sent, and not to all nodes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{
    ArpEthIpv4Packet, ArpOperation, ArpPacket, EtherType, Ethernet2Header, Icmpv6Type, PacketBuilder, SingleVlanHeader,
    VlanId,
};
use evenair_manager::Config;
use evenair_packet::{MacAddr, Vlan};

/// Shortest Ethernet frame in bytes, without the check sequence.
const SHORTEST: usize = 60;
/// A bit in which the address differs from the one it is derived from, and the bits of locally administered and of group addresses (IEEE
/// 802, 8.4).
const OTHER: u8 = 0x40;
const LOCAL: u8 = 0x02;
const GROUP: u8 = 0x01;
/// Neighbour solicitation, and its option with the sender's MAC address, in units of eight bytes (RFC 4861, 4.3 and 4.6.1).
const SOLICITATION: u8 = 135;
const SOURCE_OPTION: [u8; 2] = [1, 1];
const HOP_LIMIT: u8 = 255;

/// MAC address from which a box sends probes, whose bridge or port has this address.
pub(crate) fn source_of(address: [u8; 6]) -> MacAddr {
    let [first, rest @ ..] = address;
    let [b, c, d, e, f] = rest;
    MacAddr([((first ^ OTHER) | LOCAL) & !GROUP, b, c, d, e, f])
}

/// Sets the source in a configuration with probes.
pub(crate) fn set_source(config: &mut Config, source: MacAddr) {
    config.probes.iter_mut().for_each(|probes| probes.source = Some(source));
}

/// A probe to a station for this address of it.
pub(crate) fn frame(source: MacAddr, station: MacAddr, vlan: Option<Vlan>, address: IpAddr) -> Vec<u8> {
    let tag = vlan.and_then(|vlan| VlanId::try_new(vlan.id).ok());
    let mut frame = match address {
        IpAddr::V4(address) => request(source, station, tag, address),
        IpAddr::V6(address) => solicitation(source, station, tag, address),
    };
    frame.resize(frame.len().max(SHORTEST), 0);
    frame
}

fn request(source: MacAddr, station: MacAddr, tag: Option<VlanId>, address: Ipv4Addr) -> Vec<u8> {
    let arp = ArpEthIpv4Packet {
        operation: ArpOperation::REQUEST,
        sender_mac: source.0,
        sender_ipv4: Ipv4Addr::UNSPECIFIED.octets(),
        target_mac: [0; 6],
        target_ipv4: address.octets(),
    };
    let ether_type = if tag.is_some() { EtherType::VLAN_TAGGED_FRAME } else { EtherType::ARP };
    let mut frame = Vec::with_capacity(SHORTEST);
    frame.extend(Ethernet2Header { source: source.0, destination: station.0, ether_type }.to_bytes());
    if let Some(vlan_id) = tag {
        let tag = SingleVlanHeader { vlan_id, ether_type: EtherType::ARP, ..SingleVlanHeader::default() };
        frame.extend(tag.to_bytes());
    }
    frame.extend(ArpPacket::from(arp).to_bytes());
    frame
}

fn solicitation(source: MacAddr, station: MacAddr, tag: Option<VlanId>, address: Ipv6Addr) -> Vec<u8> {
    let kind = Icmpv6Type::Unknown { type_u8: SOLICITATION, code_u8: 0, bytes5to8: [0; 4] };
    let body = [&address.octets()[..], &SOURCE_OPTION, &source.0].concat();
    let to = PacketBuilder::ethernet2(source.0, station.0);
    let (from, address) = (link_local(source).octets(), address.octets());
    let packet = match tag {
        Some(tag) => to.single_vlan(tag).ipv6(from, address, HOP_LIMIT),
        None => to.ipv6(from, address, HOP_LIMIT),
    };
    let packet = packet.icmpv6(kind);
    let mut frame = Vec::with_capacity(packet.size(body.len()));
    packet.write(&mut frame, &body).expect("a vector takes any bytes, and the lengths fit");
    frame
}

/// The link-local address with the modified EUI-64 of this MAC address.
fn link_local(MacAddr([a, b, c, d, e, f]): MacAddr) -> Ipv6Addr {
    Ipv6Addr::from([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ LOCAL, b, c, 0xff, 0xfe, d, e, f])
}

#[cfg(test)]
mod tests {
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};
    use evenair_packet::{Port, parse};

    use super::*;

    const BRIDGE: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];
    const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    #[test]
    fn the_source_is_a_local_address_of_one_host_and_not_the_bridges() {
        for address in [BRIDGE, [0; 6], [0xff; 6], [0x02, 1, 1, 1, 1, 1]] {
            let MacAddr(source) = source_of(address);
            assert_ne!(source, address);
            assert_eq!((source[0] & LOCAL, source[0] & GROUP), (LOCAL, 0), "{source:x?}");
        }
    }

    #[test]
    fn a_request_claims_nothing_and_asks_the_station_alone() {
        let (source, address) = (source_of(BRIDGE), Ipv4Addr::new(10, 1, 2, 3));
        for (vlan, at) in [(None, 14), (Some(Vlan { id: 77, inner: None }), 18)] {
            let frame = frame(source, STATION, vlan, address.into());
            assert_eq!(frame.len(), SHORTEST);
            let meta = parse(Port::Wire, &frame);
            assert_eq!((meta.src, meta.dst, meta.ether_type, meta.vlan), (source, STATION, 0x0806, vlan));
            assert!(matches!(meta.content, evenair_packet::Content::Opaque), "a probe claims no address");
            let arp = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &source.0, &[0; 4], &[0; 6], &[10, 1, 2, 3]].concat();
            assert_eq!(frame[at..at + arp.len()], arp);
        }
    }

    #[test]
    fn a_solicitation_has_a_right_checksum_and_names_its_sender() {
        let (source, address) = (source_of(BRIDGE), "fe80::9".parse::<Ipv6Addr>().expect("an address"));
        for vlan in [None, Some(Vlan { id: 4, inner: None })] {
            let frame = frame(source, STATION, vlan, address.into());
            let sliced = SlicedPacket::from_ethernet(&frame).expect("a frame");
            let (Some(NetSlice::Ipv6(ip)), Some(TransportSlice::Icmpv6(icmp))) = (sliced.net, sliced.transport) else {
                panic!("no message of ICMPv6")
            };
            let header = ip.header();
            assert_eq!((header.hop_limit(), header.destination_addr()), (255, address));
            assert!(icmp.is_checksum_valid(header.source(), header.destination()));
            assert_eq!((icmp.slice()[0], icmp.slice().len()), (SOLICITATION, 32));
            assert_eq!(icmp.slice()[8..24], address.octets());
            assert_eq!(icmp.slice()[24..], [&SOURCE_OPTION[..], &source.0].concat());
        }
    }
}
