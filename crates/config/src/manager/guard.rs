//! The guard against harm: `[manager.guard]`.

use evenair_manager::GuardConfig;
use evenair_reader::{OrDefault, Permille, Problems, Written, ranges};
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
    /// The part of the throughput without the box below which, for four seconds in which packets wait, the guard suspects the box and
    /// holds nothing for a moment, to compare. Lower it where the load or the medium varies much and tests are frequent. Default: "70 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspicious_below: Option<Written<Permille, SuspiciousParts>>,
}

ranges! {
    /// Parts of the throughput without the box below which the guard suspects harm.
    pub SuspiciousParts: Permille = "10 % to 95 %";
}

impl GuardSpec {
    /// The settings, or `None` and problems.
    pub(crate) fn check(&self, problems: &mut Problems) -> Option<GuardConfig> {
        let usual = GuardConfig::default();
        let measure_at_start = self.measure_at_start.get_or(usual.measure_at_start, problems);
        let part = self.suspicious_below.get_or(Permille(usual.suspicious_permille), problems);
        Some(GuardConfig { measure_at_start: measure_at_start?, suspicious_permille: part?.0 })
    }
}
