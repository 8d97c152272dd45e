//! The settings of a station.

use evenair_packet::MacAddr;
use evenair_wifi::PhyRate;
use minicbor::{Decode, Encode};

use crate::ids::ClassId;

/// A configured station.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct StationConfig {
    /// Its MAC address.
    #[n(0)]
    pub mac: MacAddr,
    /// Its PHY rate, until a report or observation gives another.
    #[n(1)]
    pub rate: PhyRate,
    /// Its weight relative to other stations.
    #[n(2)]
    pub weight: u32,
    /// Its policy class.
    #[n(3)]
    pub class: Option<ClassId>,
}
