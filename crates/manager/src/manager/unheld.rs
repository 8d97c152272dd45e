//! Packets that pass the queues: control packets within their budget, and frames to groups within their share.
//!
//! See `control_budget` and `groups` for the limits. A packet beyond its budget is treated as data: to one station, it waits in a flow
//! like any other packet; to a group, it waits for the group's share. While nothing is managed everything passes at once.

use evenair_packet::{Edits, PacketMeta, Port};
use evenair_units::{Bytes, Instant, Span};

use super::Manager;
use super::charged::Charging;
use crate::domain::groups::ToGroup;
use crate::flows::Key;
use crate::ids::{DomainId, StationId};
use crate::pacer::Outgoing;
use crate::packet_cost::{PacketCost, Packets};
use crate::{Counter, DropReason, Event, Mode, Output};

impl<P: Send + 'static> Manager<P> {
    /// Whether packets are held, and passing ones limited.
    fn is_managed(&self) -> bool {
        self.mode != Mode::Bypassed && self.config.controller.holds()
    }

    /// Whether a control packet of one station passes at once. One behind held packets of its own flow does not, since packets of a flow
    /// do not overtake each other.
    pub(super) fn passes_as_control(
        &mut self,
        now: Instant,
        meta: &PacketMeta,
        key: &Key,
        station: Option<StationId>,
    ) -> bool {
        if self.flows.find(key, now).is_some_and(|id| self.flows.get(id).held_anywhere() > 0) {
            return false;
        }
        if meta.ingress == Port::Wlan || !self.is_managed() {
            return true;
        }
        let airtime = self.airtime_alone(meta, station);
        let id = self.domain_of(station, meta);
        self.domains.touch(id).control.admit(now, meta.src, meta.dst, airtime)
    }

    /// Airtime of a packet outside of an aggregate, from or to a station.
    fn airtime_alone(&self, meta: &PacketMeta, station: Option<StationId>) -> Span {
        let model = &self.models[self.domain_of(station, meta)];
        let rate = station.map(|id| self.stations.get(id).rate);
        let rate = rate.unwrap_or_else(|| model.default_rate(self.config.default_rate));
        model.airtime(&PacketCost::alone(Packets::one(meta.ip_len())), rate)
    }

    /// Handles a packet for which the table of flows has no room: toward the WLAN it is dropped as at a full queue, any other passes.
    pub(super) fn handle_untracked(&mut self, now: Instant, packet: P, meta: &PacketMeta) {
        if meta.ingress == Port::Wlan || !self.is_managed() {
            return self.pass(now, packet, meta);
        }
        self.counters.drops[DropReason::QueueFull] += 1;
        self.outputs.push_back(Output::Drop { packet, reason: DropReason::QueueFull });
    }

    /// Lets a packet pass, and charges its airtime.
    pub(super) fn pass(&mut self, now: Instant, packet: P, meta: &PacketMeta) {
        let managed = self.is_managed();
        let ip_len = meta.ip_len();
        let mac = if meta.ingress == Port::Wlan { meta.src } else { meta.dst };
        let known = match meta.ingress {
            _ if mac.is_multicast() => None,
            Port::Wlan => self.heard_station(now, mac),
            Port::Wire => Some(self.station_toward(now, mac, meta)),
        };
        if let (Port::Wlan, Some(id)) = (meta.ingress, known) {
            self.see_vlan(now, id, meta.vlan);
        }
        let id = self.domain_of(known, meta);
        let model = &self.models[id];
        let rate = known.map_or_else(|| model.default_rate(self.config.default_rate), |id| self.stations.get(id).rate);
        let domain = self.domains.touch(id);
        if meta.ingress == Port::Wlan {
            domain.pacer.on_heard(now, model.packet_airtime(ip_len, rate));
        }
        let (mut airtime, mut charged) = (Span::ZERO, Span::ZERO);
        if !mac.is_multicast() {
            let cost = PacketCost::alone(Packets::one(ip_len));
            airtime = model.airtime(&cost, rate);
            charged = known.map_or(airtime, |id| {
                Charging::new(domain, model, &self.config).of_packet(self.stations.get(id), ip_len)
            });
            if managed {
                domain.pacer.on_unscheduled(model, &cost, rate);
            }
            if meta.ingress == Port::Wire {
                let paced = known.map(|id| &mut self.stations.get_mut(id).paced);
                domain.pacer.on_release(now, Outgoing::unanswered(airtime, known), paced);
            }
        }
        if meta.dst.is_multicast() {
            // From a station it goes up as a unicast to its access point, which then broadcasts it.
            let to_group = model.broadcast_airtime(ip_len);
            (airtime, charged) = (airtime + to_group, charged + to_group);
            let is_of_domain = self.access_points.of_frame(meta.vlan).is_some();
            self.note_group_sent(now, id, is_of_domain, ip_len);
            self.counters[Counter::Groups] += u64::from(meta.control.is_none());
        }
        let is_control = meta.control.is_some();
        self.counters[Counter::Control] += u64::from(is_control);
        let is_free = is_control
            && (meta.ingress == Port::Wire || self.domains.touch(id).control.admit_sent(now, meta.src, airtime));
        if let Some(id) = known {
            let station = self.stations.get_mut(id);
            station.note_packet(meta.ingress == Port::Wire, ip_len, airtime, charged);
            if managed && !is_free {
                station.note_uncontrolled(meta.ip.as_ref().map(|ip| ip.src), airtime);
            }
        }
        self.output(packet, meta.ingress.opposite(), Edits::NONE);
    }
}

