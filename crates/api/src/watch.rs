//! The watch feed of a box, version 1: lines of JSON over a socket beside the control socket.
//!
//! ```text
//! {"watch":["totals","events"],"every":"1 s"}   a line at once, then one each interval
//! {"history":"10 min"}                          one line: a point for each second; of "24 h" one for each minute
//! {"history":"10 min","domain":"hall"}          the same of a contention domain, or of a "station"
//! {"flows_of":"02:00:00:00:00:01"}              one line: the station's flows
//! ```
//!
//! Readers skip unknown keys, so that later versions of the box can add some.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causes::{self, StationCounted};
use crate::health::reason::HealthStatus;
use crate::histogram::Histogram;
use crate::{CallStatus, Carrier, FlowStatus, GuardState, Mode};

/// Version of the feed, the value of `v` in every line.
pub const VERSION: u32 = 1;
/// Maximum number of stations in a line.
pub const MOST_STATIONS: usize = 256;
/// Maximum number of flows in an answer.
pub const MOST_FLOWS: usize = 1000;
/// Maximum number of events in the first line after a request.
pub const FIRST_EVENTS: usize = 50;

/// A request of the feed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Request {
    /// Lines with these parts.
    Watch {
        /// The parts.
        watch: Vec<Part>,
        /// Time between two lines, in whole seconds of "1 s" to "60 s".
        #[serde(default = "each_second")]
        every: String,
    },
    /// Points of the recent past: of the whole box, unless a domain or a station is named.
    History {
        /// "10 min" or "24 h"; of a station only "10 min".
        history: String,
        /// Name of a contention domain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        domain: Option<String>,
        /// MAC address of a station.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        station: Option<String>,
    },
    /// Flows of a station.
    FlowsOf {
        /// Its MAC address.
        flows_of: String,
    },
}

fn each_second() -> String {
    "1 s".into()
}

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Reasons of the health of the network and the box.
    Health,
    /// The whole box.
    Totals,
    /// Each contention domain.
    Domains,
    /// Each access point.
    #[serde(rename = "access_points")]
    AccessPoints,
    /// Stations, those with the most airtime first.
    Stations,
    /// Policy classes.
    Classes,
    /// Calls in progress.
    Calls,
    /// Events since the previous line.
    Events,
    /// Histograms of latencies.
    Histograms,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 9] = [
        Self::Health,
        Self::Totals,
        Self::Domains,
        Self::AccessPoints,
        Self::Stations,
        Self::Classes,
        Self::Calls,
        Self::Events,
        Self::Histograms,
    ];

    /// Its word in requests, and its key in lines.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Totals => "totals",
            Self::Domains => "domains",
            Self::AccessPoints => "access_points",
            Self::Stations => "stations",
            Self::Classes => "classes",
            Self::Calls => "calls",
            Self::Events => "events",
            Self::Histograms => "histograms",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Counted in traffic, or timed.
    Measured,
    /// Airtime by the model of the medium.
    Charged,
    /// Telemetry or the operator.
    Reported,
    /// Inferred from other values.
    Inferred,
    /// It follows from values of which one at least is a default or inferred.
    Assumed,
    /// There is no value; also a source that a later box names.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A value with its source; none if it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Value {
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Where it comes from.
    pub source: Source,
}

impl Value {
    /// No value.
    pub const UNKNOWN: Self = Self { value: None, source: Source::Unknown };
    /// Inverse of the step to which values are rounded.
    const STEPS: f64 = 1e4;

    /// A value of this source, rounded to four decimals; unknown if there is none.
    pub fn new(value: impl Into<Option<f64>>, source: Source) -> Self {
        match value.into().filter(|value| value.is_finite()) {
            Some(value) => Self { value: Some((value * Self::STEPS).round() / Self::STEPS), source },
            None => Self::UNKNOWN,
        }
    }
}

/// How long packets of a leg took in the last second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Times {
    /// Half of them took no longer, in milliseconds.
    pub p50_ms: f64,
    /// 95 of 100 took no longer, in milliseconds.
    pub p95_ms: f64,
    /// How many were timed.
    pub packets: u64,
}

/// How long packets took in the last second, by leg of their way. A leg on which none was timed is absent: its times are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Latency {
    /// Held in the box for the WLAN.
    #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
    pub in_box: Option<Times>,
    /// Access point and air, to the station and back, with the wait in the station: TCP alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wlan: Option<Times>,
    /// Held in the box for the Internet link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internet_queue: Option<Times>,
    /// Beyond the wire port and back: TCP, and the first answer of other protocols (DNS, QUIC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internet: Option<Times>,
}

