//! Periodic work of a manager, and changes of its configuration.

use alloc::vec::Vec;

use evenair_units::{BitRate, Bytes, Instant, Span};

use super::{Manager, configured_capacity, forget};
use crate::domain::Domain;
use crate::held::Service;
use crate::ids::{DomainId, StationId};
use crate::pacer::Pacer;
use crate::pacer::guard::{Confirmed, left_by_groups};
use crate::pacer::standing::{RatesSaid, Ratio};
use crate::queues::Queues;
use crate::queues::discipline::Disciplined;
use crate::{Config, Event, Mode, Output};

/// Periodic work.
impl<P: Send + 'static> Manager<P> {
    pub(super) fn tick(&mut self, now: Instant) {
        let before = self.rates();
        let mut elapsed = Span::ZERO;
        let said = self.stations.rates_said(self.domains.iter().count(), &self.models);
        let confirmed = self.stations.take_confirmed(said.len());
        for ((id, said), confirmed) in self.domains.ids().zip(said).zip(confirmed) {
            elapsed = self.judge_rate(now, id, said, confirmed);
        }
        self.try_again(now);
        self.note_guard(now);
        self.check_reports(now, elapsed);
        self.review_places(now);
        self.tell_rate(before);
        self.judge_stations(elapsed);
        self.expire_calls(now);
        for domain in self.domains.iter_mut() {
            domain.queues.age(now);
            domain.discipline.iter_mut().for_each(Disciplined::age);
        }
        self.age_links(now);
        self.count_receivers(now);
        let (domains, wan, stations) = (&mut self.domains, &mut self.wan, &mut self.stations);
        self.flows.expire(now, |flow| forget(flow, domains, wan.as_mut(), stations));
        self.expire_neighbours(now);
        self.expire_unheld(now);
    }

    /// Ends an interval of a domain: evaluates its service rate and the guard. `said`: which rates of the stations in use are known.
    /// Returns the length of the interval.
    fn judge_rate(&mut self, now: Instant, id: DomainId, said: RatesSaid, confirmed: Confirmed) -> Span {
        let usual = self.usual_speed(id, said == RatesSaid::NotAll);
        let domain = self.domains.touch(id);
        let waiting = domain.len() > 0;
        let to_groups = core::mem::take(&mut domain.to_groups);
        if self.mode == Mode::Bypassed {
            let elapsed = domain.pacer.tick_unmanaged(now, waiting);
            domain.charged.end_interval(elapsed.saturating_sub(to_groups));
            let left = left_by_groups(to_groups, elapsed);
            self.measure_without_box(id, self.carried(id, confirmed, left, elapsed));
            return elapsed;
        }
        let elapsed = domain.pacer.tick(now, waiting, usual, said);
        domain.charged.end_interval(elapsed.saturating_sub(to_groups));
        self.set_capacity(now, id);
        let left = left_by_groups(to_groups, elapsed);
        self.guard_against_harm(now, id, self.carried(id, confirmed, left, elapsed), left);
        elapsed
    }

    /// The speed that is assumed of a domain's medium where nothing is measured, relative to the airtime model: one, or where some
    /// station's rate is unknown, the speed that it would have at the highest rate. If that is wrong, the box does not help a slow
    /// station, but does not slow down a fast one either.
    fn usual_speed(&self, id: DomainId, unsure: bool) -> Ratio {
        const FULL_SIZE: Bytes = Bytes(1500);
        let model = &self.models[id];
        let usual = model.packet_airtime(FULL_SIZE, model.default_rate(self.config.default_rate)).as_nanos();
        let denominator = model.shortest_airtime(FULL_SIZE).as_nanos();
        if unsure { Ratio { numerator: usual, denominator } } else { Ratio::ONE }
    }

    /// Reports unresponsive senders over their share, and passes their part of the medium to the pacers.
    fn judge_stations(&mut self, elapsed: Span) {
        if self.mode == Mode::Bypassed {
            return;
        }
        // Airtime of the model scales with the measured speed: the interval is as much airtime as the medium carries in it.
        let interval = |domain: &mut Domain<P>| {
            let Ratio { numerator, denominator } = domain.pacer.speed();
            let counted = core::mem::take(&mut domain.counted);
            if counted.paced > Span::ZERO {
                domain.counted_before = counted;
            }
            counted.to_charged(elapsed.mul_div(numerator, denominator))
        };
        let intervals: Vec<Span> = self.domains.iter_mut().map(interval).collect();
        let outputs = &mut self.outputs;
        let floods = self.stations.judge(&intervals, |mac, over| {
            outputs.push_back(Output::Event(Event::StationOverShare { mac, over }));
        });
        for ((domain, flood), interval) in self.domains.iter_mut().zip(floods).zip(intervals) {
            domain.pacer.on_flood(flood, interval);
        }
    }

    /// Updates the weight of a station's queues after a change of its rate or weight.
    pub(super) fn update_station(&mut self, id: StationId) {
        let station = self.stations.get(id);
        self.domains.touch(station.domain).queues.update_station(id, station);
    }

    pub(super) fn update_capacity(&mut self, now: Instant, station: StationId) {
        let before = self.rates();
        self.set_capacity(now, self.stations.get(station).domain);
        self.tell_rate(before);
    }

    /// Sets C* to that of the active queues. Without any the last value stays, since the next stations are unknown.
    fn set_capacity(&mut self, now: Instant, id: DomainId) {
        let domain = self.domains.touch(id);
        if let Some(capacity) = domain.active_capacity(&self.stations, now) {
            domain.pacer.on_capacity(capacity);
        }
    }

    /// Service rate C and capacity C* of all domains together.
    pub(super) fn rates(&self) -> (BitRate, BitRate) {
        let add = |sum: BitRate, rate: BitRate| sum + rate;
        let sum = |rate: fn(&Pacer) -> BitRate| {
            self.domains.iter().map(|domain| rate(&domain.pacer)).fold(BitRate::ZERO, add)
        };
        (sum(Pacer::service_rate), sum(Pacer::capacity))
    }

    fn tell_rate(&mut self, before: (BitRate, BitRate)) {
        let (service_rate, capacity) = self.rates();
        if before != (service_rate, capacity) {
            self.tell(Event::RateChanged { service_rate, capacity });
        }
    }

    /// Applies another configuration. Held packets stay held, in the order of service; C starts anew.
    pub(super) fn reconfigure(&mut self, now: Instant, config: Config) {
        let before = self.rates();
        self.access_points = self.access_points.renewed(&config.access_points);
        let moved = self.stations.find_again(&self.access_points);
        let mut models = config.airtime_models(&self.access_points);
        models.note_those_of(&self.models);
        if !models.has_domains_of(&self.models) {
            self.domains.forget_groups();
        }
        self.models = models;
        if !config.infer_rates {
            self.stations.forget_inferred();
        }
        self.stations.set_rssi(config.rssi.clone());
        self.stations.reconfigure(config.default_rate, &config.stations, &self.models, now);
        let held = self.rebuild_domains(&config, now, moved);
        self.totals = core::mem::take(&mut self.totals).moved(&self.config.policy, &config.policy);
        self.reads_dscp = config.policy.reads_dscp();
        self.rebuild_queues(&config, now);
        self.domains.ids().for_each(|id| self.rebuild_discipline(id, &config, now));
        held.into_iter().for_each(|held| self.hold_again(now, held));
        self.rebuild_links(&config, now);
        self.domains.ids().for_each(|id| self.rebuild_rate(id, &config, now));
        match (self.config.receiver, config.receiver) {
            (None, Some(_)) => self.begin_receiver(now),
            (before, after) if before != after => self.steer_anew(now),
            _ => {}
        }
        self.reconfigure_limit(&config, now);
        self.reconfigure_probes(&config, now);
        self.config = config;
        self.tell_rate(before);
    }

    fn rebuild_rate(&mut self, id: DomainId, config: &Config, now: Instant) {
        let domain = self.domains.touch(id);
        let standard = self.models[id].standard();
        let capacity = domain.active_capacity(&self.stations, now);
        let capacity = capacity.unwrap_or_else(|| configured_capacity(config, &self.models[id], &self.stations, id));
        let waiting = domain.len() > 0;
        domain.pacer.reconfigure(config.pacer(standard), capacity, now, waiting);
    }

    fn rebuild_queues(&mut self, config: &Config, now: Instant) {
        let mut old = Vec::new();
        for domain in self.domains.iter_mut() {
            let queues = core::mem::replace(&mut domain.queues, Queues::new(&config.tree(), now));
            old.push((queues, domain.pacer.capacity()));
        }
        for id in self.flows.ids() {
            let flow = self.flows.get(id);
            let station = self.stations.get(flow.station);
            let domain = self.domain_of_flow(&flow.key, station.domain);
            let flow = self.flows.get_mut(id);
            flow.leaf = None;
            if flow.held == 0 {
                flow.domain = domain;
            }
            flow.placed_at = Some(station.regrouped);
            flow.place = config.policy.place(flow, station);
            flow.beyond = config.wan.as_ref().is_some_and(|wan| wan.is_beyond(&flow.key.flow, flow.key.low_is_station));
        }
        for (mut queues, capacity) in old {
            queues.lift_ceilings();
            while let Some(held) = queues.pop(now, |held| Service::by_length(held.ip_len, capacity)) {
                let leaf = self.leaf(held.flow);
                let domain = self.flows.get(held.flow).domain;
                self.domains.touch(domain).queues.push(leaf, held, now);
            }
        }
    }
}
