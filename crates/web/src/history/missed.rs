//! Fills the gap while this program did not run, from the history files of the box, whose samples have the sums of an interval.
//! They have no latencies.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Result};
use std::path::Path;

use evenair_api::history::{Record, Sample};
use evenair_client::history::Reader;

use super::row::{Row, Sum};
use super::store::Entry;
use super::subject::{Kind, Subject};
use super::tier::Tier;

/// Calls `give` with each sample of the files in this folder that ended later, as entries of the minute in its middle, the oldest
/// first. Existing minutes are left out.
///
/// # Errors
/// A file cannot be read. An empty folder is no error.
pub(crate) fn read(
    folder: &Path,
    after: i64,
    there: &BTreeSet<i64>,
    mut give: impl FnMut(i64, Vec<Entry>),
) -> Result<()> {
    let reader = match Reader::open(folder) {
        Ok(reader) => reader,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for record in reader {
        let Record::Sample(sample) = record? else { continue };
        let middle = Tier::Minute.begin_of((sample.at_s - sample.seconds / 2.0) as i64);
        if sample.at_s as i64 > after && !there.contains(&middle) {
            give(middle, entries(&sample));
        }
    }
    Ok(())
}

/// The entries of a sample, by subject.
fn entries(sample: &Sample) -> Vec<Entry> {
    let ms = (sample.seconds.clamp(0.0, 3600.0) * 1000.0) as u64;
    let air_us = |seconds: f64| (seconds.max(0.0) * 1e6) as u64;
    let mut of_box = Row::default();
    let [down, up] = match sample.carried {
        Some(carried) => [carried.to_wlan_bytes, carried.from_wlan_bytes],
        None => [sample.to_station_bytes, sample.from_station_bytes].map(Some),
    };
    if down.is_some() || up.is_some() {
        of_box.add(Sum::KnownMs, ms);
    }
    if sample.carried.is_none() {
        of_box.add(Sum::SeenMs, ms);
    }
    of_box.add(Sum::DownBytes, down.unwrap_or(0));
    of_box.add(Sum::UpBytes, up.unwrap_or(0));
    of_box.add(Sum::BoxDown, sample.dropped);
    of_box.add(Sum::AirUs, air_us(sample.stations.iter().map(|station| station.charged_airtime_s).sum()));
    let stations = sample.stations.iter().map(|station| {
        let sums = [
            (Sum::DownBytes, station.to_station_bytes),
            (Sum::UpBytes, station.from_station_bytes),
            (Sum::AirUs, air_us(station.charged_airtime_s)),
        ];
        Entry { label: station.name.clone(), ..entry(Kind::Station, &station.mac, sums) }
    });
    let classes = sample.classes.iter().map(|class| {
        let sums = [
            (Sum::DownBytes, class.released_bytes),
            (Sum::UpBytes, class.from_wlan_bytes),
            (Sum::AirUs, air_us(class.charged_airtime_s)),
        ];
        entry(Kind::Class, &class.name, sums)
    });
    let of_box = Entry { subject: Subject::BOX, label: None, row: of_box };
    [of_box].into_iter().chain(stations.chain(classes).filter(|entry| entry.row.has_traffic())).collect()
}

fn entry(kind: Kind, name: &str, sums: [(Sum, u64); 3]) -> Entry {
    let mut row = Row::default();
    sums.into_iter().for_each(|(sum, value)| row.add(sum, value));
    Entry { subject: Subject::new(kind, name), label: None, row }
}
