//! Queues in front of the medium, as they are written.

use evenair_sched::{Overflow, Sharing};
use evenair_units::{BitRate, Bytes, Db, Dbm, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Direction;
use crate::config::{List, Permille, Written};
use crate::words::{Count, DisciplineWord, EstimatorWord, FlowOf};

/// A queue discipline: between the network layer and the MAC of a node (simulator only), whose size is that of the
/// buffer, or in the manager, in place of its tree of queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueRaw {
    /// Its order, and what it drops: "fifo", "codel", "drr", "fq-codel", "cake", "las-ack", "htb", "whtb" or "cbq".
    pub discipline: Written<DisciplineWord>,
    /// Packets that the MAC below holds, beside the queue; not in the manager. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Written<Count>>,
    /// "drr", "fq-codel": what is a flow, "flow" (a connection's one way) or "station" (all of a station's packets).
    /// Default: "flow".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Written<FlowOf>>,
    /// "drr", "fq-codel", "cake": what a flow, or with CAKE a station, may send in a round. Default: "1500 bytes".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Written<Bytes>>,
    /// "fq-codel", "cake": queues that flows are hashed to. Default: 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Written<Count>>,
    /// "codel", "fq-codel", "cake": acceptable standing delay. Default: "5 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Written<Span>>,
    /// "codel", "fq-codel", "cake": the longest usual round-trip time. Default: "100 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Written<Span>>,
    /// "las-ack": what goes when it is full: the last packet of the connection that is "most-served", or what arrives
    /// ("tail-drop"). Default: "most-served".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<Written<Overflow>>,
    /// "las-ack": each so manieth packet is the one that has waited longest. Default: none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<Written<Count>>,
    /// "las-ack": a connection is forgotten after so long a silence. Default: "60 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire: Option<Written<Span>>,
    /// "las-ack": connections that are known at once. Default: 1000000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Written<u32>>,
    /// "htb", "whtb", "cbq": the classes of the tree, parents before their children. Those without children are its leaves,
    /// each with a drop-tail queue of the buffer's size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class: Vec<QueueClassRaw>,
    /// "htb", "whtb", "cbq": the leaf of packets that belong to no other. Default: the last leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Written<String>>,
    /// "htb", "whtb": a class keeps its mode until it owes a burst. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hysteresis: Option<Written<bool>>,
    /// "htb", "whtb": the clock by which buckets are filled goes on in steps of this, as by Linux's timer interrupt
    /// before 2.6.22. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick: Option<Written<Span>>,
    /// "cbq": by which guidelines classes lend what they do not use, "formal", "ancestors-only" or "top-level".
    /// Default: "top-level".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Written<Sharing>>,
    /// "whtb": how channels are known, by the "delivery" of packets or, as published, by "signal". Default: "delivery".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimator: Option<Written<EstimatorWord>>,
    /// Estimator "signal": goodput by signal, from a calibration, in rising order; on lines between the points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channel: Vec<ChannelRaw>,
    /// Estimator "signal", in the manager: the noise that signals are told over. Default: what a usual receiver has in the
    /// standard's channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Written<Dbm>>,
    /// Estimator "delivery": a class that gets less than this of what the best channel carries is taken for dead; not in
    /// the manager. Default: "2 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead: Option<Written<Permille>>,
    /// Estimator "delivery": so long a dead class leaves its turns to others; not in the manager. Default: "1 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Written<Span>>,
}

/// A point of the table from signal to goodput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelRaw {
    /// Signal over noise.
    pub snr: Written<Db>,
    /// Goodput of a saturated link with it.
    pub goodput: Written<BitRate>,
}

/// A class of the tree: what it is owed, what it may reach, and as a leaf whose packets it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueClassRaw {
    /// Its name.
    pub name: Written<String>,
    /// The class it borrows from, which stands before it. Default: none, it is a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Written<String>>,
    /// What it is owed, counted in IP packets.
    pub rate: Written<BitRate>,
    /// "htb", "whtb": what it may reach with what others leave. Default: its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceil: Option<Written<BitRate>>,
    /// "htb", "whtb": what it may send at once at its rate. Default: "1600 bytes".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Written<Bytes>>,
    /// "htb", "whtb": what it may send at once at its ceiling. Default: "1600 bytes".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cburst: Option<Written<Bytes>>,
    /// What it sends in its turn. Default: a tenth of its rate in a second, 1000 to 200000 bytes; with "cbq" its part of 1514
    /// bytes for each leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Written<Bytes>>,
    /// "cbq": over its rate it may send while the class above is not. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrows: Option<Written<bool>>,
    /// "cbq": its rate is never lent to a class that is not below it, nor does it borrow. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolated: Option<Written<bool>>,
    /// "cbq": packets of 1000 bytes that it may send at once after a silence. Default: 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<Written<Count>>,
    /// "cbq": packets of 1000 bytes that it sends at once each time that it had to wait, for which it waits longer. Default: it
    /// sends each when its rate allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_burst: Option<Written<Count>>,
    /// "cbq": its mean idle time does not fall further below zero than this. Default: it has no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_idle: Option<Written<Span>>,
    /// 0 goes first, 7 last; of a leaf. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Written<u32>>,
    /// In the manager: a leaf takes packets toward stations of these classes of its own. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub station_classes: Option<List<String>>,
    /// A leaf takes packets to and from these stations; not in the manager. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stations: Option<List<String>>,
    /// A leaf takes packets of applications whose data go this way, "up" or "down". Default: both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Written<Direction>>,
    /// A leaf takes packets of these applications or groups of them; not in the manager. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apps: Option<List<String>>,
}
