//! Calibration of a real link: goodput by signal. The sender saturates the link to a station, whose access point reports
//! its signal strength.
//!
//! [`receive`] runs on the station, [`measure`] on a machine on the wired side, for example the bypassed box. During the
//! measurement the operator carries the station around, or varies the access point's transmit power, so that many signal
//! strengths occur. A window of n packets gives one pair of signal and goodput, as published; the signal comes from the
//! reports before and after the window.
//!
//! Source: see `evenair_study::calibration`, which computes the table from the pairs.
//!
//! Not here: uploads, and links without any loss, where saturation cannot be detected.

mod frames;
mod link;
mod pairs;
mod sink;

pub use link::{Link, LinkSample, measure};
pub use pairs::Pairs;
pub use sink::receive;

/// The shortest payload of a probe, in bytes: its head.
pub const LEAST_PAYLOAD: usize = frames::PROBE_HEAD;
