//! The settings of a station.

use evenair_packet::MacAddr;
use evenair_wifi::PhyRate;

use crate::ids::ClassId;

/// A station known beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationConfig {
    /// Its MAC address.
    pub mac: MacAddr,
    /// Its PHY rate, until an observation says otherwise.
    pub rate: PhyRate,
    /// Its share relative to other stations.
    pub weight: u32,
    /// Its class.
    pub class: Option<ClassId>,
}
