//! The string enums of the manager's configuration, and the ranges of weights and rates.

use evenair_manager::Config;
use evenair_reader::words;
use evenair_units::BitRate;

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

/// The word for what is shared or charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// Medium time.
    Airtime,
    /// Bits.
    Bits,
}

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
