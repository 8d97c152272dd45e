//! The management plane of a box, and the whole box: beside the packet path (`evenair-live`), threads reply to operators on the control
//! socket ([`control`]), publish the state second by second on the watch socket, serve metrics to a monitoring system, and keep history
//! ([`history`]) and names of stations.
//!
//! [`run`] starts all of them. None delays a packet: each requests a snapshot from the path, and computes from it what it shows.

pub mod control;
mod crossed;
pub mod history;
mod http;
mod listen;
mod metrics;
mod names;
mod persisted_mode;
mod run;
mod running;
mod state;
#[cfg(test)]
mod tests_support;
mod users;
mod vitals;
mod wall_clock;
mod watch;

pub use listen::Listener;
pub use run::{run, run_when_ready};
