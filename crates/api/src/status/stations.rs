//! Stations, flows, classes, and telemetry reports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causes::{self, StationCounted};
use crate::states::read_rate_source;
use crate::{Direction, RateSource};

/// A class, with all below it. Totals are of all time since there was a class of this name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassStatus {
    /// Its name; "other" for what is in none.
    pub name: String,
    /// The name of the class that it is a part of.
    pub parent: Option<String>,
    /// Packets held.
    pub held: u32,
    /// IP-level bytes held.
    pub held_bytes: u64,
    /// It has had what its ceiling allows, and waits.
    pub at_ceiling: bool,
    /// IP-level bytes released toward the WLAN.
    pub released_bytes: u64,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan_bytes: u64,
    /// Charged airtime: seconds of medium time that what was released took, and what that caused. An estimate.
    #[serde(alias = "airtime_s")]
    pub charged_airtime_s: f64,
    /// Packets dropped.
    pub dropped: u64,
}

/// One station.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StationStatus {
    /// MAC address.
    pub mac: String,
    /// Its access point, by the name in the configuration or else as reported.
    #[serde(default)]
    pub access_point: Option<String>,
    /// Its PHY rate; none: it is unknown, as it was not reported, set or inferred.
    pub rate_mbps: Option<f64>,
    /// Where the rate comes from. A rate of a box that keeps version 1 of the contract is the default if this is "unknown".
    #[serde(default, alias = "rate_reported", deserialize_with = "read_rate_source")]
    pub rate_source: RateSource,
    /// Its C_i: IP-level TCP capacity of the medium at that rate; none if the rate is unknown.
    pub capacity_mbps: Option<f64>,
    /// Weight.
    pub weight: u32,
    /// Learned from traffic, not configured.
    pub learned: bool,
    /// Charged airtime in both directions: seconds of medium time that packets to it and from it took. An estimate, by its rate
    /// or, if that is unknown, `default_rate` of the configuration.
    #[serde(alias = "airtime_s")]
    pub charged_airtime_s: f64,
    /// Of it, what is charged for packets to it.
    #[serde(default)]
    pub charged_airtime_down_s: f64,
    /// Of it, what is charged for packets from it.
    #[serde(default, alias = "airtime_up_s")]
    pub charged_airtime_up_s: f64,
    /// IP addresses that it was seen to use, the last one first; eight at most.
    pub addresses: Vec<String>,
    /// Its name: the operator's, by `evenair name` or else `[[station]] name`; otherwise its alias at a controller (telemetry), or
    /// what it calls itself (DHCP).
    #[serde(default)]
    pub name: Option<String>,
    /// Its MAC address is a made-up one.
    pub random_mac: bool,
    /// IP-level bytes released toward it, and that came from it.
    pub to_station_bytes: u64,
    /// The same, from it.
    pub from_station_bytes: u64,
    /// It takes more than its share of the medium, and cannot be held back.
    pub over_share: bool,
    /// What the manager counted of its packets; each under its own key.
    #[serde(flatten, with = "causes::flat")]
    #[schemars(with = "causes::AllCounts<causes::StationCounter>")]
    pub counted: StationCounted,
    /// Its telemetry, if valid.
    #[serde(default, alias = "told")]
    pub reported: Option<StationReportStatus>,
}

impl StationStatus {
    /// Its rate, unless that is unknown.
    pub fn rate(&self) -> Option<f64> {
        self.rate_mbps.filter(|_| self.rate_source != RateSource::Unknown)
    }

    /// Its rate if it is reported or set by the operator.
    pub fn reported_rate(&self) -> Option<f64> {
        self.rate_mbps.filter(|_| self.rate_source == RateSource::Reported)
    }
}

/// One flow: a TCP connection, or packets of one protocol between two addresses and ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowStatus {
    /// One end, as `address:port`.
    pub low: String,
    /// The other end.
    pub high: String,
    /// VLAN, by the outermost tag.
    pub vlan: Option<u16>,
    /// The VLAN inside it, where there are two tags.
    #[serde(default)]
    pub inner_vlan: Option<u16>,
    /// The station's MAC address.
    pub station: String,
    /// The direction of its data.
    pub direction: Direction,
    /// DATA segments an ACK covers, d.
    pub d: f64,
    /// IP-level bytes released toward the WLAN.
    pub released_bytes: u64,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan_bytes: u64,
    /// Round trip over the WLAN alone, smoothed, in milliseconds, where it was seen.
    #[serde(default)]
    pub wlan_rtt_ms: Option<f64>,
    /// The shortest one.
    #[serde(default)]
    pub wlan_rtt_least_ms: Option<f64>,
    /// Seconds of medium time that its releases were charged for, or would have been where nothing was held.
    #[serde(default)]
    pub charged_s: f64,
    /// TCP segments of data that came again: from the wire.
    #[serde(default)]
    pub resent_down: u64,
    /// The same, from the WLAN.
    #[serde(default)]
    pub resent_up: u64,
    /// Packets held.
    pub backlog_packets: u32,
    /// Packets dropped.
    pub dropped: u64,
}

