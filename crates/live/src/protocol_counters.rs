//! Counts packets by kind, for the status.

use evenair_api::Kinds;
use evenair_packet::{MacAddr, PacketMeta, Transport};

const ARP: u16 = 0x0806;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Port access entity: IEEE 802.1X.
const EAPOL: u16 = 0x888e;

/// Counts a packet that has come in.
pub(crate) fn count_protocol(kinds: &mut Kinds, meta: &PacketMeta) {
    let kind = match (meta.ether_type, &meta.ip) {
        (EAPOL, _) => &mut kinds.eapol,
        _ if is_link_group(meta.dst) => &mut kinds.link_group,
        (IPV4, Some(_)) => &mut kinds.ipv4,
        (IPV6, Some(_)) => &mut kinds.ipv6,
        (IPV4 | IPV6, None) => &mut kinds.broken_ip,
        (ARP, _) => &mut kinds.arp,
        _ => &mut kinds.other,
    };
    *kind += 1;
    kinds.group += u64::from(meta.dst.is_multicast());
    kinds.tagged += u64::from(meta.vlan.is_some());
    if let Some(ip) = &meta.ip {
        kinds.fragment += u64::from(ip.fragment);
        kinds.opaque += u64::from(!ip.fragment && ip.transport == Transport::Other);
    }
}

fn is_link_group(address: MacAddr) -> bool {
    matches!(address.0, [0x01, 0x80, 0xc2, 0, 0, last] if last < 0x10)
}
