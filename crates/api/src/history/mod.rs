//! History records: one for each start of the box, each interval and each event. A file has one per line, as JSON.

mod event;
mod interval;
mod layout;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causes::{self, Counted, Counts, Drops, Losses};
use crate::states::read_rate_source;
use crate::{Codec, Hop, Mode, RateSource, SpeechStatus};

pub use event::{Author, Event, GuardStep};
pub use layout::{FileSeries, LONGEST_LINE, OLD_FILES};

/// Something that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    #[schemars(with = "causes::SomeCounts<causes::DropReason>")]
    pub dropped_by: Drops,
    /// Packets that the box lost, for each reason that there was.
    #[serde(with = "causes::nonzero", skip_serializing_if = "Counts::is_zero")]
    #[schemars(with = "causes::SomeCounts<causes::LossReason>")]
    pub lost_by: Losses,
    /// What else the manager counted, where it is not zero.
    #[serde(with = "causes::nonzero", skip_serializing_if = "Counts::is_zero")]
    #[schemars(with = "causes::SomeCounts<causes::Counter>")]
    pub counted: Counted,
    /// Packets held at its end.
    pub held: u64,
    /// Stations that are known at its end.
    pub stations_known: usize,
    /// IP-level bytes to all stations.
    pub to_station_bytes: u64,
    /// IP-level bytes from all stations.
    pub from_station_bytes: u64,
    /// What crossed the ports, if the box was bypassed at the begin or at the end: then bytes of stations are unknown, or not of the
    /// whole interval. Absent otherwise, and in records from before it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried: Option<Carried>,
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

/// What crossed the port of the access points, by the kernel's counters; a direction is absent if it was not measured: the kernel does
/// not count what AF_XDP sockets take out of the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Carried {
    /// IP-level bytes toward the WLAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_wlan_bytes: Option<u64>,
    /// IP-level bytes from the WLAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_wlan_bytes: Option<u64>,
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Record {
    /// Removes the rates of stations with an unknown rate source: in older records these are the default.
    #[must_use]
    pub fn without_default_rates(mut self) -> Self {
        if let Self::Sample(sample) = &mut self {
            let unknown = sample.stations.iter_mut().filter(|station| station.rate_source == RateSource::Unknown);
            unknown.for_each(|station| station.rate_mbps = None);
        }
        self
    }
}

/// A station in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StationSample {
    /// Its MAC address.
    pub mac: String,
    /// The address that it used last.
    pub address: Option<String>,
    /// Its name at that time: the operator's, its alias at a controller, or what it calls itself.
    pub name: Option<String>,
    /// Its PHY rate at the end; none: it is unknown.
    pub rate_mbps: Option<f64>,
    /// Where the rate comes from. Older records say `rate_reported`, yes or no, and have the default as the rate if it is "unknown" or
    /// was inferred; records without either count as reported.
    #[serde(default = "reported", alias = "rate_reported", deserialize_with = "read_rate_source")]
    pub rate_source: RateSource,
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

const fn reported() -> RateSource {
    RateSource::Reported
}

impl StationSample {
    /// Its rate if it was reported or set by the operator.
    pub fn reported_rate(&self) -> Option<f64> {
        self.rate_mbps.filter(|_| self.rate_source == RateSource::Reported)
    }
}

/// A class in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventRecord {
    /// When, in seconds since 1970, UTC.
    pub at_s: f64,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

impl Record {
    /// Time of the record, in seconds since 1970, UTC.
    pub fn at_s(&self) -> f64 {
        match self {
            Self::Start { at_s, .. } => *at_s,
            Self::Sample(sample) => sample.at_s,
            Self::Event(event) => event.at_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_with_the_former_names_of_charged_airtime_are_read() {
        let line = r#"{"mac":"02:00:00:00:00:01","rate_mbps":11.0,"airtime_s":4.0,"airtime_up_s":1.0}"#;
        let read: StationSample = serde_json::from_str(line).expect("a sample");
        assert_eq!((read.charged_airtime_s, read.charged_airtime_up_s, read.reported_rate()), (4.0, 1.0, Some(11.0)));
    }

    #[test]
    fn a_default_rate_in_an_older_record_is_unknown() {
        let station = |source: &str| format!(r#"{{"mac":"02:00:00:00:00:01","rate_mbps":6.0,{source}}}"#);
        let sources = [r#""rate_reported":true"#, r#""rate_reported":false"#, r#""rate_source":"inferred""#];
        let stations = sources.map(station).join(",");
        let read: Record =
            serde_json::from_str(&format!(r#"{{"kind":"sample","at_s":1e9,"stations":[{stations}]}}"#)).expect("reads");
        let Record::Sample(read) = read.without_default_rates() else { panic!("a sample") };
        let rates: Vec<_> = read.stations.iter().map(|station| (station.rate_mbps, station.rate_source)).collect();
        assert_eq!(
            rates,
            [(Some(6.0), RateSource::Reported), (None, RateSource::Unknown), (Some(6.0), RateSource::Inferred)]
        );
        let again = serde_json::to_value(&read.stations[1]).expect("serialises");
        assert_eq!((&again["rate_mbps"], &again["rate_source"]), (&serde_json::Value::Null, &"unknown".into()));
    }

    #[test]
    fn records_without_reasons_are_read() {
        let line = r#"{"kind":"sample","at_s":1e9,"seconds":60.0,"packets":100,"dropped":3}"#;
        let Ok(Record::Sample(read)) = serde_json::from_str(line) else { panic!("a sample") };
        assert_eq!((read.carried, read.seconds), (None, 60.0));
        assert_eq!((read.dropped, read.dropped_by.total(), read.lost_by.total()), (3, 0, 0));
    }

    #[test]
    fn events_without_fields_are_read_and_stay_unchanged() {
        let line = r#"{"kind":"event","at_s":5.5,"name":"call-refused","station":"02:00:00:00:00:01","text":"with 192.0.2.9"}"#;
        let record: Record = serde_json::from_str(line).expect("a record");
        let Record::Event(EventRecord { event, .. }) = &record else { panic!("{record:?}") };
        assert_eq!((event.name(), event.station()), ("call-refused", Some("02:00:00:00:00:01")));
        assert_eq!(event.text(), "with 192.0.2.9");
        assert_eq!(serde_json::to_string(&record).expect("serialises"), line);
    }

    #[test]
    fn an_invalid_event_is_refused() {
        for event in [r#""event":"explosion""#, r#""event":"mode","mode":"asleep""#, r#""text":"without a name""#] {
            let line = format!(r#"{{"kind":"event","at_s":5.5,{event}}}"#);
            assert!(serde_json::from_str::<Record>(&line).is_err(), "{line}");
        }
    }
}
