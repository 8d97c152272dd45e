//! Tests of the medium through its public calls.

mod aggregates;
mod agreement;
mod backlog;
mod behaviour;
mod edca;
mod hidden;
mod hidden_pair;
mod idle_sense;
mod invariants;
mod management;
mod measured;
mod oracles;
mod orders;
mod reception;
mod saturation;
mod watch;

use evenair_medium::{AfterCollision, Limit, MediumConfig, NodeConfig};
use evenair_units::{BitRate, Instant, Span};
use evenair_wifi::{Phy, PhyRate, Standard};

/// 802.11b, 1500-byte packets at 11 Mb/s: airtimes of DATA, of ACK and CTS, and of RTS at 2 Mb/s.
const DATA_US: u64 = 1_310;
const ACK_US: u64 = 248;
const RTS_US: u64 = 272;
const CTS_US: u64 = 248;
const SLOT_US: u64 = 20;
const SIFS_US: u64 = 10;
const DIFS_US: u64 = 50;
/// Response timeout: SIFS, a slot, and the long preamble.
const TIMEOUT_US: u64 = 222;

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Span::from_micros(us)
}

fn config(standard: Standard, after_collision: AfterCollision) -> MediumConfig {
    MediumConfig { after_collision, ..MediumConfig::new(Phy::default_for(standard)) }
}

fn rate(standard: Standard, mbps: u64) -> PhyRate {
    standard.rate(BitRate::from_mbps(mbps)).unwrap()
}

fn unlimited() -> NodeConfig {
    NodeConfig::dcf(Limit::Unlimited)
}
