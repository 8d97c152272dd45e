//! Group memberships of stations, from their IGMP and MLD reports.
//!
//! Reports of all versions are parsed, and queries are recognised. Source lists are ignored: a member for some sources is a
//! member.
//!
//! Source: RFC 2236 (IGMPv2), RFC 3376 (IGMPv3), RFC 2710 (MLD), RFC 3810 (MLDv2).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use minicbor::{Decode, Encode};

/// A message of IGMP or MLD.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Membership {
    /// A query for memberships.
    #[n(0)]
    Query,
    /// A host's report of the groups that it is in, and of those that it has left.
    #[n(1)]
    Report {
        /// Groups that it is a member of.
        #[n(0)]
        joined: Box<[IpAddr]>,
        /// Groups that it has left.
        #[n(1)]
        left: Box<[IpAddr]>,
    },
}

/// Maximum number of records parsed of one report. A full frame of IGMPv3 has 183; a host sends few.
const MOST_RECORDS: usize = 64;

impl Membership {
    /// A message of IGMP.
    pub(crate) fn of_igmp(message: &[u8]) -> Option<Self> {
        match message.first()? {
            0x11 => Some(Self::Query),
            0x12 | 0x16 => Self::new(v4(message, 4), None),
            0x17 => Self::new(None, v4(message, 4)),
            0x22 => Some(Self::of_records::<4>(message, |bytes| IpAddr::from(*bytes))),
            _ => None,
        }
    }

    /// A message of ICMPv6.
    pub(crate) fn of_icmpv6(message: &[u8]) -> Option<Self> {
        match message.first()? {
            130 => Some(Self::Query),
            131 => Self::new(v6(message, 8), None),
            132 => Self::new(None, v6(message, 8)),
            143 => Some(Self::of_records::<16>(message, |bytes| IpAddr::from(*bytes))),
            _ => None,
        }
    }

    fn new(joined: Option<IpAddr>, left: Option<IpAddr>) -> Option<Self> {
        let list = |group: Option<IpAddr>| group.into_iter().filter(IpAddr::is_multicast).collect::<Box<[IpAddr]>>();
        Some(Self::Report { joined: list(joined), left: list(left) })
    }

    /// The records of IGMPv3 and MLDv2, which differ in the length of addresses (RFC 3376, 4.2; RFC 3810, 5.2).
    fn of_records<const LEN: usize>(message: &[u8], address: impl Fn(&[u8; LEN]) -> IpAddr) -> Self {
        /// Record types that, without sources, mean that the host has left the group.
        const LEAVES: [u8; 2] = [1, 3];
        let (mut joined, mut left) = (Vec::new(), Vec::new());
        let mut rest = message.get(8..).unwrap_or_default();
        for _ in 0..MOST_RECORDS {
            let [kind, auxiliary, sources_high, sources_low, more @ ..] = rest else { break };
            let Some((group, more)) = more.split_first_chunk::<LEN>() else { break };
            let sources = usize::from(u16::from_be_bytes([*sources_high, *sources_low]));
            let leaves = LEAVES.contains(kind) && sources == 0;
            let group = address(group);
            // Type 6 blocks sources, which does not affect membership.
            if (1..=5).contains(kind) && group.is_multicast() {
                if leaves { left.push(group) } else { joined.push(group) }
            }
            rest = more.get(sources * LEN + usize::from(*auxiliary) * 4..).unwrap_or_default();
        }
        Self::Report { joined: joined.into(), left: left.into() }
    }
}

fn v4(message: &[u8], at: usize) -> Option<IpAddr> {
    Some(Ipv4Addr::from(*message.get(at..)?.first_chunk::<4>()?).into())
}

fn v6(message: &[u8], at: usize) -> Option<IpAddr> {
    Some(Ipv6Addr::from(*message.get(at..)?.first_chunk::<16>()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(joined: &[&str], left: &[&str]) -> Option<Membership> {
        let list = |groups: &[&str]| groups.iter().map(|group| group.parse().unwrap()).collect();
        Some(Membership::Report { joined: list(joined), left: list(left) })
    }

    #[test]
    fn reports_of_all_versions_are_read() {
        assert_eq!(Membership::of_igmp(&[0x16, 0, 0, 0, 239, 1, 2, 3]), report(&["239.1.2.3"], &[]));
        assert_eq!(Membership::of_igmp(&[0x17, 0, 0, 0, 239, 1, 2, 3]), report(&[], &["239.1.2.3"]));
        assert_eq!(Membership::of_igmp(&[0x11, 0, 0, 0, 0, 0, 0, 0]), Some(Membership::Query));
        // Two records: change to exclude nothing (join), change to include nothing (leave).
        let third = [0x22, 0, 0, 0, 0, 0, 0, 2, 4, 0, 0, 0, 239, 1, 1, 1, 3, 0, 0, 0, 239, 1, 1, 2];
        assert_eq!(Membership::of_igmp(&third), report(&["239.1.1.1"], &["239.1.1.2"]));
        // One record with a source to allow, then one that is cut short.
        let sources = [0x22, 0, 0, 0, 0, 0, 0, 2, 5, 0, 0, 1, 232, 1, 1, 1, 10, 0, 0, 1, 4, 0, 0, 0, 239];
        assert_eq!(Membership::of_igmp(&sources), report(&["232.1.1.1"], &[]));
        let mut second = alloc::vec![143, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0];
        second.extend_from_slice(&"ff15::7".parse::<Ipv6Addr>().unwrap().octets());
        assert_eq!(Membership::of_icmpv6(&second), report(&["ff15::7"], &[]));
    }

    #[test]
    fn messages_without_a_group_report_nothing() {
        assert_eq!(Membership::of_igmp(&[0x16, 0, 0, 0, 10, 1, 2, 3]), report(&[], &[]));
        assert_eq!(Membership::of_igmp(&[0x16, 0]), report(&[], &[]));
        assert_eq!(Membership::of_igmp(&[0x22]), report(&[], &[]));
        assert_eq!(Membership::of_igmp(&[0x13]), None);
    }
}
