//! The box between real interfaces, with AF_XDP sockets: the same tests as with packet rings. Needs root; skipped, with the reason
//! printed, without.

/// Packet I/O of the box, as in the configuration.
const IO: &str = "af-xdp";

#[path = "../inline/bridge.rs"]
mod bridge;
#[path = "../inline/fail_open.rs"]
mod fail_open;
#[path = "../inline/field_day.rs"]
mod field_day;
#[path = "../inline/lab.rs"]
mod lab;
mod modes;
#[path = "../inline/observing.rs"]
mod observing;
#[path = "../inline/offload.rs"]
mod offload;
#[path = "../inline/switching.rs"]
mod switching;
#[path = "../inline/traffic.rs"]
mod traffic;

/// The box itself, if this program is started by the lab.
#[test]
fn be_the_box() {
    lab::be_the_box();
}
