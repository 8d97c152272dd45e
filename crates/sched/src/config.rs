//! Configuration of a discipline that is selected at run time.

use alloc::boxed::Box;

use evenair_units::{Bytes, Limit};
use minicbor::{Decode, Decoder, Encode, decode};

use crate::{
    Cake, CakeConfig, Cbq, CbqConfig, CodelQueue, CodelQueueConfig, Discipline, Drr, DrrConfig, Fifo, FqCodel,
    FqCodelConfig, Htb, HtbConfig, LasAck, LasAckConfig, Mac80211, Mac80211Config, Packet, StationFifo, Whtb,
    WhtbConfig,
};

/// A discipline with its parameters. In recordings, disciplines that must not be in the leaf of a tree have numbers from
/// 64 on, others below.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Config {
    /// Drop-tail.
    #[n(0)]
    Fifo(#[n(0)] Limit),
    /// CoDel in one queue with this limit.
    #[n(1)]
    Codel(#[n(0)] CodelQueueConfig, #[n(1)] Limit),
    /// Deficit round robin.
    #[n(2)]
    Drr(#[n(0)] DrrConfig),
    /// FQ-CoDel.
    #[n(3)]
    FqCodel(#[n(0)] FqCodelConfig),
    /// CAKE.
    #[n(4)]
    Cake(#[n(0)] CakeConfig),
    /// LAS-ACK.
    #[n(5)]
    LasAck(#[n(0)] LasAckConfig),
    /// Round robin of drop-tail queues, one for each station, each with this limit.
    #[n(6)]
    StationFifo(#[n(0)] Limit),
    /// HTB.
    #[n(64)]
    Htb(#[n(0)] HtbConfig),
    /// WHTB.
    #[n(65)]
    Whtb(#[n(0)] WhtbConfig),
    /// CBQ.
    #[n(66)]
    Cbq(#[n(0)] CbqConfig),
    /// Linux's intermediate queues.
    #[n(67)]
    Mac80211(#[n(0)] Mac80211Config),
}

impl Config {
    /// Whether the configuration is valid, and would serve packets.
    ///
    /// # Errors
    /// What is wrong with it, to follow "a queue discipline ".
    pub fn check(&self) -> Result<(), &'static str> {
        match self {
            Self::Fifo(limit) | Self::Codel(_, limit) | Self::StationFifo(limit) => admits(*limit),
            Self::Drr(config) => admits(config.limit).and_then(|()| positive(config.quantum)),
            Self::FqCodel(config) if config.flows == 0 || config.flows > MAX_QUEUES => Err("has no queue, or too many"),
            Self::FqCodel(config) => admits(config.limit).and_then(|()| positive(config.quantum)),
            Self::Cake(config) if config.queues == 0 || config.queues > MAX_QUEUES => Err("has no queue, or too many"),
            Self::Cake(config) => admits(config.limit).and_then(|()| positive(config.quantum)),
            Self::Mac80211(config) if config.queues == 0 || config.queues > MAX_QUEUES => {
                Err("has no queue, or too many")
            }
            Self::Mac80211(config) => admits(config.limit).and_then(|()| config.check()),
            Self::LasAck(config) if config.floor == Some(0) => Err("serves each zeroth packet first"),
            Self::LasAck(config) => admits(config.limit),
            Self::Htb(config) => config.check(),
            Self::Whtb(config) => config.tree.check(),
            Self::Cbq(config) => config.check(),
        }
    }

    /// Builds the discipline, empty. `seed` replaces the configured seed of hashes.
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
            Self::StationFifo(limit) => Box::new(StationFifo::new(*limit)),
            Self::Mac80211(config) => Box::new(Mac80211::new(Mac80211Config { seed, ..config.clone() })),
        }
    }

    /// Makes disciplines with CoDel mark ECN-capable packets instead of dropping them.
    pub fn mark_with_ecn(&mut self) {
        match self {
            Self::Codel(codel, _) => codel.ecn = true,
            Self::FqCodel(config) => config.codel.ecn = true,
            Self::Htb(config) => config.leaf.mark_with_ecn(),
            Self::Whtb(config) => config.tree.leaf.mark_with_ecn(),
            Self::Cbq(config) => config.leaf.mark_with_ecn(),
            // CAKE and the intermediate queues always mark.
            Self::Fifo(_)
            | Self::Drr(_)
            | Self::Cake(_)
            | Self::LasAck(_)
            | Self::StationFifo(_)
            | Self::Mac80211(_) => {}
        }
    }

    /// Whether it may be the queue in the leaf of a tree: it always has a packet when it is not empty.
    pub(crate) const fn is_for_leaves(&self) -> bool {
        !matches!(self, Self::Htb(_) | Self::Whtb(_) | Self::Cbq(_) | Self::Mac80211(_))
    }
}

/// First number of disciplines that may withhold their packets, and so must not be in a leaf.
const FIRST_NOT_FOR_LEAVES: i64 = 64;

/// Decodes the discipline in the leaves of a tree. A recording cannot nest trees, and so cannot exhaust the stack.
pub(crate) fn decode_leaf<'b, C>(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Box<Config>, decode::Error> {
    let at = d.position();
    let mut number = d.probe();
    number.array()?;
    if number.i64()? >= FIRST_NOT_FOR_LEAVES {
        return Err(decode::Error::message("a discipline that is not for leaves in the leaf of a tree").at(at));
    }
    d.decode_with(ctx)
}

/// Maximum number of queues; more would only waste memory.
const MAX_QUEUES: u32 = 1 << 20;

fn admits(limit: Limit) -> Result<(), &'static str> {
    const FULL_SIZE: Bytes = Bytes(1500);
    if limit.admits(0, Bytes::ZERO, FULL_SIZE) { Ok(()) } else { Err("has no room for a packet of 1500 bytes") }
}

fn positive(quantum: Bytes) -> Result<(), &'static str> {
    const MOST: Bytes = Bytes(1_000_000_000);
    if quantum > Bytes::ZERO && quantum <= MOST { Ok(()) } else { Err("has a quantum of nothing, or above 1 GB") }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use evenair_units::{BitRate, Span};

    use super::*;
    use crate::{CbqClass, DeliveryConfig, Estimator, HtbClass, Sharing};

    fn trees(leaf: &Config) -> [Config; 3] {
        let rate = BitRate::from_mbps(1);
        let leaf = || Box::new(leaf.clone());
        let htb = HtbConfig {
            classes: vec![HtbClass::new(rate)],
            default: 0,
            leaf: leaf(),
            hysteresis: true,
            tick: Span::ZERO,
        };
        let class = CbqClass {
            parent: None,
            rate,
            quantum: Bytes(700),
            priority: 3,
            borrows: false,
            isolated: true,
            max_idle: Span::from_micros(90),
            min_idle: None,
            extra_delay: None,
        };
        let cbq = CbqConfig {
            classes: vec![class],
            default: 0,
            leaf: leaf(),
            gain: CbqConfig::GAIN,
            sharing: Sharing::Formal,
        };
        let estimator = Estimator::Delivery(DeliveryConfig::default());
        [Config::Htb(htb.clone()), Config::Whtb(WhtbConfig { tree: htb, estimator }), Config::Cbq(cbq)]
    }

    fn written(config: &Config) -> Vec<u8> {
        let mut bytes = Vec::new();
        minicbor::encode(config, &mut bytes).expect("a vector takes any bytes");
        bytes
    }

    #[test]
    fn leaves_of_a_recording_hold_queues_and_no_trees() {
        let limit = Limit::Packets(300);
        let leaves = [
            Config::Fifo(limit),
            Config::Codel(CodelQueueConfig::default(), limit),
            Config::Drr(DrrConfig::default()),
            Config::FqCodel(FqCodelConfig::default()),
            Config::Cake(CakeConfig::default()),
            Config::LasAck(LasAckConfig::default()),
            Config::StationFifo(limit),
        ];
        for leaf in &leaves {
            assert!(leaf.is_for_leaves());
            for tree in trees(leaf) {
                assert_eq!(decode::<Config>(&written(&tree)).expect("as written"), tree);
            }
        }
        let airtime = Config::Mac80211(Mac80211Config::default());
        assert_eq!(decode::<Config>(&written(&airtime)).expect("as written"), airtime);
        for tree in trees(&leaves[0]).into_iter().chain([airtime]) {
            assert!(!tree.is_for_leaves());
            for nested in trees(&tree) {
                assert!(decode::<Config>(&written(&nested)).is_err(), "{nested:?}");
            }
        }
    }

    #[test]
    fn unknown_disciplines_and_tables_that_do_not_rise_are_refused() {
        let mut bytes = written(&Config::Fifo(Limit::Unlimited));
        assert!(decode::<Config>(&bytes).is_ok());
        bytes[1] = 9;
        assert!(decode::<Config>(&bytes).is_err(), "an unknown discipline");
        for (points, is_read) in
            [(vec![(-5, 100), (5, 200)], true), (vec![(5, 100), (-5, 200)], false), (vec![], false)]
        {
            let mut bytes = Vec::new();
            minicbor::encode(&points, &mut bytes).expect("a vector takes any bytes");
            assert_eq!(decode::<crate::ChannelTable>(&bytes).is_ok(), is_read, "{points:?}");
        }
    }
}
