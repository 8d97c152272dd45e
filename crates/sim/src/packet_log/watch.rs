//! Hooks in the world that record packets.

use evenair_medium::DropReason;
use evenair_results::PacketRecord;
use evenair_units::{Bytes, Instant};
use evenair_workload::Direction;

use super::UnderWay;
use crate::domain::{End, Loss};
use crate::packet::{Body, PacketId};
use crate::world::World;

impl World {
    /// Starts to record each packet on the WLAN.
    pub(crate) fn record_packets(&mut self) {
        self.packet_log = Some(Box::default());
        self.watch_air();
    }

    /// The records since the last call.
    pub(crate) fn take_packets(&mut self) -> Vec<PacketRecord> {
        self.packet_log.as_mut().map(|log| std::mem::take(&mut log.records)).unwrap_or_default()
    }

    /// Records a packet that enters its sender's buffer on the WLAN, or finds no room there.
    #[inline(always)]
    pub(crate) fn log_enqueued(&mut self, id: PacketId) {
        if self.packet_log.is_some() {
            self.write_enqueued(id);
        }
    }

    #[inline(never)]
    fn write_enqueued(&mut self, id: PacketId) {
        let Some(log) = &mut self.packet_log else { return };
        let packet = self.pool.get(id);
        let enqueued = match packet.way {
            Direction::Up => packet.made(self.now),
            Direction::Down => self.now,
        };
        let sequence = (!matches!(packet.body, Body::Probe)).then(|| log.number(packet.app, packet.way));
        *log.under_way(id) = UnderWay { sequence, enqueued, ..UnderWay::default() };
    }

    /// Records a packet that was received after this many attempts.
    #[inline(always)]
    pub(crate) fn log_delivered(&mut self, id: PacketId, end: End, attempts: u32) {
        if self.packet_log.is_some() {
            self.write_end(id, end, Some(attempts));
        }
    }

    /// Records a packet that was lost.
    #[inline(always)]
    pub(crate) fn log_lost(&mut self, id: PacketId, end: End) {
        if self.packet_log.is_some() {
            self.write_end(id, end, None);
        }
    }

    #[inline(never)]
    fn write_end(&mut self, id: PacketId, end: End, attempts: Option<u32>) {
        let Some(log) = &mut self.packet_log else { return };
        let packet = *self.pool.get(id);
        let UnderWay { sequence, enqueued, first_tx, attempts: seen, rate } = *log.under_way(id);
        // A failed RTS of a burst may count as an attempt, too.
        debug_assert!(attempts.is_none_or(|attempts| attempts >= seen), "{attempts:?} attempts, {seen} seen");
        log.records.push(PacketRecord {
            station: self.scenario.apps[packet.app as usize].station as u32,
            access_point: self.domains.at(end.domain).access_point_of(end.sender) as u32,
            direction: packet.way,
            app: sequence.map(|_| packet.app),
            sequence,
            ip: packet.len,
            enqueued,
            first_tx,
            done: end.at,
            attempts: attempts.unwrap_or(seen),
            rate,
            outcome: end.outcome,
        });
    }

    /// Records a datagram that was never made because its station's buffer was full when it was due.
    #[inline(never)]
    pub(crate) fn log_unmade(&mut self, app: u32, due: Instant, ip: Bytes) {
        let Some(log) = &mut self.packet_log else { return };
        let station = self.ways[app as usize].station as usize;
        let sequence = log.number(app, Direction::Up);
        log.records.push(PacketRecord {
            station: self.scenario.apps[app as usize].station as u32,
            access_point: self.domains.access_point_of(station) as u32,
            direction: Direction::Up,
            app: Some(app),
            sequence: Some(sequence),
            ip,
            enqueued: due,
            first_tx: None,
            done: due,
            attempts: 0,
            rate: None,
            outcome: Loss::Medium(DropReason::BufferFull).reason(),
        });
    }
}
