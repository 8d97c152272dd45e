//! Queue disciplines as state machines, generic over the packet.
//!
//! Disciplines, behind the trait [`Discipline`]:
//! - [`Fifo`], drop-tail.
//! - [`CodelQueue`], drops or marks by delay (RFC 8289).
//! - [`Drr`], deficit round robin between flows (Shreedhar and Varghese).
//! - [`FqCodel`], deficit round robin between hashed flows, priority for sparse ones, CoDel in each (RFC 8290).
//! - [`Cake`], FQ-CoDel's structure with equal shares for hosts, and COBALT in each flow (Høiland-Jørgensen,
//!   Täht, Morton).
//! - [`LasAck`], priority for the TCP connection with the least volume (Heusse, Urvoy-Keller, Duda).
//! - [`StationFifo`], a round robin of drop-tail queues, one for each station.
//! - [`Mac80211`], Linux's intermediate queues: FQ-CoDel for each station, equal airtime for stations.
//! - [`Htb`], a tree of rates and ceilings, as in Linux.
//! - [`Whtb`], HTB in airtime, with estimates of the channels (Garroppo, Giordano, Lucetti, Valori).
//! - [`Cbq`], a tree of shares of a link, estimated from idle times between packets (Floyd and Jacobson).
//!
//! Building blocks for other queues:
//! - [`Hsfq`], start-time fair queueing, flat or hierarchical.
//! - [`Codel`], when to signal congestion to the sender of a standing queue.
//! - [`TokenBucket`], which drops packets above a rate, and [`RateMeter`], which estimates a rate.
//!
//! A discipline has no clock and no server: the caller passes the time and signals when the server is free.
//!
//! ```
//! use evenair_sched::{Cause, Discipline, Fifo, Packet};
//! use evenair_units::{Bytes, Instant, Limit};
//!
//! #[derive(Debug, PartialEq)]
//! struct Numbered(u64);
//!
//! impl Packet for Numbered {
//!     fn size(&self) -> Bytes {
//!         Bytes(1_500)
//!     }
//!     fn flow(&self) -> u64 {
//!         self.0 % 2
//!     }
//! }
//!
//! let (now, mut queue) = (Instant::ZERO, Fifo::new(Limit::Packets(2)));
//! (0..3).for_each(|number| queue.handle_packet(now, Numbered(number)));
//! let dropped = queue.poll_drop().expect("there was no room for the last one");
//! assert_eq!((dropped.packet, dropped.cause), (Numbered(2), Cause::Overflow));
//! // Whenever the server is free:
//! assert_eq!(queue.poll_packet(now), Some(Numbered(0)));
//! assert_eq!(queue.len(), 1);
//! ```

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

mod cake;
mod cbq;
mod codel;
mod codel_queue;
mod config;
mod discipline;
mod drr;
mod fifo;
mod fq_codel;
mod hsfq;
mod htb;
mod las_ack;
mod leaves;
mod line;
mod mac80211;
mod rate_meter;
mod station_fifo;
mod tags;
mod token_bucket;
mod whtb;

pub use cake::{Cake, CakeConfig};
pub use cbq::{Cbq, CbqClass, CbqConfig, Sharing};
pub use codel::{Codel, CodelConfig, Verdict};
pub use codel_queue::{CodelQueue, CodelQueueConfig};
pub use config::Config;
pub use discipline::{AirtimeReport, Cause, Discipline, Dropped, Feedback, GROUP, News, Packet, Progress};
pub use drr::{Drr, DrrConfig};
pub use fifo::Fifo;
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use hsfq::Hsfq;
pub use htb::{Htb, HtbClass, HtbConfig, Mode};
pub use las_ack::{LasAck, LasAckConfig, Overflow};
pub use mac80211::{AirtimeLimits, Mac80211, Mac80211Config};
pub use rate_meter::RateMeter;
pub use station_fifo::StationFifo;
pub use tags::NodeId;
pub use token_bucket::{BucketConfig, TokenBucket};
pub use whtb::{ChannelTable, DeliveryConfig, Estimator, Whtb, WhtbConfig};
