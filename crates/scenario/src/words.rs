//! String enums of the scenario format without a checked type.

use evenair_medium::{Adaptation, AfterCollision};
use evenair_sched::{Overflow, Sharing};
use evenair_units::{BitRate, Db, Span};
use schemars::{Schema, json_schema};

use crate::config::{FromWritten, Scalar, closest, words};
use crate::profile::Profile;
use crate::results::measures::{full_name, measure_named, measures};
use crate::{Direction, FastRecovery, IpVersion, Stack, Tool, WarmUp};

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

/// The order of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisciplineWord {
    Fifo,
    Codel,
    Drr,
    FqCodel,
    Cake,
    LasAck,
    Htb,
    Whtb,
    Cbq,
}

/// How WHTB knows channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimatorWord {
    Delivery,
    Signal,
}

/// Whose packets are a flow of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowOf {
    Flow,
    Station,
}

/// From when on a frame is received that others overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureThreshold {
    Off,
    Above(Db),
}

/// How many of something there are: one at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u32);

/// A differentiated services code point, by its number or name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePoint(pub u8);

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
words!(AfterCollision {
    "eifs" => Self::Eifs,
    "difs" => Self::Difs,
    "difs-for-all" => Self::DifsForAll,
    "eifs-then-difs" => Self::EifsThenDifs,
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
});
words!(AccessWord { "dcf" => Self::Dcf, "idle-sense" => Self::IdleSense, "asymmetric" => Self::Asymmetric });
words!(Adaptation { "proportional" => Self::Proportional, "aimd" => Self::Aimd });
words!(DisciplineWord {
    "fifo" => Self::Fifo,
    "codel" => Self::Codel,
    "drr" => Self::Drr,
    "fq-codel" => Self::FqCodel,
    "cake" => Self::Cake,
    "las-ack" => Self::LasAck,
    "htb" => Self::Htb,
    "whtb" => Self::Whtb,
    "cbq" => Self::Cbq,
});
words!(Sharing {
    "formal" => Self::Formal,
    "ancestors-only" => Self::AncestorsOnly,
    "top-level" => Self::TopLevel,
});
words!(EstimatorWord { "delivery" => Self::Delivery, "signal" => Self::Signal });
words!(FlowOf { "flow" => Self::Flow, "station" => Self::Station });
words!(Overflow { "most-served" => Self::MostServed, "tail-drop" => Self::TailDrop });
words!(Shape {
    "circle" => Self::Circle,
    "line" => Self::Line,
    "near-random" => Self::NearRandom,
    "far-random" => Self::FarRandom,
    "point" => Self::Point,
});
words!(Direction { "up" => Self::Up, "down" => Self::Down });
words!(IpVersion { "v4" => Self::V4, "v6" => Self::V6 });
words!(Stack { "linux" => Self::Linux, "textbook" => Self::Textbook });
words!(FastRecovery { "newreno" => Self::NewReno, "reno" => Self::Reno });
words!(Tool { "builtin" => Self::Builtin, "iperf3" => Self::Iperf3, "quic" => Self::Quic });

/// Largest number of stations or flows of one entry.
const MAX_COUNT: u32 = 2000;

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

impl FromWritten for Count {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match u32::from_written(scalar)? {
            n @ 1..=MAX_COUNT => Ok(Self(n)),
            n => Err(format!("{n} is out of range")),
        }
    }

    fn allowed() -> String {
        format!("1 to {MAX_COUNT}")
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX_COUNT })
    }
}

/// Names of code points: RFC 2474 (CS), RFC 2597 (AF), RFC 3246 (EF), RFC 5865 (VA, voice with admission), RFC 8622 (LE).
const CODE_POINTS: &[(&str, u8)] = &[
    ("DF", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];
/// The largest code point: they have 6 bits.
const MAX_CODE_POINT: u32 = 63;

impl FromWritten for CodePoint {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        if let Scalar::Text(text) = scalar {
            let known = CODE_POINTS.iter().find(|(name, _)| name == text);
            return known.map(|&(_, number)| Self(number)).ok_or_else(|| format!("\"{text}\" is not known"));
        }
        match u32::from_written(scalar)? {
            number @ 0..=MAX_CODE_POINT => Ok(Self(number as u8)),
            number => Err(format!("{number} is out of range")),
        }
    }

    fn allowed() -> String {
        let names: Vec<_> = CODE_POINTS.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        format!("{}, or 0 to {MAX_CODE_POINT}", names.join(", "))
    }

    fn schema() -> Schema {
        let names: Vec<_> = CODE_POINTS.iter().map(|&(name, _)| name).collect();
        json_schema!({ "anyOf": [{ "enum": names }, { "type": "integer", "minimum": 0, "maximum": MAX_CODE_POINT }] })
    }
}

/// The words for quantities that are no measure's name.
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
        let hint = hint.map_or_else(String::new, |word| format!("; did you mean \"{word}\"?"));
        Err(format!("\"{text}\" is not known{hint}"))
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
