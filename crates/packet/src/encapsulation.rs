//! Packets inside of other protocols: PPPoE sessions, MPLS, and tunnels between access points and a controller.
//!
//! The inner packet is what a station sends or receives, and what the manager queues and charges. In a tunnel that carries
//! whole Ethernet or 802.11 frames the inner frame identifies the station; otherwise the outer frame does. One level is
//! decapsulated. Unreadable packets (ciphertext, a fragment, another version) count as packets of the outer addresses.
//!
//! Inner packets are never changed: a driver's edits reach outer headers only.
//!
//! Source: RFC 2516 (PPPoE), RFC 1661 (PPP), RFC 3032 (MPLS), RFC 4448 (Ethernet over MPLS), RFC 2784 and RFC 2890 (GRE), RFC 7637
//! (Ethernet in GRE), RFC 7348 (VXLAN), RFC 5415 (CAPWAP), IEEE 802.11-2020, 9.3.2.1 (addresses of data frames).

use minicbor::{Decode, Encode};

use crate::MacAddr;

/// The protocol around a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Encapsulation {
    /// A PPPoE session.
    #[n(0)]
    Pppoe,
    /// MPLS labels.
    #[n(1)]
    Mpls,
    /// GRE.
    #[n(2)]
    Gre,
    /// VXLAN.
    #[n(3)]
    Vxlan,
    /// CAPWAP's data channel, not encrypted.
    #[n(4)]
    Capwap,
}

/// An inner packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inner<'b> {
    /// Payload of an EtherType, behind the same MAC addresses.
    Network(u16, &'b [u8]),
    /// An Ethernet frame without its FCS.
    Frame(&'b [u8]),
    /// MSDU of an 802.11 data frame: source, destination, EtherType, and its payload.
    Msdu(MacAddr, MacAddr, u16, &'b [u8]),
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
const ETHERTYPE_MPLS: [u16; 2] = [0x8847, 0x8848];
/// Ethernet in GRE (RFC 7637).
const ETHERTYPE_BRIDGING: u16 = 0x6558;
/// IP protocol number (IANA).
pub(crate) const GRE: u8 = 47;
/// UDP ports (IANA); 8472 is that of Linux, older than the assignment.
const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const CAPWAP_DATA_PORT: u16 = 5247;
/// Maximum number of MPLS labels that are parsed.
const MOST_LABELS: usize = 8;

/// The IP version of a packet, as an EtherType.
fn by_version(packet: &[u8]) -> Option<Inner<'_>> {
    match packet.first()? >> 4 {
        4 => Some(Inner::Network(ETHERTYPE_IPV4, packet)),
        6 => Some(Inner::Network(ETHERTYPE_IPV6, packet)),
        _ => None,
    }
}

/// The inner packet of a frame with this EtherType and body.
pub(crate) fn of_frame(ether_type: u16, body: &[u8]) -> Option<(Encapsulation, Inner<'_>)> {
    if ether_type == ETHERTYPE_PPPOE_SESSION {
        return Some((Encapsulation::Pppoe, of_pppoe(body)?));
    }
    ETHERTYPE_MPLS.contains(&ether_type).then(|| Some((Encapsulation::Mpls, of_mpls(body)?))).flatten()
}

/// RFC 2516, 4: version and type 1, code 0, session, length; then the PPP protocol (RFC 1332, RFC 5072).
fn of_pppoe(body: &[u8]) -> Option<Inner<'_>> {
    let [0x11, 0, _, _, len_high, len_low, rest @ ..] = body else { return None };
    let ppp = rest.get(..usize::from(u16::from_be_bytes([*len_high, *len_low])))?;
    match ppp {
        [0x00, 0x21, packet @ ..] => Some(Inner::Network(ETHERTYPE_IPV4, packet)),
        [0x00, 0x57, packet @ ..] => Some(Inner::Network(ETHERTYPE_IPV6, packet)),
        _ => None,
    }
}

/// RFC 3032, 2.1: labels up to the one with the bottom bit; then IP by its version, or an Ethernet frame behind a control word,
/// which begins with a zero nibble for that purpose (RFC 4385).
fn of_mpls(body: &[u8]) -> Option<Inner<'_>> {
    let mut rest = body;
    for _ in 0..MOST_LABELS {
        let (label, behind) = rest.split_first_chunk::<4>()?;
        rest = behind;
        if label[2] & 1 == 1 {
            return match rest {
                [0, _, _, _, frame @ ..] if frame.len() >= 14 => Some(Inner::Frame(frame)),
                packet => by_version(packet),
            };
        }
    }
    None
}

