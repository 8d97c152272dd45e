//! The identity of a connection.

use core::net::IpAddr;

use crate::{IpMeta, Transport};

/// The 5-tuple of a connection in canonical order: both directions have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    protocol: u8,
    low: (IpAddr, u16),
    high: (IpAddr, u16),
}

impl FlowKey {
    /// The key of a packet, and whether it travels from the lower to the higher end (`true`: forward). `None` for
    /// packets that name no ports: fragments and all that is neither TCP nor UDP.
    pub fn of(ip: &IpMeta) -> Option<(Self, bool)> {
        let (src_port, dst_port) = match &ip.transport {
            Transport::Tcp(tcp) => (tcp.src_port, tcp.dst_port),
            Transport::Udp { src_port, dst_port } => (*src_port, *dst_port),
            Transport::Other => return None,
        };
        let (src, dst) = ((ip.src, src_port), (ip.dst, dst_port));
        let forward = src <= dst;
        let (low, high) = if forward { (src, dst) } else { (dst, src) };
        Some((Self { protocol: ip.protocol, low, high }, forward))
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
        let (there, forward) = FlowKey::of(&udp(a, b)).unwrap();
        let (back, backward) = FlowKey::of(&udp(b, a)).unwrap();
        assert_eq!(there, back);
        assert!(forward && !backward);
        assert_ne!(FlowKey::of(&udp(a, ("10.0.0.2", 54))).unwrap().0, there);
        assert_ne!(FlowKey::of(&udp(("fe80::1", 5000), ("fe80::2", 53))).unwrap().0, there);
    }

    #[test]
    fn without_ports_there_is_no_key() {
        let mut ip = udp(("10.0.0.1", 1), ("10.0.0.2", 2));
        ip.transport = Transport::Other;
        assert_eq!(FlowKey::of(&ip), None);
    }
}
