//! The identity of a flow.

use core::net::{IpAddr, Ipv6Addr};

use crate::control::LEAST_ETHER_TYPE;
use crate::{IpMeta, MacAddr, Transport};

/// The 5-tuple of a flow in canonical order, or protocol and addresses if there are no ports (fragments, ICMP, IPsec), or
/// EtherType and MAC addresses of frames that are not IP: both directions have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// For IP: the protocol, and [`NAMES_PORTS`]; for other frames: the EtherType, or [`WITH_LLC`].
    kind: u16,
    low: (IpAddr, u16),
    high: (IpAddr, u16),
}

/// Flag: ports distinguish the ends of an IP flow.
const NAMES_PORTS: u16 = 0x100;
/// Kind of frames with LLC (IEEE 802.3, 3.2.6). EtherTypes start at 0x600.
const WITH_LLC: u16 = 0x200;

impl FlowKey {
    /// The key of a packet, and whether it travels from the lower to the higher end (`true`: forward).
    pub fn of(ip: &IpMeta) -> (Self, bool) {
        let (names_ports, (src_port, dst_port)) = match &ip.transport {
            Transport::Tcp(tcp) => (NAMES_PORTS, (tcp.src_port, tcp.dst_port)),
            Transport::Udp { src_port, dst_port } => (NAMES_PORTS, (*src_port, *dst_port)),
            Transport::Icmp { .. } | Transport::Other => (0, (0, 0)),
        };
        Self::between(u16::from(ip.protocol) | names_ports, (ip.src, src_port), (ip.dst, dst_port))
    }

    /// The key of a frame that is not IP, and whether it travels from the lower to the higher end.
    pub(crate) fn of_frame(src: MacAddr, dst: MacAddr, ether_type: u16) -> (Self, bool) {
        let kind = if ether_type < LEAST_ETHER_TYPE { WITH_LLC } else { ether_type };
        Self::between(kind, (link_local(src), 0), (link_local(dst), 0))
    }

    fn between(kind: u16, src: (IpAddr, u16), dst: (IpAddr, u16)) -> (Self, bool) {
        let forward = src <= dst;
        let (low, high) = if forward { (src, dst) } else { (dst, src) };
        (Self { kind, low, high }, forward)
    }

    /// EtherType of frames that are not IP, zero with LLC. The addresses of the ends are then the IPv6 link-local addresses
    /// of their MAC addresses (RFC 4291, appendix A).
    pub const fn ether_type(&self) -> Option<u16> {
        match self.kind {
            WITH_LLC => Some(0),
            kind if kind >= LEAST_ETHER_TYPE => Some(kind),
            _ => None,
        }
    }

    /// Whether ports distinguish its ends. Otherwise the ports of its ends are zero.
    pub const fn names_ports(&self) -> bool {
        self.ether_type().is_none() && self.kind & NAMES_PORTS != 0
    }

    /// IP protocol number; `None` for frames that are not IP.
    pub const fn protocol(&self) -> Option<u8> {
        if self.ether_type().is_none() { Some(self.kind as u8) } else { None }
    }

    /// The part of the key besides its ends, as a number.
    pub const fn kind(&self) -> u16 {
        self.kind
    }

    /// The end with the lower address and port.
    pub const fn low(&self) -> (IpAddr, u16) {
        self.low
    }

    /// The end with the higher address and port.
    pub const fn high(&self) -> (IpAddr, u16) {
        self.high
    }
}

/// IPv6 link-local address with the modified EUI-64 of a MAC address.
fn link_local(mac: MacAddr) -> IpAddr {
    let [a, b, c, d, e, f] = mac.0;
    let halves = [[a ^ 2, b], [c, 0xff], [0xfe, d], [e, f]].map(u16::from_be_bytes);
    IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, halves[0], halves[1], halves[2], halves[3]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use evenair_units::Bytes;

    fn udp(src: (&str, u16), dst: (&str, u16)) -> IpMeta {
        IpMeta {
            src: src.0.parse().unwrap(),
            dst: dst.0.parse().unwrap(),
            protocol: 17,
            dscp: 0,
            ecn: 0,
            total_len: Bytes(28),
            fragment: false,
            transport: Transport::Udp { src_port: src.1, dst_port: dst.1 },
        }
    }

    #[test]
    fn both_directions_have_one_key() {
        let (a, b) = (("10.0.0.1", 5000), ("10.0.0.2", 53));
        let (there, forward) = FlowKey::of(&udp(a, b));
        let (back, backward) = FlowKey::of(&udp(b, a));
        assert_eq!(there, back);
        assert!(forward && !backward);
        assert_ne!(FlowKey::of(&udp(a, ("10.0.0.2", 54))).0, there);
        assert_ne!(FlowKey::of(&udp(("fe80::1", 5000), ("fe80::2", 53))).0, there);
    }

    #[test]
    fn without_ports_the_addresses_are_the_key() {
        let other = |src, dst| IpMeta { transport: Transport::Other, ..udp((src, 0), (dst, 0)) };
        let (there, forward) = FlowKey::of(&other("10.0.0.1", "10.0.0.2"));
        assert_eq!((FlowKey::of(&other("10.0.0.2", "10.0.0.1")), forward), ((there, false), true));
        assert_ne!(FlowKey::of(&other("10.0.0.1", "10.0.0.3")).0, there);
        let (with_ports, _) = FlowKey::of(&udp(("10.0.0.1", 0), ("10.0.0.2", 0)));
        assert!(with_ports != there && with_ports.names_ports() && !there.names_ports(), "port zero is a port");
    }

    #[test]
    fn frames_are_flows_by_their_addresses_and_ether_type() {
        let (a, b) = (MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([0x52, 0x54, 0, 0x12, 0x34, 0x56]));
        let (there, forward) = FlowKey::of_frame(a, b, 0x88b5);
        assert_eq!(FlowKey::of_frame(b, a, 0x88b5), (there, !forward));
        assert_ne!(FlowKey::of_frame(a, b, 0x88b6).0, there);
        let ends = [there.low().0, there.high().0].map(|address| address.to_string());
        assert!(ends.contains(&"fe80::ff:fe00:1".into()), "{ends:?}");
        assert!(ends.contains(&"fe80::5054:ff:fe12:3456".into()), "{ends:?}");
        let on_ip =
            FlowKey::of(&IpMeta { transport: Transport::Other, ..udp(("fe80::ff:fe00:1", 0), ("fe80::2", 0)) }).0;
        assert!(on_ip.ether_type().is_none() && there.ether_type() == Some(0x88b5));
    }
}
