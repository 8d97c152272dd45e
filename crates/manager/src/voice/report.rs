//! Reports of calls.

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
    /// The limit of calls is reached.
    Calls,
    /// The limit of calls of its codec is reached.
    Codec,
    /// No configured combination of codecs has room for one more call of its codec.
    Combination,
    /// It would exceed the part of the medium that is left to calls.
    DataPart,
    /// Its station has the most calls allowed.
    Station,
}

/// Quality of one direction of a call, as far as the box can measure it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SpeechReport {
    /// Packets that came to the box since the call was detected.
    pub packets: u64,
    /// Lost packets, by the sequence numbers of RTP; `None`: not RTP.
    pub lost: Option<u64>,
    /// Packets that the box dropped.
    pub dropped: u64,
    /// Interarrival jitter of RFC 3550; `None`: not RTP, or with an unknown clock.
    pub jitter: Option<Span>,
    /// Mean time that packets waited in the box.
    pub waited_mean: Span,
    /// Longest time that a packet waited in the box.
    pub waited_most: Span,
    /// Mean backlog of the access point when packets were released toward it, as medium time. An access point that gives
    /// voice priority is quicker. `None` for the direction from the station, where it is unknown.
    pub hop_mean: Option<Span>,
    /// Time between two packets.
    pub gap: Span,
}
