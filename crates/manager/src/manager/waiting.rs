//! Packets that wait for the WLAN: in the policy's tree, or in a discipline in its place.

use alloc::vec::Vec;

use evenair_sched::{Cause, Dropped};
use evenair_units::Instant;

use super::Manager;
use crate::held::{Held, Service, Tags};
use crate::ids::{DomainId, FlowId};
use crate::packet_cost::PacketCost;
use crate::queues::discipline::Disciplined;
use crate::{Config, DropReason};

impl<P: Send + 'static> Manager<P> {
    /// Number of packets that wait for the WLAN.
    pub(super) fn held_for_wlan(&self) -> usize {
        self.domains.held()
    }

    /// Holds a packet in a domain with a discipline.
    pub(super) fn hold_in_discipline(&mut self, now: Instant, held: Held<P>) {
        if self.config.held_limit.is_some_and(|limit| self.held() >= limit as usize) {
            return self.discard(held.packet, held.flow, DropReason::QueueFull);
        }
        let id = self.flows.get(held.flow).domain;
        let domain = self.domains.touch(id);
        if domain.len() == 0 {
            domain.pacer.on_busy(now);
        }
        self.push_to_discipline(now, held);
        self.collect_drops(id);
    }

    fn push_to_discipline(&mut self, now: Instant, held: Held<P>) {
        let tags = self.tags(held.flow);
        let flow = self.flows.get_mut(held.flow);
        flow.held += 1;
        let charge = flow.charge(held.tcp.as_ref(), held.ip_len);
        if let (Some(discipline), Some(tags)) = (&mut self.domains.touch(flow.domain).discipline, tags) {
            discipline.push(now, held, tags, charge);
        }
    }

    /// The identity of a flow for a discipline. It does not change while packets of the flow are held, so that none
    /// overtakes another when the flow's station changes.
    fn tags(&mut self, id: FlowId) -> Option<Tags> {
        let flow = self.flows.get_mut(id);
        let config = self.domains[flow.domain].discipline.as_ref()?.config();
        if flow.held == 0 || flow.tags.is_none() {
            let station = flow.station.number();
            let leaf = config.leaf_of(self.stations.get(flow.station).class(), flow.direction);
            let of = self.stations.get(flow.station);
            // Unheard stations are one flow, with a number beyond all serial numbers.
            let connection = if of.is_shared { u64::MAX - station } else { flow.serial };
            flow.tags =
                Some(Tags { connection, flow: if config.by_station { station } else { connection }, station, leaf });
        }
        flow.tags
    }

    /// Takes the next packet, with its cost and whether it is to be CE-marked.
    pub(super) fn take_next(&mut self, now: Instant, id: DomainId) -> Option<(Held<P>, PacketCost, bool)> {
        if self.domains[id].discipline.is_none() {
            self.drop_old(now, id);
            let congested = self.signal_senders(now, id);
            return self.pop(now, id).map(|(held, cost)| (held, cost, congested));
        }
        let taken = self.pop_from_discipline(now, id);
        self.collect_drops(id);
        taken.map(|(held, cost)| (held, cost, false))
    }

    fn pop_from_discipline(&mut self, now: Instant, id: DomainId) -> Option<(Held<P>, PacketCost)> {
        let discipline = self.domains.touch(id).discipline.as_mut()?;
        let (held, charge) = discipline.pop(now)?;
        let flow = self.flows.get_mut(held.flow);
        flow.held -= 1;
        flow.released += held.ip_len;
        let cost = flow.note_release(held.tcp.as_ref(), held.ip_len);
        flow.settle(charge.expected, &cost);
        let station = self.stations.get(flow.station);
        let model = &self.models[station.domain];
        let airtime = model.packet_airtime(held.ip_len, station.rate);
        discipline.note_service(cost.bits(), station.capacity, airtime);
        if let (Some(tags), true) = (flow.tags, discipline.asks_for_costs()) {
            let at_best = model.packet_airtime(held.ip_len, model.fastest());
            discipline.note_cost(now, tags.leaf, charge.due, [airtime, at_best]);
        }
        Some((held, cost))
    }

    fn collect_drops(&mut self, id: DomainId) {
        let next = |this: &mut Self| this.domains.touch(id).discipline.as_mut().and_then(Disciplined::poll_drop);
        while let Some(Dropped { packet, cause }) = next(self) {
            self.drop_held(packet, cause);
        }
    }

    fn drop_held(&mut self, held: Held<P>, cause: Cause) {
        self.flows.get_mut(held.flow).held -= 1;
        let reason = match cause {
            Cause::Overflow => DropReason::QueueFull,
            Cause::Delay => DropReason::StandingQueue,
        };
        self.discard(held.packet, held.flow, reason);
    }

    /// Takes all packets out of the discipline, in its order.
    pub(super) fn drain_discipline(&mut self, now: Instant, id: DomainId) -> Vec<Held<P>> {
        let Some(discipline) = &mut self.domains.touch(id).discipline else { return Vec::new() };
        let (taken, dropped) = discipline.drain(now);
        for held in &taken {
            self.flows.get_mut(held.flow).held -= 1;
        }
        for Dropped { packet, cause } in dropped {
            self.drop_held(packet, cause);
        }
        taken
    }

    /// Replaces or removes the discipline. An unchanged one keeps its packets and state.
    pub(super) fn rebuild_discipline(&mut self, id: DomainId, config: &Config, now: Instant) {
        let same = self.domains[id].discipline.as_ref().map(Disciplined::config) == config.queue.as_deref();
        if same {
            return;
        }
        let mut held = self.drain_discipline(now, id);
        let domain = self.domains.touch(id);
        if config.queue.is_some() {
            let capacity = domain.pacer.capacity();
            domain.queues.lift_ceilings();
            while let Some(packet) = domain.queues.pop(now, |held| Service::by_length(held.ip_len, capacity)) {
                self.flows.get_mut(packet.flow).held -= 1;
                held.push(packet);
            }
        }
        domain.discipline = config.queue.as_deref().map(Disciplined::new);
        held.into_iter().for_each(|packet| self.hold_again(now, packet));
    }

    /// Holds a packet that was held before, regardless of the tree's limits.
    pub(super) fn hold_again(&mut self, now: Instant, held: Held<P>) {
        let id = self.flows.get(held.flow).domain;
        if self.domains[id].discipline.is_some() {
            self.push_to_discipline(now, held);
            return self.collect_drops(id);
        }
        let leaf = self.leaf(held.flow);
        self.flows.get_mut(held.flow).held += 1;
        self.domains.touch(id).queues.push(leaf, held, now);
    }
}
