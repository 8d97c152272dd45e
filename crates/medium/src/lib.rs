//! The 802.11 MAC in event time, generic over the frame: DCF (IEEE Std 802.11-2016, clause 10.3) among nodes that all
//! hear each other.
//!
//! A [`Medium`] holds access points and stations, each with a drop-tail buffer, and decides who sends when, what
//! collides, what is lost, and when each frame is received. It knows no clock: a simulator drives it from event to
//! event, the testbed in real time, through the same calls. Idle slots cost nothing (see `contention`).
//!
//! As in the standard:
//! - Back-off from a window that doubles up to its largest with each failure, frozen while the medium is busy; a back-off
//!   after each access also without another frame to send; immediate access for a frame that comes to a node whose
//!   back-off has run out while the medium is silent; retry limits; RTS and CTS above a threshold.
//! - After a collision the senders wait for their answer in vain and then DIFS, the bystanders EIFS.
//!
//! Simplified:
//! - Immediate access begins at the next boundary of slots, on the grid that the last frame on the air has set, so that
//!   two frames that come within one slot collide. On average it begins half a slot late.
//! - Whoever starts is sensed by all at once, there is no propagation delay and no capture: frames that overlap are lost.
//! - A frame dropped at a retry limit is reported when the medium falls silent, not at the timeout soon after.
//!
//! Not here: hidden stations, EDCA, aggregation, rate control (each frame brings its rate), errors by signal strength
//! (they are handed in as probabilities), management frames.

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

mod access;
mod contention;
mod medium;
mod node;
mod types;

pub use evenair_units::Limit;
pub use medium::Medium;
pub use types::{
    AfterCollision, Counters, DropReason, Event, MediumConfig, Mpdu, NodeConfig, NodeId, QueueState, To, Totals,
};
