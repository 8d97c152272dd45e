//! Totals of losses for each access point, from those of its interfaces.
//!
//! The manager takes one total for each MAC address, and takes a smaller one than before to mean that the access point has restarted. But
//! interfaces may share an address (one radio for each of 33 networks, for instance): growth is counted for each interface, and summed for
//! the address.

use std::collections::{BTreeMap, BTreeSet};

use evenair_packet::MacAddr;
use evenair_telemetry::AccessPointReading;

/// The totals so far.
#[derive(Debug, Default)]
pub(super) struct LossTotals {
    /// The last report of each source, by the number of the interface.
    last: BTreeMap<u16, BTreeMap<u64, AccessPointReading>>,
    /// Growth since an address was first reported.
    totals: BTreeMap<MacAddr, u64>,
}

impl LossTotals {
    /// Handles a report of a source, and returns the total of each address in it.
    pub(super) fn take(&mut self, source: u16, radios: &[AccessPointReading]) -> Vec<(MacAddr, u64)> {
        let now: BTreeMap<u64, AccessPointReading> = radios.iter().map(|radio| (radio.interface, *radio)).collect();
        let before = self.last.insert(source, now.clone()).unwrap_or_default();
        for radio in now.values() {
            let total = self.totals.entry(radio.mac).or_default();
            let last = before.get(&radio.interface).filter(|last| last.mac == radio.mac);
            // A counter that has restarted has counted this many since. A new one has no growth yet.
            let growth = last.map_or(0, |last| radio.lost.checked_sub(last.lost).unwrap_or(radio.lost));
            *total = total.saturating_add(growth);
        }
        let known: BTreeSet<MacAddr> = self.last.values().flat_map(BTreeMap::values).map(|radio| radio.mac).collect();
        self.totals.retain(|mac, _| known.contains(mac));
        let addresses: BTreeSet<MacAddr> = now.values().map(|radio| radio.mac).collect();
        addresses.into_iter().filter_map(|mac| Some((mac, *self.totals.get(&mac)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0x10, 1]);

    fn radio(interface: u64, lost: u64) -> AccessPointReading {
        AccessPointReading { mac: MAC, interface, channel_mhz: None, lost }
    }

    #[test]
    fn idle_interfaces_with_one_address_lose_nothing() {
        let mut totals = LossTotals::default();
        for _ in 0..5 {
            assert_eq!(totals.take(0, &[radio(1, 0), radio(4, 119)]), [(MAC, 0)]);
        }
        assert_eq!(totals.take(0, &[radio(1, 2), radio(4, 122)]), [(MAC, 5)]);
        assert_eq!(totals.take(0, &[radio(1, 2), radio(4, 3)]), [(MAC, 8)], "one of them has begun again");
        assert_eq!(totals.take(0, &[radio(1, 2)]), [(MAC, 8)], "one of them has gone");
        assert_eq!(totals.take(0, &[radio(1, 2), radio(4, 900)]), [(MAC, 8)], "and is back");
    }

    #[test]
    fn each_source_numbers_its_own_interfaces() {
        let mut totals = LossTotals::default();
        assert_eq!(totals.take(0, &[radio(1, 70)]), [(MAC, 0)]);
        assert_eq!(totals.take(1, &[radio(1, 10)]), [(MAC, 0)]);
        assert_eq!(totals.take(0, &[radio(1, 71)]), [(MAC, 1)]);
        assert_eq!(totals.take(1, &[radio(1, 10)]), [(MAC, 1)]);
        assert_eq!(totals.take(0, &[]), []);
        assert_eq!(totals.take(1, &[]), []);
        assert!(totals.totals.is_empty(), "nobody reports it");
    }
}
