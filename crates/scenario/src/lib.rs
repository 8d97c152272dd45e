//! The scenario file format and the results format.
//!
//! A scenario is one experiment: the radio, the hosts and their traffic, the events, the measurements, and published
//! results to compare with. The simulator and the testbed run the same file. [`Scenario::load`] reads one; both report a
//! [`results::RunResult`].
//!
//! The crate runs nothing. Each engine converts the scenario's types to its own; the conversion that both have in common,
//! the rules of the medium, is here (`air`). So are the queues in front of it (`air_queues`), which only the simulator
//! uses: the testbed rejects a scenario with them.

mod access_point_spec;
mod air;
mod air_queues;
mod capacity;
pub mod causes;
mod check;
mod class_spec;
pub mod config;
mod datagrams;
mod distribution;
mod flows;
mod internet_spec;
mod layout;
mod manager_queue;
mod manager_spec;
mod phy_spec;
mod policy;
mod profile;
mod raw;
mod receiver_spec;
pub mod results;
mod schema;
pub mod sweep;
mod trace;
mod traffic_words;
mod types;
mod uplink_limit;
pub mod voice;
mod voice_spec;
mod words;
mod written_units;

pub use access_point_spec::{AccessPointSpec, RadioName};
pub use air::{AccessPointPlan, AirPlan, StationPlan};
pub use air_queues::{AirQueues, Fate, QueueSpec, Tag, Unsent};
pub use class_spec::{ApplicationSpec, ClassSpec, MatchSpec};
pub use config::ConfigError as ScenarioError;
pub use datagrams::{Bursts, Datagram, DatagramSource, DatagramSpec, Spacing};
pub use distribution::Distribution;
pub use flows::{FileSource, FlowArrival, FlowArrivals, FlowSpec, OnOffSpec, Spread};
pub use internet_spec::InternetSpec;
pub use layout::Layout;
pub use manager_spec::{ControllerKind, Fairness, LevelKind, ManagerSpec};
pub use phy_spec::PhySpec;
pub use policy::{Policy, PolicyError};
pub use raw::{QueueClassRaw, QueueRaw};
pub use receiver_spec::ReceiverSpec;
pub use schema::schema;
pub use sweep::Axis;
pub use types::*;
pub use uplink_limit::{RuleKind, UplinkLimitSpec};
pub use voice_spec::VoiceSpec;
