//! Outputs of the air.

use evenair_units::Instant;

use crate::senders::Loss;

/// An output of the air.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// A frame reached a station.
    ToStation {
        /// When its last bit arrived.
        at: Instant,
        /// The station's number.
        station: usize,
        /// Ethernet frame.
        frame: Vec<u8>,
    },
    /// A group frame reached all stations.
    ToAllStations {
        /// When its last bit arrived.
        at: Instant,
        /// The access point that sent it, to its stations only.
        access_point: usize,
        /// The station from which it came, which ignores it.
        except: Option<usize>,
        /// Ethernet frame.
        frame: Vec<u8>,
    },
    /// A frame reached the access point and goes on to the wired side.
    ToWire {
        /// When its last bit arrived.
        at: Instant,
        /// The station that sent it.
        station: usize,
        /// Ethernet frame.
        frame: Vec<u8>,
    },
    /// A new access point sends a Layer 2 Update to the wired side, in the name of a station that came from another VLAN.
    Update {
        /// When it is sent.
        at: Instant,
        /// The new access point.
        access_point: usize,
        /// Ethernet frame.
        frame: Vec<u8>,
    },
    /// A frame was lost.
    Lost {
        /// Site of the loss.
        place: Place,
        /// Reason of the loss.
        reason: Reason,
    },
}

/// Site of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// At an access point, by its number.
    AccessPoint(usize),
    /// At a station, by its number.
    Station(usize),
}

/// Reason of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Dropped in front of the medium or lost on it.
    Air(Loss),
    /// Its destination is no station here or not associated, or its sender is not associated.
    NotAssociated,
    /// Shorter than an Ethernet header.
    Malformed,
}
