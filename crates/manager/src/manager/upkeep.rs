//! What a manager does from time to time, and when its configuration changes.

use evenair_units::{BitRate, Bytes, Instant, Span};

use super::{Manager, configured_capacity, forget};
use crate::cost::Medium;
use crate::discipline::Disciplined;
use crate::queues::{Queues, Service};
use crate::rate::ServiceRate;
use crate::receiver::steering::Steering;
use crate::{Config, Event, Mode, Output};

/// From time to time.
impl<P: Send + 'static> Manager<P> {
    pub(super) fn tick(&mut self, now: Instant) {
        let account = self.server.take_account(now, self.held_for_wlan() > 0);
        let before = (self.rate.rate(), self.rate.capacity());
        if self.mode == Mode::Bypassed {
            self.rate.measure(now, account.elapsed);
        } else {
            self.rate.tick(now, account);
            self.standing.forget_speed(now, self.usual_speed());
            self.rate.set_speed(self.standing.speed());
            self.set_capacity(now);
        }
        self.judge_told(now, account.elapsed);
        self.tell_rate(before);
        self.judge_stations(account.elapsed);
        self.expire_calls(now);
        self.queues.age(now);
        self.discipline.iter_mut().for_each(Disciplined::age);
        self.age_links(now);
        self.count_receivers(now);
        let (queues, wan, stations) = (&mut self.queues, &mut self.wan, &mut self.stations);
        self.flows.expire(now, |flow| forget(flow, queues, wan.as_mut(), stations));
        self.stations.expire(now);
    }

    /// How fast the medium is taken to be where nothing can be learned of it: as fast as said, or where nobody has said at
    /// which rate a station is, as fast as if it were at the highest. A box that is wrong then is of no use to a slow
    /// station, but does not slow down a fast one.
    fn usual_speed(&self) -> (u64, u64) {
        const FULL_SIZE: Bytes = Bytes(1500);
        let airtime = |rate| self.medium.packet_airtime(FULL_SIZE, rate).as_nanos();
        let usual = airtime(self.config.default_rate);
        let shortest = self.config.phy.standard().rates().iter().map(|&rate| airtime(rate)).min().unwrap_or(usual);
        match self.stations.iter().any(|station| station.flows > 0 && !station.has_known_rate()) {
            true => (usual, shortest),
            false => (1, 1),
        }
    }

    /// Tells who takes more than its share and cannot be held back.
    fn judge_stations(&mut self, elapsed: Span) {
        if self.mode == Mode::Bypassed {
            return;
        }
        // Airtimes are believed in proportion: the interval is as long as the medium has been seen to be fast.
        let (numerator, denominator) = self.standing.speed();
        let outputs = &mut self.outputs;
        self.stations.judge(elapsed.mul_div(numerator, denominator), |mac, over| {
            outputs.push_back(Output::Event(Event::StationOverShare { mac, over }));
        });
    }

    pub(super) fn update_capacity(&mut self, now: Instant) {
        let before = (self.rate.rate(), self.rate.capacity());
        self.set_capacity(now);
        self.tell_rate(before);
    }

    /// C* of the active queues. Where there are none, the last one stands: nothing is known of who comes next.
    fn set_capacity(&mut self, now: Instant) {
        if let Some(capacity) = self.active_capacity(now) {
            self.rate.set_capacity(capacity);
        }
    }

    fn tell_rate(&mut self, before: (BitRate, BitRate)) {
        let (service_rate, capacity) = (self.rate.rate(), self.rate.capacity());
        if before != (service_rate, capacity) {
            self.tell(Event::RateChanged { service_rate, capacity });
        }
    }

    /// Takes another configuration over. What is held stays held, in the order of service; C starts anew.
    pub(super) fn reconfigure(&mut self, now: Instant, config: Config) {
        let before = (self.rate.rate(), self.rate.capacity());
        self.medium = Medium::new(config.phy.clone(), config.rts_threshold);
        self.stations.reconfigure(&config, &self.medium, now);
        self.server.set_slack(config.pacing_slack);
        self.totals = core::mem::take(&mut self.totals).moved(&self.config.policy, &config.policy);
        self.reads_dscp = config.policy.reads_dscp();
        self.rebuild_queues(&config, now);
        self.rebuild_discipline(&config, now);
        self.rebuild_links(&config, now);
        let capacity = self.active_capacity(now);
        let capacity = capacity.unwrap_or_else(|| configured_capacity(&config, &self.medium, &self.stations));
        self.server.take_account(now, self.held_for_wlan() > 0);
        self.rate = ServiceRate::new(config.charge, config.controller, capacity, now);
        match (self.config.receiver, config.receiver) {
            (None, Some(_)) => self.receiver.begin(now),
            (before, after) if before != after => self.receiver.steering = Steering::new(now),
            _ => {}
        }
        self.reconfigure_limit(&config, now);
        self.config = config;
        self.tell_rate(before);
    }

    fn rebuild_queues(&mut self, config: &Config, now: Instant) {
        let fresh = Queues::new(config, now);
        let mut old = core::mem::replace(&mut self.queues, fresh);
        for id in self.flows.ids() {
            let flow = self.flows.get_mut(id);
            flow.leaf = None;
            let station = self.stations.get(flow.station);
            flow.placed_at = Some(station.regrouped);
            flow.place = config.policy.place(flow, station);
            flow.beyond = config.wan.as_ref().is_some_and(|wan| wan.is_beyond(&flow.key.1, flow.key.2));
        }
        let capacity = self.rate.capacity();
        old.lift_ceilings();
        while let Some(held) = old.pop(now, |held| Service::by_length(held.ip_len, capacity)) {
            let leaf = self.leaf(held.flow);
            self.queues.push(leaf, held, now);
        }
    }
}
