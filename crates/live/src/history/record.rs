//! History records: one at each start of the box, one for each interval, one for each event.

use std::collections::BTreeMap;

use evenair_api::causes::{self, Counts, Drops, Losses};
use evenair_api::{CallStatus, ClassStatus, Codec, Hop, Mode, SpeechStatus, StationStatus, Status};
use evenair_manager::Event;
use evenair_packet::MacAddr;
use serde::{Deserialize, Serialize};

use crate::control::{codec as codec_of, domains_text, guard_text, refusal_word, speech_status};

/// Stations of an interval that are kept one by one: those with the most medium time.
const MOST_STATIONS: usize = 256;
/// The same for each second of a short interval, so that a flood of made-up addresses writes no more than 13 kB/s: a station takes
/// 230 to 400 bytes.
const STATIONS_PER_SECOND: f64 = 32.0;

/// Something that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// The box has started.
    Start {
        /// When, in seconds since 1970, UTC.
        at_s: f64,
        /// Its version.
        version: String,
    },
    /// An interval has ended.
    Sample(Box<Sample>),
    /// Something has happened.
    Event(EventRecord),
}

/// What happened in an interval. Counts are of that interval alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// When it ended, in seconds since 1970, UTC.
    pub at_s: f64,
    /// How long it was.
    pub seconds: f64,
    /// The mode at its end.
    pub mode: Mode,
    /// Service rate C at its end, in Mb/s.
    pub service_rate_mbps: f64,
    /// Packets that came.
    pub packets: u64,
    /// Packets that the box dropped.
    pub dropped: u64,
    /// Of these, how many for each reason that there was. Records from before reasons were kept have none.
    #[serde(with = "causes::nonzero", skip_serializing_if = "Counts::is_zero")]
    pub dropped_by: Drops,
    /// Packets that the box lost, for each reason that there was.
    #[serde(with = "causes::nonzero", skip_serializing_if = "Counts::is_zero")]
    pub lost_by: Losses,
    /// Packets that were marked: congestion experienced.
    pub marked: u64,
    /// Packets held at its end.
    pub held: u64,
    /// Stations that are known at its end.
    pub stations_known: usize,
    /// IP-level bytes to all stations.
    pub to_station_bytes: u64,
    /// IP-level bytes from all stations.
    pub from_station_bytes: u64,
    /// Stations that used the medium: of very many, the 256 with the most medium time; 32 for each second of a shorter interval.
    pub stations: Vec<StationSample>,
    /// The operator's classes that used the medium.
    pub classes: Vec<ClassSample>,
    /// What packets waited for.
    pub hops: Vec<HopSample>,
    /// Calls that go on at its end: of very many, half as many as stations.
    pub calls: Vec<CallRecord>,
    /// Events and samples that were lost since the record before, because the disk was slow or full.
    pub lost: u64,
    /// Events about stations that were left out since the record before, because there were too many.
    #[serde(skip_serializing_if = "is_zero")]
    pub events_left_out: u64,
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A station in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StationSample {
    /// Its MAC address.
    pub mac: String,
    /// The address that it used last.
    pub address: Option<String>,
    /// What it calls itself.
    pub name: Option<String>,
    /// PHY rate assumed of it at the end.
    pub rate_mbps: f64,
    /// The rate was reported, or set by the operator; older records without this field count as reported.
    #[serde(default = "reported")]
    pub rate_reported: bool,
    /// Its signal strength at the access point, if reported.
    pub signal_dbm: Option<i8>,
    /// Charged airtime in both directions, in seconds: an estimate.
    #[serde(alias = "airtime_s")]
    pub charged_airtime_s: f64,
    /// Of it, what is charged for packets from it; the rest is for packets to it.
    #[serde(alias = "airtime_up_s")]
    pub charged_airtime_up_s: f64,
    /// IP-level bytes to it.
    pub to_station_bytes: u64,
    /// IP-level bytes from it.
    pub from_station_bytes: u64,
}

