//! The string enums of the manager's configuration, and the ranges of weights and rates.

use std::fmt;

use evenair_manager::Config;
use evenair_reader::words;
use evenair_units::BitRate;

/// The word for a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerKind {
    /// By the access point's queue.
    Queue,
    /// The published additive rule.
    Published,
    /// A proportional-integral law for the load that is offered.
    Pi,
    /// A constant.
    Fixed,
    /// None: nothing is held for the WLAN.
    None,
}

/// The word for a level of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// Uploads and downloads.
    Direction,
    /// Classes of stations.
    Class,
    /// Stations.
    Station,
    /// IP addresses on the stations' side.
    Host,
    /// Kinds of traffic.
    Application,
    /// Connections.
    Flow,
}

/// The word for the management of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aqm {
    /// CoDel.
    Codel,
    /// None but the limit.
    None,
}

/// The word for what is shared or charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// Medium time.
    Airtime,
    /// Bits.
    Bits,
}

words!(ControllerKind {
    "queue" => Self::Queue,
    "published" => Self::Published,
    "pi" => Self::Pi,
    "fixed" => Self::Fixed,
    "none" => Self::None,
});
impl fmt::Display for ControllerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queue => "queue",
            Self::Published => "published",
            Self::Pi => "pi",
            Self::Fixed => "fixed",
            Self::None => "none",
        })
    }
}

words!(Aqm { "codel" => Self::Codel, "none" => Self::None });
words!(LevelKind {
    "direction" => Self::Direction,
    "class" => Self::Class,
    "station" => Self::Station,
    "host" => Self::Host,
    "application" => Self::Application,
    "flow" => Self::Flow,
});
words!(Fairness { "airtime" => Self::Airtime, "bits" => Self::Bits });

/// The largest weight: keeps shares within the range in which integer arithmetic on them is exact.
pub const MAX_WEIGHT: u32 = 1000;

/// Which weights there may be.
pub const WEIGHTS: &str = "1 to 1000";

/// What service rates and steps may be.
pub const RATES: &str = "more than 0 b/s and up to 1 Tb/s";

/// Whether a service rate or a step may be.
pub fn is_rate(rate: &BitRate) -> bool {
    (BitRate::from_bps(1)..=Config::MAX_RATE).contains(rate)
}

/// Whether a weight may be.
pub fn is_weight(weight: &u32) -> bool {
    (1..=MAX_WEIGHT).contains(weight)
}
