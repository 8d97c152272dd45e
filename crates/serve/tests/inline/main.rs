//! The box between real interfaces. Needs root; skipped, with the reason printed, without.

/// Packet I/O of the box, as in the configuration.
const IO: &str = "af-packet";

mod alike;
mod attacks;
mod behind_radio;
mod bridge;
mod control;
mod fail_open;
mod field_day;
mod guard;
mod health;
mod history;
mod lab;
mod metrics;
mod names;
mod observing;
mod offload;
mod outage;
mod probes;
mod radio;
mod router;
mod shards;
mod soak;
mod switching;
mod telemetry;
mod traffic;
mod trunk;
mod watch;

/// The box itself, if this program is started by the lab.
#[test]
fn be_the_box() {
    lab::be_the_box();
}
