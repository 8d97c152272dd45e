//! The configuration of shards: `[shards]`, and what each of them owns.

mod plan;

use evenair_manager::Config;
use evenair_reader::{Problems, Written, ranges};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use plan::Plan;

ranges! {
    /// Numbers of shards, up to `MAX_SHARDS` of the hold on the interfaces.
    pub ShardCounts: u32 = "1 to 8";
}

/// Parallel packet loops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShardsSpec {
    /// Number of shards. Contention domains whose access points all have a `vlan` are distributed among them; the first
    /// shard has all other traffic. Default: 1.
    pub count: Written<u32, ShardCounts>,
}

impl ShardsSpec {
    /// The number of shards, if the manager's configuration can be divided among them.
    pub(crate) fn check(&self, manager: Option<&Config>, problems: &mut Problems) -> Option<usize> {
        let count = self.count.get(problems)? as usize;
        if let Err((what, right)) = Plan::new(count, manager?) {
            problems.add(self.count.span(), what, right);
            return None;
        }
        Some(count)
    }
}