const fn reported() -> bool {
    true
}

/// A class in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassSample {
    /// Its name; "other" for what is in none.
    pub name: String,
    /// Charged airtime, in seconds: an estimate.
    #[serde(alias = "airtime_s")]
    pub charged_airtime_s: f64,
    /// IP-level bytes released toward the WLAN.
    pub released_bytes: u64,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan_bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
}

/// A hop, since the box started: percentiles cannot be had of a difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HopSample {
    /// Which hop.
    pub hop: Hop,
    /// Packets that left in the interval.
    pub packets: u64,
    /// How long those packets waited in the box, mean.
    pub mean_ms: f64,
    /// 95 of 100 waited no longer, since the box started.
    pub p95_ms: f64,
}

/// A call at the end of an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallRecord {
    /// MAC address of its station.
    pub station: String,
    /// Its other end.
    pub peer: String,
    /// Its codec, as far as its packets show.
    pub codec: Codec,
    /// Why it does not go first.
    pub refused: Option<String>,
    /// How it is heard at the station since it was found.
    pub down: SpeechStatus,
    /// How the station is heard.
    pub up: SpeechStatus,
}

/// Something that has happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// When, in seconds since 1970, UTC.
    pub at_s: f64,
    /// What, in one word: "mode", "station", "call-admitted" and so on.
    pub name: String,
    /// MAC address of the station that it is about.
    pub station: Option<String>,
    /// The rest, in words.
    pub text: String,
}

impl Record {
    /// When it was, in seconds since 1970, UTC.
    pub fn at_s(&self) -> f64 {
        match self {
            Self::Start { at_s, .. } => *at_s,
            Self::Sample(sample) => sample.at_s,
            Self::Event(event) => event.at_s,
        }
    }
}

