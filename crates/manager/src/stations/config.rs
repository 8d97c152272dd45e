//! The settings of a station.

use evenair_packet::MacAddr;
use evenair_wifi::PhyRate;
use minicbor::{Decode, Encode};

use crate::ids::ClassId;

/// A station known beforehand.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct StationConfig {
    /// Its MAC address.
    #[n(0)]
    pub mac: MacAddr,
    /// Its PHY rate, until an observation says otherwise.
    #[n(1)]
    pub rate: PhyRate,
    /// Its share relative to other stations.
    #[n(2)]
    pub weight: u32,
    /// Its class.
    #[n(3)]
    pub class: Option<ClassId>,
}
