//! Access points and controllers that speak SNMP.
//!
//! There is no standard table of stations: each vendor has its own ([`tables`]). Which one an agent has is told, or found
//! out: by its `sysObjectID`, else by which table has rows. What a radio loses is standard, and told beside the stations
//! where it is there.
//!
//! Sources: RFC 3416 (GetBulk), RFC 3414 (version 3), the MIBs that [`tables`] names.

mod session;
pub mod tables;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use evenair_packet::MacAddr;

pub use session::{Encryption, Hash, Version};
use session::{Object, Session};
use tables::{Says, StationIn, TABLES, Table, Unit};

use crate::source::{AccessPointReading, Reading, Source, StationReading, TelemetryError};

/// A poll may take so many time-outs in all.
const PATIENCE: u32 = 4;

/// An agent.
#[derive(Debug)]
pub struct Agent {
    address: String,
    version: Version,
    timeout: Duration,
    /// The table that is said, or was found.
    table: Option<&'static Table>,
    told: bool,
    session: Option<Box<Session>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session")
    }
}

impl Agent {
    /// The one at this address and port, with the table of this name; without, it is found out.
    pub fn new(address: &str, version: Version, table: Option<&'static Table>, timeout: Duration) -> Self {
        let told = table.is_some();
        Self { address: address.into(), version, timeout, table, told, session: None }
    }

    /// The table of this name.
    pub fn table(name: &str) -> Option<&'static Table> {
        TABLES.iter().find(|table| table.name == name)
    }

    fn read(&mut self, session: &mut Session) -> Result<Reading, TelemetryError> {
        session.begin(self.timeout * PATIENCE);
        let access_points = radios(session)?;
        let mut reading = Reading { from: "no table of stations".into(), access_points, ..Reading::default() };
        if self.table.is_none() {
            self.table = find_table(session)?;
        }
        let Some(table) = self.table else {
            // An access point without stations has no rows in its table either.
            return Ok(reading);
        };
        reading.from = table.vendor.into();
        reading.stations = stations(session, table)?;
        if reading.stations.is_empty() && !self.told {
            self.table = None;
        }
        Ok(reading)
    }
}

impl Source for Agent {
    fn name(&self) -> String {
        format!("snmp {}", self.address)
    }

    fn poll(&mut self) -> Result<Reading, TelemetryError> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => Box::new(Session::open(&self.address, &self.version, self.timeout)?),
        };
        let reading = self.read(&mut session)?;
        // One that failed is not used again: a late answer would be taken for that of the next question.
        self.session = Some(session);
        Ok(reading)
    }
}

/// The table that an agent has.
fn find_table(session: &mut Session) -> Result<Option<&'static Table>, TelemetryError> {
    let id = session.get(tables::SYS_OBJECT_ID)?;
    let is_likely = |table: &Table| matches!(&id, Some(Object::Name(name)) if name.starts_with(table.enterprise));
    let (likely, others): (Vec<_>, Vec<_>) = TABLES.iter().partition(|table| is_likely(table));
    for table in likely.into_iter().chain(others) {
        for column in table.columns {
            if session.has(column.oid)? {
                return Ok(Some(table));
            }
        }
    }
    Ok(None)
}

fn stations(session: &mut Session, table: &Table) -> Result<Vec<StationReading>, TelemetryError> {
    let mut rows: BTreeMap<Vec<u64>, Row> = BTreeMap::new();
    for column in table.columns {
        for (index, value) in session.walk(column.oid)? {
            let row = rows.entry(index).or_insert_with_key(|index| Row::new(address_in(index, table.station)));
            row.take(column.says, &value);
        }
    }
    Ok(rows.into_values().filter_map(Row::finish).collect())
}

/// A row in the making.
struct Row {
    mac: Option<MacAddr>,
    station: StationReading,
}

impl Row {
    const fn new(mac: Option<MacAddr>) -> Self {
        Self { mac, station: StationReading::new(MacAddr([0; 6])) }
    }

    fn take(&mut self, says: Says, value: &Object) {
        let station = &mut self.station;
        match says {
            Says::Address => self.mac = mac_of(value),
            Says::AccessPoint => station.access_point = mac_of(value),
            Says::Ip => station.address = ip_of(value),
            Says::Ssid => station.ssid = text_of(value),
            Says::Signal => station.signal_dbm = number_of(value),
            Says::Transmit(unit) => station.transmit_kbps = kbps(value, unit),
            Says::Receive(unit) => station.receive_kbps = kbps(value, unit),
        }
    }

    fn finish(self) -> Option<StationReading> {
        Some(StationReading { mac: self.mac?, ..self.station })
    }
}

