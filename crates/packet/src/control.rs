//! Network control packets, recognised by the rules of their protocols and not by ports alone: the manager sends them ahead
//! of its queues, within a budget.
//!
//! Source: RFC 826 (ARP), RFC 4861 (neighbour discovery), RFC 3376 and RFC 3810 (group membership), RFC 2131 and RFC 8415
//! (DHCP), IEEE 802.1X, 802.1AB, 802.3 (slow protocols), 802.1Q (spanning tree).

use minicbor::{Decode, Encode};

use crate::MacAddr;

/// A network control protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum Control {
    /// ARP.
    #[n(0)]
    Arp,
    /// Neighbour discovery of IPv6, not routed: its hop limit is 255 (RFC 4861, 7.1).
    #[n(1)]
    Neighbour,
    /// Group membership: IGMP, or MLD.
    #[n(2)]
    Membership,
    /// DHCP with its magic cookie, or DHCPv6 whose options fill the message.
    #[n(3)]
    Dhcp,
    /// 802.1X (EAPOL) and 802.11's pre-authentication.
    #[n(4)]
    Authentication,
    /// Protocols of bridges and links: spanning tree, LLDP, slow protocols.
    #[n(5)]
    Link,
}

/// Least EtherType; smaller values are the length of a frame with LLC (IEEE 802.3, 3.2.6).
pub(crate) const LEAST_ETHER_TYPE: u16 = 0x0600;
/// Groups that no bridge forwards (IEEE 802.1Q, table 8-1).
const LINK_LOCAL_GROUPS: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];
/// IP protocol number (IANA).
pub(crate) const IGMP: u8 = 2;

impl Control {
    /// The protocol of a frame that is not IP.
    pub(crate) fn of_frame(ether_type: u16, dst: MacAddr) -> Option<Self> {
        match ether_type {
            0x0806 => Some(Self::Arp),
            0x888e | 0x88c7 => Some(Self::Authentication),
            0x8809 | 0x88cc => Some(Self::Link),
            length if length < LEAST_ETHER_TYPE && dst.0[..5] == LINK_LOCAL_GROUPS => Some(Self::Link),
            _ => None,
        }
    }

    /// The protocol of a message of ICMPv6 of this type.
    pub(crate) const fn of_icmpv6(kind: u8, hop_limit: u8) -> Option<Self> {
        match kind {
            133..=137 if hop_limit == 255 => Some(Self::Neighbour),
            130..=132 | 143 => Some(Self::Membership),
            _ => None,
        }
    }

    /// The protocol of a datagram between these ports.
    pub(crate) fn of_datagram(src_port: u16, dst_port: u16, payload: &[u8]) -> Option<Self> {
        let between = |ports: [u16; 2]| ports.contains(&src_port) && ports.contains(&dst_port);
        let is_dhcp = between([67, 68]) && is_dhcp(payload) || between([546, 547]) && is_dhcpv6(payload);
        is_dhcp.then_some(Self::Dhcp)
    }
}

/// Whether this is DHCP: BOOTP's fixed part, then the magic cookie (RFC 2131, 3).
fn is_dhcp(message: &[u8]) -> bool {
    const COOKIE: [u8; 4] = [99, 130, 83, 99];
    message.get(236..240) == Some(&COOKIE) && matches!(message[0], 1 | 2)
}

/// Whether this is a message between client and server, or between relays (RFC 8415, 7.3, 8 and 9): DHCPv6 has no cookie, but
/// its options fill the message exactly, and there is at least one.
fn is_dhcpv6(message: &[u8]) -> bool {
    let fixed = match message.first() {
        Some(1..=11) => 4,
        Some(12 | 13) => 34,
        _ => return false,
    };
    let Some(mut options) = message.get(fixed..) else { return false };
    let mut any = false;
    while let [code_high, code_low, len_high, len_low, rest @ ..] = options {
        let len = usize::from(u16::from_be_bytes([*len_high, *len_low]));
        if (*code_high, *code_low) == (0, 0) || len > rest.len() {
            return false;
        }
        (options, any) = (&rest[len..], true);
    }
    any && options.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn dhcp_needs_its_cookie() {
        let mut message = vec![0; 300];
        message[0] = 2;
        message[236..240].copy_from_slice(&[99, 130, 83, 99]);
        assert_eq!(Control::of_datagram(67, 68, &message), Some(Control::Dhcp));
        assert_eq!(Control::of_datagram(67, 9000, &message), None, "other ports");
        message[237] = 0;
        assert_eq!(Control::of_datagram(67, 68, &message), None, "no cookie");
        assert_eq!(Control::of_datagram(67, 68, &[1; 100]), None, "cut short");
    }

    #[test]
    fn dhcpv6_options_fill_the_message() {
        // Solicit, client identifier of 3 bytes, elapsed time of 2.
        let solicit = [1, 1, 2, 3, 0, 1, 0, 3, 7, 7, 7, 0, 8, 0, 2, 0, 0];
        assert_eq!(Control::of_datagram(546, 547, &solicit), Some(Control::Dhcp));
        assert_eq!(Control::of_datagram(546, 547, &solicit[..16]), None, "an option is cut short");
        assert_eq!(Control::of_datagram(546, 547, &[0; 1400]), None, "no message type");
        assert_eq!(Control::of_datagram(546, 547, &[1; 1400]), None, "options of 257 bytes do not fill it");
        assert_eq!(Control::of_datagram(546, 547, &solicit[..4]), None, "no option");
    }

    #[test]
    fn neighbour_discovery_is_not_routed() {
        assert_eq!(Control::of_icmpv6(135, 255), Some(Control::Neighbour));
        assert_eq!(Control::of_icmpv6(135, 64), None);
        assert_eq!(Control::of_icmpv6(128, 255), None);
        assert_eq!(Control::of_icmpv6(143, 1), Some(Control::Membership));
    }
}
