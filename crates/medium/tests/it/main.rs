//! Tests of the medium through its public calls.

mod behaviour;
mod invariants;
mod oracles;
mod saturation;

use evenair_medium::{AfterCollision, Limit, MediumConfig, NodeConfig};
use evenair_units::BitRate;
use evenair_wifi::{Phy, PhyRate, Standard};

fn config(standard: Standard, after_collision: AfterCollision) -> MediumConfig {
    MediumConfig {
        phy: Phy::default_for(standard),
        rts_threshold: None,
        short_retry_limit: 7,
        long_retry_limit: 4,
        after_collision,
    }
}

fn rate(standard: Standard, mbps: u64) -> PhyRate {
    standard.rate(BitRate::from_mbps(mbps)).unwrap()
}

fn unlimited() -> NodeConfig {
    NodeConfig { buffer: Limit::Unlimited }
}
