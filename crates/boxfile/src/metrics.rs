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
    /// No data on single stations.
    None,
}

words!(StationLabels {
    "names" => Self::Names,
    "mac" => Self::Mac,
    "hashed" => Self::Hashed,
    "none" => Self::None,
});

/// Checked configuration of the metrics page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricsConfig {
    /// Address and port at which it is served.
    pub listen: SocketAddr,
    /// How it names stations.
    pub stations: StationLabels,
}
