//! Counters of packet kinds. All kinds are forwarded; the manager does not queue most packets other than plain IP, and
//! these counters show the operator that they occur.

use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets by kind. The first seven add up to all that were received; the others say more of some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Each kind with its name.
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
