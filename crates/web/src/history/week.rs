//! Results of a week for its summary: hours by health, latency in the busiest minutes, and the stations with the highest latency.

use std::path::Path;

use evenair_api::histogram::Histogram;
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use super::query;
use super::row::{Leg, Row, Sum};
use super::store::{FILE, Result, open_to_read};
use super::subject::{Kind, Subject};

/// Length of a week, in seconds.
pub(crate) const WEEK_S: u64 = 7 * 24 * 60 * 60;
/// Number of stations listed.
const WORST: usize = 5;
/// Minimum number of timed packets of a station in a week: with fewer, its percentile is not comparable.
const FEWEST: u64 = 1000;
/// One of so many minutes is among the busiest.
const BUSIEST: usize = 10;

/// Results of a week.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Week {
    /// Its end, in seconds since 1970, UTC.
    pub(crate) end_s: u64,
    /// Seconds with good health.
    pub(crate) good_s: u64,
    /// Seconds in which the health was "watch".
    pub(crate) watch_s: u64,
    /// Seconds in which the health was "bad".
    pub(crate) bad_s: u64,
    /// Latency of the Wi-Fi in the busiest minutes.
    pub(crate) wlan: Latency,
    /// Latency of the Internet in the busiest minutes.
    pub(crate) internet: Latency,
    /// Stations with the highest Wi-Fi latency, the worst first.
    pub(crate) stations: Vec<Worst>,
}

/// Latency of a leg in milliseconds; `None` without samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p95_ms: Option<f64>,
}

/// A station with a high latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Worst {
    /// Its name, or its MAC address.
    pub(crate) name: String,
    /// 95th percentile of the WLAN latency, in milliseconds.
    pub(crate) p95_ms: f64,
    /// Bytes in both directions.
    pub(crate) bytes: u64,
}

/// Results of the week that ends at `end_s`, in seconds since 1970: a full hour, recent enough for minutes to be stored.
///
/// # Errors
/// There is no history, or it cannot be read.
pub(crate) fn week(state: &Path, end_s: u64) -> std::result::Result<Week, String> {
    let path = state.join(FILE);
    if !path.exists() {
        return Err("there is no history yet".into());
    }
    let read = || {
        let connection = open_to_read(&path)?;
        // One snapshot of the database for all queries.
        let connection = connection.unchecked_transaction()?;
        of(&connection, end_s)
    };
    let week = read().map_err(|error| format!("the history cannot be read: {error}"))?;
    week.ok_or_else(|| "the history has nothing of the last week".into())
}

fn of(connection: &Connection, end_s: u64) -> Result<Option<Week>> {
    let mut minutes = minutes(connection, end_s)?;
    if minutes.is_empty() {
        return Ok(None);
    }
    let mut sum = Row::default();
    minutes.iter().for_each(|minute| sum.merge(minute));
    let (watch_ms, bad_ms) = (sum.get(Sum::WatchMs), sum.get(Sum::BadMs));
    let good_ms = sum.get(Sum::KnownMs).max(sum.get(Sum::SeenMs)).saturating_sub(watch_ms + bad_ms);
    minutes.sort_by_key(|minute| {
        std::cmp::Reverse((minute.get(Sum::AirUs), minute.get(Sum::DownBytes) + minute.get(Sum::UpBytes)))
    });
    let mut busiest = Row::default();
    minutes.iter().take(minutes.len().div_ceil(BUSIEST)).for_each(|minute| busiest.merge(minute));
    Ok(Some(Week {
        end_s,
        good_s: good_ms / 1000,
        watch_s: watch_ms / 1000,
        bad_s: bad_ms / 1000,
        wlan: latency(busiest.leg(Leg::Wlan)),
        internet: latency(busiest.leg(Leg::Internet)),
        stations: worst(connection, end_s)?,
    }))
}

fn latency(packets: &Histogram) -> Latency {
    Latency { p50_ms: packets.percentile_ms(50), p95_ms: packets.percentile_ms(95) }
}

