//! Finds the IP packet in a captured packet.

use std::fmt;
use std::net::IpAddr;

use evenair_capture::Link;

/// EtherTypes whose headers are skipped.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
const OLD_SERVICE_VLAN: u16 = 0x9100;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;
/// Largest value of the EtherType field that is a length (IEEE Std 802.3, 3.2.6).
const LARGEST_LENGTH: u16 = 1500;
/// Protocols of PPP.
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
/// LLC and SNAP before an EtherType (RFC 1042).
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
/// Largest segment that Linux leaves to a device to cut (GSO_MAX_SIZE), in bytes.
const LARGEST_SEGMENT: u32 = 8 * 65_535;

/// An IP packet, as described by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IpPacket {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Length of the packet, including its header.
    pub(super) len: u32,
}

/// Why a captured packet is no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NotIp {
    /// The interface has an unsupported link type.
    Link(Link),
    /// It carries another protocol.
    EtherType(u16),
    /// PPP carries another protocol.
    Ppp(u16),
    /// It has another address family.
    Family(u32),
    /// It is an 802.3 frame with a length, such as spanning tree.
    Llc,
    /// Its headers are incomplete.
    Short,
    /// It is marked as IP, but its header has another version.
    Version,
}

impl fmt::Display for NotIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Link(link) => write!(f, "of link type \"{link}\""),
            Self::EtherType(number) => match ether_type_name(number) {
                Some(name) => f.write_str(name),
                None => write!(f, "EtherType 0x{number:04x}"),
            },
            Self::Ppp(number) => write!(f, "PPP protocol 0x{number:04x}"),
            Self::Family(number) => write!(f, "address family {number}"),
            Self::Llc => f.write_str("802.2 LLC, such as spanning tree"),
            Self::Short => f.write_str("with less than their headers captured"),
            Self::Version => f.write_str("without a version of IP in the header"),
        }
    }
}

/// Names of EtherTypes that networks have beside IP (IEEE's registry).
fn ether_type_name(number: u16) -> Option<&'static str> {
    Some(match number {
        0x0806 => "ARP",
        0x0842 => "Wake-on-LAN",
        0x22f0 => "AVTP",
        0x6003 => "DECnet",
        0x8035 => "RARP",
        0x809b => "AppleTalk",
        0x80f3 => "AppleTalk ARP",
        0x8137 => "IPX",
        0x8809 => "LACP",
        0x8847 | 0x8848 => "MPLS without IP",
        0x8863 => "PPPoE discovery",
        0x886d => "Intel ANS",
        0x887b | 0x88e1 => "HomePlug",
        0x888e => "EAPOL (802.1X)",
        0x8892 => "PROFINET",
        0x88a4 => "EtherCAT",
        0x88a2 => "ATA over Ethernet",
        0x88b8 => "GOOSE",
        0x88c7 => "802.11 pre-authentication",
        0x88cc => "LLDP",
        0x88e5 => "MACsec",
        0x88f7 => "PTP",
        0x8902 => "802.1ag CFM",
        0x8906 => "FCoE",
        0x890d => "802.11 TDLS",
        0x893a => "IEEE 1905.1",
        0x9000 => "Ethernet loop test",
        _ => return None,
    })
}

/// Whether this link type is supported.
pub(super) fn is_read(link: Link) -> bool {
    has_ethernet_or_ether_type(link) || has_family(link) || is_bare(link)
}

fn has_ethernet_or_ether_type(link: Link) -> bool {
    [Link::ETHERNET, Link::LINUX_SLL, Link::LINUX_SLL2].contains(&link)
}

fn has_family(link: Link) -> bool {
    [Link::NULL, Link::LOOP].contains(&link)
}

fn is_bare(link: Link) -> bool {
    [Link::RAW, Link::RAW_DLT, Link::RAW_OPENBSD, Link::RAW_IPV4, Link::RAW_IPV6].contains(&link)
}

/// The IP packet in a captured packet of this link type, whose original length was `original_len` bytes.
pub(super) fn ip_packet(link: Link, bytes: &[u8], original_len: u32) -> Result<IpPacket, NotIp> {
    let packet = match link {
        Link::ETHERNET => of_ether_type(word(bytes, 12)?, after(bytes, 14)?)?,
        // The protocol is at the end of 16 bytes, or at the beginning of 20.
        Link::LINUX_SLL => of_ether_type(word(bytes, 14)?, after(bytes, 16)?)?,
        Link::LINUX_SLL2 => of_ether_type(word(bytes, 0)?, after(bytes, 20)?)?,
        _ if has_family(link) => of_family(bytes)?,
        _ if is_bare(link) => bytes,
        _ => return Err(NotIp::Link(link)),
    };
    let before = (bytes.len() - packet.len()) as u32;
    header(packet, original_len.saturating_sub(before))
}

