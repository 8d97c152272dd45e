//! Access points and controllers with SNMP.
//!
//! There is no standard table of stations: each vendor has its own ([`tables`]). The table of an agent is configured, or
//! detected from its `sysObjectID`, else from the table that has rows. The row of a station's radio has its channel
//! (`radios`). Losses of radios are in standard tables, and are reported with the stations where available.
//!
//! Sources: RFC 3416 (GetBulk), RFC 3414 (version 3), the MIBs that [`tables`] names.

mod radios;
mod session;
pub mod tables;
mod values;

use std::collections::BTreeMap;
use std::time::Duration;

use evenair_packet::MacAddr;

pub use session::{Encryption, Hash, Version};
use session::{Object, Session};
use tables::{Says, StationIn, TABLES, Table};
use values::{channel_of, frequency_of, ip_of, kbps, mac_of, number_of, text_of};

use crate::source::{Reading, Source, StationReading, TelemetryError};

/// A poll may take so many time-outs in all.
const PATIENCE: u32 = 4;

/// An agent.
#[derive(Debug)]
pub struct Agent {
    address: String,
    version: Version,
    timeout: Duration,
    /// The configured table, or the one found.
    table: Option<&'static Table>,
    configured: bool,
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
        let configured = table.is_some();
        Self { address: address.into(), version, timeout, table, configured, session: None }
    }

    /// The table of this name.
    pub fn table(name: &str) -> Option<&'static Table> {
        TABLES.iter().find(|table| table.name == name)
    }

    fn read(&mut self, session: &mut Session) -> Result<Reading, TelemetryError> {
        session.begin(self.timeout * PATIENCE);
        let access_points = radios::own(session)?;
        let mut reading = Reading { from: "no table of stations".into(), access_points, ..Reading::default() };
        if self.table.is_none() {
            self.table = find_table(session)?;
        }
        let Some(table) = self.table else {
            // An access point without stations has no rows in its table either.
            return Ok(reading);
        };
        reading.from = table.vendor.into();
        let radios = table.radios.as_ref().map(|radios| radios::Known::read(session, radios)).transpose()?;
        reading.stations = stations(session, table, radios.as_ref())?;
        if let ([radio], true) = (&reading.access_points[..], table.is_access_point) {
            (reading.radio, reading.channel_mhz) = (Some(radio.mac), radio.channel_mhz);
        }
        if reading.stations.is_empty() && !self.configured {
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

fn stations(
    session: &mut Session,
    table: &Table,
    radios: Option<&radios::Known>,
) -> Result<Vec<StationReading>, TelemetryError> {
    let mut rows: BTreeMap<Vec<u64>, Row> = BTreeMap::new();
    for column in table.columns {
        for (index, value) in session.walk(column.oid)? {
            let row = rows.entry(index).or_insert_with_key(|index| Row::new(address_in(index, table.station)));
            row.take(column.says, &value);
        }
    }
    let tuned = |(index, mut row): (Vec<u64>, Row)| {
        radios.iter().for_each(|radios| radios.tune(&index, row.slot, &mut row.station));
        row.finish()
    };
    Ok(rows.into_iter().filter_map(tuned).collect())
}

/// A row in the making.
struct Row {
    mac: Option<MacAddr>,
    /// The number of its radio in its access point.
    slot: Option<i64>,
    station: StationReading,
}

impl Row {
    const fn new(mac: Option<MacAddr>) -> Self {
        Self { mac, slot: None, station: StationReading::new(MacAddr([0; 6])) }
    }

    fn take(&mut self, says: Says, value: &Object) {
        let station = &mut self.station;
        match says {
            Says::Address => self.mac = mac_of(value),
            Says::AccessPoint => station.access_point = mac_of(value),
            Says::Slot => self.slot = number_of(value),
            Says::Channel => station.channel_mhz = channel_of(value),
            Says::Frequency => station.channel_mhz = frequency_of(value),
            Says::Ip => station.address = ip_of(value),
            Says::Ssid => station.ssid = text_of(value),
            Says::Signal => station.signal_dbm = number_of(value),
            Says::Transmit(unit) => station.transmit_kbps = kbps(value, unit),
            Says::Receive(unit) => station.receive_kbps = kbps(value, unit),
            // Of radios alone.
            Says::Band => {}
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
}
