//! The box: a Linux machine in line between the wired side and the access points.
//!
//! [`run`] drives the manager with real packets in real time: while the box is inserted, it takes packets from the kernel's
//! bridge, lets the manager decide, and sends them on. Whenever the box does not carry the traffic, for any reason, the
//! bridge does (see [`evenair_sys::hold`]). [`control`] is the control interface of the running box.

mod awaited;
mod box_run;
pub mod checks;
mod clock;
pub mod control;
pub mod crash;
mod crossed;
pub mod desk;
mod engine;
pub mod events;
mod express;
mod fail_open;
mod foreign;
pub mod history;
mod http;
mod kinds;
mod last_word;
mod log_limit;
mod management;
mod metrics;
mod names;
mod offload;
mod offloads;
mod pacing;
mod packet_io;
mod pool;
mod port;
mod probes;
mod punctual;
mod recording;
mod run;
mod running;
mod service;
mod shards;
mod slices;
mod snapshot;
mod state;
mod switch;
pub mod telemetry;
#[cfg(test)]
mod tests_support;
mod users;
mod vitals;
mod wall_clock;
mod watch;

pub use box_run::{run, run_when_ready};
pub use offloads::restore_offloads;
pub use recording::{Replay, redact, replay};
