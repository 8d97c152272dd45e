//! Settings of the harm guard.

use minicbor::{Decode, Encode};

/// Settings of the harm guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct GuardConfig {
    /// Whether an inserted box without a baseline holds nothing for two seconds, as soon as packets wait, to measure the throughput
    /// without it.
    #[n(0)]
    #[cbor(default)]
    pub measure_at_start: bool,
}
