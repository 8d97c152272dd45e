//! The packet path of a box: a Linux machine in line between the wired side and the access points.
//!
//! A [`PacketPath`] drives the manager with real packets in real time: while the box is inserted, it takes packets from the kernel's
//! bridge, lets the manager decide, and sends them on. Whenever the box does not carry the traffic, for any reason, the
//! bridge does (see [`evenair_sys::fail_open`]).
//!
//! Other threads send requests through [`control`] and get a [`Snapshot`], take events out of [`events`], and are called as its
//! [`ManagementPlane`]. Not here: these threads, which are in `evenair-serve`.

mod af_xdp;
mod awaited;
pub mod checks;
mod clock;
pub mod control;
pub mod crash;
mod engine;
pub mod events;
mod fail_open;
mod log_limit;
mod management;
mod offload;
mod offloads;
mod other_programs;
mod pacing;
mod packet_io;
mod pool;
mod port;
mod probes;
mod protocol_counters;
mod real_time;
mod recording;
mod run;
mod service;
mod shards;
mod slices;
mod snapshot;
mod switchover;
mod telemetry;

pub use awaited::{PortLost, has_ports, wait_for_ports};
pub use fail_open::FailOpen;
pub use management::ManagementPlane;
pub use offloads::restore_offloads;
pub use recording::{Replay, redact, replay};
pub use run::{PacketPath, Surroundings};
pub use service::Ending;
pub use snapshot::Snapshot;
