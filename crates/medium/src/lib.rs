//! The 802.11 MAC in event time, generic over the frame.

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

mod medium;
mod types;

pub use evenair_units::Limit;
pub use medium::Medium;
pub use types::{
    AfterCollision, Counters, DropReason, Event, MediumConfig, Mpdu, NodeConfig, NodeId, QueueState, To, Totals,
};