impl Sample {
    /// What happened between two states of a box.
    pub fn between(before: &Status, now: &Status, at_s: f64) -> Self {
        let since = |value: fn(&Status) -> u64| value(now).saturating_sub(value(before));
        let mut stations = stations(before, now);
        stations.sort_by(|a, b| b.charged_airtime_s.total_cmp(&a.charged_airtime_s));
        let sum = |value: fn(&StationSample) -> u64| stations.iter().map(value).sum();
        let (to_station_bytes, from_station_bytes) =
            (sum(|station| station.to_station_bytes), sum(|station| station.from_station_bytes));
        let seconds = (now.uptime_s - before.uptime_s).max(0.0);
        // At least one second's: a sample may follow a reopened port at once.
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
            marked: since(|status| status.packets.marked),
            held: now.packets.held,
            stations_known: now.stations_known,
            to_station_bytes,
            from_station_bytes,
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
        // One that was forgotten in between begins anew.
        let before =
            earlier.get(&station.mac).copied().filter(|before| before.charged_airtime_s <= station.charged_airtime_s);
        let since = |value: fn(&StationStatus) -> u64| value(station).saturating_sub(before.map_or(0, value));
        let seconds = |value: fn(&StationStatus) -> f64| (value(station) - before.map_or(0.0, value)).max(0.0);
        StationSample {
            mac: station.mac.clone(),
            address: station.addresses.first().cloned(),
            name: station.name.clone(),
            rate_mbps: station.rate_mbps,
            rate_reported: station.rate_reported,
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
    let sample = |hop: &evenair_api::HopResult| {
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

impl EventRecord {
    /// An event as a record; `None`: it is too frequent, and samples have the same information.
    pub fn new(event: &Event, at_s: f64) -> Option<Self> {
        let about = |name: &str, station: &MacAddr, text: String| {
            Some(Self { at_s, name: name.into(), station: Some(station.to_string()), text })
        };
        match event {
            Event::ModeChanged(mode) => {
                Some(Self { at_s, name: "mode".into(), station: None, text: evenair_view::mode(*mode).to_string() })
            }
            Event::ConfigRefused(error) => {
                Some(Self { at_s, name: "refused".into(), station: None, text: error.to_string() })
            }
            Event::StationLearned(mac) => about("station", mac, "seen for the first time".into()),
            Event::StationOverShare { mac, over } => {
                let text = if *over { "takes more than its share" } else { "takes no more than its share again" };
                about("over-share", mac, text.into())
            }
            Event::Guard { step, before, held, .. } => {
                let text = guard_text(*step, *before, *held);
                Some(Self { at_s, name: "guard".into(), station: None, text })
            }
            Event::DomainsChanged { channels } => {
                Some(Self { at_s, name: "domains".into(), station: None, text: domains_text(*channels) })
            }
            Event::GroupLimited { group, sender, .. } => about(
                "group-limited",
                sender,
                format!("frames to {group} exceed the share of groups, and some are dropped"),
            ),
            Event::ReportContradicted { mac, rate } => {
                let rate = rate.map_or_else(|| "a rate".into(), |rate| format!("{rate} Mb/s"));
                about("report-contradicted", mac, format!("{rate} was reported, and is set aside"))
            }
            Event::AddressContested { address, holder, claimant } => {
                about("address-contested", claimant, format!("claims {address}, which {holder} uses"))
            }
            Event::CallAdmitted { station, peer, codec } => {
                about("call-admitted", station, format!("with {peer}, {}", codec_of(*codec)))
            }
            Event::CallRefused { station, peer, codec, why } => {
                about("call-refused", station, format!("with {peer}, {}: {}", codec_of(*codec), refusal_word(*why)))
            }
            Event::CallRoamed { station, peer, codec, domain, over } => {
                let over = over.map_or_else(String::new, |why| format!(", one too many there: {}", refusal_word(why)));
                about("call-roamed", station, format!("with {peer}, {}: to {domain}{over}", codec_of(*codec)))
            }
            Event::CallEnded { station, peer, codec, lasted, speech, .. } => {
                let [down, up] = [&speech[0], &speech[1]].map(|way| speech_status(way, *codec).in_short());
                let text = format!("with {peer}, {}, {lasted}; down: {down}; up: {up}", codec_of(*codec));
                about("call-ended", station, text)
            }
            Event::ObservationRefused(_) | Event::RateChanged { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use evenair_api::causes::{Cause, DropReason, LossReason};

    use super::*;
    use crate::control::tests_support::status;

    #[test]
    fn a_sample_is_what_happened_in_between() {
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
    fn records_from_before_airtime_was_called_charged_are_read() {
        let line = r#"{"mac":"02:00:00:00:00:01","rate_mbps":11.0,"airtime_s":4.0,"airtime_up_s":1.0}"#;
        let read: StationSample = serde_json::from_str(line).expect("a sample");
        assert_eq!((read.charged_airtime_s, read.charged_airtime_up_s, read.rate_reported), (4.0, 1.0, true));
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
    fn records_from_before_reasons_were_kept_are_read() {
        let line = r#"{"kind":"sample","at_s":1e9,"seconds":60.0,"packets":100,"dropped":3}"#;
        let Ok(Record::Sample(read)) = serde_json::from_str(line) else { panic!("a sample") };
        assert_eq!((read.dropped, read.dropped_by.total(), read.lost_by.total()), (3, 0, 0));
    }

    #[test]
    fn means_are_of_the_interval() {
        let hop = |packets, mean_ms| evenair_api::HopResult { packets, mean_ms, ..Default::default() };
        let before = Status { hops: vec![hop(100, 2.0)], ..Status::default() };
        let now = Status { hops: vec![hop(300, 4.0)], ..Status::default() };
        let sample = Sample::between(&before, &now, 0.0);
        assert_eq!((sample.hops[0].packets, sample.hops[0].mean_ms), (200, 5.0));
    }
}
