//! The records of a packet on its way through the manager: as it came, as it is held, as it is served.

use evenair_packet::TcpMeta;
use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::ids::FlowId;

/// What becomes of a packet that has come in.
pub(crate) enum Arrival<'m> {
    /// It is of this flow, and this is its TCP header, if it has one.
    Of(FlowId, Option<&'m TcpMeta>),
    /// It passes at once.
    Passes,
    /// It is for a group on the WLAN.
    Group,
    /// It would be of a flow, but the table of flows is full of such as hold packets.
    Untracked,
}

/// A packet that came from the WLAN.
pub(crate) struct Arrived<P> {
    pub(crate) packet: P,
    pub(crate) flow: FlowId,
    pub(crate) ip_len: Bytes,
    /// Its transport understands marks of congestion (RFC 3168).
    pub(crate) takes_marks: bool,
}

/// A packet that is held.
#[derive(Clone, Debug)]
pub(crate) struct Held<P> {
    pub(crate) packet: P,
    pub(crate) flow: FlowId,
    /// `None`: another protocol.
    pub(crate) tcp: Option<TcpMeta>,
    pub(crate) ip_len: Bytes,
    /// Its transport understands marks of congestion (RFC 3168).
    pub(crate) takes_marks: bool,
    /// It is to be marked when it leaves.
    pub(crate) marked: bool,
    /// Since when it waits for its present hop, and when it came.
    pub(crate) since: Instant,
    pub(crate) came: Instant,
    /// When it was said, in ticks of its sender's clock, where it is RTP.
    pub(crate) timestamp: Option<u32>,
}

/// By what a discipline distinguishes packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tags {
    /// Its connection, by a number that no other ever has.
    pub(crate) connection: u64,
    /// Its queue: the connection, or the station.
    pub(crate) flow: u64,
    /// Its station.
    pub(crate) station: u64,
    /// Its leaf in a tree of classes.
    pub(crate) leaf: u32,
}

/// What a packet is served as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// Its virtual length.
    pub(crate) bits: u64,
    /// C_i of its station.
    pub(crate) capacity: BitRate,
    /// The medium time that is believed of it, and what that is as fast as the medium was seen to be.
    pub(crate) time: Span,
    pub(crate) real: Span,
    /// The same without the accesses of others in between.
    pub(crate) undisturbed: Span,
}

impl Service {
    /// A packet of this length, by itself, at this speed.
    pub(crate) fn by_length(ip_len: Bytes, capacity: BitRate) -> Self {
        let time = capacity.time_for_bits(ip_len.bits());
        Self { bits: ip_len.bits(), capacity, time, real: time, undisturbed: time }
    }
}
