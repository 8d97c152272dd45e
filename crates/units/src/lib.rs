//! Time, size, rate and random-stream types shared by every crate.
//!
//! Everything here is an integer. Time never comes from a clock: an [`Instant`] is handed in by whoever drives a
//! state machine (a simulator, the real-time testbed, the live packet loop), which is what lets the same code run in
//! all three. Conversions that could lose precision say how they round.

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

mod limit;
mod rate;
mod rng;
mod time;

pub use limit::Limit;
pub use rate::{BitRate, Bytes, Db, Dbm};
pub use rng::{Rng, Streams, mix};
pub use time::{Airtime, Instant, Span};
