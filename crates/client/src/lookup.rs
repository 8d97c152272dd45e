//! Finds the station that an operator names: by MAC address or by name, in upper or lower case.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use evenair_api::history::{Record, StationSample};
use evenair_boxfile::names::{file, read_table};
use evenair_packet::MacAddr;
use evenair_reader::nearest;

use crate::control::{Client, ClientError};

/// Number of similar names offered for an unknown one.
const OFFERED: usize = 3;

/// Why no single station matches a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// No station has this name; the most similar names.
    Unknown(String, Vec<String>),
    /// Several stations have the name.
    Several(String, Vec<MacAddr>),
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name, near) if near.is_empty() => {
                write!(f, "no station is named {name:?}, and none has a name")
            }
            Self::Unknown(name, near) => {
                let near: Vec<_> = near.iter().map(|name| format!("{name:?}")).collect();
                write!(f, "no station is named {name:?}; the nearest names: {}", near.join(", "))
            }
            Self::Several(name, macs) => {
                let macs: Vec<_> = macs.iter().map(ToString::to_string).collect();
                write!(f, "{} stations are named {name:?}: {}; use the MAC address", macs.len(), macs.join(", "))
            }
        }
    }
}

impl std::error::Error for LookupError {}

/// Present and past names of stations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Present names, as the box has them.
    present: BTreeMap<MacAddr, String>,
    /// The latest names of the history.
    latest: BTreeMap<MacAddr, String>,
    /// All names in the history.
    past: BTreeSet<(MacAddr, String)>,
}

impl Directory {
    /// The present names of a running box.
    ///
    /// # Errors
    /// The box cannot be reached any more, or refuses.
    pub fn of_box(client: &mut Client) -> Result<Self, ClientError> {
        let listed = client.names()?.into_iter().map(|named| (named.mac, Some(named.name)));
        let stations = client.status()?.stations.into_iter().map(|station| (station.mac, station.name));
        let named = listed.chain(stations).filter_map(|(mac, name)| Some((mac.parse().ok()?, name?)));
        Ok(Self { present: named.collect(), ..Self::default() })
    }

    /// The names in the files of a box on this machine, if they can be read.
    pub fn kept() -> Self {
        Self { present: read_table(&file()).unwrap_or_default().into_iter().collect(), ..Self::default() }
    }

    /// Adds the names in a record of the history. Records must come oldest first.
    pub fn note(&mut self, record: &Record) {
        let Record::Sample(sample) = record else { return };
        for StationSample { mac, name, .. } in &sample.stations {
            let (Ok(mac), Some(name)) = (mac.parse(), name) else { continue };
            if self.latest.get(&mac) != Some(name) {
                self.latest.insert(mac, name.clone());
                self.past.insert((mac, name.clone()));
            }
        }
    }

    /// The station with this MAC address or present name or, if no station has that now, with this name in the history.
    ///
    /// # Errors
    /// No station matches, or several do.
    pub fn find(&self, text: &str) -> Result<MacAddr, LookupError> {
        let older = self.latest.iter().filter(|(mac, _)| !self.present.contains_key(mac));
        let present = self.present.iter().chain(older).map(|(&mac, name)| (mac, name.as_str()));
        let all = present.clone().chain(self.past.iter().map(|(mac, name)| (*mac, name.as_str())));
        match find(text, present) {
            Err(LookupError::Unknown(..)) => find(text, all),
            found => found,
        }
    }
}

/// The matching station among stations with names. A MAC address need not be among them.
///
/// # Errors
/// No station has this name, or several do.
fn find<'a>(text: &str, stations: impl Iterator<Item = (MacAddr, &'a str)> + Clone) -> Result<MacAddr, LookupError> {
    if let Ok(mac) = text.parse() {
        return Ok(mac);
    }
    let lower = text.trim().to_lowercase();
    let same = stations.clone().filter(|(_, name)| name.to_lowercase() == lower);
    let macs: BTreeSet<_> = same.map(|(mac, _)| mac).collect();
    match macs.len() {
        1 => Ok(macs.into_iter().next().expect("there is one")),
        0 => {
            let near = nearest(&lower, stations.map(|(_, name)| name), OFFERED);
            Err(LookupError::Unknown(text.into(), near.into_iter().map(str::to_owned).collect()))
        }
        _ => Err(LookupError::Several(text.into(), macs.into_iter().collect())),
    }
}

#[cfg(test)]
mod tests {
    use evenair_api::history::Sample;

    use super::*;

    fn mac(last: u8) -> MacAddr {
        MacAddr([2, 0, 0, 0, 0, last])
    }

    #[test]
    fn stations_are_found_by_address_and_name_in_any_case() {
        let stations =
            [(mac(10), "Maria"), (mac(2), "Mario"), (mac(3), "mario"), (mac(4), "marta"), (mac(10), "maria")];
        let find = |text| find(text, stations.into_iter()).map_err(|error| error.to_string());
        assert_eq!(find("MARIA"), Ok(mac(10)), "it has the name twice");
        assert_eq!(find("02:00:00:00:00:0A"), Ok(mac(10)));
        assert_eq!(find("02:00:00:00:00:99"), Ok(mac(0x99)), "an address needs no name");
        let two = "2 stations are named \"mario\": 02:00:00:00:00:02, 02:00:00:00:00:03; use the MAC address";
        assert_eq!(find("mario"), Err(two.into()));
        let unknown = find("marie").expect_err("unknown");
        assert_eq!(unknown, "no station is named \"marie\"; the nearest names: \"Maria\", \"Mario\", \"maria\"");
    }

    #[test]
    fn a_renamed_station_is_found_by_its_present_name_first() {
        let record = |names: &[(u8, &str)]| {
            let sample = |&(last, name): &(u8, &str)| StationSample {
                mac: mac(last).to_string(),
                name: Some(name.into()),
                ..StationSample::default()
            };
            Record::Sample(Box::new(Sample { stations: names.iter().map(sample).collect(), ..Sample::default() }))
        };
        let mut directory = Directory { present: [(mac(1), "Anne".into())].into(), ..Directory::default() };
        directory.note(&record(&[(1, "phone"), (2, "phone"), (3, "tablet")]));
        directory.note(&record(&[(1, "phone"), (2, "Bo"), (3, "tablet")]));
        assert_eq!((directory.find("anne"), directory.find("BO")), (Ok(mac(1)), Ok(mac(2))));
        assert_eq!(directory.find("tablet"), Ok(mac(3)));
        assert_eq!(directory.find("phone"), Err(LookupError::Several("phone".into(), vec![mac(1), mac(2)])));
        assert!(matches!(directory.find("an"), Err(LookupError::Unknown(_, near)) if near[0] == "Anne"));
    }

    #[test]
    fn an_empty_directory_offers_no_names() {
        let error = find("x", std::iter::empty()).expect_err("unknown").to_string();
        assert_eq!(error, "no station is named \"x\", and none has a name");
    }
}
