//! Airtime queue limits and airtime weights of Linux's intermediate queues.

use std::collections::BTreeMap;

use evenair_reader::{List, OrDefault, Problems, Written, ranges};
use evenair_sched::{AirtimeLimits, Config};
use evenair_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checked, QueueRaw};

ranges! {
    /// Airtime in flight. With none a station would never send.
    pub AirtimeInFlight: Span = "1 us to 10 s";
    /// Airtime weights: multiplied by 256 us, they are Linux's.
    pub AirtimeWeights: u32 = "1 to 255";
}

/// Stations that get another part of the airtime than the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AirtimeWeightRaw {
    /// Stations or groups of them.
    pub stations: List<String>,
    /// What each of them gets, relative to a station that is in no such list: in Linux 256 us for each 1.
    pub weight: Written<u32, AirtimeWeights>,
}

impl Checked {
    /// Sets airtime weights by station number, if the discipline has an airtime scheduler.
    #[must_use]
    pub fn with_airtime_weights(mut self, weights: BTreeMap<u64, u32>) -> Self {
        if let Config::Mac80211(config) = &mut self.config {
            config.weights = weights;
        }
        self
    }
}

/// The airtime queue limits; inner `None`: no limits.
pub(super) fn limits(raw: &QueueRaw, problems: &mut Problems) -> Option<Option<AirtimeLimits>> {
    let usual = AirtimeLimits::default();
    let is_on = raw.aql.get_or(true, problems);
    let low = raw.aql_low.get_or(usual.low, problems);
    let high = raw.aql_high.get_or(usual.high, problems);
    let total = raw.aql_total.get_or(usual.total, problems);
    let limits = AirtimeLimits { low: low?, high: high?, total: total? };
    if limits.low > limits.high {
        let written = if raw.aql_low.is_some() { raw.aql_low.place() } else { raw.aql_high.place() };
        let (low, high) = (limits.low.as_micros(), limits.high.as_micros());
        let what = format!("aql_low of {low} us is above aql_high of {high} us");
        problems.add(written, what, "aql_low up to aql_high; by default they are 5 ms and 12 ms");
        return None;
    }
    Some(is_on?.then_some(limits))
}
