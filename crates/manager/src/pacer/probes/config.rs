//! Settings of probes, from the operator and the driver.

use evenair_packet::MacAddr;
use minicbor::{Decode, Encode};

use crate::config::error::ConfigError;
use crate::config::limits::MAX_PROBES;

/// Probes: requests to stations whose replies show how far the access point's queue has come, where traffic shows no
/// completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ProbeConfig {
    /// Most probes per second in each contention domain.
    #[n(0)]
    pub most_per_second: u32,
    /// The MAC address from which the driver sends probes, and at which it receives the replies; `None`: it cannot, and
    /// no probes are sent.
    #[n(1)]
    pub source: Option<MacAddr>,
}

impl ProbeConfig {
    /// Upper limit of `most_per_second`.
    pub const MOST: u32 = MAX_PROBES;

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self.source {
            _ if !(1..=Self::MOST).contains(&self.most_per_second) => Err(ConfigError::ProbeRate(self.most_per_second)),
            Some(source) if source.is_multicast() => Err(ConfigError::GroupAddress(source)),
            _ => Ok(()),
        }
    }
}

impl Default for ProbeConfig {
    fn default() -> Self {
        Self { most_per_second: 25, source: None }
    }
}
