//! The string enums of queue disciplines.

use evenair_reader::words;
use evenair_sched::{Overflow, Sharing};

/// The order of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisciplineWord {
    /// First come, first served, with a limit.
    Fifo,
    /// One queue with CoDel (RFC 8289).
    Codel,
    /// Deficit round robin (Shreedhar and Varghese, 1995).
    Drr,
    /// FQ-CoDel (RFC 8290).
    FqCodel,
    /// CAKE: stations in turn, flows hashed within, COBALT.
    Cake,
    /// Least attained service first, with ACKs that carry what they release.
    LasAck,
    /// Hierarchical token buckets.
    Htb,
    /// HTB that weighs classes by their channels.
    Whtb,
    /// Class-based queueing (Floyd and Jacobson, 1995).
    Cbq,
}

/// How WHTB knows channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimatorWord {
    /// By what became of packets.
    Delivery,
    /// By the signal-to-noise ratio, as published.
    Signal,
}

/// Whose packets are a flow of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowOf {
    /// One direction of a connection.
    Flow,
    /// All packets of a station.
    Station,
}

words!(DisciplineWord {
    "fifo" => Self::Fifo,
    "codel" => Self::Codel,
    "drr" => Self::Drr,
    "fq-codel" => Self::FqCodel,
    "cake" => Self::Cake,
    "las-ack" => Self::LasAck,
    "htb" => Self::Htb,
    "whtb" => Self::Whtb,
    "cbq" => Self::Cbq,
});
words!(SharingWord(Sharing) {
    "formal" => Sharing::Formal,
    "ancestors-only" => Sharing::AncestorsOnly,
    "top-level" => Sharing::TopLevel,
});
words!(EstimatorWord { "delivery" => Self::Delivery, "signal" => Self::Signal });
words!(FlowOf { "flow" => Self::Flow, "station" => Self::Station });
words!(OverflowWord(Overflow) { "most-served" => Overflow::MostServed, "tail-drop" => Overflow::TailDrop });
