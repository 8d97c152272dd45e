//! Parsing of frames into metadata.
//!
//! Any input gives a result without panic. Frames that are not understood (a header that contradicts its frame, an unknown
//! EtherType) get `ip: None` or [`Transport::Other`], and the manager forwards them unchanged. Checksums are not verified:
//! that is up to the receiver.

use core::net::IpAddr;

use etherparse::{LaxIpv4Slice, LaxIpv6Slice, TcpOptionElement, TcpSlice, UdpHeaderSlice};
use evenair_units::Bytes;

use crate::control::IGMP;
use crate::encapsulation::{self, GRE, Inner};
use crate::{
    Claim, Content, Control, Encapsulation, IpMeta, MacAddr, Membership, PacketMeta, Port, TcpFlags, TcpMeta,
    Timestamps, Transport, Vlan,
};

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_ARP: u16 = 0x0806;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// IEEE 802.1Q customer tag, 802.1ad service tag, and the tag of pre-standard double tagging.
const ETHERTYPE_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Maximum number of tags that are parsed. A customer and a service tag are usual.
const MAX_VLAN_TAGS: usize = 3;
pub(crate) const PROTOCOL_TCP: u8 = 6;
pub(crate) const PROTOCOL_UDP: u8 = 17;
pub(crate) const UDP_HEADER: usize = 8;
const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_ICMPV6: u8 = 58;
/// Extension headers of IPv6 that may precede TCP (RFC 8200, RFC 6275, RFC 7401, RFC 5533).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V4,
    V6,
}

/// Link layer: everything between the MAC addresses and the payload.
struct Link {
    vlan: Option<Vlan>,
    ether_type: u16,
    /// Offset of the EtherType's payload; at most the frame's length.
    at: usize,
}

/// IP header and everything behind it.
struct Network<'b> {
    ip: IpMeta,
    content: Content,
    control: Option<Control>,
    inner: Option<(Encapsulation, Inner<'b>)>,
}

/// Parses an Ethernet frame (without FCS) that entered at `ingress`.
pub fn parse(ingress: Port, frame: &[u8]) -> PacketMeta {
    let link = parse_link(frame);
    let (mut meta, inner) =
        parse_network(ingress, mac_at(frame, 6), mac_at(frame, 0), link.ether_type, &frame[link.at..]);
    (meta.frame_len, meta.vlan) = (Bytes(frame.len() as u64), link.vlan);
    match inner {
        Some((kind, inner)) => parse_inner(&meta, kind, inner).unwrap_or(meta),
        None => meta,
    }
}

/// The packet inside of `outer`; `None` if it is neither IP nor control.
fn parse_inner(outer: &PacketMeta, kind: Encapsulation, inner: Inner<'_>) -> Option<PacketMeta> {
    let ingress = outer.ingress;
    let (mut meta, frame_len, vlan) = match inner {
        Inner::Network(ether_type, body) => {
            (parse_network(ingress, outer.src, outer.dst, ether_type, body).0, outer.frame_len, None)
        }
        Inner::Frame(frame) => {
            let link = parse_link(frame);
            let (src, dst) = (mac_at(frame, 6), mac_at(frame, 0));
            let meta = parse_network(ingress, src, dst, link.ether_type, &frame[link.at..]).0;
            (meta, Bytes(frame.len() as u64), link.vlan)
        }
        Inner::Msdu(src, dst, ether_type, body) => {
            let meta = parse_network(ingress, src, dst, ether_type, body).0;
            (meta, Bytes(14 + body.len() as u64), None)
        }
    };
    meta.frame_len = frame_len;
    // The tag of the outer frame identifies the place in the network, an inner one the owner.
    meta.vlan = match (outer.vlan, vlan) {
        (Some(outer), Some(inner)) => Some(Vlan { inner: outer.inner.or(Some(inner.id)), ..outer }),
        (outer, inner) => outer.or(inner),
    };
    meta.encapsulation = Some(kind);
    let is_frame = !matches!(inner, Inner::Network(..));
    (meta.ip.is_some() || is_frame).then_some(meta)
}

