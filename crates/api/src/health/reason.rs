//! Reasons: what is wrong, how much it matters, whom it is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::string_enum;

string_enum! {
    /// How much it matters.
    pub enum Level {
        /// Nothing is wrong.
        #[default]
        Good = "good",
        /// Something is worse than it could be.
        Watch = "watch",
        /// Stations or the box are harmed.
        Bad = "bad",
    }
}

string_enum! {
    /// What is wrong, those that matter most first; causes before what follows from them.
    pub enum Code {
        /// The bridge cannot carry the traffic if the box stops.
        NoFailOpen = "no-fail-open",
        /// The guard against harm has bypassed the box.
        GuardBypassed = "guard-bypassed",
        /// The box is bypassed, although the last command was to insert it.
        NotManaging = "not-managing",
        /// The box loses packets.
        LostInBox = "lost-in-box",
        /// The box is so late that packets pass it by.
        LateLoop = "late-loop",
        /// A station takes far more of the air than the others, which starve or wait long.
        HoldsTheAir = "holds-the-air",
        /// A station has packets that wait, and gets far less than its share of the air.
        Starving = "starving",
        /// A call is heard badly.
        CallQuality = "call-quality",
        /// A station with a low PHY rate takes much of a busy contention domain's air.
        SlowLink = "slow-link",
        /// Packets take much more medium time than their reported PHY rates explain: others use the channel.
        ChannelCrowded = "channel-crowded",
        /// Packets wait long for the WLAN and on it.
        WifiLatency = "wifi-latency",
        /// Packets wait long beyond the wire port.
        InternetLatency = "internet-latency",
        /// Calls were refused.
        CallsRefused = "calls-refused",
        /// Much of the traffic cannot be read, and is not managed by station.
        UnmanagedTraffic = "unmanaged-traffic",
        /// The box has started after it had ended without being asked to.
        Restarted = "restarted",
        /// A telemetry source does not answer.
        TelemetrySilent = "telemetry-silent",
        /// Traffic contradicts reported rates.
        RateReportSetAside = "rate-report-set-aside",
        /// Stations claim addresses that others use.
        AddressContested = "address-contested",
        /// The history cannot be written.
        HistoryFailing = "history-failing",
        /// Alerts of evenair-web cannot be delivered; evenair-web alone raises it.
        AlertFailing = "alert-failing",
        /// What only a later box knows.
        #[default]
        #[serde(other)]
        Other = "other",
    }
}

impl Code {
    /// Its level, unless it makes a station starve.
    pub const fn level(self) -> Level {
        match self {
            Self::NoFailOpen
            | Self::GuardBypassed
            | Self::NotManaging
            | Self::LostInBox
            | Self::LateLoop
            | Self::Starving
            | Self::CallQuality => Level::Bad,
            _ => Level::Watch,
        }
    }

    /// Whether it explains long waits for the WLAN.
    pub(super) const fn explains_latency(self) -> bool {
        matches!(self, Self::HoldsTheAir | Self::SlowLink | Self::ChannelCrowded)
    }

    /// Whether it is about the medium, and so is reset when the box takes or leaves the traffic.
    pub const fn is_about_wifi(self) -> bool {
        matches!(self, Self::Starving | Self::HoldsTheAir | Self::SlowLink | Self::WifiLatency | Self::ChannelCrowded)
    }
}

string_enum! {
    /// What a reason is about.
    pub enum SubjectKind {
        /// The box.
        #[default]
        Box = "box",
        /// A contention domain.
        Domain = "domain",
        /// An access point.
        AccessPoint = "access-point",
        /// A station.
        Station = "station",
        /// A telemetry source.
        Source = "source",
    }
}

/// Whom or what a reason is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Subject {
    /// What it is.
    pub kind: SubjectKind,
    /// MAC address of a station; else its name, empty for the box.
    pub id: String,
    /// Its name for people; of a station without one, its MAC address.
    pub name: String,
}

impl Subject {
    pub(crate) fn named(kind: SubjectKind, name: &str) -> Self {
        Self { kind, id: name.into(), name: name.into() }
    }

    pub(crate) fn of_box() -> Self {
        Self { name: "the box".into(), ..Self::default() }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Reason {
    /// What.
    pub code: Code,
    /// How much it matters.
    pub level: Level,
    /// Whom it is about.
    pub subject: Subject,
    /// When it began, in seconds since 1970, UTC.
    pub since_s: f64,
    /// What is wrong, in words, with the number.
    pub sentence: String,
    /// The number.
    pub value: f64,
    /// The limit that it is beyond.
    pub limit: f64,
    /// The unit of both, such as "ms"; empty if they are counts.
    pub unit: String,
    /// What the operator can do about it.
    pub remedy: String,
    /// `holds-the-air`: the stations that hold nearly as much of the air as the subject.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<Subject>,
    /// `holds-the-air`: the stations that starve or wait long for it, those that starve first; at most 32.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suffering: Vec<Subject>,
}

/// What is wrong, that which matters most first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HealthStatus {
    /// That of the worst reason.
    pub level: Level,
    /// The reasons; none: nothing is wrong.
    pub reasons: Vec<Reason>,
}

impl HealthStatus {
    /// Status with these reasons, at the level of the worst one.
    pub fn of(reasons: Vec<Reason>) -> Self {
        let level = reasons.iter().map(|reason| reason.level).max().unwrap_or_default();
        Self { level, reasons }
    }

    /// The first reason and the number of others, in one line.
    pub fn in_short(&self) -> String {
        let Some(first) = self.reasons.first() else { return "health: good".into() };
        let others = match self.reasons.len() - 1 {
            0 => String::new(),
            others => format!(" (and {others} more)"),
        };
        format!("health: {}: {}{others}", self.level, first.sentence)
    }
}

/// A condition that is near its limit or beyond it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Finding {
    pub(super) code: Code,
    pub(super) subject: Subject,
    /// Distance from the limit, which is at 1; `None`: this second does not show it.
    pub(super) degree: Option<f64>,
    pub(super) value: f64,
    pub(super) limit: f64,
    pub(super) unit: &'static str,
    pub(super) sentence: String,
    pub(super) remedy: String,
    pub(super) with: Vec<Subject>,
    pub(super) suffering: Vec<Subject>,
    /// It makes a station starve, and so is at the level "bad".
    pub(super) starves: bool,
}
