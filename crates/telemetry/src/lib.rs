//! Drivers that poll access points and controllers for their stations: rates, signals, losses.
//!
//! Each driver is a [`Source`]: a poll returns its current report, which may be wrong. Drivers check only the syntax; the
//! manager checks the plausibility of reports, and also works without them. Replies are bounded in time and size, and no reply
//! of an access point can crash a program.
//!
//! - [`snmp`]: SNMP v2c and v3, with the vendors' tables as data;
//! - [`unifi`]: the local API of a UniFi controller;
//! - [`routeros`]: MikroTik RouterOS 7, by its REST API;
//! - [`ubus`]: OpenWrt's remote procedure calls over HTTP;
//! - [`hostapd`]: hostapd's control socket, where the access point is on this machine;
//! - [`nl80211`]: the kernel's own list of stations, likewise;
//! - [`remote`]: another evenair, on the machine that is the access point.
//!
//! [`Pollers`] polls sources at their intervals, each in a separate thread, less often while they do not respond.

pub mod hostapd;
mod http;
mod mode;
pub mod nl80211;
mod pollers;
pub mod remote;
pub mod routeros;
pub mod snmp;
mod source;
mod tls;
pub mod ubus;
pub mod unifi;

pub use http::Tls;
pub use mode::ReportedMode;
pub use pollers::{Health, Pollers, Scheduled, poll_once};
pub use source::{AccessPointReading, Credentials, Reading, Source, StationReading, TelemetryError};
