//! Queues in front of the medium, as they are written.

use evenair_sched::Overflow;
use evenair_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::Written;
use crate::words::{Count, DisciplineWord, FlowOf};

/// A queue between the network layer and the MAC (simulator only). Its size is that of the buffer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueRaw {
    /// Its order, and what it drops: "fifo", "codel", "drr", "fq-codel" or "las-ack".
    pub discipline: Written<DisciplineWord>,
    /// Packets that the MAC below holds, beside the queue. Default: 1.
    pub driver: Option<Written<Count>>,
    /// "drr", "fq-codel": what is a flow, "flow" (a connection's one way) or "station" (all of a station's packets).
    /// Default: "flow".
    pub by: Option<Written<FlowOf>>,
    /// "drr", "fq-codel": what a flow may send in a round. Default: "1500 bytes".
    pub quantum: Option<Written<Bytes>>,
    /// "fq-codel": queues that flows are hashed to. Default: 1024.
    pub queues: Option<Written<Count>>,
    /// "codel", "fq-codel": acceptable standing delay. Default: "5 ms".
    pub target: Option<Written<Span>>,
    /// "codel", "fq-codel": the longest usual round-trip time. Default: "100 ms".
    pub interval: Option<Written<Span>>,
    /// "las-ack": what goes when it is full: the last packet of the connection that is "most-served", or what arrives
    /// ("tail-drop"). Default: "most-served".
    pub overflow: Option<Written<Overflow>>,
    /// "las-ack": each so manieth packet is the one that has waited longest. Default: none is.
    pub floor: Option<Written<Count>>,
    /// "las-ack": a connection is forgotten after so long a silence. Default: "60 s".
    pub expire: Option<Written<Span>>,
    /// "las-ack": connections that are known at once. Default: 1000000.
    pub connections: Option<Written<u32>>,
}
