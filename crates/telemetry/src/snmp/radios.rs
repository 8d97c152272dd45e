//! Radios: the channel of each station, from the row of its radio, and losses of radios.
//!
//! Limitation: a 6 GHz radio whose agent reports the channel's number but not its frequency is assigned to another band
//! that has the same number.

use std::collections::BTreeMap;

use evenair_packet::MacAddr;

use super::optional;
use super::session::{Object, Session};
use super::tables::{self, Column, FoundBy, Radios, Says};
use super::values::{channel_of, frequency_of, mac_of, number_of};
use crate::source::{AccessPointReading, Reading, StationReading};

/// Bits in which the addresses of one radio's networks differ.
const OF_ONE_RADIO: u8 = 0x0f;

/// The bit in an address's first octet that marks it as locally administered (IEEE Std 802, 8.2).
const LOCALLY_ADMINISTERED: u8 = 0x02;

/// The report of one radio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Radio {
    address: Option<MacAddr>,
    mhz: Option<u16>,
    /// As [`Says::Band`].
    band: Option<i64>,
}

/// The radios of an agent, by the index of their rows.
#[derive(Debug)]
pub(super) struct Known {
    found_by: FoundBy,
    rows: BTreeMap<Vec<u64>, Radio>,
}

impl Radio {
    fn take(&mut self, says: Says, value: &Object) {
        match says {
            Says::AccessPoint => self.address = self.address.or_else(|| mac_of(value)),
            Says::Channel => self.mhz = self.mhz.or_else(|| channel_of(value)),
            Says::Frequency => self.mhz = self.mhz.or_else(|| frequency_of(value)),
            Says::Band => self.band = number_of(value),
            // Only for stations.
            Says::Address
            | Says::Slot
            | Says::Ip
            | Says::Ssid
            | Says::Signal
            | Says::Transmit(_)
            | Says::Receive(_) => {}
        }
    }

    /// Its channel, unless that does not belong to its band.
    fn channel(&self) -> Option<u16> {
        self.mhz.filter(|mhz| match self.band {
            None => true,
            Some(1) => *mhz < 5_000,
            Some(2) => *mhz > 5_000,
            Some(_) => false,
        })
    }
}

impl Known {
    /// Reads the radios of an agent.
    pub(super) fn read(session: &mut Session, radios: &Radios, reading: &mut Reading) -> Self {
        let mut rows = rows(session, radios.columns, reading);
        if radios.lists_virtual {
            tune_virtual(&mut rows);
        }
        Self { found_by: radios.found_by, rows }
    }

    /// Completes a station's report from its radio's row.
    pub(super) fn tune(&self, index: &[u64], slot: Option<i64>, station: &mut StationReading) {
        let Some(radio) = self.find(index, slot, station.access_point) else { return };
        station.channel_mhz = station.channel_mhz.or(radio.channel());
        station.access_point = station.access_point.or(radio.address);
    }

    fn find(&self, index: &[u64], slot: Option<i64>, access_point: Option<MacAddr>) -> Option<&Radio> {
        match self.found_by {
            FoundBy::IndexHead => self.rows.get(index.get(..1)?),
            FoundBy::IndexTail => self.rows.get(index.get(index.len().checked_sub(1)?..)?),
            FoundBy::Slot => {
                let address = access_point?.0.map(u64::from);
                self.rows.get(&[&address[..], &[u64::try_from(slot?).ok()?]].concat())
            }
            FoundBy::Bssid => {
                let address = access_point?.0.map(u64::from);
                self.rows.iter().find(|(index, _)| index.ends_with(&address)).map(|(_, radio)| radio)
            }
            FoundBy::Address => {
                let of = |mac: MacAddr| [&mac.0[..5], &[mac.0[5] & !OF_ONE_RADIO]].concat();
                let wanted = of(access_point?);
                let mut found = self.rows.values().filter(|radio| radio.address.is_some_and(|mac| of(mac) == wanted));
                // Several matches are ambiguous.
                found.next().filter(|_| found.next().is_none())
            }
        }
    }
}

