//! How long packets took between two states, and what was lost, as a line has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenair_api::watch;
use evenair_manager::{Latency, Leg, LossCounts, Losses, Report, StationReport, Times};

/// Counts of all time.
pub(super) struct Latencies {
    /// By MAC address.
    stations: BTreeMap<String, (Option<Arc<Latency>>, Losses)>,
    /// By name.
    classes: BTreeMap<String, (Latency, Losses)>,
}

impl Latencies {
    pub(super) fn of(report: &Report) -> Self {
        let of_station = |station: &StationReport| (station.mac.to_string(), (station.latency.clone(), station.losses));
        Self {
            stations: report.stations.iter().map(of_station).collect(),
            classes: report.classes.iter().map(|class| (class.name.clone(), (class.latency, class.losses))).collect(),
        }
    }

    /// Of a station since an earlier state.
    pub(super) fn of_station(&self, before: &Self, mac: &str) -> Latency {
        let Some((Some(now), _)) = self.stations.get(mac) else { return Latency::default() };
        match before.stations.get(mac) {
            Some((Some(before), _)) => now.since(before),
            _ => **now,
        }
    }

    /// What a station lost since an earlier state.
    pub(super) fn losses_of(&self, before: &Self, mac: &str) -> Losses {
        let Some((_, now)) = self.stations.get(mac) else { return Losses::default() };
        before.stations.get(mac).map_or(*now, |(_, before)| now.since(before))
    }

    /// Of a class since an earlier state.
    pub(super) fn of_class(&self, before: &Self, name: &str) -> Latency {
        let Some((now, _)) = self.classes.get(name) else { return Latency::default() };
        before.classes.get(name).map_or(*now, |(before, _)| now.since(before))
    }

    /// What a class lost since an earlier state.
    pub(super) fn losses_of_class(&self, before: &Self, name: &str) -> Losses {
        let Some((_, now)) = self.classes.get(name) else { return Losses::default() };
        before.classes.get(name).map_or(*now, |(_, before)| now.since(before))
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

/// As a line has it.
pub(super) fn lost(losses: &Losses) -> watch::Losses {
    let counts = |&LossCounts { data, here, wlan, wire }: &LossCounts| watch::LossCounts { data, here, wlan, wire };
    watch::Losses { down: counts(&losses.down), up: counts(&losses.up) }
}
