//! Stations never heard from the WLAN, and eviction when there are too many stations.
//!
//! Any host on the wire can send packets to any MAC address. An address from which no frame has ever come, and that
//! neither the configuration nor a telemetry report names, is an *unheard station*: all unheard stations of a
//! contention domain share one station's place, and so one queue and one share, however many addresses a sender makes
//! up. A station that is heard becomes a station of its own.
//!
//! If the table is full, a new station replaces another: first one that was never heard, then the least recently
//! used. Configured stations stay.

use alloc::vec::Vec;

use evenair_packet::MacAddr;
use evenair_units::Instant;

use super::access_points::Table;
use super::victim::Victim;
use super::{MAX_STATIONS, Station, Stations, hash, number};
use crate::airtime_model::AirtimeModels;
use crate::ids::{DomainId, StationId};

/// Victims chosen in one pass over all stations, so that a single eviction is cheap however many stations there are.
const VICTIMS_AT_ONCE: usize = 1024;
/// Address of the shared entry of unheard stations.
const NO_ADDRESS: MacAddr = MacAddr([0; 6]);

impl Stations {
    /// The shared entry of all unheard stations of a domain.
    pub(crate) fn shared(&mut self, domain: DomainId, models: &AirtimeModels, now: Instant) -> StationId {
        while self.shared.len() <= domain.index() {
            let at = DomainId::at(self.shared.len());
            let id = self.add(NO_ADDRESS, at, models, now);
            self.get_mut(id).is_shared = true;
            self.shared.push(id);
        }
        self.shared[domain.index()]
    }

    /// Moves shared entries after a change of the domains: that of a domain that is gone to the default one. True: an
    /// entry has moved.
    pub(super) fn find_shared_again(&mut self, table: &Table) -> bool {
        let (domains, mut moved) = (table.domains().count(), false);
        for (at, id) in self.shared.clone().into_iter().enumerate() {
            let domain = if at < domains { DomainId::at(at) } else { DomainId::DEFAULT };
            moved |= core::mem::replace(&mut self.get_mut(id).domain, domain) != domain;
        }
        moved
    }

    /// Whether the table is full.
    pub(crate) fn is_full(&self) -> bool {
        self.by_mac.len() >= MAX_STATIONS
    }

    /// The station to evict next. `None`: all must stay.
    pub(crate) fn next_victim(&mut self) -> Option<StationId> {
        for looked_through in [false, true] {
            if looked_through {
                self.choose_victims();
            }
            while let Some(victim) = self.victims.pop() {
                // A station that was in use since then is no victim any more.
                let station = self.slots[victim.id.0 as usize].as_ref();
                if station.and_then(|station| Victim::of(victim.id, station)) == Some(victim) {
                    return Some(victim.id);
                }
            }
        }
        None
    }

    fn choose_victims(&mut self) {
        let of = |(index, station): (u32, &Option<Station>)| Victim::of(StationId(index), station.as_ref()?);
        let mut victims: Vec<Victim> = (0..).zip(&self.slots).filter_map(of).collect();
        if victims.len() > VICTIMS_AT_ONCE {
            victims.select_nth_unstable(VICTIMS_AT_ONCE);
            victims.truncate(VICTIMS_AT_ONCE);
        }
        victims.sort_unstable_by(|a, b| b.cmp(a));
        self.victims = victims;
    }

    /// Removes a station without flows, and returns it.
    pub(crate) fn evict(&mut self, id: StationId) -> Station {
        let station = self.slots[id.0 as usize].take().expect("a station that is referred to is there");
        self.mark(id);
        self.by_mac.remove(&number(station.mac));
        self.index.forget(hash([number(station.mac)]), id.0);
        self.vacant.push(core::cmp::Reverse(id.0));
        station
    }
}
