//! A record of each packet on the WLAN, from the buffer of its sender to its receiver or its loss.
//!
//! Transmissions are those that the medium reports to a watcher, as for `trace`; the rest is recorded where it is counted for the
//! results. Memory holds the packets in progress, and the records until they are taken.

mod watch;

use evenair_medium::{Kind, Medium, OnAir, Transmission};
use evenair_results::PacketRecord;
use evenair_units::Instant;
use evenair_wifi::PhyRate;
use evenair_workload::Direction;

use crate::packet::PacketId;

/// The records of a run.
#[derive(Debug, Default)]
pub(crate) struct PacketLog {
    /// Packets in progress, by index in the pool.
    under_way: Vec<UnderWay>,
    /// Packets of each application so far: to its station, and from it.
    counts: Vec<[u64; 2]>,
    records: Vec<PacketRecord>,
}

/// State of a packet that has entered its sender's buffer.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    sequence: Option<u64>,
    enqueued: Instant,
    first_tx: Option<Instant>,
    attempts: u32,
    rate: Option<PhyRate>,
}

impl PacketLog {
    /// Number of the next packet of an application in this direction.
    fn number(&mut self, app: u32, way: Direction) -> u64 {
        let app = app as usize;
        if app >= self.counts.len() {
            self.counts.resize(app + 1, [0; 2]);
        }
        let count = &mut self.counts[app][usize::from(way == Direction::Up)];
        *count += 1;
        *count - 1
    }

    fn under_way(&mut self, id: PacketId) -> &mut UnderWay {
        if id.place() >= self.under_way.len() {
            self.under_way.resize(id.place() + 1, UnderWay::default());
        }
        &mut self.under_way[id.place()]
    }

    /// Records the packets that a transmission carries.
    pub(crate) fn note(&mut self, on_air: &OnAir, medium: &Medium<PacketId>) {
        let OnAir::Begins(Transmission { at, from, kind, rate, .. }) = *on_air else { return };
        let (category, attempt, is_rts) = match kind {
            Kind::Rts { category, attempt } => (category, attempt, true),
            Kind::Data { category, attempt, .. } | Kind::Aggregate { category, attempt, .. } => {
                (category, attempt, false)
            }
            Kind::Cts | Kind::Ack | Kind::BlockAckRequest { .. } | Kind::BlockAck | Kind::CfEnd => return,
        };
        let rate = (!is_rts).then_some(rate);
        if let Some(burst) = medium.burst_on_air(from, category) {
            for &id in burst.mpdus.into_iter().flat_map(|mpdu| mpdu.packets) {
                let packet = self.under_way(id);
                packet.transmit(at, rate);
                packet.attempts += u32::from(!is_rts);
            }
        } else if let Some(&id) = medium.in_service(from, category) {
            let packet = self.under_way(id);
            packet.transmit(at, rate);
            packet.attempts = attempt;
        }
    }
}

impl UnderWay {
    fn transmit(&mut self, at: Instant, rate: Option<PhyRate>) {
        self.first_tx.get_or_insert(at);
        self.rate = rate.or(self.rate);
    }
}