fn address_in(index: &[u64], station: StationIn) -> Option<MacAddr> {
    let numbers = match station {
        StationIn::Column => return None,
        StationIn::IndexHead => index.get(..6)?,
        StationIn::IndexTail => index.get(index.len().checked_sub(6)?..)?,
    };
    let mut octets = [0; 6];
    for (octet, &number) in octets.iter_mut().zip(numbers) {
        *octet = u8::try_from(number).ok()?;
    }
    Some(MacAddr(octets))
}

fn mac_of(value: &Object) -> Option<MacAddr> {
    let Object::Octets(octets) = value else { return None };
    match <[u8; 6]>::try_from(octets.as_slice()) {
        Ok(octets) => Some(MacAddr(octets)),
        // Some agents write it out.
        Err(_) => crate::source::mac(std::str::from_utf8(octets).ok()?),
    }
}

fn ip_of(value: &Object) -> Option<IpAddr> {
    match value {
        Object::Address(octets) => Some((*octets).into()),
        Object::Octets(octets) => match octets.len() {
            4 => Some(<[u8; 4]>::try_from(octets.as_slice()).ok()?.into()),
            16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets.as_slice()).ok()?).into()),
            _ => std::str::from_utf8(octets).ok()?.parse().ok(),
        },
        _ => None,
    }
}

fn text_of(value: &Object) -> Option<String> {
    let Object::Octets(octets) = value else { return None };
    Some(String::from_utf8_lossy(&octets[..octets.len().min(32)]).into_owned())
}

/// A number, also where an agent writes it out.
fn number_of(value: &Object) -> Option<i64> {
    match value {
        Object::Number(number) => Some(*number),
        Object::Octets(octets) => std::str::from_utf8(octets).ok()?.trim().parse().ok(),
        _ => None,
    }
}

fn kbps(value: &Object, unit: Unit) -> Option<i64> {
    match (unit, value) {
        (Unit::RateSet, Object::Octets(octets)) => octets.iter().map(|octet| i64::from(octet & 0x7f) * 500).max(),
        (Unit::RateSet, _) => None,
        (Unit::Bits, value) => Some(number_of(value)? / 1_000),
        (Unit::Kilobits, value) => number_of(value),
        (Unit::Megabits, value) => number_of(value)?.checked_mul(1_000),
    }
}

/// What an agent's radios lose: what their queues discard, and what is given up after too many retries.
fn radios(session: &mut Session) -> Result<Vec<AccessPointReading>, TelemetryError> {
    let kinds = session.walk(tables::IF_TYPE)?;
    let radios = kinds.into_iter().filter(|(_, kind)| *kind == Object::Number(tables::IEEE80211));
    let mut lost: BTreeMap<Vec<u64>, u64> = radios.map(|(index, _)| (index, 0)).collect();
    if lost.is_empty() {
        return Ok(Vec::new());
    }
    for root in [tables::IF_OUT_DISCARDS, tables::DOT11_FAILED] {
        for (index, value) in session.walk(root)? {
            if let (Some(lost), Some(more)) = (lost.get_mut(&index), number_of(&value)) {
                *lost = lost.saturating_add(u64::try_from(more).unwrap_or(0));
            }
        }
    }
    let addresses: BTreeMap<_, _> = session.walk(tables::IF_ADDRESS)?.into_iter().collect();
    let reading = |(index, lost)| Some(AccessPointReading { mac: mac_of(addresses.get(&index)?)?, lost });
    Ok(lost.into_iter().filter_map(reading).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_are_found_in_an_index() {
        let index = [3, 4, 104, 111, 109, 101, 2, 0, 0, 0, 1, 255];
        assert_eq!(address_in(&index, StationIn::IndexTail), Some(MacAddr([2, 0, 0, 0, 1, 255])));
        assert_eq!(address_in(&index, StationIn::IndexHead), Some(MacAddr([3, 4, 104, 111, 109, 101])));
        assert_eq!(address_in(&index[..5], StationIn::IndexTail), None);
        assert_eq!(address_in(&[2, 0, 0, 0, 1, 256], StationIn::IndexTail), None, "no octet");
    }

    #[test]
    fn units_are_minded() {
        let number = Object::Number(54_000_000);
        assert_eq!(kbps(&number, Unit::Bits), Some(54_000));
        assert_eq!(kbps(&Object::Number(54_000), Unit::Kilobits), Some(54_000));
        assert_eq!(kbps(&Object::Number(54), Unit::Megabits), Some(54_000));
        assert_eq!(kbps(&Object::Number(i64::MAX), Unit::Megabits), None);
        assert_eq!(kbps(&Object::Octets(vec![0x82, 0x0b, 0x6c]), Unit::RateSet), Some(54_000));
        assert_eq!(kbps(&Object::Octets(Vec::new()), Unit::RateSet), None);
        assert_eq!(kbps(&number, Unit::RateSet), None);
        assert_eq!(number_of(&Object::Octets(b" -61 ".to_vec())), Some(-61), "written out");
    }
}
