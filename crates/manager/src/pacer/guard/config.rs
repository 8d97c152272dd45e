//! The operator's settings of the guard against harm.

use minicbor::{Decode, Encode};

/// What the guard against harm may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct GuardConfig {
    /// An inserted box that does not know the throughput without it holds nothing for two seconds as soon as packets wait, to
    /// measure it.
    #[n(0)]
    #[cbor(default)]
    pub measure_at_start: bool,
}
