//! The identity of a flow.

use core::net::IpAddr;

use crate::{IpMeta, Transport};

/// The 5-tuple of a flow in canonical order, or protocol and addresses where no ports are named (fragments, ICMP, IPsec):
/// both directions have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    protocol: u8,
    names_ports: bool,
    low: (IpAddr, u16),
    high: (IpAddr, u16),
}

impl FlowKey {
    /// The key of a packet, and whether it travels from the lower to the higher end (`true`: forward).
    pub fn of(ip: &IpMeta) -> (Self, bool) {
        let (names_ports, (src_port, dst_port)) = match &ip.transport {
            Transport::Tcp(tcp) => (true, (tcp.src_port, tcp.dst_port)),
            Transport::Udp { src_port, dst_port } => (true, (*src_port, *dst_port)),
            Transport::Icmp { .. } | Transport::Other => (false, (0, 0)),
        };
        let (src, dst) = ((ip.src, src_port), (ip.dst, dst_port));
        let forward = src <= dst;
        let (low, high) = if forward { (src, dst) } else { (dst, src) };
        (Self { protocol: ip.protocol, names_ports, low, high }, forward)
    }

    /// Ports distinguish its ends. Without them the ports of its ends are zero.
    pub const fn names_ports(&self) -> bool {
        self.names_ports
    }

    /// IP protocol number.
    pub const fn protocol(&self) -> u8 {
        self.protocol
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

#[cfg(test)]
mod tests {
    use super::*;
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
}
