//! Time, size, rate and random-stream types shared by every crate, a hint to the processor ([`hint`]), and counts of
//! packets by cause ([`mod@causes`]) and of the manager's events ([`counters`]).
//!
//! Every quantity here is an integer. Time never comes from a clock: the driver of a state machine (a simulator, the
//! real-time testbed, the live packet loop) passes in an [`Instant`], so that the same code runs in all three.
//! Conversions that could lose precision say how they round.
//!
//! ```
//! use evenair_units::{BitRate, Bytes, Instant, Span, Streams};
//!
//! // 1,500 bytes at 54 Mb/s, rounded up to whole nanoseconds.
//! let rate = BitRate::from_mbps(54);
//! let end = Instant::ZERO + rate.time_for(Bytes(1_500));
//! assert_eq!(end, Instant::ZERO + Span::from_nanos(222_223));
//! // A stream of random numbers has a name: the same seed and name give the same numbers.
//! let streams = Streams::new(1);
//! assert_eq!(streams.stream("station/sta1").next_u64(), streams.stream("station/sta1").next_u64());
//! ```

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

pub mod causes;
pub mod counters;
pub mod hint;
mod limit;
mod rate;
mod rng;
mod time;

pub use limit::Limit;
pub use rate::{BitRate, Bytes, Db, Dbm};
pub use rng::{Rng, Streams, mix};
pub use time::{Airtime, Instant, Span};
