//! Link types: which header the bytes of a packet begin with.

use std::fmt;

/// A link type, by its number in the registry (draft-ietf-opsawg-pcaplinktype).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(pub u32);

impl Link {
    /// The address family in four bytes, in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// IP without a link-layer header: DLT_RAW of most systems, which some programs write
    /// unconverted.
    pub const RAW_DLT: Self = Self(12);
    /// IP without a link-layer header: DLT_RAW of OpenBSD.
    pub const RAW_OPENBSD: Self = Self(14);
    /// IP without a link-layer header.
    pub const RAW: Self = Self(101);
    /// The address family in four bytes, most significant first.
    pub const LOOP: Self = Self(108);
    /// Linux's "any" device, version 1 (SLL).
    pub const LINUX_SLL: Self = Self(113);
    /// 802.11 with a radiotap header.
    pub const RADIOTAP: Self = Self(127);
    /// IPv4 without a link-layer header.
    pub const RAW_IPV4: Self = Self(228);
    /// IPv6 without a link-layer header.
    pub const RAW_IPV6: Self = Self(229);
    /// Linux's "any" device, version 2 (SLL2).
    pub const LINUX_SLL2: Self = Self(276);

    /// Wireshark's name of the link type.
    fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(number, _)| *number == self.0).map(|(_, name)| *name)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "link type {}", self.0),
        }
    }
}

/// Names of common link types, as Wireshark and capinfos show them.
const NAMES: [(u32, &str); 54] = [
    (0, "NULL/Loopback"),
    (1, "Ethernet"),
    (3, "Amateur Radio AX.25"),
    (6, "Token Ring"),
    (7, "ARCNET"),
    (8, "SLIP"),
    (9, "PPP"),
    (10, "FDDI"),
    (12, "Raw IP"),
    (14, "Raw IP"),
    (50, "PPP"),
    (51, "PPP-over-Ethernet session"),
    (100, "RFC 1483 ATM"),
    (101, "Raw IP"),
    (104, "Cisco HDLC"),
    (105, "IEEE 802.11 Wireless LAN"),
    (107, "Frame Relay"),
    (108, "OpenBSD loopback"),
    (109, "OpenBSD enc(4) encapsulating interface"),
    (113, "Linux cooked-mode capture v1"),
    (117, "OpenBSD PF Firewall logs"),
    (119, "IEEE 802.11 plus Prism II monitor mode radio header"),
    (122, "RFC 2625 IP-over-Fibre Channel"),
    (127, "IEEE 802.11 plus radiotap radio header"),
    (138, "Apple IP-over-IEEE 1394"),
    (140, "SS7 MTP2"),
    (143, "Data Over Cable Service Interface Specification"),
    (144, "IrDA"),
    (147, "USER 0"),
    (163, "IEEE 802.11 plus AVS radio header"),
    (165, "BACnet MS/TP"),
    (166, "PPP with Directional Info"),
    (177, "LAPD with Linux pseudo-header"),
    (187, "Bluetooth H4"),
    (189, "USB packets with Linux header"),
    (192, "Per-Packet Information header"),
    (195, "IEEE 802.15.4 Wireless PAN"),
    (197, "Extensible Record Format"),
    (201, "Bluetooth H4 with linux header"),
    (220, "USB packets with Linux header and padding"),
    (227, "SocketCAN"),
    (228, "Raw IPv4"),
    (229, "Raw IPv6"),
    (230, "IEEE 802.15.4 Wireless PAN with FCS not present"),
    (231, "D-Bus"),
    (239, "NFLOG"),
    (247, "InfiniBand"),
    (249, "USB packets with USBPcap header"),
    (251, "Bluetooth Low Energy Link Layer"),
    (253, "Linux Netlink"),
    (254, "Bluetooth Linux Monitor"),
    (256, "Bluetooth Low Energy Link Layer RF"),
    (258, "Apple PKTAP"),
    (276, "Linux cooked-mode capture v2"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_named_as_wireshark_names_them() {
        assert_eq!(Link(105).to_string(), "IEEE 802.11 Wireless LAN");
        assert_eq!(Link(4711).to_string(), "link type 4711");
        assert!(NAMES.is_sorted_by(|(a, _), (b, _)| a < b), "each number once, in order");
    }
}
