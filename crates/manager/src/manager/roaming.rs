//! Stations that move to another access point, and so to another contention domain.
//!
//! The packets that the box holds for a station move with it at once, each flow as a whole and in order, since the
//! new access point sends them from now on; later packets line up behind them. Packets released before stay in the
//! backlog estimate of the old domain until a completion or time removes them, since they were sent there. A
//! discipline does not give back packets that it holds, so with one a flow moves when its last held packet has left.
//!
//! What is not here: how the manager learns where a station is (see `access_points`).

use alloc::vec::Vec;

use evenair_packet::{MacAddr, PacketMeta, Vlan};
use evenair_units::Instant;

use super::Manager;
use crate::domain::{Domain, Domains};
use crate::flows::Key;
use crate::held::{Held, Service};
use crate::ids::{DomainId, FlowId, StationId};
use crate::{Config, DomainReport, Event, Hop, Label, Observation, Place};

impl<P: Send + 'static> Manager<P> {
    /// Handles a report of a station's place.
    pub(super) fn handle_place_report(&mut self, now: Instant, mac: MacAddr, place: Option<Place>) {
        let Some((id, new)) = self.stations.reported_station(mac, &self.models, now) else {
            return self.tell(Event::ObservationRefused(Observation::StationAt { mac, place }));
        };
        if new {
            self.note_learned(now, id, mac);
        }
        if let Some(Place::Tuned { radio, mhz }) = place
            && !self.access_points.knows(radio)
            && self.access_points.learned.hear(now, radio, mhz)
        {
            self.place_anew(now);
        }
        let station = self.stations.get_mut(id);
        // Sources repeat their reports.
        let before = core::mem::replace(&mut station.reported_place, place);
        if before != place && !station.is_seen {
            let found = place.and_then(|place| self.access_points.find(place));
            self.put_at(now, id, found);
        }
        self.serve(now);
    }

    /// Handles a frame from a station: if its VLAN identifies an access point, the station is there.
    pub(super) fn see_vlan(&mut self, now: Instant, id: StationId, vlan: Option<Vlan>) {
        let vlan = vlan.filter(|_| self.access_points.reads_vlans());
        let Some(found) = vlan.and_then(|vlan| self.access_points.of_vlan(vlan)) else { return };
        let station = self.stations.get_mut(id);
        station.is_seen = true;
        if station.access_point != Some(found.0) {
            self.put_at(now, id, Some(found));
        }
    }

    fn put_at(&mut self, now: Instant, id: StationId, found: Option<(Label, DomainId)>) {
        let station = self.stations.get_mut(id);
        station.access_point = found.map(|(name, _)| name);
        self.move_to(now, id, found.map_or(DomainId::DEFAULT, |(_, domain)| domain));
    }

    /// Handles a change of the domains: creates new ones, and moves stations to their reported places.
    fn place_anew(&mut self, now: Instant) {
        self.make_learned(now);
        let channels = self.access_points.learned.in_use();
        self.tell(Event::DomainsChanged { channels });
        for (id, place) in self.stations.reported_places() {
            let found = self.access_points.find(place);
            self.put_at(now, id, found);
        }
    }

    fn make_learned(&mut self, now: Instant) {
        let known = self.domains.iter().count();
        let names: Vec<Label> = self.access_points.domains().collect();
        for (at, &name) in names.iter().enumerate().skip(known) {
            let id = DomainId::at(at);
            let medium = super::configured_medium(&self.config, &self.models[id], &self.stations, id);
            self.domains.push(Domain::new(id, name, &self.config, medium, now));
        }
    }

    /// Periodically forgets channels without reports.
    pub(super) fn review_places(&mut self, now: Instant) {
        if self.access_points.learned.review(now) {
            self.place_anew(now);
        }
    }

    /// Moves a station to another contention domain, with its held packets.
    fn move_to(&mut self, now: Instant, id: StationId, domain: DomainId) {
        let before = self.stations.get(id).domain;
        if before == domain {
            return;
        }
        if self.stations.move_to(now, id, domain, &self.models) {
            self.update_station(id);
        }
        self.domains.touch(domain).roamed += 1;
        for id in [before, domain] {
            self.reckon_limit(now, id);
        }
        let flows: Vec<FlowId> = self.flows.of_station(id).collect();
        for flow in flows {
            self.settle(now, flow, None);
        }
        self.ask_calls_again(id);
    }

    /// Moves a flow's packets that are held for the WLAN to its present queue, in order: in another contention domain, or at another place
    /// in the policy.
    pub(super) fn move_held(&mut self, now: Instant, id: FlowId, to: DomainId) {
        let flow = self.flows.get_mut(id);
        let from = core::mem::replace(&mut flow.domain, to);
        let Some(old) = flow.leaf.take() else { return };
        let queues = &mut self.domains.touch(from).queues;
        let held = queues.take(old, id);
        queues.detach(old);
        if held.is_empty() {
            return;
        }
        let leaf = self.leaf(id);
        if from != to {
            self.wake(now, to);
        }
        held.into_iter().for_each(|held| self.domains.touch(to).queues.push(leaf, held, now));
    }

    /// Notes that the first packet of a busy period is about to come.
    pub(super) fn wake(&mut self, now: Instant, id: DomainId) {
        let domain = self.domains.touch(id);
        if domain.queues.is_empty() && domain.pacer.on_busy(now) && self.free_at(id) <= now {
            self.domains.touch(id).queues.end_service();
        }
    }

    /// Applies other access points; `moved`: stations change their domains. Where domains or their stations have changed, takes out the
    /// waiting packets in the order of service, to be held again.
    pub(super) fn rebuild_domains(&mut self, config: &Config, now: Instant, moved: bool) -> Vec<Held<P>> {
        let same = self.access_points.domains().eq(self.domains.iter().map(|domain| domain.name));
        if same && !moved {
            return Vec::new();
        }
        self.release_groups(now);
        let held = self.domains.ids().flat_map(|id| self.take_held(now, id)).collect();
        if !same {
            // It is unknown now to which releases later acknowledgments belong.
            self.flows.ids().for_each(|id| self.flows.get_mut(id).answers.forget());
            let mut old: Vec<Option<Domain<P>>> = self.domains.take().into_iter().map(Some).collect();
            let mut renewed = Vec::new();
            for (at, name) in self.access_points.domains().enumerate() {
                let kept = old.get_mut(at).and_then(|domain| domain.take_if(|domain| domain.name == name));
                let id = DomainId::at(at);
                let medium = super::configured_medium(config, &self.models[id], &self.stations, id);
                renewed.push(kept.unwrap_or_else(|| Domain::new(id, name, config, medium, now)));
            }
            self.domains = Domains::new(renewed);
        }
        held
    }

    /// Takes all waiting packets out of a domain, in the order of service.
    fn take_held(&mut self, now: Instant, id: DomainId) -> Vec<Held<P>> {
        let mut taken = self.drain_discipline(now, id);
        let domain = self.domains.touch(id);
        let capacity = domain.pacer.capacity();
        domain.queues.lift_ceilings();
        while let Some(held) = domain.queues.pop(now, |held| Service::by_length(held.ip_len, capacity)) {
            self.flows.get_mut(held.flow).held -= 1;
            taken.push(held);
        }
        taken
    }

    /// Reports of the domains, without the values that follow from stations.
    pub(super) fn report_domains(&self, now: Instant) -> Vec<DomainReport> {
        let report = |(at, domain): (usize, &Domain<P>)| DomainReport {
            name: domain.name,
            access_points: self.access_points.in_domain(DomainId::at(at)).collect(),
            learned: self.access_points.place_learned(DomainId::at(at)).is_some(),
            stations: 0,
            roamed: domain.roamed,
            service_rate: domain.pacer.service_rate(),
            capacity: domain.pacer.capacity(),
            throughput: domain.pacer.throughput(),
            hop: domain.waits.report(Hop::Wlan, domain.len()),
            receiver: self.report_steered(&domain.receiver),
            uplink: domain.uplink.as_ref().map(|limiter| limiter.report(now)),
            path: domain.pacer.paces_by_completions().then(|| domain.report_path(now)),
            groups: domain.groups.report(),
        };
        self.domains.iter().enumerate().map(report).collect()
    }
}

/// Contention domains.
impl<P: Send + 'static> Manager<P> {
    /// The contention domain for which a flow waits: that of the access point whose VLAN its frames are in, or else its station's. So a
    /// frame in another VLAN does not move the packets that its station has here.
    pub(super) fn domain_of_flow(&self, key: &Key, of_station: DomainId) -> DomainId {
        self.access_points.of_frame(key.vlan).map_or(of_station, |(_, domain)| domain)
    }

    /// The domain in which a packet that is not held is charged: that of its station, or of the access point whose VLAN it is in.
    pub(super) fn domain_of(&self, station: Option<StationId>, meta: &PacketMeta) -> DomainId {
        let of_station = station.map(|id| self.stations.get(id).domain);
        let of_frame = || self.access_points.of_frame(meta.vlan).map(|(_, domain)| domain);
        of_station.or_else(of_frame).unwrap_or(DomainId::DEFAULT)
    }

    /// Marks all domains as served until their deadlines.
    pub(super) fn settle_domains(&mut self) {
        while let Some(id) = self.domains.next_touched() {
            let due = self.due(id);
            self.domains.settle(id, due);
        }
    }
}
