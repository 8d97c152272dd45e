//! The raw form of applications with random traffic, and of distributions.

use evenair_reader::{CodePoint, Count, Frequency, List, Permille, Written};
use evenair_units::{BitRate, Bytes, Span};
use evenair_workload::voice::Codec;
use evenair_workload::{Direction, Spread};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Common, application};
use crate::IpVersion;
use crate::ranges::{
    Alphas, ArrivalIntervals, ArrivalRates, GapNoises, Impairments, OpusRates, PacketRates, PlayoutTimes, ReplaySpeeds,
    Robustnesses, SendIntervals, TransferCounts, TransferLimits, UdpRates,
};
use crate::traffic_words::{ArrivalKind, CallProgram, Family, Reuse, Speech};

application!(
    /// Datagrams: constant rate, Poisson, frames of varying size, steadily or in bursts.
    UdpRaw {
        /// "up" sends from the station, "down" to it.
        pub direction: Written<Direction>,
        /// Multicast: each datagram is sent once to all stations, at the lowest basic rate and without an ACK; the station is
        /// the receiver. "down" from a server on the LAN, over IPv4. Default: false.
        pub group: Option<Written<bool>>,
        /// Rate of UDP payload; of this, packet_rate and frame_interval there is one.
        pub rate: Option<Written<BitRate, UdpRates>>,
        /// Datagrams in a time, such as "50 /s".
        pub packet_rate: Option<Written<Frequency, PacketRates>>,
        /// UDP payload of a datagram; with frames, of the largest one. Default: "1000 bytes".
        pub payload: Option<Written<Bytes>>,
        /// "regular", or "poisson": exponential gaps of the same mean. Default: "regular".
        pub arrivals: Option<Written<ArrivalKind>>,
        /// Regular gaps vary uniformly by up to this part. Default: "0 %".
        pub noise: Option<Written<Permille, GapNoises>>,
        /// Time between frames with the sizes in [udp.frame]; a frame is sent at once in as many datagrams as necessary.
        pub frame_interval: Option<Written<Span, SendIntervals>>,
        /// Sizes of frames; needed by frame_interval.
        pub frame: Option<SizeRaw>,
        /// Lengths of the bursts in which it sends; without [udp.on] and [udp.off] it always does.
        pub on: Option<TimeRaw>,
        /// Lengths of the silences between bursts.
        pub off: Option<TimeRaw>,
    }
);

application!(
    /// The packets of a trace, sent again as datagrams of the same size at the same times.
    ReplayRaw {
        /// "up" sends from the station, "down" to it.
        pub direction: Written<Direction>,
        /// A capture (pcap, pcapng) of IP, or text with a line for each packet: seconds, bytes of the IP packet, and "up" or
        /// "down" if wanted. Either may be gzipped. Beside the scenario.
        pub file: Written<String>,
        /// IP address in a capture of the host that the station represents: "up" means the packets that it sent, "down" those
        /// that it received. Default: all packets.
        pub host: Option<Written<String>>,
        /// Speed relative to the trace. Default: 1.
        pub speed: Option<Written<f64, ReplaySpeeds>>,
        /// Restarts at its end, after the mean gap. Default: false.
        pub repeat: Option<Written<bool>>,
    }
);

application!(
    /// Telephone calls: RTP in both directions.
    VoipRaw {
        /// "both", or one direction: "up" is speech from the station, "down" to it. Default: "both".
        pub direction: Option<Written<Speech>>,
        /// Program for the call: "builtin", or "baresip", which must be installed on the testbed; the simulator uses "builtin"
        /// instead. baresip supports G.711 and Opus in both directions. Default: "builtin".
        pub tool: Option<Written<CallProgram>>,
        /// "g711" (64 kb/s), "g729" (8 kb/s) or "opus" (variable). Default: "g711".
        pub codec: Option<Written<Codec>>,
        /// Duration of speech in a packet. Default: "20 ms".
        pub frame: Option<Written<Span>>,
        /// Mean bit rate of "opus". Default: "24 kb/s".
        pub bit_rate: Option<Written<BitRate, OpusRates>>,
        /// Send packets in talk spurts only, with the mean lengths of ITU-T P.59; otherwise continuously. Default: false.
        pub suppress_silence: Option<Written<bool>>,
        /// Playout delay after the arrival time of the fastest packet of the phase. Default: "60 ms".
        pub playout: Option<Written<Span, PlayoutTimes>>,
        /// Equipment impairment factor Ie of the E-model. Default: the codec's.
        pub impairment: Option<Written<f64, Impairments>>,
        /// Packet-loss robustness factor Bpl of the E-model. Default: the codec's.
        pub robustness: Option<Written<f64, Robustnesses>>,
    }
);

