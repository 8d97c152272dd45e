//! Maps addresses to their owners.
//!
//! Stations reveal their addresses by the packets that they send, by ARP and by neighbour discovery; a DHCP server on
//! the wired side reveals the addresses that it grants. A station keeps an address as long as it is present: if
//! another station claims it, the manager reports the claim and does not accept it. So a station that answers for the
//! gateway or for a neighbour does not take over their names in the operator's view. If a station has been silent for
//! [`SILENT`], its addresses go to the next host that uses them, because leases end and devices change hands. A
//! server's grant is accepted at once.
//!
//! Bounded: a station has a limited number of addresses, and the oldest beyond that lose their owner; of the wired
//! side, [`MOST_WIRED`] addresses are known.
//!
//! What is not here: the claims in packets (see `evenair_packet::Claim`) and each station's list of addresses (see
//! `stations`). No packet is blocked: the box reports, and the operator decides.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use evenair_packet::{MacAddr, Vlan};
use evenair_units::{Instant, Span};

/// Silence after which a station may have gone: as long as an idle station is remembered, since sleeping ones send
/// little.
pub(crate) const SILENT: Span = Span::from_secs(300);
/// Time after its last claim for which a wired host counts as present: its neighbours' caches are renewed sooner.
const WIRED: Span = Span::from_secs(600);
/// Addresses of wired hosts, at most.
const MOST_WIRED: usize = 4096;
/// The shortest time between two reports of claims to one address.
const REPORT_INTERVAL: Span = Span::from_secs(60);

/// An IP address and its VLAN: the same IP address may be in use in several VLANs.
pub(crate) type Address = (Option<Vlan>, IpAddr);

/// The owners of addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbours {
    holders: BTreeMap<Address, Holder>,
    wired: usize,
}

#[derive(Clone, Copy, Debug)]
struct Holder {
    mac: MacAddr,
    wired: bool,
    claimed: Instant,
    reported: Option<Instant>,
}

/// The claimant of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claimant {
    pub(crate) mac: MacAddr,
    /// Whether it is on the wired side.
    pub(crate) wired: bool,
    /// Whether a server has granted it the address.
    pub(crate) granted: bool,
}

/// Result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The address belongs to the claimant.
    Own,
    /// The address belongs to the claimant, and belonged to this host before.
    Moved(MacAddr),
    /// The address belongs to this present owner; the claim is to be reported.
    Contested(MacAddr),
    /// The address belongs to another owner, and the claim was reported recently.
    Known,
}

impl Neighbours {
    /// Handles a claim to an address. `is_there`: whether a station was heard recently.
    pub(crate) fn claim(
        &mut self,
        now: Instant,
        address: Address,
        claimant: Claimant,
        is_there: impl FnOnce(MacAddr) -> bool,
    ) -> Verdict {
        let Claimant { mac, wired, granted } = claimant;
        let fresh = Holder { mac, wired, claimed: now, reported: None };
        let Some(holder) = self.holders.get_mut(&address) else {
            if !wired || self.wired < MOST_WIRED {
                self.wired += usize::from(wired);
                self.holders.insert(address, fresh);
            }
            return Verdict::Own;
        };
        let before = *holder;
        if before.mac == mac && before.wired == wired {
            holder.claimed = now;
            return Verdict::Own;
        }
        let there = match before.wired {
            true => now.saturating_since(before.claimed) < WIRED,
            false => is_there(before.mac),
        };
        // The same host, roaming between wire and WLAN, makes no conflict.
        if granted || !there || before.mac == mac {
            self.wired = self.wired + usize::from(wired) - usize::from(before.wired);
            *holder = fresh;
            return if before.mac == mac { Verdict::Own } else { Verdict::Moved(before.mac) };
        }
        if holder.reported.is_some_and(|at| now.saturating_since(at) < REPORT_INTERVAL) {
            return Verdict::Known;
        }
        holder.reported = Some(now);
        Verdict::Contested(before.mac)
    }

