//! Facts and closed forms of IEEE 802.11, in one place for the simulator, the testbed and the manager.
//!
//! - [`Standard`], [`PhyRate`], [`Phy`]: rates, inter-frame spaces, contention windows, and airtimes of frames.
//!   Integers only.
//! - [`PhyMode`]: the modes of 802.11n, ac and ax, which are rates too; [`AggregateLimits`]: limits of aggregates.
//!   Integers only.
//! - [`AccessCategory`], [`EdcaParameters`]: EDCA's categories and their default parameters. Integers only.
//! - [`tcp_capacity`], [`mixed_capacity`]: goodput of TCP at one rate, and at a mixture of rates; [`AggregateSender`],
//!   [`AggregateCost`]: goodput with aggregation, and airtime of a packet in an aggregate. Integers only.
//! - [`bianchi`]: the saturation throughput of DCF. Floats, through one deterministic maths library.
//! - [`power`]: path loss, noise, interference; [`errors`]: loss probabilities by signal-to-noise ratio. Integers at
//!   the interface, floats within.
//!
//! Not here: a medium with stations (the `medium` crate), several users in one frame (OFDMA, MU-MIMO), 802.11be, fading
//! and shadowing.
//!
//! ```
//! use evenair_units::{BitRate, Bytes};
//! use evenair_wifi::bianchi::Model;
//! use evenair_wifi::{Phy, Standard};
//!
//! let phy = Phy::default_for(Standard::Dot11a);
//! let rate = Standard::Dot11a.rate(BitRate::from_mbps(54)).expect("a rate of 802.11a");
//! // Ten saturated stations (Bianchi, 2000).
//! let solution = Model::basic_access(&phy, 10, Bytes(1_500), rate).solve();
//! assert!((0.2..0.4).contains(&solution.p), "{}", solution.p);
//! ```

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

mod aggregate;
mod aggregate_capacity;
#[allow(clippy::float_arithmetic)] // A closed form, never in the path of a packet.
pub mod bianchi;
mod capacity;
mod edca;
#[allow(clippy::float_arithmetic)] // Closed forms, whose results a medium keeps.
pub mod errors;
#[allow(clippy::float_arithmetic)] // Closed forms, of which a medium is made.
pub mod idle_sense;
mod mode;
mod phy;
#[allow(clippy::float_arithmetic)] // As above.
pub mod power;
mod rate;

pub use aggregate::{
    A_MSDU_HEADER, AggregateLimits, AggregateSize, RateLimits, a_mpdu_bytes, a_msdu_bytes, full_aggregate,
};
pub use aggregate_capacity::{AggregateCost, AggregateSender, AggregateTcp, collision_millionths};
pub use capacity::{TcpShape, adwiser_80211b, mixed_capacity, tcp_capacity, time_fair_weight};
pub use edca::{AccessCategory, EdcaParameters, EdcaProfile, EdcaSet, UnknownCategory};
pub use errors::BitErrorRate;
pub use mode::{Format, GuardInterval, ModeError, ModeTextError, PhyMode, Width};
pub use phy::{
    ACK_CTS, BLOCK_ACK_REQUEST, CF_END, LLC_SNAP, MAC_HEADER_AND_FCS, Phy, PhyError, PpduTimes, Preamble, QOS_CONTROL,
    RTS, block_ack_size,
};
pub use power::{PathLoss, Position, noise_floor, thermal_noise};
pub use rate::{Band, PhyRate, Standard, UnknownStandard};
