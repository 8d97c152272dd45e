//! Calibration of a real link: goodput by signal, from a station that is sent more than the medium carries while its access
//! point tells how well it hears it.
//!
//! Two ends: [`receive`] runs on the station, [`measure`] on a machine on the wired side, the box for instance, bypassed.
//! While it runs somebody carries the station about, or turns the access point's power up and down, so that many signals
//! occur. A window of n packets gives one pair of signal and goodput, as published; the signal is what the access point told
//! before and after.
//!
//! Source: as `evenair_study::calibration`, which makes the table of the pairs.
//!
//! Not here: uploads, and links on which nothing is ever lost, since then nothing says that the medium was full.

mod frames;
mod link;
mod pairs;
mod sink;

pub use link::{Glance, Link, measure};
pub use pairs::{Measured, Pairs};
pub use sink::receive;

/// The port on which a station receives, unless another is chosen; of the range for private use (RFC 6335, section 6).
pub const PORT: u16 = 49_571;
/// The shortest payload of a probe, in bytes: its head.
pub const LEAST_PAYLOAD: usize = frames::PROBE_HEAD;
