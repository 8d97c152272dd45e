//! Statistics of packets that are not selected, to explain why none is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::ip::NotIp;
use crate::Direction;

/// Maximum number of listed kinds of packets.
const LISTED: usize = 4;

/// Packets of a trace, or lines of a table, by why they are not selected.
#[derive(Default)]
pub(super) struct Seen {
    /// All packets.
    pub(super) packets: u64,
    pub(super) not_ip: BTreeMap<NotIp, u64>,
    /// Neither from nor to the host.
    pub(super) other_hosts: u64,
    pub(super) other_direction: u64,
}

impl Seen {
    /// Why no packet is selected, as a clause.
    pub(super) fn why_none(&self, host: Option<IpAddr>, direction: Direction) -> String {
        if self.packets == 0 {
            return "it has no packets".into();
        }
        let mut parts = Vec::new();
        let not_ip: u64 = self.not_ip.values().sum();
        if not_ip > 0 {
            parts.push(format!("{not_ip} are not IP ({})", self.kinds()));
        }
        if let Some(host) = host.filter(|_| self.other_hosts > 0) {
            parts.push(format!("{} are neither from nor to {host}", self.other_hosts));
        }
        if self.other_direction > 0 {
            let other = if direction == Direction::Up { "down" } else { "up" };
            parts.push(format!("{} are of the other direction, \"{other}\"", self.other_direction));
        }
        format!("none of its {} packets counts: {}", self.packets, parts.join(", "))
    }

    /// The kinds of packets that are not IP, the most frequent first.
    fn kinds(&self) -> String {
        let mut kinds: Vec<_> = self.not_ip.iter().collect();
        kinds.sort_by_key(|&(_, &times)| std::cmp::Reverse(times));
        let rest: u64 = kinds.iter().skip(LISTED).map(|&(_, times)| times).sum();
        let mut listed: Vec<_> = kinds.iter().take(LISTED).map(|(kind, times)| format!("{times} {kind}")).collect();
        if rest > 0 {
            listed.push(format!("{rest} others"));
        }
        listed.join(", ")
    }
}
