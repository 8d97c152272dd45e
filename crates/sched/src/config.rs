//! The parameters of a discipline, to select one at run time.

use alloc::boxed::Box;

use evenair_units::{Bytes, Limit};

use crate::{
    Cake, CakeConfig, Cbq, CbqConfig, CodelQueue, CodelQueueConfig, Discipline, Drr, DrrConfig, Fifo, FqCodel,
    FqCodelConfig, Htb, HtbConfig, LasAck, LasAckConfig, Packet, Whtb, WhtbConfig,
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
    /// CAKE.
    Cake(CakeConfig),
    /// LAS-ACK.
    LasAck(LasAckConfig),
    /// HTB.
    Htb(HtbConfig),
    /// WHTB.
    Whtb(WhtbConfig),
    /// CBQ.
    Cbq(CbqConfig),
}

impl Config {
    /// Whether such a discipline can be, and would ever serve.
    ///
    /// # Errors
    /// What is wrong with it, to follow "a queue discipline ".
    pub fn check(&self) -> Result<(), &'static str> {
        match self {
            Self::Fifo(limit) | Self::Codel(_, limit) => admits(*limit),
            Self::Drr(config) => admits(config.limit).and_then(|()| positive(config.quantum)),
            Self::FqCodel(config) if config.flows == 0 || config.flows > MAX_QUEUES => Err("has no queue, or too many"),
            Self::FqCodel(config) => admits(config.limit).and_then(|()| positive(config.quantum)),
            Self::Cake(config) if config.queues == 0 || config.queues > MAX_QUEUES => Err("has no queue, or too many"),
            Self::Cake(config) => admits(config.limit).and_then(|()| positive(config.quantum)),
            Self::LasAck(config) if config.floor == Some(0) => Err("serves each zeroth packet first"),
            Self::LasAck(config) => admits(config.limit),
            Self::Htb(config) => config.check(),
            Self::Whtb(config) => config.tree.check(),
            Self::Cbq(config) => config.check(),
        }
    }

    /// Such a discipline, empty. `seed` takes the place of the configured one where it hashes.
    pub fn build<P: Packet + Send + 'static>(&self, seed: u64) -> Box<dyn Discipline<P> + Send> {
        match self {
            Self::Fifo(limit) => Box::new(Fifo::new(*limit)),
            Self::Codel(config, limit) => Box::new(CodelQueue::new(*config, *limit)),
            Self::Drr(config) => Box::new(Drr::new(*config)),
            Self::FqCodel(config) => Box::new(FqCodel::new(FqCodelConfig { seed, ..*config })),
            Self::Cake(config) => Box::new(Cake::new(CakeConfig { seed, ..*config })),
            Self::LasAck(config) => Box::new(LasAck::new(*config)),
            Self::Htb(config) => Box::new(Htb::new(config.clone(), seed)),
            Self::Whtb(config) => Box::new(Whtb::new(config.clone(), seed)),
            Self::Cbq(config) => Box::new(Cbq::new(config.clone(), seed)),
        }
    }

    /// Whether it may be the queue in the leaf of a tree: it has a packet whenever it holds one.
    pub(crate) const fn is_for_leaves(&self) -> bool {
        !matches!(self, Self::Htb(_) | Self::Whtb(_) | Self::Cbq(_))
    }
}

/// More queues would be memory for nothing.
const MAX_QUEUES: u32 = 1 << 20;

fn admits(limit: Limit) -> Result<(), &'static str> {
    const FULL_SIZE: Bytes = Bytes(1500);
    if limit.admits(0, Bytes::ZERO, FULL_SIZE) { Ok(()) } else { Err("has no room for a packet of 1500 bytes") }
}

fn positive(quantum: Bytes) -> Result<(), &'static str> {
    const MOST: Bytes = Bytes(1_000_000_000);
    if quantum > Bytes::ZERO && quantum <= MOST { Ok(()) } else { Err("has a quantum of nothing, or above 1 GB") }
}
