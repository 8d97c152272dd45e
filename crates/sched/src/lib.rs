//! Queue disciplines as state machines, generic over the packet.
//!
//! - [`Hsfq`]: start-time fair queueing, flat or hierarchical.
//!
//! A discipline decides order only. It has no clock and no rate: whoever drives it says when the server is free.

#![no_std]

extern crate alloc;

mod hsfq;
mod tags;

pub use hsfq::Hsfq;
pub use tags::NodeId;
