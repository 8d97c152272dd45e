//! Adds lines of the watch feed up to minutes.

use std::collections::BTreeMap;

use evenair_api::health::Level;
use evenair_api::watch::{Histograms, LegHistograms, Line, Losses, Value};

use super::row::{Row, Sum};
use super::store::Entry;
use super::subject::{Kind, Subject};
use super::tier::Tier;

/// Nominal interval of a line, in ms.
const SECOND_MS: f64 = 1000.0;
/// Longest time that a line counts for, in ms.
const LONGEST_MS: f64 = 2000.0;

/// A minute in progress.
#[derive(Debug, Default)]
pub(crate) struct Minute {
    /// Its begin, in seconds since 1970.
    begin: i64,
    rows: BTreeMap<Subject, (Option<String>, Row)>,
    /// Number and time of the last line.
    last: Option<(u64, f64)>,
}

/// Values of a subject in a line.
#[derive(Clone, Copy, Default)]
struct Said<'a> {
    down: Value,
    up: Value,
    /// Charged proportion of the time, 0 to 1.
    air: f64,
    active: usize,
    losses: Option<&'a Losses>,
    latencies: Option<&'a LegHistograms>,
}

impl Minute {
    /// Adds a line. If it begins another minute, returns the previous one with its begin.
    pub(crate) fn add(&mut self, line: &Line) -> Option<(i64, Vec<Entry>)> {
        let begin = Tier::Minute.begin_of(line.at as i64);
        let ended = (begin != self.begin && !self.rows.is_empty()).then(|| (self.begin, self.take()));
        self.begin = begin;
        let since = self.last.filter(|(seq, _)| seq + 1 == line.seq).map(|(_, at)| (line.at - at) * 1000.0);
        let ms = since.filter(|ms| (1.0..LONGEST_MS).contains(ms)).unwrap_or(SECOND_MS);
        self.last = Some((line.seq, line.at));
        let counts = line.histograms.clone().unwrap_or_default();
        self.add_box(line, &counts, ms);
        self.add_groups(line, &counts, ms);
        self.add_stations(line, &counts, ms);
        ended
    }

    /// Takes the entries so far.
    fn take(&mut self) -> Vec<Entry> {
        let rows = std::mem::take(&mut self.rows).into_iter();
        // Idle stations have no rows. The box always has one, as evidence that it was seen.
        let counts = |subject: &Subject, row: &Row| subject.kind == Kind::Box || row.has_traffic();
        rows.filter(|(subject, (_, row))| counts(subject, row))
            .map(|(subject, (label, row))| Entry { subject, label, row })
            .collect()
    }

    fn row(&mut self, subject: Subject) -> &mut Row {
        &mut self.rows.entry(subject).or_default().1
    }

    fn add_box(&mut self, line: &Line, counts: &Histograms, ms: f64) {
        let Some(totals) = &line.totals else { return };
        let domains = line.domains.iter().flatten();
        let air = domains.map(|domain| part(domain.air_down) + part(domain.air_up)).fold(0.0, f64::max);
        let row = self.row(Subject::BOX);
        if totals.down_mbps.value.is_some() || totals.up_mbps.value.is_some() {
            row.add(Sum::KnownMs, ms as u64);
        }
        if totals.active.is_some() {
            row.add(Sum::SeenMs, ms as u64);
        }
        match line.health.as_ref().map(|health| health.level) {
            Some(Level::Watch) => row.add(Sum::WatchMs, ms as u64),
            Some(Level::Bad) => row.add(Sum::BadMs, ms as u64),
            _ => {}
        }
        let said = Said {
            down: totals.down_mbps,
            up: totals.up_mbps,
            air,
            active: totals.active.unwrap_or(0),
            losses: totals.losses.as_ref(),
            latencies: Some(&counts.totals),
        };
        said.add_to(row, ms);
    }

    fn add_groups(&mut self, line: &Line, counts: &Histograms, ms: f64) {
        for domain in line.domains.iter().flatten() {
            let said = Said {
                down: domain.down_mbps,
                up: domain.up_mbps,
                air: part(domain.air_down) + part(domain.air_up),
                active: domain.active.unwrap_or(0),
                losses: domain.losses.as_ref(),
                latencies: counts.domains.get(&domain.name),
            };
            said.add_to(self.row(Subject::new(Kind::Domain, &domain.name)), ms);
        }
        for point in line.access_points.iter().flatten() {
            let said = Said {
                down: point.down_mbps,
                up: point.up_mbps,
                air: part(point.air_down) + part(point.air_up),
                active: point.active.unwrap_or(0),
                losses: point.losses.as_ref(),
                latencies: counts.access_points.get(&point.name),
            };
            said.add_to(self.row(Subject::new(Kind::AccessPoint, &point.name)), ms);
        }
        for class in line.classes.iter().flatten() {
            let said = Said {
                down: class.down_mbps,
                up: class.up_mbps,
                air: part(class.air),
                active: 0,
                losses: class.losses.as_ref(),
                latencies: counts.classes.get(&class.name),
            };
            said.add_to(self.row(Subject::new(Kind::Class, &class.name)), ms);
        }
    }

