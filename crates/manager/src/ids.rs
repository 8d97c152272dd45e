//! The identifiers that the parts of the manager share: stations, flows, contention domains, policy classes, directions.
//! Imports nothing of the crate.

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
    /// The first slot, for a flow that is in no table.
    pub(crate) const FIRST: Self = Self(0);
}

/// A contention domain, by its index in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DomainId(u16);

impl DomainId {
    /// The domain of stations that are not known to be in another.
    pub(crate) const DEFAULT: Self = Self(0);

    /// The domain at this index. There are fewer than 2^16.
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
    /// The model of the configuration's own PHY.
    pub(crate) const DEFAULT: Self = Self(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A policy class, by its number in the operator's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct ClassId(#[n(0)] pub u8);

/// The direction in which a flow's data travel.
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
