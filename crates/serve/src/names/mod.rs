//! Names of stations.
//!
//! A station's name is the first that exists of: the operator's (`evenair name`), the configuration's (`[[station]] name`), the alias at a
//! controller (telemetry), and the one that the station gives itself (DHCP). Only `Names::of` decides this; the status, and with it
//! metrics, history and watch feed, get the name from there.
//!
//! The operator's names are kept in a CSV file in the state directory of the service, which is written as a whole and renamed: a killed
//! box leaves either the old names or the new ones.

mod requests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use evenair_api::{NameOrigin, NamedStation};
use evenair_boxfile::names::{HEADER, MOST_NAMES, TableError, check_name, read_table};
use evenair_packet::MacAddr;
use evenair_telemetry::StationReading;
use tracing::warn;

pub(crate) use requests::NameRequests;

/// Names by the station's MAC address.
pub(crate) type ByMac = BTreeMap<MacAddr, String>;

/// The names of a box's stations. Clones share the same names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// File of the operator's names; without it they are refused.
    file: PathBuf,
    /// Held during a change of the file. `tables` is not, so that a slow disk delays no reader.
    change: Mutex<()>,
    tables: RwLock<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    operator: ByMac,
    configured: ByMac,
    /// Aliases by the number of the telemetry source.
    aliases: BTreeMap<u16, ByMac>,
}

impl Tables {
    /// Names by origin, the preferred one first; of several telemetry sources that with the lowest number first.
    fn in_order(&self) -> impl Iterator<Item = (NameOrigin, &ByMac)> {
        let own = [(NameOrigin::Operator, &self.operator), (NameOrigin::Configuration, &self.configured)];
        own.into_iter().chain(self.aliases.values().map(|names| (NameOrigin::Telemetry, names)))
    }
}

impl Names {
    /// The names in a file, which need not exist. A damaged file is set aside.
    pub(crate) fn open(file: &Path, configured: ByMac) -> Self {
        let operator = match read_table(file) {
            Ok(names) => names.into_iter().collect(),
            Err(TableError::Read(_, error)) if error.kind() == ErrorKind::NotFound => ByMac::new(),
            Err(error) => {
                let aside = file.with_extension("csv.damaged");
                warn!("names of stations: {error}; the file is put aside as {}", aside.display());
                if let Err(error) = fs::rename(file, &aside) {
                    warn!("rename {}: {error}", file.display());
                }
                ByMac::new()
            }
        };
        let tables = RwLock::new(Tables { operator, configured, aliases: BTreeMap::new() });
        Self(Arc::new(Shared { file: file.to_owned(), change: Mutex::default(), tables }))
    }

    /// A station's name; `dhcp`: the name that it gives itself.
    pub(crate) fn of(&self, mac: MacAddr, dhcp: Option<&str>) -> Option<String> {
        let tables = self.read();
        let given = tables.in_order().find_map(|(_, names)| names.get(&mac));
        given.map(String::as_str).or(dhcp).map(str::to_owned)
    }

    /// All names except those of DHCP, by MAC address.
    pub(crate) fn list(&self) -> Vec<NamedStation> {
        let mut all = BTreeMap::new();
        for (origin, names) in self.read().in_order() {
            names.iter().for_each(|(&mac, name)| _ = all.entry(mac).or_insert_with(|| (name.clone(), origin)));
        }
        all.into_iter().map(|(mac, (name, origin))| NamedStation { mac: mac.to_string(), name, origin }).collect()
    }

    /// Replaces the names of the configuration.
    pub(crate) fn configure(&self, configured: ByMac) {
        self.write().configured = configured;
    }

    /// Replaces the aliases of a telemetry source. An alias that is no valid name is left out.
    pub(crate) fn report(&self, source: u16, stations: &[StationReading]) {
        let alias = |station: &StationReading| {
            let name = station.alias.as_deref()?.trim();
            check_name(name).is_ok().then(|| (station.mac, name.to_owned()))
        };
        let aliases: ByMac = stations.iter().filter_map(alias).collect();
        self.write().aliases.insert(source, aliases);
    }

    /// Forgets all aliases, since other sources are polled from now on.
    pub(crate) fn forget_aliases(&self) {
        self.write().aliases.clear();
    }

    /// Sets or removes the operator's name of a station. It is stored when this returns.
    ///
    /// # Errors
    /// There is no name to remove; there are too many names; the file cannot be written. Then all names stay as they are.
    pub(crate) fn set(&self, mac: MacAddr, name: Option<String>) -> Result<(), String> {
        self.change(|operator| match name {
            Some(name) => {
                operator.insert(mac, name);
                Ok(())
            }
            None if operator.remove(&mac).is_some() => Ok(()),
            None => Err(format!("{mac} has no name set with `evenair name`")),
        })
    }

