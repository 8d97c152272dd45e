//! The inline manager, sans I/O.
//!
//! It sits between a wire and access points and releases no more than keeps their media busy, each for itself, so that the queue forms here and not in the access points; then it decides who gets what, and tells senders
//! whose queue stands.
//! IP packets toward the WLAN are held and released in the order of a hierarchical fair queue, by virtual length: an
//! ACK stands for the data it releases, and of other protocols the next packet for what has come from the WLAN. Control
//! of the network (ARP, neighbour discovery, DHCP, 802.1X, spanning tree), groups and what is not IP pass at once; what
//! they cost the medium is charged.
//!
//! Nothing in one direction of a flow passes an earlier packet of it. A flow is told by protocol, addresses and ports; IP
//! fragments do not name ports, are a flow of their own, and so may pass whole packets between the same ports.
//! Every frame leaves by the side opposite to the one it came in by, or is dropped, as in a repeater: a manager does
//! not know, as a bridge does, which frames need not cross.
//!
//! Source: Hegde, Kumar, Vasudev, Sowmya, Anand, Kumar, Kuri, "Experiences With a Centralized Scheduling Approach for
//! Performance Management of IEEE 802.11 Wireless LANs", IEEE/ACM ToN 21(2), 2013.
//!
//! [`Manager`] is a state machine: inputs go in by `handle_*(now, ...)`, decisions come out by
//! [`Manager::poll_output`] until there is none, [`Manager::poll_deadline`] tells when to call
//! [`Manager::handle_timeout`]. The same inputs at the same instants give the same decisions; [`record`] writes them
//! down and plays them back.
//!
//! Where the Internet link is told of ([`WanConfig`]), packets over it wait for a server of its rate as well, in each
//! direction.
//!
//! Packets toward the wire pass at once, unless uploads are limited ([`UplinkLimit`]), alone or beside the holding.
//!
//! What is not here: packet bytes, clocks, wireless telemetry (it comes in as [`Observation`]).

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

mod access_points;
mod answers;
mod api;
mod causes;
mod classes;
mod config;
mod config_codec;
mod cost;
mod datagrams;
mod delays;
mod discipline;
mod domain;
mod flow;
mod guard;
mod index;
mod lag;
mod leases;
mod load;
mod manager;
mod neighbours;
mod observed;
mod pacer;
mod queues;
mod rate;
mod receiver;
pub mod record;
mod server;
mod sparse;
mod speed_steps;
mod standing;
mod station;
mod tcp;
mod told;
mod traffic;
mod uplink;
mod voice;
mod wan;
mod watched;

pub use access_points::{AccessPoint, AccessPointError, MacPrefix, Place};
pub use api::{
    CallReport, ClassReport, Command, Counters, Direction, DomainReport, Event, FlowReport, Hop, HopReport, Mode,
    Observation, Output, QueueReport, Reason, ReceiverReport, Report, StationReport,
};
pub use causes::{Cause, Counts, DropReason, Drops};
pub use classes::{Amount, Application, Class, ClassError, ClassTree, Label, LabelError, Rule, Takes};
pub use config::{
    Charge, ClassId, Config, ConfigError, Controller, LeafRule, Level, Policy, QueueConfig, StationConfig, WanConfig,
};
pub use delays::DelayReport;
pub use evenair_sched::{BucketConfig, CodelConfig};
pub use guard::{GuardReport, GuardState, GuardStep};
pub use leases::{LEASE, Lease, LinkNeed, LinkShare, Turn};
pub use manager::Manager;
pub use receiver::{DelayLaw, ReceiverConfig, ReceiverError, WindowLaw};
pub use told::{Told, ToldCounts, ToldReport};
pub use uplink::{LimitRule, Steps, UplinkLimit, UplinkReport};
pub use voice::{Codec, Refusal, SpeechReport, VoiceConfig, VoiceError};
