//! The configuration of shards.

use evenair_manager::Config;
use evenair_reader::{Problems, Written};
use evenair_sys::hold::MAX_SHARDS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Plan;

/// Parallel packet loops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShardsSpec {
    /// Number of shards, 1 to 8. Contention domains whose access points all have a `vlan` are distributed among them; the first
    /// shard has all other traffic. Default: 1.
    pub count: Written<u32>,
}

impl ShardsSpec {
    /// The number, if the manager's configuration can be divided so.
    pub(crate) fn check(&self, manager: Option<&Config>, problems: &mut Problems) -> Option<usize> {
        let range = format!("1 to {MAX_SHARDS}");
        let fits = |count: &u32| (1..=MAX_SHARDS as u32).contains(count);
        let count = self.count.get_if(problems, fits, &range)? as usize;
        if let Err((what, right)) = Plan::new(count, manager?) {
            problems.add(self.count.span(), what, right);
            return None;
        }
        Some(count)
    }
}
