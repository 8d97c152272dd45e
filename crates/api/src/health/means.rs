//! Means of the last ten seconds for the sentences, since values of single seconds vary much. The page shows the same means.
//!
//! Reasons are raised by single seconds nevertheless: a mean would be late.

use std::collections::{BTreeMap, VecDeque};

use crate::watch::{Domain, Line, Station, Times};

/// Maximum number of seconds of a mean.
const SECONDS: usize = 10;

/// Values of a station or a contention domain in a second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    air: Option<f64>,
    mbps: Option<f64>,
    in_box: Option<Times>,
    wlan: Option<Times>,
}

/// Mean of the last seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    /// Part of the airtime, both directions.
    pub(super) air: f64,
    /// Goodput of both directions, in Mb/s.
    pub(super) mbps: f64,
    /// p95 of the wait in the box in milliseconds, with seconds weighted by their packets.
    pub(super) in_box_ms: Option<f64>,
    /// p95 of the round trip over the WLAN in milliseconds, weighted likewise.
    pub(super) wlan_ms: Option<f64>,
    /// Packets timed per second, on the leg with the most of them.
    pub(super) timed: f64,
}

/// The last seconds of stations, by MAC address, and of contention domains, by name.
#[derive(Debug, Default)]
pub(super) struct Means {
    stations: BTreeMap<String, VecDeque<Second>>,
    domains: BTreeMap<String, VecDeque<Second>>,
}

impl Means {
    /// Adds a second. Objects that are not in the line are forgotten.
    pub(super) fn add(&mut self, line: &Line) {
        let stations = line.stations.iter().flatten();
        let domains = line.domains.iter().flatten();
        push(&mut self.stations, stations.map(|station| (station.mac.as_str(), of_station(station))).collect());
        push(&mut self.domains, domains.map(|domain| (domain.name.as_str(), of_domain(domain))).collect());
    }

    /// The mean of a station.
    pub(super) fn of_station(&self, mac: &str) -> Mean {
        mean(self.stations.get(mac))
    }

    /// The mean of a contention domain.
    pub(super) fn of_domain(&self, name: &str) -> Mean {
        mean(self.domains.get(name))
    }
}

fn push(all: &mut BTreeMap<String, VecDeque<Second>>, new: BTreeMap<&str, Second>) {
    all.retain(|key, _| new.contains_key(key.as_str()));
    for (key, second) in new {
        if !all.contains_key(key) {
            all.insert(key.to_owned(), VecDeque::with_capacity(SECONDS));
        }
        let Some(seconds) = all.get_mut(key) else { continue };
        if seconds.len() == SECONDS {
            seconds.pop_front();
        }
        seconds.push_back(second);
    }
}

fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    [a, b].into_iter().flatten().reduce(|a, b| a + b)
}

fn of_station(station: &Station) -> Second {
    Second {
        air: sum(station.air_down.value, station.air_up.value),
        mbps: sum(station.down_mbps.value, station.up_mbps.value),
        in_box: station.latency.in_box,
        wlan: station.latency.wlan,
    }
}

fn of_domain(domain: &Domain) -> Second {
    Second {
        air: sum(domain.air_down.value, domain.air_up.value),
        mbps: sum(domain.down_mbps.value, domain.up_mbps.value),
        in_box: domain.latency.in_box,
        wlan: domain.latency.wlan,
    }
}

fn mean(seconds: Option<&VecDeque<Second>>) -> Mean {
    let known = |pick: fn(&Second) -> Option<f64>| {
        let values = || seconds.into_iter().flatten().filter_map(pick);
        values().sum::<f64>() / values().count().max(1) as f64
    };
    let weighted = |pick: fn(&Second) -> Option<Times>| {
        let times = || seconds.into_iter().flatten().filter_map(pick);
        let packets: u64 = times().map(|times| times.packets).sum();
        (packets > 0).then(|| times().map(|times| times.p95_ms * times.packets as f64).sum::<f64>() / packets as f64)
    };
    let packets = |second: &Second| {
        let legs = [second.in_box, second.wlan].into_iter().flatten();
        Some(legs.map(|times| times.packets as f64).fold(0.0, f64::max))
    };
    Mean {
        air: known(|second| second.air),
        mbps: known(|second| second.mbps),
        in_box_ms: weighted(|second| second.in_box),
        wlan_ms: weighted(|second| second.wlan),
        timed: known(packets),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Latency, Source, Value};

    fn line(air: Option<f64>, wlan: Option<(f64, u64)>) -> Line {
        let wlan = wlan.map(|(p95_ms, packets)| Times { p50_ms: 1.0, p95_ms, packets });
        let air_up = air.map_or_else(Value::default, |air| Value::new(air, Source::Charged));
        let latency = Latency { wlan, ..Latency::default() };
        let station = Station { mac: "02".into(), air_up, latency, ..Station::default() };
        Line { stations: Some(vec![station]), ..Line::default() }
    }

    #[test]
    fn a_mean_is_of_the_known_values_of_ten_seconds() {
        let mut means = Means::default();
        means.add(&line(Some(0.9), Some((900.0, 1))));
        (0..7).for_each(|_| means.add(&line(Some(0.2), Some((100.0, 9)))));
        means.add(&line(None, None));
        means.add(&line(Some(0.1), None));
        let mean = means.of_station("02");
        assert!((mean.air - 2.4 / 9.0).abs() < 1e-9, "{mean:?}");
        assert_eq!(mean.wlan_ms, Some((900.0 + 63.0 * 100.0) / 64.0));
        // The eleventh second displaces the first one; a station that was gone begins anew.
        means.add(&line(Some(0.1), None));
        assert_eq!(means.of_station("02").wlan_ms, Some(100.0));
        means.add(&Line::default());
        assert_eq!((means.of_station("02").air, means.of_station("02").wlan_ms), (0.0, None));
    }
}
