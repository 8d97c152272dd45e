//! Packets over the Internet link, before they wait for the WLAN or after they have come from it.

use alloc::vec::Vec;

use evenair_packet::Port;
use evenair_sched::NodeId;
use evenair_units::{Bytes, Instant};

use super::Manager;
use crate::api::{Hop, HopReport};
use crate::held::Held;
use crate::ids::{DOWN, FlowId, UP};
use crate::latency::Leg;
use crate::queues::discipline::Disciplined;
use crate::queues::{Judgement, Room};
use crate::wan::{Wan, direction_of, hop};
use crate::{Config, Counter, DropReason, Lease, LinkNeed, Mode, QueueReport};

/// Packets in and out.
impl<P: Send + 'static> Manager<P> {
    /// A packet came from the wire: takes it through the link's queue if it came over the link.
    pub(super) fn enter_from_wire(&mut self, now: Instant, held: Held<P>) {
        self.time_internet(now, &held);
        if let Some(tcp) = &held.tcp {
            self.note_passage(now, held.flow, Port::Wire, tcp);
        }
        if self.waits_for_link(&held) {
            self.hold_for_link(now, DOWN, held);
        } else {
            self.toward_wlan(now, held);
        }
    }

    /// A packet is to leave by the wire.
    pub(super) fn leave_by_wire(&mut self, now: Instant, held: Held<P>) {
        if self.waits_for_link(&held) {
            self.hold_for_link(now, UP, held);
        } else {
            self.send(now, held, Port::Wire);
        }
    }

    fn waits_for_link(&self, held: &Held<P>) -> bool {
        self.mode != Mode::Bypassed && self.wan.is_some() && self.flows.get(held.flow).beyond
    }

    fn hold_for_link(&mut self, now: Instant, direction: usize, held: Held<P>) {
        let Some(leaf) = self.leaf_on_link(direction, held.flow) else { return };
        let elsewhere = self.held();
        let Some(wan) = &mut self.wan else { return };
        let link = &mut wan.links[direction];
        let elsewhere = elsewhere - link.queues.len();
        match link.queues.make_room(leaf, &held, elsewhere) {
            Room::Enough => {}
            Room::Made(head, reason) => {
                self.flows.get_mut(head.flow).links[direction].held -= 1;
                self.discard_toward(direction, head.packet, head.flow, reason);
                return self.hold_for_link(now, direction, held);
            }
            Room::None(reason) => return self.discard_toward(direction, held.packet, held.flow, reason),
        }
        self.flows.get_mut(held.flow).links[direction].held += 1;
        link.wake(now);
        link.queues.push(leaf, held, now);
    }

    /// The queue of a flow before the link, created if needed.
    fn leaf_on_link(&mut self, direction: usize, id: FlowId) -> Option<NodeId> {
        let wan = self.wan.as_mut()?;
        let flow = self.flows.get_mut(id);
        if flow.links[direction].leaf.is_none() {
            let leaf = wan.links[direction].queues.attach(id, flow, self.stations.get(flow.station));
            flow.links[direction].leaf = Some(leaf);
        }
        flow.links[direction].leaf
    }

    /// Releases the packets for which the link is free.
    pub(super) fn serve_links(&mut self, now: Instant) {
        for direction in [DOWN, UP] {
            if let Some(wan) = &mut self.wan {
                wan.links[direction].queues.refresh(now);
                wan.links[direction].end_late_lease(now);
            }
            while self.mode != Mode::Bypassed && self.is_link_ready(direction, now) {
                self.drop_old_on_link(now, direction);
                let congested = self.tell_senders_on_link(now, direction);
                let Some(mut held) = self.pop_from_link(now, direction) else { break };
                held.marked |= congested;
                if direction == DOWN {
                    held.since = now;
                    self.toward_wlan(now, held);
                } else {
                    self.counters[Counter::Queued] += 1;
                    self.send(now, held, Port::Wire);
                }
            }
        }
    }

    fn is_link_ready(&self, direction: usize, now: Instant) -> bool {
        self.wan.as_ref().is_some_and(|wan| wan.links[direction].is_ready(now))
    }

    pub(super) fn pop_from_link(&mut self, now: Instant, direction: usize) -> Option<Held<P>> {
        let held = self.wan.as_mut()?.links[direction].pop(now)?;
        self.flows.get_mut(held.flow).links[direction].held -= 1;
        self.note_time(held.flow, Leg::InternetQueue, now.saturating_since(held.since));
        Some(held)
    }

    /// Signals the senders of standing queues, up to the next head to be served. True: that head is to be marked. An ACK
    /// at the head is served: its sender gets the signal in the queue of the other direction.
    fn tell_senders_on_link(&mut self, now: Instant, direction: usize) -> bool {
        loop {
            let Some(wan) = &mut self.wan else { return false };
            let link = &mut wan.links[direction];
            let judged = link.queues.judge(now, |_, held| held);
            let Some((head, judgement)) = judged.filter(|(_, judgement)| *judgement != Judgement::Serve) else {
                return false;
            };
            if head.tcp.as_ref().is_some_and(|tcp| tcp.payload == Bytes::ZERO) {
                return false;
            }
            if head.takes_marks && judgement == Judgement::Signal {
                return true;
            }
            let Some(head) = link.queues.drop_next() else { return false };
            self.flows.get_mut(head.flow).links[direction].held -= 1;
            self.discard_toward(direction, head.packet, head.flow, DropReason::StandingQueue);
        }
    }

    /// The drain limit has ended: releases packets that wait for the link, behind those that waited for the WLAN.
    pub(super) fn release_links(&mut self, now: Instant) {
        while let Some(held) = self.pop_young_from_link(now, DOWN) {
            self.account_release(now, &held);
            self.counters[Counter::Queued] += 1;
            self.send(now, held, Port::Wlan);
        }
        while let Some(held) = self.pop_young_from_link(now, UP) {
            self.counters[Counter::Queued] += 1;
            self.send(now, held, Port::Wire);
        }
        self.wan.iter_mut().flat_map(|wan| &mut wan.links).for_each(|link| link.forget_service(now));
    }
}

