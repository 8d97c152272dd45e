//! What travels: packets as small records in one pool.
//!
//! Queues, links, the medium and the box hold a packet's number; the record is written once and read where it arrives.
//! Places are used again, so that a run needs as much memory as there are packets under way at once.

use evenair_scenario::Direction;
use evenair_units::{Bytes, Instant};

use crate::tcp::Segment;

/// The number of a packet in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketId(u32);

/// A packet between a station and a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// The application it belongs to, which knows both ends.
    pub(crate) app: u32,
    /// From the station, or to it.
    pub(crate) way: Direction,
    /// Size of the IP packet.
    pub(crate) len: Bytes,
    pub(crate) body: Body,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Tcp {
        connection: u32,
        /// Tells the connection from those that had its place before.
        serial: u32,
        segment: Segment,
    },
    Datagram,
    /// An echo request or its answer.
    Echo {
        sent: Instant,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Pool {
    packets: Vec<Packet>,
    free: Vec<u32>,
    created: u64,
}

impl Pool {
    pub(crate) fn add(&mut self, packet: Packet) -> PacketId {
        self.created += 1;
        if let Some(place) = self.free.pop() {
            self.packets[place as usize] = packet;
            return PacketId(place);
        }
        self.packets.push(packet);
        PacketId(u32::try_from(self.packets.len() - 1).expect("fewer than 2^32 packets under way"))
    }

    pub(crate) fn get(&self, id: PacketId) -> &Packet {
        &self.packets[id.0 as usize]
    }

    /// The packet has arrived or is lost.
    pub(crate) fn take(&mut self, id: PacketId) -> Packet {
        self.free.push(id.0);
        self.packets[id.0 as usize]
    }

    /// Packets made so far.
    pub(crate) fn created(&self) -> u64 {
        self.created
    }

    /// Packets under way.
    pub(crate) fn under_way(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
