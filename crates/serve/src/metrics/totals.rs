//! Counts by contention domain and by access point, computed from those of the stations.
//!
//! The state of a box has counts by station, and forgets a station that is silent for long, so that a sum over the stations would
//! decrease. So each station's increase since the last reading is added here, at its present access point. Counts begin with the box; a
//! forgotten station loses its increase since the last reading, but it was silent then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenair_api::Status;
use evenair_manager::{DOUBLINGS, Latency, Leg, Report, Times};

use super::page::{Histogram, Kind, Page};

/// Label of an unknown access point.
const UNKNOWN: &str = "unknown";
/// Stations whose last counts are kept, at most, 1 kB each: twice as many as a state lists.
const MOST_KEPT: usize = 8192;

/// Latency counts of each station, by MAC address.
pub(super) type ByStation = BTreeMap<String, Arc<Latency>>;

/// Latency counts of each station of a report.
pub(super) fn latencies(report: &Report) -> ByStation {
    let of_station =
        |station: &evenair_manager::StationReport| Some((station.mac.to_string(), station.latency.clone()?));
    report.stations.iter().filter_map(of_station).collect()
}

/// All counts so far.
#[derive(Debug, Default)]
pub(super) struct Totals {
    seen: BTreeMap<String, Seen>,
    /// Stations with traffic between the last two readings.
    active: BTreeSet<String>,
    domains: BTreeMap<String, [Sums; Leg::ALL.len()]>,
    points: BTreeMap<String, Moved>,
}

/// A station's counts at the last reading.
#[derive(Debug, Default)]
struct Seen {
    latency: Option<Arc<Latency>>,
    moved: Moved,
}

/// IP-level bytes toward stations, and from them.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    down: u64,
    up: u64,
}

/// Sum and count of the times of one leg.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: [u64; DOUBLINGS.len() + 1],
    nanos: u128,
}

impl Sums {
    fn add(&mut self, times: &Times) {
        self.packets.iter_mut().zip(times.by_doubling()).for_each(|(sum, count)| *sum += count);
        self.nanos += u128::from(times.sum().as_nanos());
    }

    fn histogram(&self) -> Histogram {
        let ends = DOUBLINGS.iter().map(|end| end.as_secs_f64()).chain([f64::INFINITY]);
        Histogram { buckets: ends.zip(self.packets).collect(), sum: self.nanos as f64 / 1e9 }
    }
}

/// The increase since an earlier state. A count that has decreased was reset.
const fn since(now: u64, before: u64) -> u64 {
    match now.checked_sub(before) {
        Some(since) => since,
        None => now,
    }
}

impl Totals {
    /// Adds the increases of the stations since the previous status.
    pub(super) fn update(&mut self, status: &Status, mut latencies: ByStation) {
        self.active.clear();
        // Zeros exist from the start, so that a rate includes the first packets.
        status.domains.iter().for_each(|domain| _ = self.domains.entry(domain.name.clone()).or_default());
        for station in &status.stations {
            let now = Moved { down: station.to_station_bytes, up: station.from_station_bytes };
            let before = self.seen.entry(station.mac.clone()).or_default();
            let moved = Moved { down: since(now.down, before.moved.down), up: since(now.up, before.moved.up) };
            let latency = latencies.remove(&station.mac);
            if let Some(latency) = &latency {
                let took = before.latency.as_ref().map_or(**latency, |before| latency.since(before));
                let sums = self.domains.entry(status.domain_of(station).to_owned()).or_default();
                sums.iter_mut().zip(Leg::ALL).for_each(|(sums, leg)| sums.add(took.leg(leg)));
            }
            *before = Seen { latency, moved: now };
            if moved.down + moved.up > 0 {
                self.active.insert(station.mac.clone());
            }
            let point = self.points.entry(station.access_point.as_deref().unwrap_or(UNKNOWN).to_owned()).or_default();
            point.down += moved.down;
            point.up += moved.up;
        }
        // A complete list lacks only forgotten stations; in another one the station may reappear next time.
        if status.stations_known <= status.stations.len() || self.seen.len() > MOST_KEPT {
            let present: BTreeSet<_> = status.stations.iter().map(|station| station.mac.as_str()).collect();
            self.seen.retain(|mac, _| present.contains(mac.as_str()));
        }
    }

    /// Whether the station had traffic between the last two readings.
    pub(super) fn is_active(&self, mac: &str) -> bool {
        self.active.contains(mac)
    }