    /// Notes that a station no longer has an address.
    pub(crate) fn give_up(&mut self, address: Address, mac: MacAddr) {
        if self.holders.get(&address).is_some_and(|holder| holder.mac == mac && !holder.wired) {
            self.holders.remove(&address);
        }
    }

    /// Forgets wired hosts without recent claims.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.wired > 0 {
            self.holders.retain(|_, holder| !holder.wired || now.saturating_since(holder.claimed) < WIRED);
            self.wired = self.holders.values().filter(|holder| holder.wired).count();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

    fn address(last: u8) -> Address {
        (None, IpAddr::from([10, 0, 0, last]))
    }

    fn at(s: u64) -> Instant {
        Instant::ZERO + Span::from_secs(s)
    }

    const fn station(mac: MacAddr) -> Claimant {
        Claimant { mac, wired: false, granted: false }
    }

    #[test]
    fn a_present_host_keeps_its_address_and_an_absent_one_does_not() {
        let mut neighbours = Neighbours::default();
        assert_eq!(neighbours.claim(at(0), address(1), station(A), |_| true), Verdict::Own);
        assert_eq!(neighbours.claim(at(1), address(1), station(B), |_| true), Verdict::Contested(A));
        assert_eq!(neighbours.claim(at(2), address(1), station(B), |_| true), Verdict::Known, "reported once a minute");
        assert_eq!(neighbours.claim(at(70), address(1), station(B), |_| true), Verdict::Contested(A));
        let elsewhere = (Some(7.into()), address(1).1);
        assert_eq!(neighbours.claim(at(70), elsewhere, station(B), |_| true), Verdict::Own, "another VLAN");
        assert_eq!(neighbours.claim(at(71), address(1), station(B), |_| false), Verdict::Moved(A));
        assert_eq!(neighbours.claim(at(72), address(1), station(A), |_| true), Verdict::Contested(B));
        let granted = Claimant { granted: true, ..station(A) };
        assert_eq!(neighbours.claim(at(73), address(1), granted, |_| true), Verdict::Moved(B));
        neighbours.give_up(address(1), B);
        assert_eq!(neighbours.claim(at(74), address(1), station(B), |_| true), Verdict::Contested(A), "it was not B's");
        neighbours.give_up(address(1), A);
        assert_eq!(neighbours.claim(at(75), address(1), station(B), |_| true), Verdict::Own);
    }

    #[test]
    fn no_station_takes_over_the_gateway_and_wired_hosts_are_bounded() {
        let mut neighbours = Neighbours::default();
        let gateway = Claimant { mac: A, wired: true, granted: false };
        assert_eq!(neighbours.claim(at(0), address(1), gateway, |_| false), Verdict::Own);
        assert_eq!(neighbours.claim(at(1), address(1), station(B), |_| false), Verdict::Contested(A));
        for number in 0..=u16::MAX {
            let [high, low] = number.to_be_bytes();
            neighbours.claim(at(2), (None, IpAddr::from([10, 1, high, low])), gateway, |_| true);
        }
        assert_eq!(neighbours.holders.len(), MOST_WIRED);
        neighbours.expire(at(700));
        assert_eq!((neighbours.holders.len(), neighbours.wired), (0, 0));
        assert_eq!(neighbours.claim(at(701), address(1), station(B), |_| false), Verdict::Own);
    }

    #[test]
    fn a_host_that_moves_from_the_wire_to_the_wlan_makes_no_conflict() {
        let mut neighbours = Neighbours::default();
        let wired = Claimant { mac: A, wired: true, granted: false };
        assert_eq!(neighbours.claim(at(0), address(1), wired, |_| true), Verdict::Own);
        assert_eq!(neighbours.claim(at(1), address(1), station(A), |_| true), Verdict::Own);
        assert_eq!(neighbours.wired, 0);
        assert_eq!(neighbours.claim(at(2), address(1), wired, |_| true), Verdict::Own);
        assert_eq!(neighbours.wired, 1);
    }
}
