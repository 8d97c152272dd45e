//! The box between real interfaces, with packets through AF_XDP sockets: what must hold with packet rings must hold with these,
//! and so the tests are the same. Needs root; skipped, with the reason printed, without.

/// How packets come in and go out, as the configuration says it.
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

/// The box itself, when this program is started by the lab.
#[test]
fn be_the_box() {
    lab::be_the_box();
}