    pub(super) fn write(&self, page: &mut Page) {
        let help = "How long packets took on each hop of their way, by the contention domain of their station: packets that took less \
                    than le. box: each packet toward a station, from its arrival to its release while the box is inserted. wlan: from \
                    the release to the station's TCP acknowledgment, of up to 16 packets of a flow at a time. internet_queue: each \
                    packet that the box held for the Internet link. internet: from the wire port to the answer, of TCP and the first \
                    datagram of other protocols, up to 16 packets of a flow at a time.";
        page.family("evenair_latency_seconds", Kind::Histogram, help);
        for (domain, sums) in &self.domains {
            for (leg, sums) in Leg::ALL.into_iter().zip(sums) {
                page.sample(&[("hop", hop(leg)), ("domain", domain)], sums.histogram());
            }
        }
        let mut of_each = |name: &str, help: &str, value: fn(&Moved) -> u64| {
            page.family(name, Kind::Counter, help);
            self.points.iter().for_each(|(point, moved)| page.sample(&[("access_point", point)], value(moved)));
        };
        let help = "IP-level bytes released toward stations, by the access point that each had when the page was read.";
        of_each("evenair_access_point_transmit_bytes_total", help, |moved| moved.down);
        let help = "IP-level bytes that came from stations, by the access point that each had when the page was read.";
        of_each("evenair_access_point_receive_bytes_total", help, |moved| moved.up);
    }
}

/// The label of a leg, as in the watch feed.
const fn hop(leg: Leg) -> &'static str {
    match leg {
        Leg::Box => "box",
        Leg::Wlan => "wlan",
        Leg::InternetQueue => "internet_queue",
        Leg::Internet => "internet",
    }
}

#[cfg(test)]
mod tests {
    use evenair_api::{DomainStatus, StationStatus};

    use super::*;
    use crate::metrics::page::Format;

    fn status(stations: &[(&str, &str, u64)]) -> Status {
        let domain =
            |name: &str| DomainStatus { name: name.into(), access_points: vec![name.into()], ..Default::default() };
        let station = |&(mac, point, bytes): &(&str, &str, u64)| StationStatus {
            mac: mac.into(),
            access_point: Some(point.into()),
            to_station_bytes: bytes,
            ..StationStatus::default()
        };
        Status {
            domains: ["hall", "loft"].map(domain).into(),
            stations: stations.iter().map(station).collect(),
            stations_known: stations.len(),
            ..Status::default()
        }
    }

    fn bytes_of(totals: &Totals, point: &str) -> u64 {
        totals.points.get(point).map_or(0, |moved| moved.down)
    }

    #[test]
    fn counts_never_decrease_when_stations_come_and_go() {
        let mut totals = Totals::default();
        totals.update(&status(&[("a", "hall", 1_000), ("b", "hall", 50)]), ByStation::new());
        assert_eq!((bytes_of(&totals, "hall"), totals.is_active("a")), (1_050, true));
        // It roams: earlier counts stay with the old access point.
        totals.update(&status(&[("a", "loft", 1_200), ("b", "hall", 50)]), ByStation::new());
        assert_eq!([bytes_of(&totals, "hall"), bytes_of(&totals, "loft")], [1_050, 200]);
        assert!(totals.is_active("a") && !totals.is_active("b"));
        // It is forgotten, and returns.
        totals.update(&status(&[("b", "hall", 50)]), ByStation::new());
        totals.update(&status(&[("a", "loft", 30), ("b", "hall", 20)]), ByStation::new());
        assert_eq!([bytes_of(&totals, "hall"), bytes_of(&totals, "loft")], [1_070, 230]);
    }

    #[test]
    fn a_domain_has_samples_of_its_hops_before_the_first_packet() {
        let mut totals = Totals::default();
        totals.update(&status(&[]), ByStation::new());
        let mut page = Page::default();
        totals.write(&mut page);
        let text = page.into_text(Format::Prometheus);
        for hop in ["box", "wlan", "internet_queue", "internet"] {
            for end in ["0.000512", "0.001024", "1.048576", "8.388608", "+Inf"] {
                let line = format!("evenair_latency_seconds_bucket{{hop=\"{hop}\",domain=\"loft\",le=\"{end}\"}} 0\n");
                assert!(text.contains(&line), "{line} is missing in {text}");
            }
        }
    }
}
