//! Differences between two states of a box.

use std::collections::BTreeMap;

use super::{CallRecord, ClassSample, HopSample, Sample, StationSample};
use crate::{CallStatus, ClassStatus, HopResult, StationStatus, Status};

/// Maximum number of stations of an interval that are stored: those with the most medium time.
const MOST_STATIONS: usize = 256;
/// Maximum per second of a short interval, so that a flood of spoofed addresses writes at most 13 kB/s: a station takes 230 to 400
/// bytes.
const STATIONS_PER_SECOND: f64 = 32.0;

impl Sample {
    /// The sample of the interval between two states of a box.
    pub fn between(before: &Status, now: &Status, at_s: f64) -> Self {
        let since = |value: fn(&Status) -> u64| value(now).saturating_sub(value(before));
        let mut stations = stations(before, now);
        stations.sort_by(|a, b| b.charged_airtime_s.total_cmp(&a.charged_airtime_s));
        let sum = |value: fn(&StationSample) -> u64| stations.iter().map(value).sum();
        let (to_station_bytes, from_station_bytes) =
            (sum(|station| station.to_station_bytes), sum(|station| station.from_station_bytes));
        let seconds = (now.uptime_s - before.uptime_s).max(0.0);
        // At least one second's: a sample may follow a reopened port immediately.
        let most = ((seconds.max(1.0) * STATIONS_PER_SECOND) as usize).min(MOST_STATIONS);
        stations.truncate(most);
        Self {
            at_s,
            seconds,
            mode: now.mode,
            service_rate_mbps: now.service_rate_mbps,
            packets: since(|status| status.packets.received),
            dropped: since(|status| status.packets.dropped()),
            dropped_by: now.packets.drops.since(&before.packets.drops),
            lost_by: now.packets.losses.since(&before.packets.losses),
            counted: now.packets.counted.since(&before.packets.counted),
            held: now.packets.held,
            stations_known: now.stations_known,
            to_station_bytes,
            from_station_bytes,
            carried: None,
            stations,
            classes: classes(before, now),
            hops: hops(before, now),
            calls: now.calls.iter().take(most / 2).map(CallRecord::from).collect(),
            lost: 0,
            events_left_out: 0,
        }
    }
}

fn stations(before: &Status, now: &Status) -> Vec<StationSample> {
    let earlier: BTreeMap<_, _> = before.stations.iter().map(|station| (&station.mac, station)).collect();
    let sample = |station: &StationStatus| {
        // A station that was forgotten meanwhile counts from zero.
        let before =
            earlier.get(&station.mac).copied().filter(|before| before.charged_airtime_s <= station.charged_airtime_s);
        let since = |value: fn(&StationStatus) -> u64| value(station).saturating_sub(before.map_or(0, value));
        let seconds = |value: fn(&StationStatus) -> f64| (value(station) - before.map_or(0.0, value)).max(0.0);
        StationSample {
            mac: station.mac.clone(),
            address: station.addresses.first().cloned(),
            name: station.name.clone(),
            rate_mbps: station.rate(),
            rate_source: station.rate_source,
            signal_dbm: station.reported.as_ref().and_then(|reported| reported.signal_dbm),
            charged_airtime_s: seconds(|station| station.charged_airtime_s),
            charged_airtime_up_s: seconds(|station| station.charged_airtime_up_s),
            to_station_bytes: since(|station| station.to_station_bytes),
            from_station_bytes: since(|station| station.from_station_bytes),
        }
    };
    now.stations.iter().map(sample).filter(|station| station.charged_airtime_s > 0.0).collect()
}

fn classes(before: &Status, now: &Status) -> Vec<ClassSample> {
    let sample = |class: &ClassStatus| {
        let before = before.classes.iter().find(|before| before.name == class.name);
        let before = before.filter(|before| before.charged_airtime_s <= class.charged_airtime_s);
        let since = |value: fn(&ClassStatus) -> u64| value(class).saturating_sub(before.map_or(0, value));
        ClassSample {
            name: class.name.clone(),
            charged_airtime_s: class.charged_airtime_s - before.map_or(0.0, |before| before.charged_airtime_s),
            released_bytes: since(|class| class.released_bytes),
            from_wlan_bytes: since(|class| class.from_wlan_bytes),
            dropped: since(|class| class.dropped),
        }
    };
    now.classes.iter().map(sample).filter(|class| class.charged_airtime_s > 0.0 || class.dropped > 0).collect()
}

