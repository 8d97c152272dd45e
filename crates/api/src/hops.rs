//! Waiting times in the box.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::string_enum;

string_enum! {
    /// What packets wait for in the box.
    pub enum Hop {
        /// The medium of their stations.
        #[default]
        Wlan = "wlan",
        /// The Internet link, toward the stations.
        InternetDown = "internet down",
        /// The Internet link, from the stations.
        InternetUp = "internet up",
    }
}

/// How long packets waited in the box for one hop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopResult {
    /// Which hop.
    pub hop: Hop,
    /// Packets that left.
    pub packets: u64,
    /// Mean.
    pub mean_ms: f64,
    /// Median; the upper end of a class a quarter wide, as the next.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// Longest.
    pub max_ms: f64,
}
