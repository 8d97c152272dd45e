//! Real hosts in network namespaces joined by a simulated radio in real time.
//!
//! One process runs the radio. Every host is a network namespace with the kernel's real TCP; between them the 802.11 medium and
//! the wired links are simulated in real time. The box is in line between the access point and the wire, as at a real site, and
//! is the deployed program.
//!
//! ```text
//! station ~ TAP ~ medium ~ access point ~ TAP ap0 [bridge or box] TAP wire0 ~ LAN switch ~ TAP ~ LAN host
//!                                                                                    `~ router ~ Internet link ~ WAN host
//! ```
//!
//! Namespaces are anonymous and children are tied to this process, so that a run leaves nothing behind however it ends.
//!
//! From the bottom up: [`plan`] (addresses), [`switch`], [`vlan`], [`wire`], [`paths`] and [`air`] (the model, in event time), [`owners`], [`meter`],
//! [`senders`] and [`lateness`] (counters), [`machine`] and [`topology`] (namespaces and devices), [`waiter`] and [`radio`] (the real-time
//! loop).

pub mod agent;
pub mod air;
mod airtime;
mod calls;
pub mod collect;
mod domains;
mod engine;
pub mod error;
mod exec;
pub mod fleet;
pub mod lateness;
pub mod machine;
pub mod management;
pub mod meter;
pub mod middlebox;
mod options;
pub mod owners;
pub mod paths;
pub mod plan;
pub mod preflight;
pub mod radio;
pub mod reference;
mod reported_senders;
pub mod results;
mod run;
pub mod rundir;
pub mod senders;
pub mod switch;
pub mod tasks;
pub mod topology;
pub mod vlan;
pub mod waiter;
pub mod wire;

pub use error::TestbedError;
pub use exec::exec;
pub use options::TestbedOptions;
pub use run::run;