/// Parses the payload of an EtherType between two MAC addresses; the frame length is left to the caller.
fn parse_network(
    ingress: Port,
    src: MacAddr,
    dst: MacAddr,
    ether_type: u16,
    body: &[u8],
) -> (PacketMeta, Option<(Encapsulation, Inner<'_>)>) {
    let network = match ether_type {
        ETHERTYPE_IPV4 => parse_v4(body),
        ETHERTYPE_IPV6 => parse_v6(body, src),
        _ => None,
    };
    let (ip, content, control, inner) = match network {
        Some(Network { ip, content, control, inner }) => (Some(ip), content, control, inner),
        None => {
            let claim = (ether_type == ETHERTYPE_ARP).then(|| Claim::of_arp(body, src)).flatten();
            let content = claim.map_or(Content::Opaque, Content::Claim);
            (None, content, Control::of_frame(ether_type, dst), encapsulation::of_frame(ether_type, body))
        }
    };
    let frame_len = Bytes(14 + body.len() as u64);
    let meta =
        PacketMeta { ingress, frame_len, src, dst, vlan: None, ether_type, ip, content, control, encapsulation: None };
    (meta, inner)
}

/// DSCP of an Ethernet frame with an intact IP header: all that its priority depends on.
pub fn dscp(frame: &[u8]) -> Option<u8> {
    let (version, at) = ip_offset(frame)?;
    Some(match version {
        Version::V4 => frame[at + 1] >> 2,
        // The traffic class spans the first two octets.
        Version::V6 => (frame[at] & 0x0f) << 2 | frame[at + 1] >> 6,
    })
}

/// Version and offset of an intact IP header (version 4: at least 20 bytes, version 6: 40).
pub(crate) fn ip_offset(frame: &[u8]) -> Option<(Version, usize)> {
    let link = parse_link(frame);
    let body = &frame[link.at..];
    match (link.ether_type, body.first()? >> 4) {
        (ETHERTYPE_IPV4, 4) if body.len() >= 20 => Some((Version::V4, link.at)),
        (ETHERTYPE_IPV6, 6) if body.len() >= 40 => Some((Version::V6, link.at)),
        _ => None,
    }
}

/// Offset of an intact TCP header (at least 20 bytes) that [`parse`] reads and that may be changed: not behind an
/// authentication header (RFC 4302), whose receiver would reject the packet.
pub(crate) fn tcp_offset(frame: &[u8]) -> Option<usize> {
    parse(Port::Wlan, frame).tcp()?;
    let (_, _, protocol, at) = transport_offset(frame)?;
    (protocol == PROTOCOL_TCP && frame.len() >= at + 20).then_some(at)
}

/// The IP version, the offset of its header, the protocol behind it and all extension headers of IPv6 except those for
/// security, and the offset of that protocol; `None` for frames that are not IP, and for fragments.
pub(crate) fn transport_offset(frame: &[u8]) -> Option<(Version, usize, u8, usize)> {
    let (version, at) = ip_offset(frame)?;
    let ip = &frame[at..];
    if version == Version::V4 {
        let header = usize::from(ip[0] & 0x0f) * 4;
        let fragment = u16_at(ip, 6)? & 0x3fff != 0;
        return (header >= 20 && !fragment && ip.len() >= header).then_some((version, at, ip[9], at + header));
    }
    let (mut protocol, mut next) = (ip[6], 40);
    // RFC 8200, 4: each header names the next, and has its length in units of 8 octets behind the first 8; except for the
    // fragment header, whose length is fixed, and which an unfragmented packet may have (RFC 6946).
    loop {
        let len = match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HOST_IDENTITY | SHIM6 => {
                usize::from(*ip.get(next + 1)?) * 8 + 8
            }
            FRAGMENT if u16_at(ip, next + 2)? & 0xfff9 == 0 => 8,
            FRAGMENT => return None,
            _ => break,
        };
        protocol = *ip.get(next)?;
        next += len;
    }
    Some((version, at, protocol, at + next))
}