/// The minutes of the box.
fn minutes(connection: &Connection, end_s: u64) -> Result<Vec<Row>> {
    let Some((id, _)) = query::find(connection, &Subject::BOX)? else { return Ok(vec![]) };
    let mut query = connection.prepare("SELECT data FROM minute WHERE at = ? AND subject = ?")?;
    let mut rows = Vec::new();
    // One look-up per minute: its neighbours are rows of other subjects.
    for at in (end_s.saturating_sub(WEEK_S)..end_s).step_by(60) {
        let bytes: Option<Vec<u8>> = query.query_row([at as i64, id], |row| row.get(0)).optional()?;
        rows.extend(bytes.and_then(|bytes| Row::unpack(&bytes)));
    }
    Ok(rows)
}

/// The stations with the highest latency, by their hours.
fn worst(connection: &Connection, end_s: u64) -> Result<Vec<Worst>> {
    let (from, to) = (end_s.saturating_sub(WEEK_S) as i64, end_s as i64);
    let mut stations =
        connection.prepare("SELECT id, coalesce(label, name) FROM subject WHERE kind = ? AND last >= ?")?;
    let mut hours = connection.prepare("SELECT data FROM hour WHERE subject = ? AND at >= ? AND at < ?")?;
    let mut found = stations.query([Kind::Station as i64, from])?;
    let mut all = Vec::new();
    while let Some(station) = found.next()? {
        let (id, name): (i64, String) = (station.get(0)?, station.get(1)?);
        let mut sum = Row::default();
        let mut rows = hours.query([id, from, to])?;
        while let Some(row) = rows.next()? {
            if let Some(row) = Row::unpack(row.get_ref(0)?.as_blob()?) {
                sum.merge(&row);
            }
        }
        let packets = sum.leg(Leg::Wlan);
        if let Some(p95_ms) = packets.percentile_ms(95).filter(|_| packets.packets() >= FEWEST) {
            all.push(Worst { name, p95_ms, bytes: sum.get(Sum::DownBytes) + sum.get(Sum::UpBytes) });
        }
    }
    all.sort_by(|a, b| b.p95_ms.total_cmp(&a.p95_ms));
    all.truncate(WORST);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use evenair_api::watch::LegHistograms;

    use super::super::store::{Entry, Store};
    use super::*;

    /// Monday 2026-03-02, 6:00.
    const END_S: u64 = 1_772_431_200;

    fn row(air_us: u64, bucket: usize, packets: u64) -> Row {
        let mut row = Row::default();
        let mut wlan = Histogram::default();
        wlan.add(bucket, packets);
        row.add_latencies(&LegHistograms { wlan, ..LegHistograms::default() });
        row.add(Sum::KnownMs, 60_000);
        row.add(Sum::AirUs, air_us);
        row.add(Sum::DownBytes, 1000);
        row
    }

    #[test]
    fn a_week_has_hours_and_the_latency_of_its_busiest_minutes() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(week(folder.path(), END_S).expect_err("none").contains("no history"));
        let (mut store, _) = Store::open(&folder.path().join(FILE), 100_000_000).expect("a database");
        // Three hours, of which the last is bad; one minute in ten is busy and slow. Then an hour of the next week.
        for minute in 0..240 {
            let mut of_box = if minute % 10 == 0 { row(50_000_000, 31, 50) } else { row(1_000_000, 18, 50) };
            if (120..180).contains(&minute) {
                of_box.add(Sum::BadMs, 60_000);
            }
            let station = |name: &str, bucket, packets| Entry {
                subject: Subject::new(Kind::Station, name),
                label: (name == "02:00:00:00:00:01").then(|| "Anne".into()),
                row: row(0, bucket, packets),
            };
            let entries = [
                Entry { subject: Subject::BOX, label: None, row: of_box },
                station("02:00:00:00:00:01", 18, 50),
                station("02:00:00:00:00:02", 31, 50),
                station("02:00:00:00:00:03", 40, 1),
            ];
            store.keep((END_S - 3 * 3600) as i64 + minute * 60, &entries).expect("kept");
        }
        let week = week(folder.path(), END_S).expect("a week");
        assert_eq!((week.good_s, week.watch_s, week.bad_s), (7200, 0, 3600));
        let slow = week.wlan.p50_ms.expect("timed");
        assert!((90.0..110.0).contains(&slow) && week.internet.p50_ms.is_none(), "{week:?}");
        let names: Vec<_> = week.stations.iter().map(|station| &*station.name).collect();
        assert_eq!(names, ["02:00:00:00:00:02", "Anne"], "the third has too few packets");
        assert_eq!(week.stations[1].bytes, 180 * 1000);
    }
}
