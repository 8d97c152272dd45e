//! Classification of a packet: control of the network, data of some flow, or neither.
//!
//! Control packets are served first and are never held: a station that loses its address, its key or its neighbour
//! loses its whole connectivity, and their airtime is negligible. Data of any IP protocol belong to a flow,
//! identified by the ports if the packet names them, else by the pair of addresses (fragments, ICMP, IPsec, tunnels).
//! A packet that is neither passes unchanged, since the box cannot tell which traffic a delay would harm.

use evenair_packet::{MacAddr, PacketMeta, Transport};

/// ARP; EAPOL and pre-authentication (IEEE 802.1X, 802.11); slow protocols such as LACP; LLDP (IEEE 802.1AB).
const CONTROL_ETHER_TYPES: [u16; 5] = [0x0806, 0x888e, 0x88c7, 0x8809, 0x88cc];
/// Below this, an EtherType is the length of a frame with LLC (IEEE 802.3, 3.2.6).
const LEAST_ETHER_TYPE: u16 = 0x0600;
/// Groups that no bridge forwards: spanning tree, 802.1X (IEEE 802.1Q, table 8-1).
const LINK_LOCAL_GROUPS: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];
const IGMP: u8 = 2;
const ICMPV6: u8 = 58;
/// ICMPv6: multicast listeners (RFC 2710, RFC 3810), neighbours and routers (RFC 4861).
const ICMPV6_CONTROL: [core::ops::RangeInclusive<u8>; 3] = [130..=132, 133..=137, 143..=143];
/// DHCP for IPv4 and IPv6 (RFC 2131, RFC 8415): servers, clients.
const DHCP_PORTS: [u16; 4] = [67, 68, 546, 547];

/// Whether a packet keeps the network together.
pub(crate) fn is_control(meta: &PacketMeta) -> bool {
    let Some(ip) = &meta.ip else { return is_control_frame(meta.ether_type, meta.dst) };
    match ip.transport {
        Transport::Icmp { kind } => ip.protocol == ICMPV6 && ICMPV6_CONTROL.iter().any(|kinds| kinds.contains(&kind)),
        Transport::Udp { src_port, dst_port } => DHCP_PORTS.contains(&src_port) && DHCP_PORTS.contains(&dst_port),
        Transport::Tcp(_) => false,
        Transport::Other => ip.protocol == IGMP,
    }
}

fn is_control_frame(ether_type: u16, dst: MacAddr) -> bool {
    let spanning_tree = ether_type < LEAST_ETHER_TYPE && dst.0[..5] == LINK_LOCAL_GROUPS;
    CONTROL_ETHER_TYPES.contains(&ether_type) || spanning_tree
}
