//! What is reported of calls.

use evenair_units::Span;
use minicbor::{Decode, Encode};

/// Codec of a stream, as far as its rate identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum Codec {
    /// 64 kb/s in packets of one size: G.711, or G.722, which looks the same.
    #[n(0)]
    G711,
    /// 8 kb/s in packets of one size: G.729.
    #[n(1)]
    G729,
    /// Anything else, such as Opus, whose packets vary.
    #[n(2)]
    Other,
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// As many calls as may be are going on.
    Calls,
    /// As many calls of its codec as may be are going on.
    Codec,
    /// No combination of codecs that the operator lists has room for one more of its codec.
    Combination,
    /// It would take from the part of the medium that is left to all else.
    DataPart,
    /// Its station has as many calls as one may have.
    Station,
}

/// One direction of a call, as far as the box can measure it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SpeechReport {
    /// Packets that came to the box since the call was found.
    pub packets: u64,
    /// Packets that did not come, by the numbers of RTP; `None`: it is no RTP.
    pub lost: Option<u64>,
    /// Packets that the box dropped.
    pub dropped: u64,
    /// Interarrival jitter of RFC 3550; `None`: it is no RTP, or of an unknown clock.
    pub jitter: Option<Span>,
    /// How long packets waited in the box: the mean.
    pub waited_mean: Span,
    /// The longest.
    pub waited_most: Span,
    /// What stood in the access point when packets were released toward it, in the time that the medium takes for it:
    /// the mean. An access point that sends voice first is quicker. `None` from the station: nobody can tell.
    pub hop_mean: Option<Span>,
    /// Time between two packets.
    pub gap: Span,
}