/// What was lost on the way toward a station, or from it, in the last second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LossCounts {
    /// Segments of TCP data that have passed the box. Without any the losses outside it are unknown.
    pub data: u64,
    /// Packets that the box dropped, of all protocols, but for ACKs that a later one stands for.
    pub here: u64,
    /// TCP segments lost between the box and the station.
    pub wlan: u64,
    /// TCP segments lost beyond the wire port.
    pub wire: u64,
}

/// What was lost in the last second, by direction. Losses outside the box are seen as the sender sends again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Losses {
    /// Toward the station.
    pub down: LossCounts,
    /// From it.
    pub up: LossCounts,
}

/// A line. Parts that were not asked for are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Line {
    /// [`VERSION`].
    pub v: u32,
    /// Number of the second, from the start of the feed; the same for all clients.
    pub seq: u64,
    /// When it was measured, in seconds since 1970, UTC.
    pub at: f64,
    /// Seconds since the box started.
    pub uptime_s: f64,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthStatus>,
    /// The whole box.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// Contention domains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domains: Option<Vec<Domain>>,
    /// Access points that stations are known to be at, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_points: Option<Vec<AccessPoint>>,
    /// Stations, those with the most airtime in the last second first, at most [`MOST_STATIONS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stations: Option<Vec<Station>>,
    /// Policy classes, each with all below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<Class>>,
    /// Calls that go on; absent from a box that does not look for calls, which is one without `[manager.voice]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<CallStatus>>,
    /// Events since the line before; in the first line the last [`FIRST_EVENTS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<Event>>,
    /// Counts of latencies of the last second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histograms: Option<Histograms>,
}

/// What [`Latency`] has the percentiles of, by leg.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LegHistograms {
    /// Held in the box for the WLAN.
    #[serde(rename = "box", skip_serializing_if = "Histogram::is_empty")]
    pub in_box: Histogram,
    /// Access point and air.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub wlan: Histogram,
    /// Held in the box for the Internet link.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub internet_queue: Histogram,
    /// Beyond the wire port.
    #[serde(skip_serializing_if = "Histogram::is_empty")]
    pub internet: Histogram,
}

impl LegHistograms {
    /// Adds the packets of another one.
    pub fn merge(&mut self, other: &Self) {
        self.in_box.merge(&other.in_box);
        self.wlan.merge(&other.wlan);
        self.internet_queue.merge(&other.internet_queue);
        self.internet.merge(&other.internet);
    }
}

/// Counts of latencies of the last second. Those of several seconds are added, and their percentiles are right. Whatever had no packet
/// timed is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Histograms {
    /// The whole box.
    pub totals: LegHistograms,
    /// Contention domains, by name.
    pub domains: BTreeMap<String, LegHistograms>,
    /// Access points, by name.
    pub access_points: BTreeMap<String, LegHistograms>,
    /// Stations, by MAC address.
    pub stations: BTreeMap<String, LegHistograms>,
    /// Policy classes, by name.
    pub classes: BTreeMap<String, LegHistograms>,
}

/// The whole box. Rates are of IP-level bytes, means of the last second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Totals {
    /// What the box does with the traffic.
    pub mode: Mode,
    /// Who carries the traffic.
    pub carrier: Carrier,
    /// Seconds since the mode last changed.
    pub since_s: f64,
    /// The bridge can carry the traffic.
    pub fail_open: bool,
    /// State of the guard against harm.
    pub guard: GuardState,
    /// Toward the WLAN.
    pub down_mbps: Value,
    /// From the WLAN.
    pub up_mbps: Value,
    /// Packets held.
    pub held: u64,
    /// 95 of 100 packets that left lately waited no longer for the WLAN.
    pub wait_p95_ms: Value,
    /// Packets that were dropped or lost in the box in the last second.
    pub dropped: u64,
    /// Stations known.
    pub stations: usize,
    /// Stations with traffic in the last second; absent if the box does not see the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<usize>,
    /// Latency of all stations.
    pub latency: Latency,
    /// Losses of all stations; absent if the box does not see the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
}