fn hops(before: &Status, now: &Status) -> Vec<HopSample> {
    let sample = |hop: &HopResult| {
        let before = before.hops.iter().find(|before| before.hop == hop.hop && before.packets <= hop.packets);
        let (packets, waited) =
            before.map_or((0, 0.0), |before| (before.packets, before.mean_ms * before.packets as f64));
        let left = hop.packets - packets;
        let mean_ms = if left == 0 { 0.0 } else { (hop.mean_ms * hop.packets as f64 - waited) / left as f64 };
        HopSample { hop: hop.hop, packets: left, mean_ms: mean_ms.max(0.0), p95_ms: hop.p95_ms }
    };
    now.hops.iter().map(sample).collect()
}

impl From<&CallStatus> for CallRecord {
    fn from(call: &CallStatus) -> Self {
        let CallStatus { station, peer, codec, refused, down, up, .. } = call.clone();
        Self { station, peer, codec, refused, down, up }
    }
}

#[cfg(test)]
mod tests {
    use crate::causes::{Cause, DropReason, LossReason};

    use super::*;
    use crate::history::Record;

    /// A status with a station.
    fn status() -> Status {
        let station = StationStatus { mac: "02:00:00:00:00:01".into(), ..StationStatus::default() };
        Status { stations: vec![station], ..Status::default() }
    }

    #[test]
    fn a_sample_is_the_difference_of_two_states() {
        let mut before = status();
        let mut now = before.clone();
        now.uptime_s += 60.0;
        now.packets.received += 100;
        now.packets.drops[DropReason::QueueFull] += 3;
        now.packets.losses[LossReason::PoolFull] += 2;
        let station = &mut now.stations[0];
        (station.charged_airtime_s, station.to_station_bytes) = (6.0, 1_500_000);
        before.stations[0].charged_airtime_s = 2.0;
        before.stations[0].to_station_bytes = 500_000;
        let sample = Sample::between(&before, &now, 1e9);
        assert_eq!((sample.seconds, sample.packets, sample.dropped, sample.at_s), (60.0, 100, 3, 1e9));
        assert_eq!(
            (sample.dropped_by.to_string(), sample.lost_by.to_string()),
            ("queue full 3".into(), "pool full 2".into())
        );
        assert_eq!((sample.stations[0].charged_airtime_s, sample.to_station_bytes), (4.0, 1_000_000));
        // An expired entry that returned counts from zero; entries without activity are left out.
        now.stations[0].charged_airtime_s = 1.0;
        now.stations[0].to_station_bytes = 700;
        assert_eq!(Sample::between(&before, &now, 1e9).to_station_bytes, 700);
        assert_eq!(Sample::between(&now, &now, 1e9).stations, []);
        let line = serde_json::to_string(&Record::Sample(sample.clone().into())).expect("serialises");
        assert!(line.starts_with(r#"{"kind":"sample","at_s":1000000000.0,"#), "{line}");
        let read: Record = serde_json::from_str(&line).expect("a record");
        assert_eq!(read, Record::Sample(sample.into()));
    }

    #[test]
    fn every_cause_is_kept() {
        let before = status();
        for &reason in DropReason::ALL {
            let mut now = before.clone();
            now.packets.drops[reason] += 5;
            let sample = Sample::between(&before, &now, 0.0);
            let kept = serde_json::to_value(&sample).expect("serialises");
            assert_eq!((&kept["dropped_by"][reason.key()], &kept["lost_by"]), (&5.into(), &serde_json::Value::Null));
            assert_eq!(serde_json::from_value::<Sample>(kept).expect("reads"), sample);
        }
        for &reason in LossReason::ALL {
            let mut now = before.clone();
            now.packets.losses[reason] += 5;
            let sample = Sample::between(&before, &now, 0.0);
            let kept = serde_json::to_value(&sample).expect("serialises");
            assert_eq!((&kept["lost_by"][reason.key()], &kept["dropped_by"]), (&5.into(), &serde_json::Value::Null));
            assert_eq!(serde_json::from_value::<Sample>(kept).expect("reads"), sample);
        }
    }

    #[test]
    fn means_are_of_the_interval() {
        let hop = |packets, mean_ms| HopResult { packets, mean_ms, ..Default::default() };
        let before = Status { hops: vec![hop(100, 2.0)], ..Status::default() };
        let now = Status { hops: vec![hop(300, 4.0)], ..Status::default() };
        let sample = Sample::between(&before, &now, 0.0);
        assert_eq!((sample.hops[0].packets, sample.hops[0].mean_ms), (200, 5.0));
    }
}
