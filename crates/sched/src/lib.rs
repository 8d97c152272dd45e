//! Queue disciplines as state machines, generic over the packet.
//!
//! - [`Hsfq`]: start-time fair queueing, flat or hierarchical.
//!
//! A discipline decides order only. It has no clock and no rate: whoever drives it says when the server is free.

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

mod hsfq;
mod tags;

pub use hsfq::Hsfq;
pub use tags::NodeId;
