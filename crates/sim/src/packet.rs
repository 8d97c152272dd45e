//! Packets: small records in one pool.
//!
//! Queues, links, the medium and the box hold a packet's index; the record is written once and read where it arrives.
//! Records are reused, so that a run needs memory only for the packets in flight. Every hop reads the packet, but only its
//! ends read the TCP segment, so segments are stored separately.

use std::collections::BTreeMap;

use evenair_ap::Tag;
use evenair_packet::Edits;
use evenair_sched::Progress;
use evenair_units::hint::prefetch;
use evenair_units::{Bytes, Instant};
use evenair_workload::Direction;

use crate::tcp::Segment;

/// Index of a packet in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketId(u32);

impl PacketId {
    /// The index as `usize`; a later packet may reuse it.
    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }
}

/// A packet between a station and a server, half a cache line in size.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Packet {
    /// The application it belongs to, which knows both ends.
    pub(crate) app: u32,
    /// Direction from or to the station.
    pub(crate) way: Direction,
    /// Size of the IP packet.
    pub(crate) len: Bytes,
    pub(crate) body: Body,
}

impl Packet {
    /// When the packet was made; `entered`, the time at which it entered its queue, if the record does not have that.
    pub(crate) fn made(&self, entered: Instant) -> Instant {
        match self.body {
            Body::Datagram { sent } => sent,
            Body::Tcp { .. } | Body::Speech { .. } | Body::Echo { .. } | Body::Probe => entered,
        }
    }

    /// What a queue on the air may read of the packet; `segment` is its TCP segment, if any.
    fn tag(&self, segment: Option<&Segment>, station: u32) -> Tag {
        let forth = self.way == Direction::Down;
        let (connection, progress) = match (&self.body, segment) {
            (Body::Tcp { serial, .. }, Some(segment)) => {
                let progress = Progress {
                    forth,
                    opens: segment.flags.syn && !segment.flags.ack,
                    has_data: segment.len > 0,
                    ack: segment.flags.ack.then(|| segment.wire_ack()),
                };
                (1 << 32 | u64::from(*serial), Some(progress))
            }
            (Body::Probe, _) => (2 << 32 | u64::from(station), None),
            _ => (self.app.into(), None),
        };
        Tag { connection, forth, station, app: self.app, progress }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Tcp {
        connection: u32,
        /// Distinguishes the connection from earlier ones with the same index.
        serial: u32,
        /// Kind of the segment, which is stored in the pool.
        carries: Carries,
    },
    /// Due at `sent`: a sender that sleeps while its station's buffer is occupied may make the record later.
    Datagram { sent: Instant },
    /// A packet of a call.
    Speech {
        /// Its sequence number, modulo 2^16.
        number: u16,
        /// When it was spoken.
        sent: Instant,
    },
    /// An echo request or its answer.
    Echo { sent: Instant },
    /// A probe of the box to the station, or the station's answer. It belongs to no application, though it is routed like a
    /// packet of one.
    Probe,
}

/// What a TCP segment carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    Data,
    /// It acknowledges and carries nothing else.
    PureAck,
    Nothing,
}

impl Carries {
    pub(crate) fn of(segment: &Segment) -> Self {
        let flags = segment.flags;
        if segment.len > 0 {
            Self::Data
        } else if flags.ack && !flags.syn && !flags.fin && !flags.rst {
            Self::PureAck
        } else {
            Self::Nothing
        }
    }
}

/// A segment, aligned to a cache line: one without SACK blocks fits into it.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Kept(Segment);

#[derive(Debug, Default)]
pub(crate) struct Pool {
    packets: Vec<Packet>,
    /// TCP segments by packet index, up to the highest index that has had one.
    segments: Vec<Kept>,
    free: Vec<u32>,
    created: u64,
    /// DSCP of the few packets that a box has remarked, by packet index.
    remarked: BTreeMap<u32, u8>,
}

impl Pool {
    #[inline(always)]
    pub(crate) fn add(&mut self, packet: Packet) -> PacketId {
        self.created += 1;
        if let Some(place) = self.free.pop() {
            self.packets[place as usize] = packet;
            return PacketId(place);
        }
        self.packets.push(packet);
        PacketId(u32::try_from(self.packets.len() - 1).expect("fewer than 2^32 packets under way"))
    }

    /// Where to write the segment of the packet that is added next.
    #[inline(always)]
    pub(crate) fn next_segment(&mut self) -> &mut Segment {
        let place = self.free.last().map_or(self.packets.len(), |&place| place as usize);
        if place >= self.segments.len() {
            self.segments.resize(place + 1, Kept(Segment::EMPTY));
        }
        &mut self.segments[place].0
    }

    /// A packet, and its TCP segment if it has one.
    pub(crate) fn whole(&self, id: PacketId) -> (&Packet, Option<&Segment>) {
        let packet = self.get(id);
        let segment = matches!(packet.body, Body::Tcp { .. }).then(|| self.segment(id));
        (packet, segment)
    }

    /// What a queue on the air may read of a packet to or from a station.
    pub(crate) fn tag(&self, id: PacketId, station: u32) -> Tag {
        let (packet, segment) = self.whole(id);
        packet.tag(segment, station)
    }

    /// The segment of a TCP packet; also of the packet that was taken last.
    pub(crate) fn segment(&self, id: PacketId) -> &Segment {
        &self.segments[id.0 as usize].0
    }

    /// DSCP of a packet that a box has remarked.
    pub(crate) fn remarked(&self, id: PacketId) -> Option<u8> {
        if self.remarked.is_empty() { None } else { self.remarked.get(&id.0).copied() }
    }

    /// Applies a box's edits that the records can represent: the TCP window and the DSCP.
    pub(crate) fn edit(&mut self, id: PacketId, edits: &Edits) {
        if let Some(dscp) = edits.dscp {
            self.remarked.insert(id.0, dscp);
        }
        if let (Some(window), Body::Tcp { .. }) = (edits.window, self.get(id).body) {
            self.segments[id.0 as usize].0.window = window;
        }
    }

    /// Prefetches a packet and its segment.
    #[inline]
    pub(crate) fn prefetch(&self, id: PacketId) {
        prefetch(self.get(id));
        self.segments.get(id.0 as usize).into_iter().for_each(|segment| prefetch(segment));
    }

    pub(crate) fn get(&self, id: PacketId) -> &Packet {
        &self.packets[id.0 as usize]
    }

    /// Frees a packet that has arrived or is lost.
    #[inline(always)]
    pub(crate) fn take(&mut self, id: PacketId) -> Packet {
        if !self.remarked.is_empty() {
            self.remarked.remove(&id.0);
        }
        self.free.push(id.0);
        self.packets[id.0 as usize]
    }

    /// Packets made so far.
    pub(crate) fn created(&self) -> u64 {
        self.created
    }

    /// Packets in the pool.
    pub(crate) fn under_way(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
