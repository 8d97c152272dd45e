//! A discipline by its parameters, for who lets others choose.

use alloc::boxed::Box;

use evenair_units::Limit;

use crate::{
    CodelQueue, CodelQueueConfig, Discipline, Drr, DrrConfig, Fifo, FqCodel, FqCodelConfig, Htb, HtbConfig, LasAck,
    LasAckConfig, Packet,
};

/// Which discipline, with what parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Config {
    /// Drop-tail.
    Fifo(Limit),
    /// CoDel in one queue with this limit.
    Codel(CodelQueueConfig, Limit),
    /// Deficit round robin.
    Drr(DrrConfig),
    /// FQ-CoDel.
    FqCodel(FqCodelConfig),
    /// LAS-ACK.
    LasAck(LasAckConfig),
    /// HTB.
    Htb(HtbConfig),
}

impl Config {
    /// Such a discipline, empty. `seed` takes the place of the configured one where it hashes.
    pub fn build<P: Packet + Send + 'static>(&self, seed: u64) -> Box<dyn Discipline<P> + Send> {
        match self {
            Self::Fifo(limit) => Box::new(Fifo::new(*limit)),
            Self::Codel(config, limit) => Box::new(CodelQueue::new(*config, *limit)),
            Self::Drr(config) => Box::new(Drr::new(*config)),
            Self::FqCodel(config) => Box::new(FqCodel::new(FqCodelConfig { seed, ..*config })),
            Self::LasAck(config) => Box::new(LasAck::new(*config)),
            Self::Htb(config) => Box::new(Htb::new(config.clone(), seed)),
        }
    }
}