/// Sharing the link with other managers.
impl<P: Send + 'static> Manager<P> {
    /// What this manager needs of a direction of the Internet link that others share ([`WanConfig::shared`]), and for
    /// which the driver hands out leases; `None`: no lease is needed.
    ///
    /// [`WanConfig::shared`]: crate::WanConfig::shared
    pub fn link_need(&self, hop: Hop) -> Option<LinkNeed> {
        self.wan.as_ref()?.links[direction_of(hop)?].need()
    }

    /// Takes a lease of a direction of the Internet link, in place of an earlier one. It ends at its end, or when there
    /// is nothing to send. Without effect if the link is not shared, or not configured.
    pub fn handle_lease(&mut self, now: Instant, hop: Hop, lease: Lease) {
        if let (Some(wan), Some(direction)) = (&mut self.wan, direction_of(hop)) {
            wan.links[direction].lease(lease);
        }
        self.serve(now);
    }
}

/// Upkeep and reports.
impl<P: Send + 'static> Manager<P> {
    /// Packets held for other hops than the WLAN.
    pub(super) fn held_beside(&self) -> usize {
        self.wan.as_ref().map_or(0, Wan::held) + self.receiver.line.len() + self.held_for_groups()
    }

    pub(super) fn holds_nothing(&self) -> bool {
        self.held() == 0
    }

    /// Moves what a flow holds before the link to the queue of its new station.
    pub(super) fn settle_on_links(&mut self, now: Instant, id: FlowId) {
        for direction in [DOWN, UP] {
            let Some(old) = self.flows.get_mut(id).links[direction].leaf.take() else { continue };
            let Some(wan) = &mut self.wan else { continue };
            let held = wan.links[direction].queues.take(old, id);
            wan.links[direction].queues.detach(old);
            if !held.is_empty() {
                self.push_on_link(now, direction, held);
            }
        }
    }

    fn push_on_link(&mut self, now: Instant, direction: usize, held: impl IntoIterator<Item = Held<P>>) {
        for held in held {
            let leaf = self.leaf_on_link(direction, held.flow);
            if let (Some(leaf), Some(wan)) = (leaf, &mut self.wan) {
                wan.links[direction].queues.push(leaf, held, now);
            }
        }
    }

    pub(super) fn age_links(&mut self, now: Instant) {
        self.waits.end_interval();
        self.domains.iter_mut().for_each(|domain| domain.waits.end_interval());
        for link in self.wan.iter_mut().flat_map(|wan| &mut wan.links) {
            link.queues.age(now);
            link.waits.end_interval();
        }
    }

    /// Applies another configuration of the link. Packets for the old link wait for the new one; those that are no
    /// longer beyond it go on.
    pub(super) fn rebuild_links(&mut self, config: &Config, now: Instant) {
        let mut held: [Vec<Held<P>>; 2] = [Vec::new(), Vec::new()];
        for (direction, held) in held.iter_mut().enumerate() {
            while let Some(packet) = self.pop_from_link(now, direction) {
                held.push(packet);
            }
        }
        for id in self.flows.ids() {
            self.flows.get_mut(id).links.iter_mut().for_each(|link| link.leaf = None);
        }
        self.wan = config.wan.as_ref().map(|wan| Wan::new(&config.tree(), config.pacing_slack, wan, now));
        let [down, up] = held;
        for held in down {
            if self.waits_for_link(&held) {
                self.flows.get_mut(held.flow).links[DOWN].held += 1;
                self.push_on_link(now, DOWN, [held]);
            } else {
                self.hold_again(now, held);
            }
        }
        for held in up {
            if self.waits_for_link(&held) {
                self.flows.get_mut(held.flow).links[UP].held += 1;
                self.push_on_link(now, UP, [held]);
            } else {
                self.counters[Counter::Queued] += 1;
                self.send(now, held, Port::Wire);
            }
        }
    }

    pub(super) fn report_hops(&self) -> Vec<HopReport> {
        let wlan = self.waits.report(Hop::Wlan, self.held_for_wlan());
        let links = self.wan.iter().flat_map(|wan| wan.links.iter().enumerate());
        let links = links.map(|(direction, link)| link.waits.report(hop(direction), link.queues.len()));
        core::iter::once(wlan).chain(links).collect()
    }

    pub(super) fn report_queues(&self) -> Vec<QueueReport> {
        let mut queues = Vec::new();
        for domain in self.domains.iter() {
            queues.extend(domain.queues.report(Hop::Wlan, &self.stations, &self.flows));
            queues.extend(domain.discipline.as_ref().and_then(Disciplined::report));
        }
        for (direction, link) in self.wan.iter().flat_map(|wan| wan.links.iter().enumerate()) {
            queues.extend(link.queues.report(hop(direction), &self.stations, &self.flows));
        }
        queues
    }
}
