//! Hooks in the world that write the traces.

use std::io;
use std::path::Path;

use evenair_workload::Direction;

use super::{Tracer, Wired};
use crate::SimError;
use crate::packet::PacketId;
use crate::world::World;

impl World {
    /// Starts to write traces into a folder.
    pub(crate) fn trace_into(&mut self, folder: &Path) -> Result<(), SimError> {
        let tracer = Tracer::new(folder, &self.scenario, self.middlebox.is_some())
            .map_err(|(path, error)| failed(&path, &error))?;
        self.tracer = Some(Box::new(tracer));
        self.watch_air();
        Ok(())
    }

    /// Makes the medium report transmissions.
    pub(crate) fn watch_air(&mut self) {
        self.domains.all_mut().for_each(|air| air.medium.watch());
        self.watches_air = true;
    }

    /// Writes the rest of the traces.
    pub(crate) fn finish_trace(&mut self) -> Result<(), SimError> {
        self.tracer.take().map_or(Ok(()), |tracer| tracer.finish().map_err(|(path, error)| failed(&path, &error)))
    }

    /// Traces a packet that enters or leaves the box's place on the wire.
    #[inline(always)]
    pub(crate) fn trace_wire(&mut self, id: PacketId, comes: bool) {
        if self.tracer.is_some() {
            self.write_wire(id, comes);
        }
    }

    #[inline(never)]
    fn write_wire(&mut self, id: PacketId, comes: bool) {
        if let Some(tracer) = &mut self.tracer {
            let (packet, segment) = self.pool.whole(id);
            let from_air = packet.way == Direction::Up;
            let side = if from_air == comes { Wired::AccessPoint } else { Wired::Network };
            tracer.wire(self.now, side, packet, segment);
        }
    }

    /// Takes the medium's reports before their packets are freed.
    #[inline(always)]
    pub(crate) fn trace_air(&mut self, domain: usize) {
        if self.watches_air {
            self.write_air(domain);
        }
    }

    #[inline(never)]
    fn write_air(&mut self, domain: usize) {
        let air = self.domains.at_mut(domain);
        while let Some(on_air) = air.medium.poll_on_air() {
            if let Some(log) = &mut self.packet_log {
                log.note(&on_air, &air.medium);
            }
            if let Some(tracer) = &mut self.tracer {
                tracer.note_on_air(&on_air, domain, air, &self.pool);
            }
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.advance(self.now);
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> SimError {
    SimError::Trace(format!("{}: {error}", path.display()))
}
