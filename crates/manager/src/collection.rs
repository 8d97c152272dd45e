//! The state of a manager, collected in parts between packets, so that no part takes long.
//!
//! The driver begins a [`Collection`] and calls [`Manager::collect`](crate::Manager::collect) repeatedly; packets may come in between.
//! Each call hands over stations that have changed since they were last handed over, and the most recently used flows. At the end come the
//! totals ([`Manager::report_totals`](crate::Manager::report_totals)). Another thread keeps the copies in [`Collected`], and makes the
//! report.
//!
//! Each part is of its own instant: rates have to be computed by that ([`StationReport::copied`]). A station is handed over at most once
//! in a collection. One that appears, or appears again, behind the cursor is in the next collection. All collections of a manager belong
//! to one [`Collected`], one after another: a part that is lost is not handed over again.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;

use evenair_units::Instant;

use crate::api::{FlowReport, Report, StationReport};
use crate::stations::complete_domains;

/// Progress of a collection.
#[derive(Clone, Debug)]
pub struct Collection {
    /// The next slot of the table of stations; `None`: all slots are done.
    pub(crate) slot: Option<u32>,
    /// Flows still to copy.
    pub(crate) flows: usize,
    /// Flows that may still be looked at, including flows that were copied already.
    pub(crate) looks: usize,
}

/// Flows that may be looked at for each one that is wanted, so that a collection ends even if packets change the order of use as fast as
/// it advances. With four, each copied flow may be used three times during the few milliseconds that a collection takes.
const LOOKS_EACH: usize = 4;

impl Collection {
    /// The start of a collection that copies at most so many flows, those that were used last.
    pub fn new(flows: usize) -> Self {
        Self { slot: Some(0), flows, looks: flows.saturating_mul(LOOKS_EACH) }
    }
}

/// A part of the state, copied at one instant.
#[derive(Clone, Debug)]
pub struct Part {
    /// When it was copied.
    pub(crate) at: Instant,
    /// Slots of the table of stations that were looked at.
    pub(crate) slots: Range<u32>,
    /// The changed ones of these slots; `None`: the slot is empty.
    pub(crate) stations: Vec<(u32, Option<StationReport>)>,
    pub(crate) flows: Vec<FlowReport>,
}

impl Part {
    /// An empty part of this instant.
    pub const fn new(at: Instant) -> Self {
        Self { at, slots: 0..0, stations: Vec::new(), flows: Vec::new() }
    }

    /// Empties the part and sets its instant. It keeps its memory, since allocating takes longer than filling a part.
    pub fn reset(&mut self, at: Instant) {
        (self.at, self.slots) = (at, 0..0);
        self.stations.clear();
        self.flows.clear();
    }

    /// The stations in it.
    pub fn stations(&self) -> impl Iterator<Item = &StationReport> {
        self.stations.iter().filter_map(|(_, station)| station.as_ref())
    }

    /// The flows in it.
    pub fn flows(&self) -> &[FlowReport] {
        &self.flows
    }
}

/// The copies of a manager's stations and flows.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Stations by slot.
    stations: Vec<Option<StationReport>>,
    flows: Vec<FlowReport>,
}

impl Collected {
    /// Takes over the content of the next part.
    pub fn take(&mut self, part: &mut Part) {
        let Part { at, slots, stations, flows } = part;
        for (slot, station) in stations.drain(..) {
            let slot = slot as usize;
            if slot >= self.stations.len() {
                self.stations.resize(slot + 1, None);
            }
            self.stations[slot] = station;
        }
        // Unchanged stations are of that instant as well.
        let present = self.stations.iter_mut().skip(slots.start as usize).take(slots.len());
        present.flatten().for_each(|station| station.copied = *at);
        self.flows.append(flows);
    }

    /// Makes the report at the end of a collection, from these totals, with at most `most` stations: those with the most medium time.
    pub fn finish(&mut self, totals: Report, most: usize) -> Report {
        let mut all: Vec<&StationReport> = self.stations.iter().flatten().collect();
        // A station that has left and come back may be in two slots.
        all.sort_unstable_by_key(|station| (station.mac, Reverse(station.copied)));
        all.dedup_by_key(|station| station.mac);
        let mut report = Report { stations_known: all.len(), flows: core::mem::take(&mut self.flows), ..totals };
        complete_domains(&mut report.domains, all.iter().copied());
        if all.len() > most {
            all.select_nth_unstable_by_key(most, |station| Reverse((station.airtime, station.mac)));
            all.truncate(most);
            all.sort_unstable_by_key(|station| station.mac);
        }
        report.stations = all.into_iter().cloned().collect();
        report
    }
}
