//! Facts and closed forms of IEEE 802.11, in one place for the simulator, the testbed and the manager.
//!
//! - [`Standard`], [`PhyRate`], [`Phy`]: rates, inter-frame spaces, contention windows, and how long each frame is on
//!   air. Integers only.
//! - [`tcp_capacity`], [`mixed_capacity`]: what a TCP transfer at one rate, and a mixture of rates, can get out of the
//!   medium. Integers only.
//! - [`bianchi`]: the saturation throughput of DCF. Floats, through one deterministic maths library.
//!
//! What is not here: a medium with stations on it (that is the `medium` crate), 802.11n and later, protection of
//! 802.11g against 802.11b stations, propagation and errors.

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

#[allow(clippy::float_arithmetic)] // A closed form, never in the path of a packet.
pub mod bianchi;
mod capacity;
mod phy;
mod rate;

pub use capacity::{TcpShape, adwiser_80211b, mixed_capacity, tcp_capacity, time_fair_weight};
pub use phy::{LLC_SNAP, MAC_HEADER_AND_FCS, Phy, PhyError, Preamble};
pub use rate::{PhyRate, Standard, UnknownStandard};