/// Sets the channel of virtual access points without one to that of their radio.
///
/// RouterOS derives the address of a virtual access point from that of its master interface: it sets the locally administered
/// bit (IEEE Std 802, 8.2), changes further bits of the first octet if that address is taken, and increments the last octet. So
/// the master is the interface with a channel and the same last five octets; else the one that also differs in the last octet.
/// If several match with different channels, the channel stays unknown.
fn tune_virtual(rows: &mut BTreeMap<Vec<u64>, Radio>) {
    let masters: Vec<(MacAddr, u16)> = rows.values().filter_map(|row| Some((row.address?, row.channel()?))).collect();
    for row in rows.values_mut().filter(|row| row.mhz.is_none()) {
        row.mhz = row.address.and_then(|address| master_channel(address, &masters));
    }
}

fn master_channel(address: MacAddr, masters: &[(MacAddr, u16)]) -> Option<u16> {
    let octets = address.0;
    if octets[0] & LOCALLY_ADMINISTERED == 0 {
        return None;
    }
    let channels_of = |is_master: &dyn Fn(&[u8; 6]) -> bool| {
        let mut channels: Vec<u16> = masters.iter().filter(|(mac, _)| is_master(&mac.0)).map(|&(_, mhz)| mhz).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    };
    let same = channels_of(&|master| master[1..] == octets[1..]);
    let found = if same.is_empty() { channels_of(&|master| master[1..5] == octets[1..5]) } else { same };
    <[u16; 1]>::try_from(found).ok().map(|[mhz]| mhz)
}

/// Rows of optional columns.
fn rows(session: &mut Session, columns: &[Column], reading: &mut Reading) -> BTreeMap<Vec<u64>, Radio> {
    let mut rows: BTreeMap<Vec<u64>, Radio> = BTreeMap::new();
    for column in columns {
        for (index, value) in optional(session, column.oid, reading).rows {
            rows.entry(index).or_default().take(column.says, &value);
        }
    }
    rows
}

/// An agent's own radios, from the standard tables.
#[derive(Debug, Default)]
pub(super) struct Own {
    pub(super) radios: Vec<AccessPointReading>,
    /// Whether all counters were read. A total without one of them would be smaller, and be taken for a restart.
    pub(super) has_all_losses: bool,
}

