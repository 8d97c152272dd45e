//! The settings of a queue discipline in place of the policy's tree.

use alloc::vec::Vec;

use evenair_units::Dbm;
use minicbor::{Decode, Encode};

use crate::ids::{ClassId, Direction};

/// A queue discipline for packets that wait for the WLAN.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct QueueConfig {
    /// The discipline and its parameters. Sizes are lengths at IP level.
    #[n(0)]
    pub discipline: evenair_sched::Config,
    /// Whether all packets toward a station are one flow, instead of those of a connection.
    #[n(1)]
    pub by_station: bool,
    /// For a discipline with a tree of classes: the leaf of each packet. The first matching rule decides.
    #[n(2)]
    pub leaves: Vec<LeafRule>,
    /// The leaf of all other packets.
    #[n(3)]
    pub default_leaf: u32,
    /// For a channel-aware discipline with a table by signal above noise: the noise level.
    #[n(4)]
    pub noise: Dbm,
    /// Seed of the hash of flows.
    #[n(5)]
    pub seed: u64,
}

/// A rule for the packets of a leaf: all conditions must hold.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct LeafRule {
    /// Its number in the discipline's tree.
    #[n(0)]
    pub leaf: u32,
    /// Classes of the receiving station; empty: any.
    #[n(1)]
    pub classes: Vec<ClassId>,
    /// Direction of the connection's data; `None`: either.
    #[n(2)]
    pub direction: Option<Direction>,
}

impl QueueConfig {
    /// The leaf of a flow's packets.
    pub(crate) fn leaf_of(&self, class: Option<ClassId>, direction: Direction) -> u32 {
        let meets = |rule: &&LeafRule| {
            (rule.classes.is_empty() || class.is_some_and(|class| rule.classes.contains(&class)))
                && rule.direction.is_none_or(|asked| asked == direction)
        };
        self.leaves.iter().find(meets).map_or(self.default_leaf, |rule| rule.leaf)
    }
}
