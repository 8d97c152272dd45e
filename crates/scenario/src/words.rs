//! The words of the scenario format that no checked type has.

use evenair_units::BitRate;
use schemars::{Schema, json_schema};

use crate::config::{FromWritten, Scalar, words};
use crate::{AfterCollision, Direction, IpVersion, Tool};

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
}

/// Which result a published value compares to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Total,
    Up,
    Down,
    Capacity,
    JainFlows,
    App,
    Station,
    Finding,
}

/// How many of something there are: one at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count(pub u32);

/// A published value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measured {
    Rate(BitRate),
    Number(f64),
}

words!(At { "lan" => Self::Lan, "wan" => Self::Wan });
words!(Do {
    "insert" => Self::Insert,
    "bypass" => Self::Bypass,
    "join" => Self::Join,
    "leave" => Self::Leave,
    "rate" => Self::Rate,
});
words!(What {
    "total" => Self::Total,
    "up" => Self::Up,
    "down" => Self::Down,
    "capacity" => Self::Capacity,
    "jain_flows" => Self::JainFlows,
    "app" => Self::App,
    "station" => Self::Station,
    "finding" => Self::Finding,
});
words!(AfterCollision { "eifs" => Self::Eifs, "difs" => Self::Difs });
words!(Direction { "up" => Self::Up, "down" => Self::Down });
words!(IpVersion { "v4" => Self::V4, "v6" => Self::V6 });
words!(Tool { "builtin" => Self::Builtin, "iperf3" => Self::Iperf3 });

/// The most stations or flows that one entry stands for.
const MAX_COUNT: u32 = 250;

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

impl FromWritten for Measured {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Text(_) => BitRate::from_written(scalar).map(Self::Rate),
            _ => f64::from_written(scalar).map(Self::Number),
        }
    }

    fn allowed() -> String {
        "a bit rate such as \"4.8 Mb/s\", or a number such as 0.95".into()
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [BitRate::schema(), f64::schema()] })
    }
}
