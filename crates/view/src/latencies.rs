//! Latencies and losses of an interval: differences of the cumulative counts of two states, and the time between those.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenair_api::histogram::Histogram;
use evenair_api::watch;
use evenair_manager::{Latency, Leg, LossCounts, Losses, Report, StationReport, Times};
use evenair_units::{Instant, Span};

/// Cumulative latencies and losses of one state.
#[derive(Debug)]
pub(crate) struct Latencies {
    /// Stations by MAC address.
    stations: BTreeMap<String, OfStation>,
    /// Classes by name.
    classes: BTreeMap<String, (Latency, Losses)>,
}

#[derive(Debug)]
struct OfStation {
    copied: Instant,
    latency: Option<Arc<Latency>>,
    losses: Losses,
}

impl Latencies {
    pub(crate) fn of(report: &Report) -> Self {
        let of_station = |station: &StationReport| {
            let StationReport { copied, ref latency, losses, .. } = *station;
            (station.mac.to_string(), OfStation { copied, latency: latency.clone(), losses })
        };
        Self {
            stations: report.stations.iter().map(of_station).collect(),
            classes: report.classes.iter().map(|class| (class.name.clone(), (class.latency, class.losses))).collect(),
        }
    }

    /// Seconds between the copies of a station's counters in the two states. These differ from the instants of the totals, because
    /// the loop copies stations one after another. `None`: the station is new, or no time has passed.
    pub(crate) fn seconds_of(&self, before: &Self, mac: &str) -> Option<f64> {
        let [before, now] = [before, self].map(|state| Some(state.stations.get(mac)?.copied));
        let span = now?.checked_since(before?)?;
        (span > Span::ZERO).then(|| span.as_secs_f64())
    }

    /// Latency of a station since an earlier state.
    pub(crate) fn of_station(&self, before: &Self, mac: &str) -> Latency {
        let latency = |state: &Self| state.stations.get(mac).and_then(|station| station.latency.clone());
        let Some(now) = latency(self) else { return Latency::default() };
        latency(before).map_or(*now, |before| now.since(&before))
    }

    /// Losses of a station since an earlier state.
    pub(crate) fn losses_of(&self, before: &Self, mac: &str) -> Losses {
        let Some(OfStation { losses: now, .. }) = self.stations.get(mac) else { return Losses::default() };
        before.stations.get(mac).map_or(*now, |before| now.since(&before.losses))
    }

    /// Latency of a class since an earlier state.
    pub(crate) fn of_class(&self, before: &Self, name: &str) -> Latency {
        let Some((now, _)) = self.classes.get(name) else { return Latency::default() };
        before.classes.get(name).map_or(*now, |(before, _)| now.since(before))
    }

    /// Losses of a class since an earlier state.
    pub(crate) fn losses_of_class(&self, before: &Self, name: &str) -> Losses {
        let Some((_, now)) = self.classes.get(name) else { return Losses::default() };
        before.classes.get(name).map_or(*now, |(_, before)| now.since(before))
    }
}

/// Latency in the form of the watch feed.
pub(crate) fn written(latency: &Latency) -> watch::Latency {
    let [in_box, wlan, internet_queue, internet] = Leg::ALL.map(|leg| times(latency.leg(leg)));
    watch::Latency { in_box, wlan, internet_queue, internet }
}

fn times(times: &Times) -> Option<watch::Times> {
    let ms = |percent| Some((times.percentile(percent)?.as_secs_f64() * 1e5).round() / 1e2);
    Some(watch::Times { p50_ms: ms(50)?, p95_ms: ms(95)?, packets: times.count() })
}

/// Latency as histograms of the watch feed.
pub(crate) fn histograms(latency: &Latency) -> watch::LegHistograms {
    let histogram = |leg| Histogram::new(latency.leg(leg).counts().iter().map(|&count| u64::from(count)));
    let [in_box, wlan, internet_queue, internet] = Leg::ALL.map(histogram);
    watch::LegHistograms { in_box, wlan, internet_queue, internet }
}

/// Losses in the form of the watch feed.
pub(crate) fn lost(losses: &Losses) -> watch::Losses {
    let counts = |&LossCounts { data, here, wlan, wire }: &LossCounts| watch::LossCounts { data, here, wlan, wire };
    watch::Losses { down: counts(&losses.down), up: counts(&losses.up) }
}

#[cfg(test)]
mod tests {
    use evenair_api::histogram::BUCKETS;
    use evenair_manager::DOUBLINGS;

    use super::*;

    #[test]
    fn buckets_are_those_of_the_manager() {
        assert_eq!(Times::default().counts().len(), BUCKETS);
        // Each doubling has four buckets; the last bucket is unbounded.
        for (doubling, end) in DOUBLINGS.iter().enumerate() {
            let (mut histogram, bucket) = (Histogram::default(), 4 * doubling + 1);
            histogram.add(bucket, 1);
            let (end_ms, part) = (end.as_secs_f64() * 1e3, if bucket == BUCKETS - 1 { 1.0 } else { 1.125 });
            assert_eq!(histogram.percentile_ms(50), Some(end_ms * part), "{bucket}");
        }
    }
}
