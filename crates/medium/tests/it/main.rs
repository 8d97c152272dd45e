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
use evenair_units::BitRate;
use evenair_wifi::{Phy, PhyRate, Standard};

fn config(standard: Standard, after_collision: AfterCollision) -> MediumConfig {
    MediumConfig { after_collision, ..MediumConfig::new(Phy::default_for(standard)) }
}

fn rate(standard: Standard, mbps: u64) -> PhyRate {
    standard.rate(BitRate::from_mbps(mbps)).unwrap()
}

fn unlimited() -> NodeConfig {
    NodeConfig::dcf(Limit::Unlimited)
}
