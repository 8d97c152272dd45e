//! What sources tell of stations, on its way to the queues.

use evenair_units::{Instant, Span};

use super::Manager;
use crate::station::StationId;
use crate::{Controller, Event, Mode, Output, Told};

impl<P: Send + 'static> Manager<P> {
    /// A source tells of a station.
    pub(super) fn hear(&mut self, now: Instant, told: &Told) {
        let rates = self.config.phy.standard().rates();
        let Some(heard) = self.stations.hear(now, told, rates, &self.medium) else { return };
        if heard.new {
            self.tell(Event::StationLearned(told.mac));
        }
        if heard.changed {
            self.update_station(heard.id);
            self.update_capacity(now, heard.id);
        }
        self.pass_signal_on(now, heard.id, told);
        self.serve(now);
    }

    /// To a discipline that knows channels by it.
    fn pass_signal_on(&mut self, now: Instant, id: StationId, told: &Told) {
        let station = self.stations.get(id);
        let Some(signal) = told.signal_dbm.and_then(|_| station.signal(now)) else { return };
        let class = station.class();
        if let Some(discipline) = &mut self.domains[station.domain].discipline {
            discipline.hear(now, class, signal);
        }
    }

    /// An interval has ended: what is told is held against what crossed, and what is old is forgotten.
    pub(super) fn judge_told(&mut self, now: Instant, elapsed: Span) {
        // Where packets are released without regard to the medium, what is released has not crossed it.
        let released_as_it_crosses =
            self.mode == Mode::Inserted && matches!(self.config.controller, Controller::Queue { .. });
        let outputs = &mut self.outputs;
        let shares = self.domains.iter_mut().map(|domain| &mut domain.shares).collect();
        self.stations.judge_told(now, released_as_it_crosses.then_some(elapsed), shares, |mac, rate| {
            outputs.push_back(Output::Event(Event::ToldContradicted { mac, rate }));
        });
        let rates = self.config.phy.standard().rates();
        for id in self.stations.review_told(now, rates, &self.medium) {
            self.update_station(id);
        }
    }
}