/// An access point or controller that is asked for stations and rates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceStatus {
    /// Its kind and where it is.
    pub name: String,
    /// Which of its tables or interfaces answered last.
    pub from: String,
    /// Number of stations in its last report.
    pub stations: usize,
    /// Seconds between two polls.
    #[serde(default)]
    pub interval_s: f64,
    /// How often it was asked.
    pub polls: u64,
    /// How often it did not answer as it should.
    pub failures: u64,
    /// What is wrong with it; none: its last answer was right.
    pub error: Option<String>,
    /// Seconds since it answered as it should; none: it never has.
    pub age_s: Option<f64>,
}

/// Number of station reports, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportCountsStatus {
    /// Taken, at least in part.
    pub taken: u64,
    /// Not a rate or signal that can be.
    pub absurd: u64,
    /// Modes that the standard of the station's domain does not have, or not in its band. The bit rate counts, if there is one.
    #[serde(default)]
    pub refused_modes: u64,
    /// In the future, expired, or older than the previous report.
    pub untimely: u64,
    /// Of a group address, or of one station too many.
    pub unknown: u64,
    /// Set aside, because the observed traffic contradicts the rate.
    pub contradicted: u64,
}

/// A station's telemetry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StationReportStatus {
    /// The source.
    pub source: String,
    /// Seconds since it was measured.
    pub age_s: f64,
    /// The last rate toward it.
    pub transmit_mbps: Option<f64>,
    /// The last rate from it.
    pub receive_mbps: Option<f64>,
    /// The last mode toward it, where a source reports it: "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us".
    #[serde(default)]
    pub transmit_mode: Option<String>,
    /// The last mode from it.
    #[serde(default)]
    pub receive_mode: Option<String>,
    /// A mode of the last report that was refused, and why.
    #[serde(default)]
    pub refused_mode: Option<String>,
    /// How strongly it is received, in dBm.
    pub signal_dbm: Option<i8>,
    /// The rate in force that follows from the reports; none: no rate is reported, or it is set aside.
    pub class_mbps: Option<f64>,
    /// The observed traffic contradicts the reported rate, which is set aside.
    pub set_aside: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::Status;
    use crate::causes::{Cause, StationCounter};

    /// The value with a key renamed.
    fn renamed(mut value: Value, from: &str, to: &str) -> Value {
        let table = value.as_object_mut().expect("a table");
        let inner = table.remove(from).expect("there is such a key");
        table.insert(to.to_owned(), inner);
        value
    }

    #[test]
    fn an_unknown_rate_is_null_and_the_default_of_an_older_box_is_none() {
        let unknown = serde_json::to_value(StationStatus::default()).expect("serialises");
        assert_eq!((&unknown["rate_mbps"], &unknown["rate_source"]), (&Value::Null, &"unknown".into()));
        assert_eq!(unknown["capacity_mbps"], Value::Null);
        for (reported, inferred, rate) in [(true, false, Some(6.0)), (false, true, None), (false, false, None)] {
            let mut older = unknown.clone();
            let table = older.as_object_mut().expect("a table");
            table.remove("rate_source");
            table.extend([("rate_mbps".into(), 6.0.into()), ("rate_reported".into(), reported.into())]);
            table.insert("rate_inferred".into(), inferred.into());
            let read: StationStatus = serde_json::from_value(older).expect("reads");
            assert_eq!((read.rate(), read.reported_rate()), (rate, rate));
        }
        let mut wrong = unknown;
        wrong["rate_source"] = "guessed".into();
        assert!(serde_json::from_value::<StationStatus>(wrong).is_err());
    }

    #[test]
    fn each_count_has_its_key_beside_the_others_and_is_zero_without_it() {
        let mut station = StationStatus { mac: "02:00:00:00:00:01".into(), ..Default::default() };
        StationCounter::ALL.iter().for_each(|&counter| station.counted[counter] = 7 + counter.index() as u64);
        let mut written = serde_json::to_value(&station).expect("serialises");
        assert_eq!(serde_json::from_value::<StationStatus>(written.clone()).expect("reads"), station);
        for counter in StationCounter::ALL {
            let count = written.as_object_mut().expect("a table").remove(counter.key());
            assert_eq!(count, Some((7 + counter.index()).into()), "{counter:?}");
        }
        let older: StationStatus = serde_json::from_value(written).expect("reads");
        assert_eq!(older, StationStatus { counted: StationCounted::default(), ..station });
    }

    #[test]
    fn the_former_key_told_is_read() {
        let reported = StationReportStatus { class_mbps: Some(24.0), set_aside: true, ..Default::default() };
        let station = StationStatus { reported: Some(reported), ..Default::default() };
        let older = renamed(serde_json::to_value(&station).expect("serialises"), "reported", "told");
        assert_eq!(serde_json::from_value::<StationStatus>(older).expect("reads"), station);

        let rate_reports = ReportCountsStatus { taken: 3, ..Default::default() };
        let status = Status { rate_reports, ..Default::default() };
        let older = renamed(serde_json::to_value(&status).expect("serialises"), "rate_reports", "told");
        assert_eq!(serde_json::from_value::<Status>(older).expect("reads"), status);
    }
}
