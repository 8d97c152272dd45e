//! Settings of the harm guard.

use minicbor::decode::Error;
use minicbor::{Decode, Decoder, Encode};

/// Part of the throughput without the box, in thousandths, below which an interval is suspicious: usually, at least, at most.
const SUSPICIOUS: (u32, u32, u32) = (700, 100, 950);

/// Settings of the harm guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct GuardConfig {
    /// Whether an inserted box without a baseline holds nothing for two seconds, as soon as packets wait, to measure the throughput
    /// without it.
    #[n(0)]
    #[cbor(default)]
    pub measure_at_start: bool,
    /// Part of the throughput without the box, in thousandths, below which an interval is suspicious: from 100 to 950, beyond which the
    /// nearer bound counts.
    #[cbor(n(1), decode_with = "permille", nil = "usual")]
    pub suspicious_permille: u32,
}

impl Default for GuardConfig {
    fn default() -> Self {
        Self { measure_at_start: false, suspicious_permille: SUSPICIOUS.0 }
    }
}

impl GuardConfig {
    /// The part below which an interval is suspicious, in thousandths.
    pub(super) fn suspicious(self) -> u64 {
        let (_, least, most) = SUSPICIOUS;
        u64::from(self.suspicious_permille.clamp(least, most))
    }
}

fn permille<C>(decoder: &mut Decoder<'_>, _: &mut C) -> Result<u32, Error> {
    decoder.u32()
}

/// The part in recordings of builds that had no setting for it.
const fn usual() -> Option<u32> {
    Some(SUSPICIOUS.0)
}
