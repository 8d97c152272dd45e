//! The string enums of the manager's configuration, and the ranges of weights and rates.

use evenair_reader::{Permille, ranges, words};
use evenair_units::BitRate;

/// A level of the policy.
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

/// What is shared or charged.
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

ranges! {
    /// Weights: up to this value, integer arithmetic on shares is exact.
    pub Weights: u32 = "1 to 1000";
    /// Service rates and their steps, up to `Config::MAX_RATE` of the manager.
    pub ServiceRates: BitRate = "above 0 b/s and up to 1000 Gb/s";
    /// A proportion.
    pub Proportions: Permille = "0 % to 100 %";
    /// A non-zero proportion.
    pub Parts: Permille = "0.1 % to 100 %";
    /// A proportion between nothing and all.
    pub ProperParts: Permille = "0.1 % to 99.9 %";
}