/// Arrivals of TCP transfers of random size, spread over stations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowsRaw {
    /// Its name; with several stations NAME1, NAME2 and so on, one for each of them.
    pub name: Written<String>,
    /// Stations and groups that share the transfers.
    pub stations: List<String>,
    /// The server at the other end.
    pub server: Written<String>,
    /// "up" sends from the station, "down" to it.
    pub direction: Written<Direction>,
    /// When arrivals begin. Default: "0 s".
    pub start: Option<Written<Span>>,
    /// End of the arrivals. Default: the stop.
    pub until: Option<Written<Span>>,
    /// When active transfers are aborted. Default: at the end of the run.
    pub stop: Option<Written<Span>>,
    /// IP version: "v4" or "v6". Default: "v4".
    pub ip: Option<Written<IpVersion>>,
    /// Differentiated services code point of its packets in both directions: a name such as "EF", "AF41", "CS1", or a number.
    /// With EDCA it decides the access category (RFC 8325). Default: 0.
    pub dscp: Option<Written<CodePoint>>,
    /// Mean time between arrivals, over all stations; of this, rate and load there is one.
    pub interval: Option<Written<Span, ArrivalIntervals>>,
    /// Arrivals in a time, over all stations, such as "8 /s".
    pub rate: Option<Written<Frequency, ArrivalRates>>,
    /// Offered load over all stations, which with the mean size determines the arrivals.
    pub load: Option<Written<BitRate>>,
    /// "poisson", or "regular": all gaps are equal, and the first transfer begins at the start. Default: "poisson".
    pub arrivals: Option<Written<ArrivalKind>>,
    /// Largest number of arrivals. Default: no limit.
    pub count: Option<Written<u64, TransferCounts>>,
    /// Which station gets the next: "random" or "round-robin". Default: "random".
    pub spread: Option<Written<Spread>>,
    /// Largest number of simultaneous transfers of a station; more are refused. Default: 1000.
    pub limit: Option<Written<u32, TransferLimits>>,
    /// Congestion control of the senders. Default: that of [tcp].
    pub congestion_control: Option<Written<String>>,
    /// Sizes of the transfers.
    pub size: SizeRaw,
}

impl FlowsRaw {
    pub fn common(&self) -> Common<'_> {
        let Self { name, stations, server, start, stop, ip, dscp, .. } = self;
        Common { name, stations, server, per_station: &None, start, stagger: &None, stop, ip, dscp }
    }
}

application!(
    /// Sources that send one TCP transfer of random size after another, with pauses between.
    OnOffRaw {
        /// "up" sends from the station, "down" to it.
        pub direction: Written<Direction>,
        /// "persistent": one connection for all transfers; "each": one connection for each transfer. Default: "persistent".
        pub connection: Option<Written<Reuse>>,
        /// Congestion control of the sender. Default: that of [tcp].
        pub congestion_control: Option<Written<String>>,
        /// Sizes of the transfers.
        pub size: SizeRaw,
        /// Pauses, each from when the sender knows that all has arrived.
        pub gap: TimeRaw,
    }
);

/// Declares a distribution of some kind of quantity.
macro_rules! distribution {
    ($(#[$meta:meta])* $name:ident of $quantity:ty) => {
        $(#[$meta])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            /// "constant", "uniform", "exponential", "pareto", "bounded-pareto", "lognormal", or "empirical".
            /// Default: "constant".
            #[schemars(extend("default" = "constant"))]
            pub distribution: Option<Written<Family>>,
            /// The mean; the value itself of "constant".
            #[schemars(extend("x-only-with" = { "distribution": ["constant", "exponential", "pareto", "bounded-pareto", "lognormal"] }))]
            pub mean: Option<Written<$quantity>>,
            /// The smallest value.
            #[schemars(extend("x-only-with" = { "distribution": ["uniform", "exponential", "pareto", "bounded-pareto"] }))]
            pub min: Option<Written<$quantity>>,
            /// The largest value; "uniform" and "bounded-pareto" draw below it, others draw as if there were none, and
            /// what is larger becomes it.
            #[schemars(extend("x-only-with" = { "distribution": ["uniform", "exponential", "pareto", "bounded-pareto", "lognormal"] }))]
            pub max: Option<Written<$quantity>>,
            /// Standard deviation of "lognormal".
            #[schemars(extend("x-only-with" = { "distribution": ["lognormal"] }))]
            pub deviation: Option<Written<$quantity>>,
            /// Tail exponent of "pareto" and "bounded-pareto".
            #[schemars(extend("x-only-with" = { "distribution": ["pareto", "bounded-pareto"] }))]
            pub alpha: Option<Written<f64, Alphas>>,
            /// Values of "empirical": each equally likely, or the points of its cdf.
            #[schemars(extend("x-only-with" = { "distribution": ["empirical"] }))]
            pub values: Option<List<$quantity>>,
            /// Cumulative probability of each value, the last one 1; linear between.
            #[schemars(extend("x-only-with" = { "distribution": ["empirical"] }))]
            pub cdf: Option<List<f64>>,
            /// A file beside the scenario in place of values and cdf: a line for each value, in bytes or seconds, with
            /// or without its cumulative probability behind a comma.
            #[schemars(extend("x-only-with" = { "distribution": ["empirical"] }))]
            pub file: Option<Written<String>>,
        }
    };
}

distribution!(
    /// A distribution of sizes.
    SizeRaw of Bytes
);

distribution!(
    /// A distribution of times.
    TimeRaw of Span
);