/// The inner packet of a GRE payload: IP, MPLS or Ethernet.
pub(crate) fn of_gre(payload: &[u8]) -> Option<(Encapsulation, Inner<'_>)> {
    let (&[flags, version, kind_high, kind_low], rest) = payload.split_first_chunk::<4>()?;
    // Checksum, key and sequence number are four bytes each; source routing is obsolete (RFC 2784, appendix A).
    if version & 7 != 0 || flags & 0x4f != 0 {
        return None;
    }
    let optional = [0x80, 0x20, 0x10].into_iter().filter(|bit| flags & bit != 0).count() * 4;
    let rest = rest.get(optional..)?;
    let inner = match u16::from_be_bytes([kind_high, kind_low]) {
        ETHERTYPE_BRIDGING => Inner::Frame(rest),
        kind @ (ETHERTYPE_IPV4 | ETHERTYPE_IPV6) => Inner::Network(kind, rest),
        kind if ETHERTYPE_MPLS.contains(&kind) => of_mpls(rest)?,
        _ => return None,
    };
    Some((Encapsulation::Gre, inner))
}

/// The inner packet of a datagram between these ports.
pub(crate) fn of_datagram(src_port: u16, dst_port: u16, payload: &[u8]) -> Option<(Encapsulation, Inner<'_>)> {
    if VXLAN_PORTS.contains(&dst_port) {
        // RFC 7348, 5: flag of a valid identifier, and reserved bytes.
        let [0x08, 0, 0, 0, _, _, _, 0, frame @ ..] = payload else { return None };
        return (frame.len() >= 14).then_some((Encapsulation::Vxlan, Inner::Frame(frame)));
    }
    let is_capwap = src_port == CAPWAP_DATA_PORT || dst_port == CAPWAP_DATA_PORT;
    is_capwap.then(|| Some((Encapsulation::Capwap, of_capwap(payload)?))).flatten()
}

/// RFC 5415, 4.3: a header of `HLEN` words. Fragments, keep-alives and bindings other than 802.11 are not parsed.
fn of_capwap(payload: &[u8]) -> Option<Inner<'_>> {
    const BINDING_80211: u32 = 1;
    let word = u32::from_be_bytes(*payload.first_chunk::<4>()?);
    let (preamble, words, binding) = (word >> 24, word >> 19 & 0x1f, word >> 9 & 0x1f);
    let (is_native, is_fragment, keeps_alive) = (word >> 8 & 1 == 1, word >> 7 & 1 == 1, word >> 3 & 1 == 1);
    if preamble != 0 || binding != BINDING_80211 || is_fragment || keeps_alive || words < 2 {
        return None;
    }
    let body = payload.get(words as usize * 4..)?;
    if is_native { of_80211(body) } else { (body.len() >= 14).then_some(Inner::Frame(body)) }
}

/// An 802.11 data frame with an LLC/SNAP header and without encryption.
fn of_80211(frame: &[u8]) -> Option<Inner<'_>> {
    const LLC_SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
    let [control, flags, ..] = *frame else { return None };
    let is_data = control & 0x0f == 0x08 && control & 0x40 == 0;
    let (to_ds, from_ds, is_protected) = (flags & 1 != 0, flags & 2 != 0, flags & 0x40 != 0);
    if !is_data || is_protected {
        return None;
    }
    let address = |at: usize| Some(MacAddr(*frame.get(at..)?.first_chunk::<6>()?));
    let (dst, src) = match (to_ds, from_ds) {
        (true, false) => (address(16)?, address(10)?),
        (false, true) => (address(4)?, address(16)?),
        (false, false) => (address(4)?, address(10)?),
        (true, true) => (address(16)?, address(24)?),
    };
    let is_qos = control & 0x80 != 0;
    let header = 24 + if to_ds && from_ds { 6 } else { 0 } + if is_qos { 2 } else { 0 };
    let msdu = frame.get(header..)?.strip_prefix(&LLC_SNAP)?;
    let (kind, body) = msdu.split_first_chunk::<2>()?;
    Some(Inner::Msdu(src, dst, u16::from_be_bytes(*kind), body))
}
