//! The table `[metrics]`, checked.

use std::net::SocketAddr;

use evenair_reader::words;

/// How the page of metrics names stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StationLabels {
    /// By MAC address, with name and IP address.
    #[default]
    Names,
    /// By MAC address alone.
    Mac,
    /// By a keyed hash of the MAC address.
    Hashed,
    /// Not at all: nothing is said of single stations.
    None,
}

words!(StationLabels {
    "names" => Self::Names,
    "mac" => Self::Mac,
    "hashed" => Self::Hashed,
    "none" => Self::None,
});

/// The page of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricsConfig {
    /// Where it is served.
    pub listen: SocketAddr,
    /// How it names stations.
    pub stations: StationLabels,
}
