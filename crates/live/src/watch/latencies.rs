//! How long packets took between two states, as a line has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenair_api::watch;
use evenair_manager::{Latency, Leg, Report, Times};

/// Counts of all time.
pub(super) struct Latencies {
    /// By MAC address.
    stations: BTreeMap<String, Arc<Latency>>,
    /// By name.
    classes: BTreeMap<String, Latency>,
}

impl Latencies {
    pub(super) fn of(report: &Report) -> Self {
        let of_station =
            |station: &evenair_manager::StationReport| Some((station.mac.to_string(), station.latency.clone()?));
        Self {
            stations: report.stations.iter().filter_map(of_station).collect(),
            classes: report.classes.iter().map(|class| (class.name.clone(), class.latency)).collect(),
        }
    }

    /// Of a station since an earlier state.
    pub(super) fn of_station(&self, before: &Self, mac: &str) -> Latency {
        let Some(now) = self.stations.get(mac) else { return Latency::default() };
        before.stations.get(mac).map_or(**now, |before| now.since(before))
    }

    /// Of a class since an earlier state.
    pub(super) fn of_class(&self, before: &Self, name: &str) -> Latency {
        let Some(now) = self.classes.get(name) else { return Latency::default() };
        before.classes.get(name).map_or(*now, |before| now.since(before))
    }
}

/// As a line has it.
pub(super) fn written(latency: &Latency) -> watch::Latency {
    let [in_box, wlan, internet_queue, internet] = Leg::ALL.map(|leg| times(latency.leg(leg)));
    watch::Latency { in_box, wlan, internet_queue, internet }
}

fn times(times: &Times) -> Option<watch::Times> {
    let ms = |percent| Some((times.percentile(percent)?.as_secs_f64() * 1e5).round() / 1e2);
    Some(watch::Times { p50_ms: ms(50)?, p95_ms: ms(95)?, packets: times.count() })
}
