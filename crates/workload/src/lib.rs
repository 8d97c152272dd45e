//! Traffic of applications and its quality at receivers: distributions, sources of datagrams and of transfers, traces of real
//! traffic, telephone calls with the E-model. The same sources drive the simulator's hosts and the testbed's programs.

mod datagrams;
mod direction;
mod distribution;
mod flows;
mod phase;
pub mod trace;
pub mod voice;
mod written_units;

pub use datagrams::{Bursts, Datagram, DatagramSource, DatagramSpec, Spacing};
pub use direction::Direction;
pub use distribution::Distribution;
pub use flows::{FileSource, FlowArrival, FlowArrivals, FlowSpec, OnOffSpec, Spread};
pub use phase::Phase;
