//! Prefetch of memory for the next events.
//!
//! With thousands of connections the state of one is not in the processor's caches when its segment arrives, and each
//! access depends on the previous one: the packet names the connection, that the station, that the node. A processor waits
//! as long for one cache miss as for a dozen independent ones. So, like the manager for its next releases, a run with many
//! connections prefetches the state of the next events: the packets queued in the access point behind a delivered frame,
//! the server's end of a connection whose segment enters the wire, the owner of the next timer. This changes no result: the
//! prefetch (`evenair_units::hint::prefetch`) is a hint to the processor.

use evenair_medium::NodeId;
use evenair_units::hint::prefetch;

use crate::domain::Sender;
use crate::event_queue::{Side, Task};
use crate::packet::{Body, Carries, PacketId};
use crate::world::World;

/// Number of connections or stations from which on prefetching pays: the state of fewer stays in the caches.
pub(crate) const MANY: usize = 128;

impl World {
    /// Prefetches for the packets queued behind a frame that an access point has delivered, in stages: the queue entry, a
    /// frame later the packet, then its connection, then what that points to; each when the previous stage has arrived.
    #[inline(never)]
    pub(crate) fn prefetch_queue(&self, domain: usize, point: NodeId) {
        let medium = &self.domains.at(domain).medium;
        medium.prefetch_waiting(point, 3, prefetch);
        if let Some(&packet) = medium.waiting(point, 2) {
            self.pool.prefetch(packet);
        }
        if let Some(&packet) = medium.waiting(point, 1) {
            self.prefetch_arrival(packet, Side::Station);
        }
        if let Some(&packet) = medium.waiting(point, 0)
            && let Body::Tcp { connection, carries, .. } = self.pool.get(packet).body
        {
            self.connections.prefetch_more(connection, Side::Station, carries == Carries::Data);
        }
    }

    /// Prefetches for a packet that will arrive at this end of its connection.
    #[inline]
    pub(crate) fn prefetch_arrival(&self, id: PacketId, side: Side) {
        let packet = self.pool.get(id);
        if let Body::Tcp { connection, carries, .. } = packet.body {
            self.connections.prefetch(connection, side, carries == Carries::Data);
            self.meter.prefetch(packet.app);
            if side == Side::Station {
                self.prefetch_station(packet.app);
            }
        }
    }

    /// Prefetches for the next entry of the event queue.
    #[inline]
    pub(crate) fn prefetch_next_event(&self) {
        match self.event_queue.peek() {
            Some(Task::Tcp { connection, side }) => self.connections.prefetch(connection, side, side == Side::Station),
            Some(Task::App(app)) => {
                prefetch(&self.apps[app as usize]);
                self.prefetch_station(app);
            }
            _ => {}
        }
    }

    /// Prefetches for the next sender after a delivery, and for a station's next packet.
    #[inline]
    pub(crate) fn prefetch_next_sender(&self, domain: usize) {
        let air = self.domains.at(domain);
        let next = air.medium.prefetch_next(prefetch).filter(|&node| !air.is_obss(node));
        let Some(Sender::Station(station)) = next.map(|node| air.sender(node)) else { return };
        air.medium_counters.prefetch(station);
        if let Some(app) = air.sole_sender(station) {
            prefetch(&self.apps[app as usize]);
            self.meter.prefetch(app);
        }
    }

    /// Whether there are enough stations or connections for prefetching to pay.
    #[inline]
    pub(crate) fn is_large(&self) -> bool {
        self.apps.len() >= MANY || self.connections.are_many()
    }

    /// Prefetches for a packet that an application's station will send.
    #[inline]
    pub(crate) fn prefetch_station(&self, app: u32) {
        let station = self.ways[app as usize].station as usize;
        self.domains.of(station).prefetch(station);
    }
}
