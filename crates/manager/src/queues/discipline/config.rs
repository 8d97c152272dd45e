//! The settings of a queue discipline in place of the policy's tree.

use alloc::vec::Vec;

use evenair_units::Dbm;
use minicbor::{Decode, Encode};

use crate::ids::{ClassId, Direction};

/// A queue discipline for what waits for the WLAN.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct QueueConfig {
    /// Which, with its parameters. Sizes are lengths at IP level.
    #[n(0)]
    pub discipline: evenair_sched::Config,
    /// All packets toward a station are one flow; else those of a connection are.
    #[n(1)]
    pub by_station: bool,
    /// Of a discipline with a tree of classes: which packets are in which leaf. The first matching rule decides.
    #[n(2)]
    pub leaves: Vec<LeafRule>,
    /// The leaf of all others.
    #[n(3)]
    pub default_leaf: u32,
    /// Of a channel-aware discipline with a table over the noise: the level that reported signals are compared with.
    #[n(4)]
    pub noise: Dbm,
    /// Where flows are hashed.
    #[n(5)]
    pub seed: u64,
}

/// The packets of a leaf: all conditions hold.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct LeafRule {
    /// Its number in the discipline's tree.
    #[n(0)]
    pub leaf: u32,
    /// Toward stations of one of these classes; empty: of any.
    #[n(1)]
    pub classes: Vec<ClassId>,
    /// Of connections whose data travel this way; `None`: either.
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
