//! Drivers that ask access points and controllers for their stations: rates, signals, losses.
//!
//! Each driver is a [`Source`]: asked once, it tells what somebody says now, right or wrong. Nothing is judged here but
//! form; whether to believe it is the manager's business, which works without any of this as well. What comes over the
//! network is bounded in time and size, and nothing that an access point answers brings a program down.
//!
//! - [`snmp`]: SNMP v2c and v3, with the vendors' tables as data;
//! - [`unifi`]: the local API of a UniFi controller;
//! - [`ubus`]: OpenWrt's remote procedure calls over HTTP;
//! - [`hostapd`]: hostapd's control socket, where the access point is on this machine;
//! - [`nl80211`]: the kernel's own list of stations, likewise;
//! - [`remote`]: another evenair, on the machine that is the access point.
//!
//! [`Pollers`] asks sources at their intervals, each in a thread of its own, more rarely while they do not answer.

pub mod hostapd;
mod http;
pub mod nl80211;
mod pollers;
pub mod remote;
pub mod snmp;
mod source;
pub mod ubus;
pub mod unifi;

pub use http::Tls;
pub use pollers::{Health, Pollers, Scheduled, poll_once};
pub use source::{AccessPointReading, Reading, Source, StationReading, TelemetryError};
