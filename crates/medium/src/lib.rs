//! The 802.11 MAC in event time, generic over the frame: DCF and EDCA (IEEE Std 802.11-2016, clauses 10.3 and 10.22.2), with
//! or without hidden nodes.
//!
//! A [`Medium`] holds access points and stations, each with a drop-tail buffer. It decides which node sends when, which
//! frames collide or are lost, and when each is received. It uses no clock: a simulator drives it from event to event, the
//! testbed in real time, through the same calls. Idle slots cost nothing (see `shared_channel`).
//!
//! As in the standard:
//! - Back-off from a window that doubles up to its maximum with each failure, frozen while the medium is busy; back-off after
//!   each access even without another frame to send; immediate access for a frame that arrives at a node whose back-off has
//!   expired while the medium is silent; retry limits; RTS and CTS above a threshold.
//! - EDCA: four EDCAFs in a node, each with its queue, inter-frame space, contention windows and retry counters; slots
//!   counted at their boundaries, one more in each busy period than with DCF; internal collisions; TXOPs of several frames.
//!   Nodes with DCF and with EDCA share a medium.
//! - After a collision the senders wait for their response timeout and then DIFS, the bystanders EIFS.
//! - A frame whose ACK is lost is sent again, and its receiver drops the copy.
//! - Aggregation ([`Aggregation`]): an access sends frames for one receiver as an A-MPDU; each MPDU is acknowledged and
//!   repeated separately, and the receiver passes them up in order (10.25 of the edition of 2020).
//! - In addition to the standard: Idle Sense, and constant windows in place of those of DCF.
//! - Optional management traffic: beacons, power-saving stations and overlapping BSS (`management`).
//!
//! Reception and the choice of rates are in `reception` and `rate_control`: bit errors, signal-based errors, capture, rate
//! control schemes.
//!
//! [`Medium`] has two engines. If all nodes hear each other, the medium is busy or silent for all alike, and the engine
//! handles one access at a time (`shared_channel`), which is fast. With hidden nodes ([`Medium::with_hidden_nodes`]) each
//! node senses for itself and frames go out one by one (`carrier_sense`). Both share nodes, queues, retry rules, counters,
//! events and reception.
//!
//! Modules, each above those that it uses:
//!
//! ```text
//! medium                          the public interface: nodes, frames, time
//! engine, management              who sends when; what nodes send by themselves
//! shared_channel, carrier_sense   the two engines
//! mac, bursts                     what both do with a frame, or with a burst of them: attempt, delivery, retry, report
//! accounts, nodes                 airtime; queues and who has work
//! edcaf, node, config             one queue with its window; one node; settings
//! tx_queues, block_ack            queues by receiver; the two ends of a block-ack agreement
//! reception, rate_control, ...    mechanisms that know no other
//! frame, counters, ppdus          what goes in and comes out
//! ```
//!
//! Simplified:
//! - Immediate access begins at the next slot boundary, on the grid set by the last frame on the air, so that two frames that
//!   arrive within one slot collide. On average it begins half a slot late.
//! - All nodes sense a frame as soon as it starts: there is no propagation delay.
//! - Bystanders decode every frame that nothing overlaps, whether its receiver can or not.
//! - A frame dropped at a retry limit is reported when the medium falls silent, not at the timeout soon after.
//! - A TXOP reserves the medium with RTS for its first frame only, and ends with the first failure. A frame longer than the
//!   TXOP limit is sent alone, without fragmentation.
//!
//! - Nodes that aggregate use the rates of their frames or [`RateControl::MinstrelHt`]'s; block-ack agreements exist from the
//!   first frame on; and an A-MPDU that overlaps another frame is lost entirely unless it is captured.
//!
//! Not here: OFDMA, other management frames.
//!
//! ```
//! use evenair_medium::{AccessCategory, Event, Limit, Medium, MediumConfig, Mpdu, NodeConfig, To};
//! use evenair_units::{BitRate, Bytes, Instant, Streams};
//! use evenair_wifi::{Phy, Standard};
//!
//! let mut medium = Medium::new(MediumConfig::new(Phy::default_for(Standard::Dot11a)), &Streams::new(1));
//! let ap = medium.add_node(NodeConfig::dcf(Limit::Packets(100)));
//! let station = medium.add_node(NodeConfig::dcf(Limit::Packets(100)));
//! let rate = Standard::Dot11a.rate(BitRate::from_mbps(54)).expect("a rate of 802.11a");
//! let category = AccessCategory::BestEffort;
//! let mpdu = Mpdu { to: To::Node(station), msdu: Bytes(1_500), rate, category, frame: "a packet" };
//! medium.handle_frame(Instant::ZERO, ap, mpdu);
//! // The driver advances the time from deadline to deadline and takes out what has happened.
//! let mut received = None;
//! while let Some(deadline) = medium.poll_deadline() {
//!     medium.handle_timeout(deadline);
//!     while let Some(event) = medium.poll_event() {
//!         if let Event::Delivered { frame, attempts, .. } = event {
//!             received = Some((frame, attempts));
//!         }
//!     }
//! }
//! assert_eq!(received, Some(("a packet", 1)));
//! ```

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

mod accounts;
mod aggregation;
mod airtimes;
mod attempt;
mod backlog;
mod block_ack;
mod burst_bounds;
mod bursts;
mod carrier_sense;
mod config;
mod counters;
mod edcaf;
mod engine;
mod feedback;
mod frame;
mod idle_sense;
mod mac;
mod management;
mod medium;
mod node;
mod nodes;
mod oldest;
mod ppdus;
mod rate_control;
mod reception;
mod shared_channel;
mod tx_queues;
mod watch;

pub use aggregation::{Aggregation, Order, Recover};
pub use backlog::BacklogChain;
pub use config::{AfterCollision, BackOff, MediumConfig, NodeConfig};
pub use counters::{Counters, MeasuredAirtime, MeasuredTotals, OverheadAirtime, QueueState, Totals};
pub use evenair_units::Limit;
pub use evenair_wifi::{AccessCategory, EdcaSet};
pub use frame::{DropReason, Event, Mpdu, NodeId, To};
pub use idle_sense::{Adaptation, IdleSenseConfig};
pub use management::{Beacons, Obss, PowerSave};
pub use medium::Medium;
pub use ppdus::{PpduCounters, RateCounters};
pub use rate_control::RateControl;
pub use reception::{Antenna, Capture, Interference, Reception};
pub use watch::{BurstOnAir, Kind, MpduOnAir, OnAir, Transmission, TxStatus};
