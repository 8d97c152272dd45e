//! String enums of the scenario format without a checked type.

use evenair_medium::{Adaptation, AfterCollision, Order, Recover};
use evenair_reader::{FromWritten, Scalar, closest, did_you_mean, words};
use evenair_units::{BitRate, Db, Span};
use evenair_wifi::EdcaProfile;
use schemars::{Schema, json_schema};

use crate::measures::{full_name, measure_named, measures};
use crate::profile::Profile;
use crate::{FastRecovery, IpVersion, Stack, Tool, WarmUp};

/// Where a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Lan,
    Wan,
}

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Do {
    Insert,
    Bypass,
    Join,
    Leave,
    Rate,
    Roam,
}

/// Which result a published value compares to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Total,
    Up,
    Down,
    Capacity,
    JainFlows,
    App,
    Station,
    Figure,
    Finding,
    /// By its name among the measures of a run, of the published value's phase where the name has none.
    Measure(String),
}

/// Rate control of the senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateControlWord {
    Fixed,
    TwoFailures,
    Arf,
    Aarf,
    Minstrel,
    MinstrelHt,
}

/// How stations are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Circle,
    Line,
    NearRandom,
    FarRandom,
    Point,
}

/// Where back-off is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessWord {
    Dcf,
    IdleSense,
    Asymmetric,
}

/// From when on a frame is received that others overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureThreshold {
    Off,
    Above(Db),
}

/// Whether receivers of OFDM decide each bit by itself before they decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecisionsWord {
    Soft,
    Hard,
}

/// What encrypts frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EncryptionWord {
    None,
    Ccmp,
}

/// A time, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeout(pub Option<Span>);

impl FromWritten for Timeout {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Text(text) if text == "off" => Ok(Self(None)),
            other => Span::from_written(other).map(|span| Self(Some(span))),
        }
    }

    fn allowed() -> String {
        format!("{}, or \"off\"", Span::allowed())
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [Span::schema(), { "enum": ["off"] }] })
    }
}

/// A published value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measured {
    Rate(BitRate),
    Time(Span),
    Number(f64),
}

words!(At { "lan" => Self::Lan, "wan" => Self::Wan });
words!(Do {
    "insert" => Self::Insert,
    "bypass" => Self::Bypass,
    "join" => Self::Join,
    "leave" => Self::Leave,
    "roam" => Self::Roam,
    "rate" => Self::Rate,
});
words!(EncryptionWord { "none" => Self::None, "ccmp" => Self::Ccmp });
words!(RecoverWord(Recover) { "data" => Recover::Data, "request" => Recover::Request });
words!(DeliverWord(bool) { "ppdu" => false, "mpdu" => true });
words!(OrderWord(Order) {
    "arrival" => Order::Arrival,
    "stations" => Order::RoundRobin,
    "neighbours" => Order::Neighbours,
});
words!(EdcaProfileWord(EdcaProfile) {
    "standard" => EdcaProfile::Standard,
    "hostapd" => EdcaProfile::Hostapd,
    "ns-3" => EdcaProfile::Ns3,
});
words!(AfterCollisionWord(AfterCollision) {
    "eifs" => AfterCollision::Eifs,
    "difs" => AfterCollision::Difs,
    "difs-for-all" => AfterCollision::DifsForAll,
    "eifs-then-difs" => AfterCollision::EifsThenDifs,
});
words!(DecisionsWord {
    "soft" => Self::Soft,
    "hard" => Self::Hard,
});
words!(Profile {
    "standard" => Self::Standard,
    "ns-2" => Self::Ns2,
    "ns-3" => Self::Ns3,
    "qualnet" => Self::QualNet,
});
words!(RateControlWord {
    "fixed" => Self::Fixed,
    "two-failures" => Self::TwoFailures,
    "arf" => Self::Arf,
    "aarf" => Self::Aarf,
    "minstrel" => Self::Minstrel,
    "minstrel-ht" => Self::MinstrelHt,
});
words!(AccessWord { "dcf" => Self::Dcf, "idle-sense" => Self::IdleSense, "asymmetric" => Self::Asymmetric });
words!(AdaptationWord(Adaptation) { "proportional" => Adaptation::Proportional, "aimd" => Adaptation::Aimd });
words!(Shape {
    "circle" => Self::Circle,
    "line" => Self::Line,
    "near-random" => Self::NearRandom,
    "far-random" => Self::FarRandom,
    "point" => Self::Point,
});
words!(IpVersion { "v4" => Self::V4, "v6" => Self::V6 });
words!(Stack { "linux" => Self::Linux, "textbook" => Self::Textbook, "ns-3" => Self::Ns3 });
words!(FastRecovery { "newreno" => Self::NewReno, "reno" => Self::Reno });
words!(Tool { "builtin" => Self::Builtin, "iperf3" => Self::Iperf3, "quic" => Self::Quic });

impl FromWritten for CaptureThreshold {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Text(text) if text == "off" => Ok(Self::Off),
            _ => match Db::from_written(scalar)? {
                threshold if threshold.as_milli() >= 0 => Ok(Self::Above(threshold)),
                _ => Err(format!("{scalar} is negative")),
            },
        }
    }

    fn allowed() -> String {
        "\"10 dB\", or \"off\"".into()
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [Db::schema(), { "const": "off" }] })
    }
}

/// The words for quantities that are no measures.
const WHAT: &[(&str, What)] = &[
    ("total", What::Total),
    ("up", What::Up),
    ("down", What::Down),
    ("capacity", What::Capacity),
    ("jain_flows", What::JainFlows),
    ("app", What::App),
    ("station", What::Station),
    ("figure", What::Figure),
    ("finding", What::Finding),
];

impl FromWritten for What {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let text = String::from_written(scalar)?;
        if let Some((_, what)) = WHAT.iter().find(|(word, _)| *word == text) {
            return Ok(what.clone());
        }
        if measure_named(&full_name(&text, "any")).is_some() {
            return Ok(Self::Measure(text));
        }
        let words = WHAT.iter().map(|&(word, _)| word);
        let measures = measures().map(|measure| measure.pattern.trim_start_matches("phase.*."));
        let hint = closest(&text, words.chain(measures));
        Err(format!("\"{text}\" is not known{}", did_you_mean(hint)))
    }

    fn allowed() -> String {
        let words: Vec<_> = WHAT.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        format!("{}, or a measure by its name", words.join(", "))
    }

    fn schema() -> Schema {
        let words: Vec<_> = WHAT.iter().map(|&(word, _)| word).collect();
        json_schema!({ "anyOf": [{ "enum": words }, { "type": "string" }] })
    }
}

impl FromWritten for WarmUp {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Text(text) if text == "auto" => Ok(Self::Auto),
            _ => Span::from_written(scalar).map(Self::Until),
        }
    }

    fn allowed() -> String {
        "a time such as \"20 s\", or \"auto\"".into()
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [Span::schema(), { "const": "auto" }] })
    }
}

impl FromWritten for Measured {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Text(text) if text.ends_with("/s") => BitRate::from_written(scalar).map(Self::Rate),
            Scalar::Text(_) => Span::from_written(scalar).map(Self::Time),
            _ => f64::from_written(scalar).map(Self::Number),
        }
    }

    fn allowed() -> String {
        "a bit rate such as \"4.8 Mb/s\", a time such as \"1.76 s\", or a number such as 0.95".into()
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [BitRate::schema(), Span::schema(), f64::schema()] })
    }
}