/// A contention domain. Rates are of IP-level bytes, means of the last second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// Its access points.
    pub access_points: Vec<String>,
    /// Toward its stations.
    pub down_mbps: Value,
    /// From its stations.
    pub up_mbps: Value,
    /// Part of the last second charged for packets to stations, 0 to 1.
    pub air_down: Value,
    /// The same for packets from stations.
    pub air_up: Value,
    /// The same for frames to groups.
    pub air_group: Value,
    /// Capacity of the active stations by the formula: reported if all their rates are.
    pub capacity_mbps: Value,
    /// Medium time that packets take, as a multiple of what the known PHY rates explain; unknown while the box is not inserted.
    pub air_cost: Value,
    /// Packets held.
    pub held: u64,
    /// 95 of 100 packets that left lately waited no longer.
    pub wait_p95_ms: Value,
    /// Stations known there.
    pub stations: usize,
    /// Stations with traffic in the last second; absent if the box does not see the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<usize>,
    /// Latency of its stations.
    pub latency: Latency,
    /// Losses of its stations; absent if the box does not see the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
}

/// An access point: the sums of its stations. Rates are of IP-level bytes, means of the last second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AccessPoint {
    /// Its name.
    pub name: String,
    /// Its contention domain.
    pub domain: String,
    /// Toward its stations.
    pub down_mbps: Value,
    /// From its stations.
    pub up_mbps: Value,
    /// Part of the last second charged for packets to stations, 0 to 1.
    pub air_down: Value,
    /// The same for packets from stations.
    pub air_up: Value,
    /// Stations known there.
    pub stations: usize,
    /// Stations with traffic in the last second; absent if the box does not see the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<usize>,
    /// Latency of its stations.
    pub latency: Latency,
    /// Losses of its stations; absent if the box does not see the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
}

/// What the manager counted of a station's packets in the last second; each under its own key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StationCounts {
    /// The counts.
    #[serde(flatten, with = "causes::flat")]
    #[schemars(with = "causes::AllCounts<causes::StationCounter>")]
    pub counts: StationCounted,
}

/// A station. Rates are of IP-level bytes, means of the last second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Station {
    /// MAC address.
    pub mac: String,
    /// What it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The MAC address is a made-up one.
    pub random_mac: bool,
    /// Its access point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_point: Option<String>,
    /// Its contention domain.
    pub domain: String,
    /// Its weight.
    pub weight: u32,
    /// Toward it.
    pub down_mbps: Value,
    /// From it.
    pub up_mbps: Value,
    /// Part of the last second charged for packets to it, 0 to 1.
    pub air_down: Value,
    /// The same for packets from it.
    pub air_up: Value,
    /// PHY rate: reported, inferred or unknown.
    pub rate_mbps: Value,
    /// Reported mode toward it, such as "HE MCS 7".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Reported signal strength.
    pub signal_dbm: Value,
    /// Packets held in its known flows.
    pub held: u64,
    /// It had traffic in the last second; absent if the box does not see the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Counts of its packets in the last second; absent if the box does not see the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<StationCounts>,
    /// Latency of its packets.
    pub latency: Latency,
    /// Losses of its packets; absent if the box does not see the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
}

/// A policy class with all below it. Rates are of IP-level bytes, means of the last second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Toward the WLAN.
    pub down_mbps: Value,
    /// From the WLAN.
    pub up_mbps: Value,
    /// Part of the last second charged to it, 0 to 1.
    pub air: Value,
    /// Packets held.
    pub held: u64,
    /// Packets dropped in the last second.
    pub dropped: u64,
    /// It waits at its ceiling.
    pub at_ceiling: bool,
    /// Latency of its packets.
    pub latency: Latency,
    /// Losses of its packets; absent if the box does not see the traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
}

/// Something that has happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Event {
    /// When, in seconds since 1970, UTC.
    pub at: f64,
    /// What, in one word: a mode, "start", "reload", "guard", "domains", "fail-open", "ports",
    /// "refused" or "health".
    pub event: String,
    /// The rest, in words.
    pub text: String,
}

/// A point of the history: a second, or the means of a minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Point {
    /// When it ended, in seconds since 1970, UTC.
    pub at: f64,
    /// Mode of the box at its end.
    pub mode: Mode,
    /// Toward the WLAN.
    pub down_mbps: Value,
    /// From the WLAN.
    pub up_mbps: Value,
    /// As in lines; of a minute that of its worst second.
    pub wait_p95_ms: Value,
    /// 95 of 100 packets took no longer for access point and air; of a minute that of its worst second.
    pub wlan_p95_ms: Value,
    /// The same for the Internet.
    pub internet_p95_ms: Value,
    /// Part of the time charged, 0 to 1; of the box, that of its busiest contention domain.
    pub air: Value,
}

/// Points of the time before now. Seconds or minutes without a point are gaps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct History {
    /// Seconds from point to point.
    pub every_s: u64,
    /// The oldest one first.
    pub points: Vec<Point>,
}

