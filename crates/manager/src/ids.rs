//! The small values by which the parts of the manager name things to each other: stations, flows, contention domains,
//! policy classes, directions. Imports nothing of the crate.

use minicbor::{Decode, Encode};

/// A station, by its slot in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StationId(pub(crate) u32);

impl StationId {
    pub(crate) const fn number(self) -> u64 {
        self.0 as u64
    }
}

/// A flow, by its slot in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowId(pub(crate) u32);

#[cfg(test)]
impl FlowId {
    /// One of no table.
    pub(crate) const FIRST: Self = Self(0);
}

/// A contention domain, by its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DomainId(u16);

impl DomainId {
    /// The domain of stations that are not known to be in another.
    pub(crate) const DEFAULT: Self = Self(0);

    /// The one at this place. There are fewer than 2^16.
    pub(crate) fn at(place: usize) -> Self {
        Self(u16::try_from(place).unwrap_or(u16::MAX))
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An airtime model: domains with the same number have the same PHY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelId(pub(crate) u8);

impl ModelId {
    /// That of the configuration's own PHY.
    pub(crate) const DEFAULT: Self = Self(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A class of stations, by its number in the operator's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct ClassId(#[n(0)] pub u8);

/// Which way a connection's data travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Direction {
    /// From a station.
    #[n(0)]
    Up,
    /// To a station.
    #[n(1)]
    Down,
}

/// A direction of the Internet link, as an index.
pub(crate) const DOWN: usize = 0;
pub(crate) const UP: usize = 1;
