//! Handles telemetry reports about stations, and passes their results on to the queues.

use alloc::boxed::Box;

use evenair_units::{Instant, Span};

use super::Manager;
use crate::ids::{DomainId, StationId};
use crate::{Event, Mechanism, Mode, Output, RateReport};

impl<P: Send + 'static> Manager<P> {
    /// Handles a telemetry report about a station.
    pub(super) fn handle_rate_report(&mut self, now: Instant, report: &RateReport) {
        for mode in [report.transmit_mode, report.receive_mode].into_iter().flatten() {
            self.models.note(mode.into());
        }
        let Some(outcome) = self.stations.handle_report(now, report, &self.models) else { return };
        if outcome.new {
            self.note_learned(now, outcome.id, report.mac);
        }
        if outcome.changed {
            self.update_station(outcome.id);
            self.update_capacity(now, outcome.id);
        }
        self.pass_signal_on(now, outcome.id, report);
        self.serve(now);
    }

    /// Passes the signal on to a channel-aware discipline.
    fn pass_signal_on(&mut self, now: Instant, id: StationId, report: &RateReport) {
        let station = self.stations.get(id);
        let Some(signal) = report.signal_dbm.and_then(|_| station.signal(now)) else { return };
        let class = station.class();
        if let Some(discipline) = &mut self.domains.touch(station.domain).discipline {
            discipline.hear(now, class, signal);
        }
    }

    /// At the end of an interval: compares reports with the traffic, and forgets expired ones.
    pub(super) fn check_reports(&mut self, now: Instant, elapsed: Span) {
        // Where releases do not follow completions, released packets may not have crossed the medium yet.
        let released_as_it_crosses = self.mode == Mode::Inserted && self.config.controller.follows_completions();
        let outputs = &mut self.outputs;
        let shares = self.domains.iter_mut().map(|domain| &mut domain.shares).collect();
        self.stations.check_reports(now, released_as_it_crosses.then_some(elapsed), shares, |mac, rate| {
            outputs.push_back(Output::Event(Event::ReportContradicted { mac, rate }));
        });
        if released_as_it_crosses {
            self.check_measured_costs();
        }
        self.estimate_where_needed(released_as_it_crosses);
        if self.config.infer_rates {
            self.stations.forget_beside_floods(self.domains.iter().count());
        }
        for id in self.stations.review_reports(now, &self.models) {
            self.update_station(id);
        }
        self.domains.ids().for_each(|id| self.note_measures(id));
    }

    /// Infers the rates of unreported stations after a change of a domain's measured costs.
    pub(super) fn infer_rates(&mut self, now: Instant, id: DomainId) {
        self.note_measures(id);
        if !self.config.infer_rates {
            return;
        }
        let Some(observed) = &self.domains[id].observed else { return };
        let changed = self.stations.infer(id, &observed.costs(), &self.models);
        changed.iter().for_each(|&station| self.update_station(station));
        if let Some(&station) = changed.first() {
            self.update_capacity(now, station);
            self.note_measures(id);
        }
    }

    /// Sets the units in which the estimator counts releases.
    fn note_measures(&mut self, id: DomainId) {
        let (stations, models) = (&self.stations, &self.models);
        if let Some(observed) = &mut self.domains.touch(id).observed {
            observed.measure_in(|station| stations.measure(station, id, models));
        }
    }

    /// Compares the reported rates with the measured costs of releases.
    fn check_measured_costs(&mut self) {
        for id in self.domains.ids() {
            let Some(observed) = &self.domains[id].observed else { continue };
            let (costs, outputs) = (observed.costs(), &mut self.outputs);
            self.stations.check_measured_costs(id, &costs, &self.models, |mac, rate| {
                outputs.push_back(Output::Event(Event::ReportContradicted { mac, rate }));
            });
        }
    }

    /// Runs the estimator if reports distinguish the stations, or some of several are unreported, and the tree decides
    /// the order.
    fn estimate_where_needed(&mut self, released_as_it_crosses: bool) {
        let domains = self.domains.iter().count();
        let mut matters = self.stations.reports_matter(domains, &self.models);
        let is_wanted = released_as_it_crosses && !self.config.without.has(Mechanism::Cost);
        if self.config.infer_rates {
            let needed = self.stations.need_inference(domains);
            matters.iter_mut().zip(needed).for_each(|(matters, needed)| *matters |= needed);
        }
        for (domain, matters) in self.domains.iter_mut().zip(matters) {
            let observe = matters && is_wanted && domain.discipline.is_none() && !domain.pacer.aggregates();
            if domain.observed.is_some() != observe {
                domain.observed = observe.then(Box::default);
            }
        }
    }
}
