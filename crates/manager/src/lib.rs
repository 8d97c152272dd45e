//! The inline manager, sans I/O.
//!
//! It sits between the wire and the access points and releases only as many packets as keep the medium of each
//! contention domain busy. The queue therefore forms in the manager and not in the access points. The manager decides
//! which station is served next and sends a congestion signal to the senders of standing queues.
//!
//! IP packets toward the WLAN are held and released in the order of a hierarchical fair queue, by virtual length: an
//! ACK is charged for the DATA that it releases, and with other protocols the next packet for what has come from the
//! WLAN. Frames that are not IP are flows by their addresses and EtherType. Control of the network (ARP, neighbour discovery,
//! DHCP, 802.1X, spanning tree) passes at once within a budget, and frames to groups within a share of the medium; their airtime
//! is charged.
//!
//! Nothing in one direction of a flow overtakes an earlier packet of it. A flow is identified by protocol, addresses
//! and ports; IP fragments do not name ports, are a flow of their own, and so may overtake whole packets between the
//! same ports. Every frame leaves by the side opposite to the one it came in by, or is dropped, as in a repeater:
//! unlike a bridge, a manager does not know which frames need not cross.
//!
//! Source: Hegde, Kumar, Vasudev, Sowmya, Anand, Kumar, Kuri, "Experiences With a Centralized Scheduling Approach for
//! Performance Management of IEEE 802.11 Wireless LANs", IEEE/ACM ToN 21(2), 2013.
//!
//! [`Manager`] is a state machine: inputs go in by `handle_*(now, ...)`, decisions come out by
//! [`Manager::poll_output`] until there is none, and [`Manager::poll_deadline`] gives the time of the next call of
//! [`Manager::handle_timeout`]. The same inputs at the same instants give the same decisions: crate `evenair-recording`
//! writes the inputs down and plays them back.
//!
//! If the Internet link is configured ([`WanConfig`]), packets over it also wait for a server of its rate, in each
//! direction.
//!
//! Packets toward the wire pass at once, unless uploads are limited ([`UplinkLimit`]), with or without queues toward
//! the WLAN.
//!
//! What is not here: packet bytes, clocks, the querying of telemetry (reports come in as [`Observation`]).
//!
//! A driver keeps the packets' bytes; here a number stands for them:
//!
//! ```
//! use evenair_manager::{Command, Config, Manager, Output};
//! use evenair_packet::{Port, parse};
//! use evenair_units::{Instant, Span};
//! use evenair_wifi::{Phy, Standard};
//!
//! let mut now = Instant::ZERO;
//! let mut manager = Manager::new(Config::new(Phy::default_for(Standard::Dot11g)), now);
//! manager.handle_command(now, Command::Insert);
//! // An ARP request to all, from the wire.
//! let mut frame = vec![0xff; 6];
//! frame.extend([2, 0, 0, 0, 0, 1, 0x08, 0x06]);
//! frame.extend([0; 46]);
//! manager.handle_packet(now, 1, &parse(Port::Wire, &frame));
//! let mut sent = Vec::new();
//! for _ in 0..10 {
//!     while let Some(output) = manager.poll_output() {
//!         match output {
//!             Output::Release { packet, port, edits } => {
//!                 edits.apply(&mut frame);
//!                 sent.push((packet, port));
//!             }
//!             Output::Drop { packet, reason } => panic!("packet {packet} is dropped: {reason:?}"),
//!             // Only if the configuration names the address that probes come from.
//!             Output::Probe { .. } | Output::Consume { .. } => unreachable!("this driver sends no probes"),
//!             Output::Event(event) => println!("{event:?}"),
//!         }
//!     }
//!     // Until the next packet comes or the deadline passes; a driver would wait for both.
//!     let Some((deadline, _reason)) = manager.poll_deadline() else { break };
//!     now = deadline;
//!     manager.handle_timeout(now);
//! }
//! assert_eq!(sent, [(1, Port::Wlan)]);
//! ```

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

mod airtime_model;
mod api;
mod collection;
mod config;
mod domain;
mod flows;
mod held;
mod ids;
mod index;
mod latency;
mod loss;
mod manager;
mod pacer;
mod packet_cost;
mod queues;
mod receiver;
mod stations;
mod uplink;
mod voice;
mod wan;

pub use api::{
    CallReport, ClassReport, Command, Counters, DomainReport, Event, FlowReport, Hop, HopReport, Mode, Observation,
    Output, PathReport, ProbeState, QueueReport, RateSource, Reason, ReceiverReport, Report, StationReport,
};
pub use collection::{Collected, Collection, Part};
pub use config::Config;
pub use config::error::ConfigError;
pub use config::without::{Mechanism, Without};
pub use domain::groups::{GroupReport, GroupShare};
pub use evenair_sched::{BucketConfig, CodelConfig};
pub use evenair_units::causes::{Cause, DropReason, Drops};
pub use evenair_units::counters::{Counted, Counter, StationCounted, StationCounter};
pub use ids::{ClassId, Direction};
pub use latency::delays::DelayReport;
pub use latency::{DOUBLINGS, Latency, Leg, Times};
pub use loss::{LossCounts, Losses};
pub use manager::Manager;
pub use pacer::config::ReleaseLimits;
pub use pacer::controller::{self, Controller};
pub use pacer::guard::{GuardConfig, GuardReport, GuardState, GuardStep};
pub use pacer::probes::config::ProbeConfig;
pub use pacer::rate::Charge;
pub use queues::classes::{
    Amount, Application, Class, ClassError, ClassTree, Label, LabelError, Level, Policy, Rule, Takes,
};
pub use queues::discipline::config::{LeafRule, QueueConfig};
pub use receiver::{DelayLaw, ReceiverConfig, ReceiverError, WindowLaw};
pub use stations::access_points::{AccessPoint, AccessPointError, MacPrefix, Place};
pub use stations::config::StationConfig;
pub use stations::reports::{RateReport, ReportCounts, ReportedRate, RssiClass, RssiConfig, RssiError};
pub use uplink::{LimitRule, Steps, UplinkLimit, UplinkReport};
pub use voice::{Codec, Combination, Refusal, SpeechReport, VoiceConfig, VoiceError};
pub use wan::config::WanConfig;
pub use wan::leases::{Lease, LinkNeed, LinkShare, Turn};
