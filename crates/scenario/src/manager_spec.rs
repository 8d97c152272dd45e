//! The manager's settings as people write them, in a scenario's `[manager]` table and in the box's own configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Written;

/// Settings of the manager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ManagerSpec {
    /// Whether the box is told the stations' PHY rates. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub know_rates: Option<Written<bool>>,
}