/// Reads an agent's own radios from the standard tables: their channels and losses. Losses are queue drops plus frames given up
/// after too many retries.
pub(super) fn own(session: &mut Session, reading: &mut Reading) -> Own {
    let kinds = optional(session, tables::IF_TYPE, reading).rows;
    let radios = kinds.into_iter().filter(|(_, kind)| *kind == Object::Number(tables::IEEE80211));
    let mut lost: BTreeMap<Vec<u64>, u64> = radios.map(|(index, _)| (index, 0)).collect();
    if lost.is_empty() {
        return Own::default();
    }
    let mut has_all_losses = true;
    for root in [tables::IF_OUT_DISCARDS, tables::DOT11_FAILED] {
        let column = optional(session, root, reading);
        has_all_losses &= column.is_whole;
        for (index, value) in column.rows {
            if let (Some(lost), Some(more)) = (lost.get_mut(&index), number_of(&value)) {
                *lost = lost.saturating_add(u64::try_from(more).unwrap_or(0));
            }
        }
    }
    let addresses: BTreeMap<_, _> = optional(session, tables::IF_ADDRESS, reading).rows.into_iter().collect();
    let tuned = rows(session, &tables::STANDARD_RADIO, reading);
    let radio = |(index, lost): (Vec<u64>, u64)| {
        let channel_mhz = tuned.get(&index).and_then(Radio::channel);
        let interface = *index.last()?;
        Some(AccessPointReading { mac: mac_of(addresses.get(&index)?)?, interface, channel_mhz, lost })
    };
    Own { radios: lost.into_iter().filter_map(radio).collect(), has_all_losses }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn mac(last: u8) -> MacAddr {
        MacAddr([2, 0, 0, 0, 9, last])
    }

    fn known(found_by: FoundBy, radios: &[(&[u64], u8, u16)]) -> Known {
        let row = |&(index, last, mhz): &(&[u64], u8, u16)| {
            (index.to_vec(), Radio { address: Some(mac(last)), mhz: Some(mhz), band: None })
        };
        Known { found_by, rows: radios.iter().map(row).collect() }
    }

    fn tuned(known: &Known, index: &[u64], slot: Option<i64>, at: Option<u8>) -> (Option<MacAddr>, Option<u16>) {
        let mut station = StationReading { access_point: at.map(mac), ..StationReading::new(mac(0)) };
        known.tune(index, slot, &mut station);
        (station.access_point, station.channel_mhz)
    }

    #[test]
    fn a_station_s_index_leads_to_its_radio() {
        let radios: [(&[u64], u8, u16); 2] = [(&[7], 0x10, 2_412), (&[8], 0x20, 5_180)];
        let head = known(FoundBy::IndexHead, &radios);
        assert_eq!(tuned(&head, &[8, 1, 7], None, None), (Some(mac(0x20)), Some(5_180)));
        assert_eq!(tuned(&head, &[8, 1, 7], None, Some(3)), (Some(mac(3)), Some(5_180)), "its own row goes before");
        let tail = known(FoundBy::IndexTail, &radios);
        assert_eq!(tuned(&tail, &[8, 1, 7], None, None), (Some(mac(0x10)), Some(2_412)));
        for index in [&[][..], &[9]] {
            assert_eq!(
                (tuned(&head, index, None, None), tuned(&tail, index, None, None)),
                ((None, None), (None, None))
            );
        }
    }

    #[test]
    fn an_access_point_and_the_number_of_its_radio_lead_there() {
        let slots = known(FoundBy::Slot, &[(&[2, 0, 0, 0, 9, 1, 0], 1, 2_412), (&[2, 0, 0, 0, 9, 1, 1], 1, 5_180)]);
        assert_eq!(tuned(&slots, &[], Some(1), Some(1)), (Some(mac(1)), Some(5_180)));
        // 15 means "no such slot".
        for (slot, at) in [(Some(15), Some(1)), (Some(-1), Some(1)), (None, Some(1)), (Some(0), Some(2))] {
            assert_eq!(tuned(&slots, &[], slot, at).1, None);
        }
        assert_eq!(tuned(&slots, &[], Some(0), None), (None, None));
    }

    #[test]
    fn a_network_s_address_leads_to_the_radio_that_has_it() {
        let radios: [(&[u64], u8, u16); 2] = [(&[1], 0x10, 2_412), (&[2], 0x20, 5_180)];
        let known_by = known(FoundBy::Address, &radios);
        assert_eq!(tuned(&known_by, &[], None, Some(0x23)), (Some(mac(0x23)), Some(5_180)));
        assert_eq!(tuned(&known_by, &[], None, Some(0x30)), (Some(mac(0x30)), None));
        let alike = known(FoundBy::Address, &[radios[0], (&[2], 0x18, 5_180)]);
        assert_eq!(tuned(&alike, &[], None, Some(0x11)).1, None, "two look alike");
    }

    #[test]
    fn a_virtual_access_point_has_the_channel_of_its_master() {
        let masters =
            [(MacAddr([0x4c, 0x5e, 0x0c, 0, 0x10, 1]), 2_412), (MacAddr([0x4c, 0x5e, 0x0c, 0, 0x10, 2]), 5_805)];
        let channel = |first, last, masters: &[_]| master_channel(MacAddr([first, 0x5e, 0x0c, 0, 0x10, last]), masters);
        assert_eq!((channel(0x4e, 1, &masters), channel(0x4e, 2, &masters)), (Some(2_412), Some(5_805)));
        assert_eq!(channel(0x52, 2, &masters), Some(5_805), "a second one of the same radio");
        assert_eq!(channel(0x4e, 3, &masters), None, "either may be its master");
        assert_eq!(channel(0x4e, 3, &masters[..1]), Some(2_412));
        assert_eq!(channel(0x4c, 3, &masters[..1]), None, "a radio of its own, which is off");
        assert_eq!(master_channel(MacAddr([0x4e, 0x5e, 0x0c, 0, 0x11, 1]), &masters), None, "another machine's");
    }

    #[test]
    fn a_channel_of_another_band_is_not_taken() {
        let channel = |band, mhz| Radio { address: None, mhz: Some(mhz), band }.channel();
        assert_eq!((channel(Some(1), 2_412), channel(Some(2), 5_180)), (Some(2_412), Some(5_180)));
        // Channel 1 at 6 GHz has the number of one at 2.4 GHz.
        assert_eq!((channel(Some(2), 2_412), channel(Some(6), 2_412), channel(Some(1), 5_180)), (None, None, None));
        assert_eq!(channel(None, 2_412), Some(2_412));
    }
}