/// An answer in one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// [`VERSION`].
    pub v: u32,
    /// The requested content.
    #[serde(flatten)]
    pub content: Content,
}

/// Content of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Points of the history.
    History(History),
    /// Flows of a station, the last used first, at most [`MOST_FLOWS`].
    Flows(Vec<FlowStatus>),
    /// Why the request was refused. The connection is closed.
    Error(String),
}

impl Content {
    /// The answer with this content.
    pub const fn answer(self) -> Answer {
        Answer { v: VERSION, content: self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::health::{Code, Level};

    #[test]
    fn a_line_is_as_documented() {
        let mbps = Value::new(12.345_678, Source::Measured);
        let totals = Totals {
            mode: Mode::Inserted,
            carrier: Carrier::Box,
            since_s: 120.0,
            fail_open: true,
            guard: GuardState::Watching,
            down_mbps: mbps,
            held: 12,
            dropped: 3,
            stations: 9,
            active: Some(7),
            latency: Latency { wlan: Some(Times { p50_ms: 4.5, p95_ms: 11.25, packets: 120 }), ..Latency::default() },
            ..Totals::default()
        };
        let event = Event { at: 1_764_229_990.0, event: "inserted".into(), text: "inserted by uid 0".into() };
        let line = Line {
            v: VERSION,
            seq: 17,
            at: 1_764_230_000.1,
            uptime_s: 812.4,
            totals: Some(totals),
            events: Some(vec![event]),
            ..Line::default()
        };
        let expected = json!({"v": 1, "seq": 17, "at": 1_764_230_000.1, "uptime_s": 812.4,
            "totals": {"mode": "inserted", "carrier": "box", "since_s": 120.0, "fail_open": true, "guard": "watching",
                "down_mbps": {"value": 12.3457, "source": "measured"}, "up_mbps": {"source": "unknown"}, "held": 12,
                "wait_p95_ms": {"source": "unknown"}, "dropped": 3, "stations": 9, "active": 7,
                "latency": {"wlan": {"p50_ms": 4.5, "p95_ms": 11.25, "packets": 120}}},
            "events": [{"at": 1_764_229_990.0, "event": "inserted", "text": "inserted by uid 0"}]});
        assert_eq!(serde_json::to_value(&line).expect("serialises"), expected);
        assert_eq!(serde_json::from_value::<Line>(expected).expect("reads"), line);
    }

    #[test]
    fn a_later_line_is_read() {
        let text = r#"{"v":1,"seq":1,"health":{"level":"bad","mood":1,"reasons":[{"code":"gremlins"}]},"totals":{"mode":"inserted","soul":{},"down_mbps":{"value":1.5,"source":"guessed"}}}"#;
        let line = serde_json::from_str::<Line>(text).expect("reads");
        let health = line.health.expect("it is there");
        assert_eq!((health.level, health.reasons[0].code), (Level::Bad, Code::Other));
        let totals = line.totals.expect("it is there");
        assert_eq!((totals.mode, totals.down_mbps.source), (Mode::Inserted, Source::Unknown));
    }

    #[test]
    fn a_missing_value_is_unknown() {
        assert_eq!(Value::new(None, Source::Measured), Value::UNKNOWN);
        assert_eq!(Value::new(f64::NAN, Source::Charged), Value::UNKNOWN);
        assert_eq!(Value::new(0.0, Source::Charged).value, Some(0.0));
    }

    #[test]
    fn requests_and_answers_are_as_documented() {
        let request = |text: &str| serde_json::from_str::<Request>(text).expect(text);
        let watch = Request::Watch { watch: vec![Part::Totals, Part::Events], every: "1 s".into() };
        assert_eq!(request(r#"{"watch":["totals","events"]}"#), watch);
        assert_eq!(
            serde_json::to_string(&watch).expect("serialises"),
            r#"{"watch":["totals","events"],"every":"1 s"}"#
        );
        let history = Request::History { history: "24 h".into(), domain: None, station: None };
        assert_eq!(request(r#"{"history":"24 h"}"#), history);
        let text = |content: Content| serde_json::to_string(&content.answer()).expect("serialises");
        assert_eq!(
            text(Content::History(History { every_s: 1, points: vec![] })),
            r#"{"v":1,"history":{"every_s":1,"points":[]}}"#
        );
        assert_eq!(text(Content::Flows(vec![])), r#"{"v":1,"flows":[]}"#);
        assert_eq!(text(Content::Error("why".into())), r#"{"v":1,"error":"why"}"#);
        for part in Part::ALL {
            assert_eq!(serde_json::to_value(part).expect("serialises"), part.word());
        }
    }
}
