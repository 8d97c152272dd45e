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
use session::{Object, Session, Walk};
use tables::{Column, Says, StationIn, TABLES, Table};
use values::{channel_of, frequency_of, ip_of, kbps, mac_of, number_of, text_of};

use crate::source::{Reading, Source, StationReading, TelemetryError};

/// Time limit of a whole poll, in timeouts of one request.
const PATIENCE: u32 = 4;

/// An agent.
#[derive(Debug)]
pub struct Agent {
    address: String,
    version: Version,
    timeout: Duration,
    /// The configured table, or the detected one.
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
    /// The agent at this address and port, with this table; without one, it is detected.
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
        let mut reading = Reading { from: "no table of stations".into(), ..Reading::default() };
        if self.table.is_none() {
            self.table = find_table(session)?;
        }
        let rows = match self.table {
            Some(table) => rows(session, table, &mut reading)?,
            None => BTreeMap::new(),
        };
        if rows.is_empty() {
            // An access point without stations has no rows in its table either.
            let tried = self.table.map_or_else(|| TABLES.iter().collect(), |table| vec![table]);
            without_stations(session, &tried, &mut reading);
        }
        let own = radios::own(session, &mut reading);
        if let Some(table) = self.table {
            reading.from = table.vendor.into();
            let radios = table.radios.as_ref().map(|radios| radios::Known::read(session, radios, &mut reading));
            let station = |(index, mut row): (Vec<u64>, Row)| {
                radios.iter().for_each(|radios| radios.tune(&index, row.slot, &mut row.station));
                row.finish()
            };
            reading.add_stations("its table of stations", rows.into_iter().map(station));
            if let ([radio], true) = (&own.radios[..], table.is_access_point) {
                (reading.radio, reading.channel_mhz) = (Some(radio.mac), radio.channel_mhz);
            }
        }
        if own.has_all_losses {
            reading.access_points = own.radios;
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
        // A failed session is not reused: a late response would be taken for that of the next request.
        self.session = Some(session).filter(|session| !session.is_lost);
        Ok(reading)
    }
}

/// The `sysObjectID` of an agent.
fn object_id(session: &mut Session) -> Result<Option<Vec<u64>>, TelemetryError> {
    let id = session.get(tables::SYS_OBJECT_ID)?;
    Ok(id.and_then(|id| if let Object::Name(name) = id { Some(name) } else { None }))
}

fn is_likely(table: &Table, id: Option<&[u64]>) -> bool {
    id.is_some_and(|id| id.starts_with(table.enterprise))
}

/// Whether an agent has rows in any of these columns. A malformed response counts as none.
fn has_any(session: &mut Session, columns: impl IntoIterator<Item = &'static Column>) -> Result<bool, TelemetryError> {
    for column in columns {
        match session.has(column.oid) {
            Ok(true) => return Ok(true),
            Ok(false) | Err(TelemetryError::Nonsense(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// The table in which an agent has rows.
fn find_table(session: &mut Session) -> Result<Option<&'static Table>, TelemetryError> {
    let id = object_id(session)?;
    let (likely, others): (Vec<_>, Vec<_>) = TABLES.iter().partition(|table| is_likely(table, id.as_deref()));
    for table in likely.into_iter().chain(others) {
        if has_any(session, table.columns)? {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

/// Distinguishes an agent without stations from one without a known table, which gets a warning.
fn without_stations(session: &mut Session, tried: &[&'static Table], reading: &mut Reading) {
    let id = object_id(session).unwrap_or_default();
    let idle = tried.iter().find(|table| match &table.radios {
        // Its radios are in the vendor's tables.
        Some(radios) => {
            let columns = radios.columns.iter().filter(|column| column.oid.starts_with(tables::ENTERPRISES));
            has_any(session, columns).unwrap_or(false)
        }
        None => is_likely(table, id.as_deref()),
    });
    if let Some(table) = idle {
        reading.from = table.vendor.into();
        return;
    }
    let id = id.map_or_else(|| "without sysObjectID".into(), |id| format!("sysObjectID {}", dotted(&id)));
    let names: Vec<_> = tried.iter().map(|table| table.name).collect();
    let names = names.join(", ");
    reading.add_warning(format!("the agent ({id}) has no table of stations that is known here; tried: {names}"));
}

fn dotted(oid: &[u64]) -> String {
    oid.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

/// The rows of a table of stations. A failing column does not affect the others.
fn rows(
    session: &mut Session,
    table: &Table,
    reading: &mut Reading,
) -> Result<BTreeMap<Vec<u64>, Row>, TelemetryError> {
    let mut rows: BTreeMap<Vec<u64>, Row> = BTreeMap::new();
    let mut failure = None;
    for column in table.columns {
        let walk = session.walk(column.oid);
        warn_of_malformed(&walk, column.oid, reading);
        for (index, value) in walk.rows {
            let row = rows.entry(index).or_insert_with_key(|index| Row::new(address_in(index, table.station)));
            row.take(column.says, &value);
        }
        if let Some(error) = walk.problem {
            reading.warn(format_args!("a part of column {} of its stations", dotted(column.oid)), error.detail());
            failure = failure.or(Some(error));
        }
    }
    match failure {
        Some(error) if rows.is_empty() => Err(error),
        _ => Ok(rows),
    }
}

/// Rows of an optional column.
struct Optional {
    rows: Vec<(Vec<u64>, Object)>,
    /// Whether all rows were read.
    is_whole: bool,
}

/// Reads an optional column: its rows, or none and a warning.
fn optional(session: &mut Session, oid: &[u64], reading: &mut Reading) -> Optional {
    let walk = session.walk(oid);
    if let Some(error) = walk.problem {
        reading.warn(format_args!("column {}", dotted(oid)), error.detail());
        return Optional { rows: Vec::new(), is_whole: false };
    }
    warn_of_malformed(&walk, oid, reading);
    Optional { is_whole: !walk.has_malformed, rows: walk.rows }
}

fn warn_of_malformed(walk: &Walk, oid: &[u64], reading: &mut Reading) {
    if walk.has_malformed {
        reading.warn(format_args!("rows of column {}", dotted(oid)), "they cannot be understood");
    }
}

/// A row being assembled.
struct Row {
    mac: Option<MacAddr>,
    /// Number of its radio in the access point.
    slot: Option<i64>,
    station: StationReading,
}

impl Row {
    /// A row with the address from its index.
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
            // Only for radios.
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
