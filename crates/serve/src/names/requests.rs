//! Requests about names, of one connection to the control socket. They do not involve the packet loop.

use evenair_api::{Request, Response, StationName};
use evenair_boxfile::names::{MOST_NAMES, NameError, check_name, station_mac};
use evenair_packet::MacAddr;

use super::{ByMac, Names};

/// State of the requests of a connection.
pub(crate) struct NameRequests {
    names: Names,
    /// The parts of a table that have arrived.
    table: ByMac,
}

impl NameRequests {
    pub(crate) fn new(names: Names) -> Self {
        Self { names, table: ByMac::new() }
    }

    /// Replies to a request; `None`: it is not about names.
    pub(crate) fn answer(&mut self, request: &Request) -> Option<Response> {
        let done = match request {
            Request::Names => return Some(Response { names: Some(self.names.list()), ..done(Ok(())) }),
            Request::Name { mac, name } => self.set(mac, name.as_deref()),
            Request::ImportNames { at, total, names } => self.import(*at, *total, names),
            _ => return None,
        };
        Some(self::done(done))
    }

    fn set(&self, mac: &str, name: Option<&str>) -> Result<(), String> {
        let mac = checked_mac(mac)?;
        name.map_or(Ok(()), checked_name)?;
        self.names.set(mac, name.map(str::to_owned))
    }

    /// Handles a part of a table. A part that is wrong, or not the next one, discards the whole table.
    fn import(&mut self, at: usize, total: usize, names: &[StationName]) -> Result<(), String> {
        let table = if at == 0 { ByMac::new() } else { std::mem::take(&mut self.table) };
        let table = with_part(table, at, total, names)?;
        if table.len() == total {
            return self.names.import(table);
        }
        self.table = table;
        Ok(())
    }
}

fn with_part(mut table: ByMac, at: usize, total: usize, names: &[StationName]) -> Result<ByMac, String> {
    if total > MOST_NAMES {
        return Err(format!("total: {total} names; the box keeps {MOST_NAMES}"));
    }
    if at != table.len() {
        return Err(format!(
            "at: {at}, but {} names of the table have come on this connection; begin again",
            table.len()
        ));
    }
    if at + names.len() > total {
        return Err(format!("total: {total}, but the parts have {} names", at + names.len()));
    }
    for StationName { mac, name } in names {
        checked_name(name)?;
        if table.insert(checked_mac(mac)?, name.clone()).is_some() {
            return Err(format!("mac: {mac} is in the table twice"));
        }
    }
    Ok(table)
}

fn checked_mac(text: &str) -> Result<MacAddr, String> {
    station_mac(text)
        .ok_or_else(|| format!("mac: {text:?} is not a station's MAC address such as \"02:00:00:00:00:01\""))
}

fn checked_name(name: &str) -> Result<(), String> {
    check_name(name).map_err(|error| format!("name: {error}; right would be: {}", NameError::RIGHT))
}

fn done(result: Result<(), String>) -> Response {
    Response { ok: result.is_ok(), error: result.err(), status: None, names: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(at: usize, total: usize, names: &[(usize, &str)]) -> Request {
        let name = |&(last, name): &(usize, &str)| StationName {
            mac: format!("02:00:00:00:00:{last:02x}"),
            name: name.into(),
        };
        Request::ImportNames { at, total, names: names.iter().map(name).collect() }
    }

    #[test]
    fn a_table_takes_effect_when_it_is_complete() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = Names::open(&folder.path().join("names.csv"), ByMac::new());
        let mut requests = NameRequests::new(names.clone());
        let mut ask = |request| requests.answer(&request).expect("about names").error.unwrap_or_default();
        assert_eq!(ask(part(0, 3, &[(1, "a"), (2, "b")])), "");
        assert_eq!(names.list(), []);
        assert_eq!(ask(part(2, 3, &[(3, "c")])), "");
        assert_eq!(names.list().len(), 3);
        for (wrong, why) in [
            (part(2, 3, &[(4, "d")]), "at: 2, but 0 names"),
            (part(0, 1, &[(4, "d"), (5, "e")]), "total: 1, but the parts have 2"),
            (part(0, 2, &[(4, "d"), (4, "e")]), "twice"),
            (part(0, 1, &[(4, "\u{1b}]0;x\u{7}")]), "U+001B"),
            (part(0, 1, &[(4, "d\u{202e}e")]), "U+202E"),
            (part(0, 1 << 40, &[(4, "d")]), "the box keeps"),
            (part(usize::MAX, 1, &[(4, "d")]), "begin again"),
        ] {
            let error = ask(wrong);
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(ask(part(0, 2, &[(4, "d")])), "");
        assert!(!ask(part(1, 2, &[(5, "")])).is_empty());
        assert!(!ask(part(1, 2, &[(5, "e")])).is_empty(), "the table was discarded");
        assert_eq!(names.list().len(), 3);
    }

    #[test]
    fn an_address_that_no_station_can_have_is_refused() {
        let mut requests = NameRequests::new(Names::default());
        for mac in ["", "x", "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff"] {
            let request = Request::Name { mac: mac.into(), name: Some("Anne".into()) };
            let error = requests.answer(&request).and_then(|answer| answer.error).expect("refused");
            assert!(error.contains("not a station's MAC address"), "{error}");
        }
        assert_eq!(requests.answer(&Request::Status), None);
    }
}