/// Frames to groups on the WLAN.
impl<P: Send + 'static> Manager<P> {
    /// Handles a frame to a group from the wire.
    pub(super) fn handle_group(&mut self, now: Instant, packet: P, meta: &PacketMeta) {
        let id = self.domain_of(None, meta);
        let is_of_domain = self.access_points.of_frame(meta.vlan).is_some();
        let (ip_len, airtime) = (meta.ip_len(), self.models[id].broadcast_airtime(meta.ip_len()));
        let frame = ToGroup { packet, group: meta.dst, sender: meta.src, ip_len, airtime, is_of_domain };
        let is_managed = self.is_managed();
        let domain = self.domains.touch(id);
        let is_control = meta.control.is_some();
        if is_control && (!is_managed || domain.control.admit(now, meta.src, meta.dst, airtime)) {
            self.counters[Counter::Control] += 1;
            return self.send_group(now, id, frame);
        }
        self.counters[Counter::Groups] += 1;
        if !is_managed {
            return self.send_group(now, id, frame);
        }
        let share = self.memberships.share(meta);
        match domain.groups.admit(now, self.config.group_share, share, frame) {
            Some(Ok(frame)) => self.send_group(now, id, frame),
            Some(Err(frame)) => self.drop_group(now, id, frame),
            None => self.note_waiting(id),
        }
    }

    fn note_waiting(&mut self, id: DomainId) {
        if !self.waiting_groups.contains(&id) {
            self.waiting_groups.push(id);
        }
    }

    fn drop_group(&mut self, now: Instant, id: DomainId, frame: ToGroup<P>) {
        let ToGroup { packet, group, sender, .. } = frame;
        let reason = DropReason::GroupShare;
        self.counters.drops[reason] += 1;
        self.outputs.push_back(Output::Drop { packet, reason });
        let domain = self.domains.touch(id);
        if domain.groups.is_to_be_reported(now) {
            let name = domain.name;
            self.tell(Event::GroupLimited { domain: name, group, sender });
        }
    }

    fn send_group(&mut self, now: Instant, id: DomainId, frame: ToGroup<P>) {
        self.note_group_sent(now, id, frame.is_of_domain, frame.ip_len);
        self.output(frame.packet, Port::Wlan, Edits::NONE);
    }

    /// Counts the airtime of a frame to a group: in this domain, or in all.
    fn note_group_sent(&mut self, now: Instant, id: DomainId, is_of_domain: bool, ip_len: Bytes) {
        let managed = self.is_managed();
        let airtime = self.models[id].broadcast_airtime(ip_len);
        self.domains.touch(id).note_group(now, airtime, managed);
        if !is_of_domain {
            self.domains.note_group(id, ip_len, &self.models);
        }
    }

    /// Sends waiting frames to groups that are due.
    pub(super) fn serve_groups(&mut self, now: Instant) {
        if self.waiting_groups.is_empty() {
            return;
        }
        for id in core::mem::take(&mut self.waiting_groups) {
            while let Some(frame) = self.domains.touch(id).groups.pop(now, self.config.group_share) {
                self.counters[Counter::Queued] += 1;
                self.send_group(now, id, frame);
            }
            if self.domains[id].groups.len() > 0 {
                self.waiting_groups.push(id);
            }
        }
    }

    /// Sends all waiting frames to groups: the drain limit has ended, or the domains are about to change.
    pub(super) fn release_groups(&mut self, now: Instant) {
        for id in core::mem::take(&mut self.waiting_groups) {
            while let Some(frame) = self.domains.touch(id).groups.pop_any() {
                self.counters[Counter::Queued] += 1;
                self.send_group(now, id, frame);
            }
        }
    }

    /// When the next waiting frame to a group may go.
    pub(super) fn groups_due(&self) -> Option<Instant> {
        let shares = self.config.group_share;
        self.waiting_groups.iter().filter_map(|&id| self.domains[id].groups.due(shares)).min()
    }

    /// Frames to groups that wait for their share.
    pub(super) fn held_for_groups(&self) -> usize {
        self.waiting_groups.iter().map(|&id| self.domains[id].groups.len()).sum()
    }

    /// Periodically forgets unused budgets, and memberships that have ended.
    pub(super) fn expire_unheld(&mut self, now: Instant) {
        for domain in self.domains.iter_mut() {
            domain.control.expire(now);
            domain.groups.age();
        }
        self.memberships.expire(now);
    }
}
