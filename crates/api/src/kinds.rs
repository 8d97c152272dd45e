//! Counters of packet kinds. All kinds are forwarded; the manager does not queue most packets other than plain IP, and
//! these counters show the operator that they occur.

use std::ops::Add;

use evenair_packet::{MacAddr, PacketMeta, Transport};
use serde::{Deserialize, Serialize};

const ARP: u16 = 0x0806;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Port access entity: IEEE 802.1X.
const EAPOL: u16 = 0x888e;

/// Packets by kind. The first seven add up to all that were received; the others say more of some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kinds {
    /// IP version 4 with an intact header.
    pub ipv4: u64,
    /// IP version 6 with an intact header.
    pub ipv6: u64,
    /// Said to be IP, and its header is cut short or contradicts itself. It passes unchanged.
    pub broken_ip: u64,
    /// Address resolution.
    pub arp: u64,
    /// 802.1X.
    pub eapol: u64,
    /// To a group address of one link (01-80-C2-00-00-0x): spanning tree, LLDP.
    pub link_group: u64,
    /// Of another protocol.
    pub other: u64,
    /// Among them: to a group.
    pub group: u64,
    /// Among them: of a VLAN, by a tag or several. A tag that only gives a priority names none.
    pub tagged: u64,
    /// Among them: fragments of IP packets.
    pub fragment: u64,
    /// Among them: IP whose transport header is not read: encrypted (ESP), of another protocol, cut short.
    pub opaque: u64,
}

impl Kinds {
    /// A packet has come in.
    pub fn note(&mut self, meta: &PacketMeta) {
        let kind = match (meta.ether_type, &meta.ip) {
            (EAPOL, _) => &mut self.eapol,
            _ if is_link_group(meta.dst) => &mut self.link_group,
            (IPV4, Some(_)) => &mut self.ipv4,
            (IPV6, Some(_)) => &mut self.ipv6,
            (IPV4 | IPV6, None) => &mut self.broken_ip,
            (ARP, _) => &mut self.arp,
            _ => &mut self.other,
        };
        *kind += 1;
        self.group += u64::from(meta.dst.is_multicast());
        self.tagged += u64::from(meta.vlan.is_some());
        if let Some(ip) = &meta.ip {
            self.fragment += u64::from(ip.fragment);
            self.opaque += u64::from(!ip.fragment && ip.transport == Transport::Other);
        }
    }

    /// Each kind by its name.
    pub fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("ipv4", self.ipv4),
            ("ipv6", self.ipv6),
            ("broken_ip", self.broken_ip),
            ("arp", self.arp),
            ("eapol", self.eapol),
            ("link_group", self.link_group),
            ("other", self.other),
            ("group", self.group),
            ("tagged", self.tagged),
            ("fragment", self.fragment),
            ("opaque", self.opaque),
        ]
    }
}

fn is_link_group(address: MacAddr) -> bool {
    matches!(address.0, [0x01, 0x80, 0xc2, 0, 0, last] if last < 0x10)
}

impl Add for Kinds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            ipv4: self.ipv4 + other.ipv4,
            ipv6: self.ipv6 + other.ipv6,
            broken_ip: self.broken_ip + other.broken_ip,
            arp: self.arp + other.arp,
            eapol: self.eapol + other.eapol,
            link_group: self.link_group + other.link_group,
            other: self.other + other.other,
            group: self.group + other.group,
            tagged: self.tagged + other.tagged,
            fragment: self.fragment + other.fragment,
            opaque: self.opaque + other.opaque,
        }
    }
}