    fn add_stations(&mut self, line: &Line, counts: &Histograms, ms: f64) {
        for station in line.stations.iter().flatten() {
            let said = Said {
                down: station.down_mbps,
                up: station.up_mbps,
                air: part(station.air_down) + part(station.air_up),
                active: usize::from(station.active == Some(true)),
                losses: station.losses.as_ref(),
                latencies: counts.stations.get(&station.mac),
            };
            let (label, row) = self.rows.entry(Subject::new(Kind::Station, &station.mac)).or_default();
            label.clone_from(&station.name);
            said.add_to(row, ms);
        }
    }
}

impl Said<'_> {
    fn add_to(&self, row: &mut Row, ms: f64) {
        let bytes = |mbps: Value| (mbps.value.unwrap_or(0.0).max(0.0) * 125.0 * ms).round() as u64;
        row.add(Sum::DownBytes, bytes(self.down));
        row.add(Sum::UpBytes, bytes(self.up));
        row.add(Sum::AirUs, (self.air.max(0.0) * ms * 1000.0).round() as u64);
        row.add(Sum::ActiveMs, (self.active as f64 * ms) as u64);
        if let Some(Losses { down, up }) = self.losses {
            let sums = [
                (Sum::DataDown, down.data),
                (Sum::BoxDown, down.here),
                (Sum::WlanDown, down.wlan),
                (Sum::WireDown, down.wire),
                (Sum::DataUp, up.data),
                (Sum::BoxUp, up.here),
                (Sum::WlanUp, up.wlan),
                (Sum::WireUp, up.wire),
            ];
            sums.into_iter().for_each(|(sum, packets)| row.add(sum, packets));
        }
        if let Some(latencies) = self.latencies {
            row.add_latencies(latencies);
        }
    }
}

/// A proportion of the time; unknown counts as zero.
fn part(value: Value) -> f64 {
    value.value.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use evenair_api::watch::{Source, Station, Totals};

    use super::*;
    use crate::history::row::Leg;

    fn line(seq: u64, at: f64) -> Line {
        let mbps = |mbps: f64| Value::new(mbps, Source::Measured);
        let station = |mac: &str, rate: f64| Station {
            mac: mac.into(),
            name: Some("Anne".into()),
            down_mbps: mbps(rate),
            air_down: Value::new(rate / 100.0, Source::Charged),
            active: Some(rate > 0.0),
            ..Station::default()
        };
        let legs = LegHistograms { wlan: vec![12, 5].into(), ..LegHistograms::default() };
        Line {
            seq,
            at,
            totals: Some(Totals { down_mbps: mbps(8.0), active: Some(1), ..Totals::default() }),
            stations: Some(vec![station("a", 8.0), station("b", 0.0)]),
            histograms: Some(Histograms {
                totals: legs.clone(),
                stations: [("a".into(), legs)].into(),
                ..Histograms::default()
            }),
            ..Line::default()
        }
    }

    #[test]
    fn seconds_add_up_to_a_minute_and_idle_stations_have_no_row() {
        let mut minute = Minute::default();
        for second in 0..60 {
            assert_eq!(minute.add(&line(second, 1200.5 + second as f64)), None);
        }
        let (begin, entries) = minute.add(&line(60, 1260.5)).expect("it has ended");
        assert_eq!(begin, 1200);
        assert_eq!(entries.iter().map(|entry| entry.subject.to_string()).collect::<Vec<_>>(), ["box", "station:a"]);
        let (of_box, station) = (&entries[0].row, &entries[1].row);
        assert_eq!((of_box.get(Sum::SeenMs), of_box.get(Sum::KnownMs)), (60_000, 60_000));
        assert_eq!((station.get(Sum::DownBytes), station.get(Sum::AirUs)), (60_000_000, 4_800_000));
        assert_eq!((station.leg(Leg::Wlan).packets(), station.get(Sum::ActiveMs)), (300, 60_000));
        assert_eq!(entries[1].label.as_deref(), Some("Anne"));
    }

    #[test]
    fn a_gap_counts_as_no_time() {
        let mut minute = Minute::default();
        minute.add(&line(0, 1200.0));
        minute.add(&line(9, 1230.0));
        minute.add(&line(10, 1231.5));
        let (_, entries) = minute.add(&line(11, 1300.0)).expect("it has ended");
        assert_eq!(entries[0].row.get(Sum::SeenMs), 3_500);
    }
}
