//! The raw form of queues in front of the medium.

use evenair_reader::{Count, List, Permille, Written};
use evenair_units::{BitRate, Bytes, Db, Dbm, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DirectionWord;
use crate::queue::words::{DisciplineWord, EstimatorWord, FlowOf, OverflowWord, SharingWord};

/// A queue discipline: between the network layer and the MAC of a node (simulator only), whose size is that of the
/// buffer, or in the manager, in place of its tree of queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueRaw {
    /// Its name: "fifo", "codel", "drr", "fq-codel", "cake", "las-ack", "htb", "whtb" or "cbq".
    pub discipline: Written<DisciplineWord>,
    /// Packets in the MAC below the queue; not in the manager. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Written<Count>>,
    /// "drr", "fq-codel": the flows: "flow" (one direction of a connection) or "station" (all packets of a station). Default:
    /// "flow".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["drr", "fq-codel"] }))]
    pub by: Option<Written<FlowOf>>,
    /// "drr", "fq-codel", "cake": what a flow, or a station with CAKE, may send in a round. Default: "1500 bytes".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["drr", "fq-codel", "cake"] }))]
    pub quantum: Option<Written<Bytes>>,
    /// "fq-codel", "cake": number of queues that flows are hashed to. Default: 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["fq-codel", "cake"] }))]
    pub queues: Option<Written<Count>>,
    /// "codel", "fq-codel", "cake": acceptable standing delay. Default: "5 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["codel", "fq-codel", "cake"] }))]
    pub target: Option<Written<Span>>,
    /// "codel", "fq-codel", "cake": the longest usual round-trip time. Default: "100 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["codel", "fq-codel", "cake"] }))]
    pub interval: Option<Written<Span>>,
    /// "las-ack": which packet a full queue drops: the last one of the "most-served" connection, or the arriving one
    /// ("tail-drop"). Default: "most-served".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["las-ack"] }))]
    pub overflow: Option<Written<OverflowWord>>,
    /// "las-ack": every n-th packet is the one that has waited longest. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["las-ack"] }))]
    pub floor: Option<Written<Count>>,
    /// "las-ack": a connection expires after this idle time. Default: "60 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["las-ack"] }))]
    pub expire: Option<Written<Span>>,
    /// "las-ack": capacity of the table of connections. Default: 1000000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["las-ack"] }))]
    pub connections: Option<Written<u32>>,
    /// "htb", "whtb", "cbq": the classes of the tree, parents before their children. Classes without children are its leaves,
    /// each with a drop-tail queue of the buffer's size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-only-with" = { "discipline": ["htb", "whtb", "cbq"] }))]
    pub class: Vec<QueueClassRaw>,
    /// "htb", "whtb", "cbq": the leaf of packets without a matching leaf. Default: the last leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["htb", "whtb", "cbq"] }))]
    pub default: Option<Written<String>>,
    /// "htb", "whtb": a class keeps its mode until its debt is a burst. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["htb", "whtb"] }))]
    pub hysteresis: Option<Written<bool>>,
    /// "htb", "whtb": step of the clock that fills the buckets, as by Linux's timer interrupt before 2.6.22. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["htb", "whtb"] }))]
    pub tick: Option<Written<Span>>,
    /// "cbq": link-sharing guidelines: "formal", "ancestors-only" or "top-level". Default: "top-level".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["cbq"] }))]
    pub sharing: Option<Written<SharingWord>>,
    /// "whtb": how the channel is estimated: by "delivery" of packets or, as published, by "signal". Default: "delivery".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["whtb"] }))]
    #[schemars(extend("default" = "delivery"))]
    pub estimator: Option<Written<EstimatorWord>>,
    /// Estimator "signal": goodput by signal, from a calibration, in ascending order; linear between the points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-only-with" = { "discipline": ["whtb"], "estimator": ["signal"] }))]
    pub channel: Vec<ChannelRaw>,
    /// Estimator "signal", in the manager: the noise level for reported signals. Default: that of a typical receiver in the
    /// standard's channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["whtb"], "estimator": ["signal"] }))]
    pub noise: Option<Written<Dbm>>,
    /// Estimator "delivery": a class with less than this part of the best channel's goodput counts as dead; not in the manager.
    /// Default: "2 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["whtb"], "estimator": ["delivery"] }))]
    pub dead: Option<Written<Permille>>,
    /// Estimator "delivery": how long a dead class is skipped; not in the manager. Default: "1 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["whtb"], "estimator": ["delivery"] }))]
    pub pause: Option<Written<Span>>,
}

/// A point of the table from signal to goodput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelRaw {
    /// Signal-to-noise ratio.
    pub snr: Written<Db>,
    /// Goodput of a saturated link at this SNR.
    pub goodput: Written<BitRate>,
}

/// A class of the tree: what it is owed, what it may reach, and as a leaf whose packets it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueClassRaw {
    /// Its name.
    pub name: Written<String>,
    /// The class it borrows from, which precedes it in the file. Default: none, a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Written<String>>,
    /// Its guaranteed rate, counted in IP packets.
    pub rate: Written<BitRate>,
    /// "htb", "whtb": its largest rate with unused bandwidth of others. Default: its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["htb", "whtb"] }))]
    pub ceil: Option<Written<BitRate>>,
    /// "htb", "whtb": its burst at its rate. Default: "1600 bytes".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["htb", "whtb"] }))]
    pub burst: Option<Written<Bytes>>,
    /// "htb", "whtb": its burst at its ceiling. Default: "1600 bytes".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["htb", "whtb"] }))]
    pub cburst: Option<Written<Bytes>>,
    /// What it may send in its turn. Default: a tenth of its rate in a second, 1000 to 200000 bytes; with "cbq" its part of
    /// 1514 bytes for each leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Written<Bytes>>,
    /// "cbq": it may exceed its rate while its parent class does not. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["cbq"] }))]
    pub borrows: Option<Written<bool>>,
    /// "cbq": it lends only to its descendants, and does not borrow. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["cbq"] }))]
    pub isolated: Option<Written<bool>>,
    /// "cbq": its burst after an idle time, in packets of 1000 bytes. Default: 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["cbq"] }))]
    pub max_burst: Option<Written<Count>>,
    /// "cbq": its burst after each wait, in packets of 1000 bytes; it waits longer for it. Default: one packet as its rate
    /// allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["cbq"] }))]
    pub min_burst: Option<Written<Count>>,
    /// "cbq": lower bound of its mean idle time, below zero. Default: no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["cbq"] }))]
    pub min_idle: Option<Written<Span>>,
    /// Priority of a leaf: 0 is the highest, 7 the lowest. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Written<u32>>,
    /// In the manager: a leaf takes packets toward stations of these policy classes. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub station_classes: Option<List<String>>,
    /// A leaf takes packets to and from these stations; not in the manager. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stations: Option<List<String>>,
    /// A leaf takes packets of applications with this direction, "up" or "down". Default: both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Written<DirectionWord>>,
    /// A leaf takes packets of these applications or groups of them; not in the manager. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apps: Option<List<String>>,
}