fn word(bytes: &[u8], at: usize) -> Result<u16, NotIp> {
    bytes.get(at..at + 2).map(|word| u16::from_be_bytes([word[0], word[1]])).ok_or(NotIp::Short)
}

fn after(bytes: &[u8], len: usize) -> Result<&[u8], NotIp> {
    bytes.get(len..).ok_or(NotIp::Short)
}

/// The payload after an EtherType, or after an 802.3 field that may be a length.
fn of_ether_type(mut kind: u16, mut rest: &[u8]) -> Result<&[u8], NotIp> {
    loop {
        match kind {
            IPV4 | IPV6 => return Ok(rest),
            VLAN | SERVICE_VLAN | OLD_SERVICE_VLAN => (kind, rest) = (word(rest, 2)?, after(rest, 4)?),
            MPLS | MPLS_MULTICAST => return of_mpls(kind, rest),
            PPPOE_SESSION => return of_pppoe(rest),
            ..=LARGEST_LENGTH if rest.starts_with(&SNAP) => (kind, rest) = (word(rest, 6)?, after(rest, 8)?),
            ..=LARGEST_LENGTH => return Err(NotIp::Llc),
            other => return Err(NotIp::EtherType(other)),
        }
    }
}

/// MPLS does not identify the payload after its last label, which is marked: it is IP if it looks like it (RFC 4928,
/// section 3).
fn of_mpls(kind: u16, mut rest: &[u8]) -> Result<&[u8], NotIp> {
    loop {
        let is_last = word(rest, 2)? & 0x0100 != 0;
        rest = after(rest, 4)?;
        if is_last {
            return if rest.first().is_some_and(|first| matches!(first >> 4, 4 | 6)) {
                Ok(rest)
            } else {
                Err(NotIp::EtherType(kind))
            };
        }
    }
}

/// The header of a PPPoE session (RFC 2516) has 6 bytes, before PPP's protocol.
fn of_pppoe(rest: &[u8]) -> Result<&[u8], NotIp> {
    match word(rest, 6)? {
        PPP_IPV4 | PPP_IPV6 => after(rest, 8),
        other => Err(NotIp::Ppp(other)),
    }
}

/// The address family has four bytes in the byte order of the capturing host: the smaller of both readings.
fn of_family(bytes: &[u8]) -> Result<&[u8], NotIp> {
    let family: [u8; 4] = bytes.get(..4).and_then(|family| family.try_into().ok()).ok_or(NotIp::Short)?;
    match u32::from_be_bytes(family).min(u32::from_le_bytes(family)) {
        // IPv4; IPv6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS.
        2 | 10 | 24 | 28 | 30 => after(bytes, 4),
        other => Err(NotIp::Family(other)),
    }
}

/// Parses the header of a packet of which the capturing host saw `seen` bytes.
fn header(packet: &[u8], seen: u32) -> Result<IpPacket, NotIp> {
    // A segment that a device is to cut has no length in its header.
    let seen = seen.clamp(packet.len() as u32, LARGEST_SEGMENT.max(packet.len() as u32));
    match packet.first().ok_or(NotIp::Short)? >> 4 {
        4 => {
            let len = Some(u32::from(word(packet, 2)?)).filter(|&len| len > 0).unwrap_or(seen);
            Ok(IpPacket { source: address::<4>(packet, 12)?, destination: address::<4>(packet, 16)?, len })
        }
        6 => {
            let payload = u32::from(word(packet, 4)?);
            // A length of 0 is a jumbogram: the length is in an option of the next header (RFC 2675).
            let len = if payload == 0 && packet.get(6) == Some(&0) { seen } else { 40 + payload };
            Ok(IpPacket { source: address::<16>(packet, 8)?, destination: address::<16>(packet, 24)?, len })
        }
        _ => Err(NotIp::Version),
    }
}

fn address<const N: usize>(packet: &[u8], at: usize) -> Result<IpAddr, NotIp>
where
    IpAddr: From<[u8; N]>,
{
    packet.get(at..).and_then(|rest| rest.first_chunk()).map(|bytes: &[u8; N]| IpAddr::from(*bytes)).ok_or(NotIp::Short)
}