    /// Sets names of several stations; other names stay.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub(crate) fn import(&self, names: ByMac) -> Result<(), String> {
        self.change(|operator| {
            operator.extend(names);
            Ok(())
        })
    }

    fn change(&self, change: impl FnOnce(&mut ByMac) -> Result<(), String>) -> Result<(), String> {
        let _changing = self.0.change.lock().unwrap_or_else(PoisonError::into_inner);
        let mut operator = self.read().operator.clone();
        change(&mut operator)?;
        if operator.len() > MOST_NAMES {
            return Err(format!("that would be {} names; the box keeps {MOST_NAMES}", operator.len()));
        }
        let file = &self.0.file;
        save(file, &operator).map_err(|error| format!("the names cannot be kept in {}: {error}", file.display()))?;
        self.write().operator = operator;
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        // The tables are consistent between any two statements.
        self.0.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.0.tables.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a file as a whole: the new one replaces the old one once it is on the disk.
fn save(file: &Path, names: &ByMac) -> io::Result<()> {
    let directory = file.parent().ok_or(ErrorKind::NotFound)?;
    fs::create_dir_all(directory)?;
    let new = file.with_extension("csv.new");
    let mut rows = csv::Writer::from_writer(Vec::new());
    rows.write_record(HEADER)?;
    for (mac, name) in names {
        rows.write_record([&mac.to_string(), name])?;
    }
    let text = rows.into_inner().map_err(|error| error.into_error())?;
    let mut written = File::create(&new)?;
    written.write_all(&text)?;
    written.sync_all()?;
    fs::rename(&new, file)?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(last: u8) -> MacAddr {
        MacAddr([2, 0, 0, 0, 0, last])
    }

    fn reported(mac: MacAddr, alias: &str) -> StationReading {
        StationReading { alias: Some(alias.into()), ..StationReading::new(mac) }
    }

    #[test]
    fn names_are_preferred_in_the_order_operator_file_controller_station() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = Names::open(&folder.path().join("names.csv"), ByMac::new());
        let name = || names.of(mac(1), Some("android-1"));
        assert_eq!((names.of(mac(1), None), name().as_deref()), (None, Some("android-1")));
        names.report(7, &[reported(mac(1), "second"), reported(mac(2), "Bo")]);
        names.report(1, &[reported(mac(1), " controller's "), reported(mac(3), "evil\u{202e}")]);
        assert_eq!(name().as_deref(), Some("controller's"));
        assert_eq!(names.of(mac(3), None), None, "it is no name");
        names.configure([(mac(1), "file's".into())].into());
        assert_eq!(name().as_deref(), Some("file's"));
        names.set(mac(1), Some("operator's".into())).expect("kept");
        assert_eq!(name().as_deref(), Some("operator's"));
        let list: Vec<_> = names.list().into_iter().map(|one| (one.mac, one.name, one.origin)).collect();
        let expected = [(1, "operator's", NameOrigin::Operator), (2, "Bo", NameOrigin::Telemetry)];
        assert_eq!(list, expected.map(|(last, name, origin)| (mac(last).to_string(), name.to_owned(), origin)));
        names.set(mac(1), None).expect("kept");
        names.configure(ByMac::new());
        names.report(1, &[]);
        assert_eq!(name().as_deref(), Some("second"));
        names.forget_aliases();
        assert_eq!(name().as_deref(), Some("android-1"));
    }

    #[test]
    fn names_outlive_the_box_and_a_damaged_file_is_set_aside() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("state/names.csv");
        let names = Names::open(&file, ByMac::new());
        names.set(mac(1), Some("a \"b\", c".into())).expect("kept");
        names.import([(mac(2), "Küche".to_owned())].into()).expect("kept");
        let again = Names::open(&file, ByMac::new());
        assert_eq!(again.list(), names.list());
        assert!(again.set(mac(9), None).is_err_and(|why| why.contains("02:00:00:00:00:09 has no name")));
        fs::write(&file, "nonsense").expect("written");
        assert_eq!(Names::open(&file, ByMac::new()).list(), []);
        assert_eq!(fs::read(file.with_extension("csv.damaged")).expect("there"), b"nonsense");
    }

    #[test]
    fn a_name_that_cannot_be_stored_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let in_the_way = folder.path().join("state");
        fs::write(&in_the_way, "").expect("written");
        let names = Names::open(&in_the_way.join("names.csv"), ByMac::new());
        let why = names.set(mac(1), Some("Anne".into())).expect_err("no directory");
        assert!(why.contains("names.csv"), "{why}");
        assert_eq!(names.list(), []);
    }
}