fn parse_link(frame: &[u8]) -> Link {
    let mut link = Link { vlan: None, ether_type: u16_at(frame, 12).unwrap_or(0), at: frame.len().min(14) };
    for _ in 0..MAX_VLAN_TAGS {
        if !ETHERTYPE_VLAN.contains(&link.ether_type) {
            break;
        }
        let (Some(tag), Some(inner)) = (u16_at(frame, link.at), u16_at(frame, link.at + 2)) else { break };
        note_tag(&mut link.vlan, tag & 0x0fff);
        link.ether_type = inner;
        link.at += 4;
    }
    link
}

/// Records a tag, from the outside in.
fn note_tag(vlan: &mut Option<Vlan>, id: u16) {
    match vlan {
        _ if id == 0 => {}
        None => *vlan = Some(id.into()),
        Some(vlan) => vlan.inner = vlan.inner.or(Some(id)),
    }
}

fn parse_v4(body: &[u8]) -> Option<Network<'_>> {
    let (slice, _) = LaxIpv4Slice::from_slice(body).ok()?;
    let header = slice.header();
    let total_len = announced_len(usize::from(header.total_len()), 0, header.slice().len(), body.len())?;
    let payload = slice.payload();
    let mut network = Network::of(payload, |transport| IpMeta {
        src: IpAddr::V4(header.source_addr()),
        dst: IpAddr::V4(header.destination_addr()),
        protocol: payload.ip_number.0,
        dscp: header.dcp().value(),
        ecn: header.ecn().value(),
        total_len,
        fragment: payload.fragmented,
        transport,
    });
    if payload.ip_number.0 == IGMP && !payload.fragmented {
        network.control = Some(Control::Membership);
        network.note_membership(Membership::of_igmp(payload.payload));
    }
    Some(network)
}

fn parse_v6(body: &[u8], src: MacAddr) -> Option<Network<'_>> {
    let (slice, _) = LaxIpv6Slice::from_slice(body).ok()?;
    let header = slice.header();
    let total_len = announced_len(usize::from(header.payload_length()), 40, 40, body.len())?;
    let payload = slice.payload();
    let mut network = Network::of(payload, |transport| IpMeta {
        src: IpAddr::V6(header.source_addr()),
        dst: IpAddr::V6(header.destination_addr()),
        protocol: payload.ip_number.0,
        dscp: header.dscp().value(),
        ecn: header.ecn().value(),
        total_len,
        fragment: payload.fragmented,
        transport,
    });
    if let Transport::Icmp { kind } = network.ip.transport
        && payload.ip_number.0 == PROTOCOL_ICMPV6
    {
        network.control = Control::of_icmpv6(kind, header.hop_limit());
        match network.control {
            Some(Control::Neighbour) => {
                let claim = Claim::of_icmpv6(payload.payload, header.source_addr().into(), src);
                network.content = claim.map_or(Content::Opaque, Content::Claim);
            }
            Some(Control::Membership) => network.note_membership(Membership::of_icmpv6(payload.payload)),
            _ => {}
        }
    }
    Some(network)
}

impl<'b> Network<'b> {
    fn of(payload: &etherparse::LaxIpPayloadSlice<'b>, ip: impl FnOnce(Transport) -> IpMeta) -> Self {
        let (transport, content) = parse_transport(payload);
        let (control, inner) = match transport {
            Transport::Udp { src_port, dst_port } => {
                let udp = UdpHeaderSlice::from_slice(payload.payload);
                let carried = udp.map(|udp| datagram(&udp, payload.payload)).unwrap_or_default();
                let control = Control::of_datagram(src_port, dst_port, carried);
                (control, encapsulation::of_datagram(src_port, dst_port, carried))
            }
            Transport::Other if payload.ip_number.0 == GRE && !payload.fragmented => {
                (None, encapsulation::of_gre(payload.payload))
            }
            _ => (None, None),
        };
        Self { ip: ip(transport), content, control, inner }
    }

