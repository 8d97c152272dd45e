//! The guard against harm: `[manager.guard]`.

use evenair_manager::GuardConfig;
use evenair_reader::{OrDefault, Problems, Written};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The guard of the controller "queue", which bypasses a box that carries much less than is carried without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GuardSpec {
    /// If the box is inserted before it has seen two seconds of traffic bypassed or observing, it holds no packets for two seconds as
    /// soon as some wait, to measure what is carried without it. Otherwise the guard compares with what the stations' rates allow.
    /// Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure_at_start: Option<Written<bool>>,
}

impl GuardSpec {
    /// The settings, or `None` and problems.
    pub(crate) fn check(&self, problems: &mut Problems) -> Option<GuardConfig> {
        Some(GuardConfig { measure_at_start: self.measure_at_start.get_or(false, problems)? })
    }
}
