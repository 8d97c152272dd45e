//! The addresses that a station uses, as the operator sees them.

use evenair_packet::MacAddr;
use evenair_units::{Instant, Span};

use super::neighbours::Address;
use super::{Station, Stations, number};
use crate::ids::StationId;

/// Addresses of a station, at most. A host has one of version 4, and of version 6 a link-local one, a stable one and
/// some temporary ones (RFC 8981). A station with more is a router, or makes them up.
const MAX_ADDRESSES: usize = 8;

impl Station {
    /// Whether this address, which is used now, is known to be its own, or cannot be a host's.
    pub(crate) fn uses(&mut self, now: Instant, address: Address) -> bool {
        match self.addresses.iter().position(|(known, _)| *known == address) {
            Some(at) => {
                self.addresses[..=at].rotate_right(1);
                self.addresses[0].1 = now;
                true
            }
            None => address.1.is_unspecified() || address.1.is_multicast(),
        }
    }

    /// Adds an address. Returns the one that is forgotten, if it has too many.
    pub(crate) fn add_address(&mut self, now: Instant, address: Address) -> Option<Address> {
        if self.uses(now, address) {
            return None;
        }
        let full = self.addresses.len() == MAX_ADDRESSES;
        let given_up = if full { self.addresses.pop() } else { None };
        self.addresses.insert(0, (address, now));
        given_up.map(|(address, _)| address)
    }

    /// Removes an address, which another host has now.
    pub(crate) fn lose_address(&mut self, address: Address) {
        self.addresses.retain(|(known, _)| *known != address);
    }

    /// The addresses that it uses.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = Address> {
        self.addresses.iter().map(|&(address, _)| address)
    }

    /// Notes that it has sent a frame.
    pub(crate) const fn hear(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Whether it has sent a frame within this time.
    pub(crate) fn was_heard(&self, now: Instant, within: Span) -> bool {
        now.saturating_since(self.heard) < within
    }
}

impl Stations {
    /// The station with this MAC address, if it is known.
    pub(crate) fn known(&self, mac: MacAddr) -> Option<StationId> {
        self.by_mac.get(&number(mac)).copied()
    }
}