    fn note_membership(&mut self, membership: Option<Membership>) {
        self.content = membership.map_or(Content::Opaque, |membership| Content::Membership(membership.into()));
    }
}

/// The packet's length from its length field, which excludes `uncounted` bytes. Zero means that the sender left the field
/// to the hardware (segmentation offload of more than 64 KiB): then all available bytes count. `None` if the length is
/// below that of the header, or above `available`.
fn announced_len(field: usize, uncounted: usize, header: usize, available: usize) -> Option<Bytes> {
    let len = if field == 0 { available } else { field + uncounted };
    (header..=available).contains(&len).then_some(Bytes(len as u64))
}

fn parse_transport(ip: &etherparse::LaxIpPayloadSlice<'_>) -> (Transport, Content) {
    let opaque = |transport| (transport, Content::Opaque);
    let parsed = match ip.ip_number.0 {
        _ if ip.fragmented => None,
        PROTOCOL_TCP => TcpSlice::from_slice(ip.payload).ok().map(|tcp| {
            let (src_port, dst_port) = (tcp.source_port(), tcp.destination_port());
            (Transport::Tcp(parse_tcp(&tcp)), Content::of_segment(src_port, dst_port, tcp.payload()))
        }),
        PROTOCOL_UDP => UdpHeaderSlice::from_slice(ip.payload).ok().map(|udp| {
            let (src_port, dst_port) = (udp.source_port(), udp.destination_port());
            (
                Transport::Udp { src_port, dst_port },
                Content::of_datagram(src_port, dst_port, datagram(&udp, ip.payload)),
            )
        }),
        PROTOCOL_ICMP | PROTOCOL_ICMPV6 => ip.payload.first().map(|&kind| opaque(Transport::Icmp { kind })),
        _ => None,
    };
    parsed.unwrap_or(opaque(Transport::Other))
}

/// Payload of a datagram, up to the end in its own header or in that of its IP packet.
fn datagram<'b>(udp: &UdpHeaderSlice<'_>, bytes: &'b [u8]) -> &'b [u8] {
    let end = match usize::from(udp.length()) {
        0 => bytes.len(),
        announced => announced.min(bytes.len()),
    };
    bytes.get(UDP_HEADER..end).unwrap_or_default()
}

fn parse_tcp(tcp: &TcpSlice<'_>) -> TcpMeta {
    let mut meta = TcpMeta {
        src_port: tcp.source_port(),
        dst_port: tcp.destination_port(),
        seq: tcp.sequence_number(),
        ack: tcp.acknowledgment_number(),
        // RFC 9293, figure 1: octet 13 holds the eight control bits.
        flags: TcpFlags(tcp.slice()[13]),
        window: tcp.window_size(),
        payload: Bytes(tcp.payload().len() as u64),
        window_scale: None,
        mss: None,
        sacked_to: None,
        timestamps: None,
    };
    // An invalid option ends the list; earlier ones count.
    for option in tcp.options_iterator().map_while(Result::ok) {
        match option {
            TcpOptionElement::MaximumSegmentSize(mss) => meta.mss = Some(mss),
            TcpOptionElement::WindowScale(shift) => meta.window_scale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgement((_, end), _) => meta.sacked_to = Some(end),
            TcpOptionElement::Timestamp(value, echo) => meta.timestamps = Some(Timestamps { value, echo }),
            _ => {}
        }
    }
    meta
}

/// The address at `offset`; zeros if the frame is too short.
fn mac_at(frame: &[u8], offset: usize) -> MacAddr {
    MacAddr(frame.get(offset..offset + 6).and_then(|octets| octets.try_into().ok()).unwrap_or_default())
}

fn u16_at(frame: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*frame.get(offset)?, *frame.get(offset + 1)?]))
}
