//! The records of a packet on its way through the manager: on arrival, while held, and when served.

use evenair_packet::TcpMeta;
use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::ids::FlowId;

/// How an arriving packet is treated.
pub(crate) enum Arrival<'m> {
    /// It belongs to this flow; its TCP header, if it has one.
    Of(FlowId, Option<&'m TcpMeta>),
    /// It passes at once.
    Passes,
    /// It is addressed to a group on the WLAN.
    Group,
    /// Its flow has no entry: the table is full of flows that hold packets.
    Untracked,
}

/// A packet that came from the WLAN.
pub(crate) struct Arrived<P> {
    pub(crate) packet: P,
    pub(crate) flow: FlowId,
    pub(crate) ip_len: Bytes,
    /// Whether its transport is ECN-capable (RFC 3168).
    pub(crate) takes_marks: bool,
}

/// A held packet.
#[derive(Clone, Debug)]
pub(crate) struct Held<P> {
    pub(crate) packet: P,
    pub(crate) flow: FlowId,
    /// TCP header; `None`: another protocol.
    pub(crate) tcp: Option<TcpMeta>,
    pub(crate) ip_len: Bytes,
    /// Whether its transport is ECN-capable (RFC 3168).
    pub(crate) takes_marks: bool,
    /// Whether it is CE-marked when it leaves.
    pub(crate) marked: bool,
    /// When it began to wait for its present hop, and when it arrived.
    pub(crate) since: Instant,
    pub(crate) came: Instant,
    /// RTP timestamp, in ticks of its sender's clock, if it is RTP.
    pub(crate) timestamp: Option<u32>,
}

/// What a discipline distinguishes packets by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tags {
    /// Its flow, by a number that is never used again.
    pub(crate) connection: u64,
    /// Its queue: the flow, or the station.
    pub(crate) flow: u64,
    /// Its station.
    pub(crate) station: u64,
    /// Its leaf in the tree of classes.
    pub(crate) leaf: u32,
}

/// The charges of a packet when it is served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// Virtual length.
    pub(crate) bits: u64,
    /// C_i of its station.
    pub(crate) capacity: BitRate,
    /// Airtime by the model, and the medium time of that at the measured speed.
    pub(crate) time: Span,
    pub(crate) real: Span,
    /// `real` without the accesses of other stations in between.
    pub(crate) undisturbed: Span,
    /// Whether it carries DATA of TCP.
    pub(crate) is_data: bool,
}

impl Service {
    /// A single packet of this length at this speed.
    pub(crate) fn by_length(ip_len: Bytes, capacity: BitRate) -> Self {
        let time = capacity.time_for_bits(ip_len.bits());
        Self { bits: ip_len.bits(), capacity, time, real: time, undisturbed: time, is_data: false }
    }
}
