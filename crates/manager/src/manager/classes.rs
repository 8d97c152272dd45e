//! Assigns flows to the operator's policy classes, and counts the traffic of each class.

use alloc::vec::Vec;

use evenair_packet::{MacAddr, Port, TcpMeta};
use evenair_units::{Bytes, Instant, Span};

use super::Manager;
use crate::ids::{ClassId, DOWN, Direction, FlowId, UP};
use crate::latency::Leg;
use crate::loss::Passage;
use crate::queues::classes::totals::Total;
use crate::{ClassReport, Event, Observation, StationCounter};

impl<P: Send + 'static> Manager<P> {
    /// Handles a report of a station's network or group. Its flows change class with their next packets.
    pub(super) fn tell_membership(&mut self, now: Instant, mac: MacAddr, observation: Observation) {
        let station = if mac.is_multicast() { None } else { self.named_station(now, mac) };
        let Some(id) = station else { return self.tell(Event::ObservationRefused(observation)) };
        match observation {
            Observation::StationNetwork { ssid, .. } => self.stations.tell_network(id, ssid),
            Observation::StationGroup { group, .. } => self.stations.tell_group(id, group),
            _ => {}
        }
    }

    /// Classifies a flow again if there is a reason to. True: its place has changed.
    pub(super) fn place(&mut self, id: FlowId, moved: bool) -> bool {
        let flow = self.flows.get_mut(id);
        let station = self.stations.get(flow.station);
        let regrouped = flow.placed_at != Some(station.regrouped);
        let marked = self.reads_dscp && flow.dscp != flow.latest_dscp && flow.held_anywhere() == 0;
        if !(moved || regrouped || marked) {
            return false;
        }
        if flow.held_anywhere() == 0 {
            flow.dscp = flow.latest_dscp;
        }
        flow.placed_at = Some(station.regrouped);
        let place = self.config.policy.place(flow, station);
        core::mem::replace(&mut flow.place, place) != place
    }

    /// The totals of a flow's class.
    pub(super) fn total_of(&mut self, id: FlowId) -> &mut Total {
        self.totals.of(self.flows.get(id).place.class)
    }

    pub(super) fn note_class_release(&mut self, id: FlowId, ip_len: Bytes, charged: Span) {
        let total = self.total_of(id);
        total.released += ip_len;
        total.airtime += charged;
    }

    /// Counts a packet of a flow for the flow's station.
    pub(super) fn count_for_station(&mut self, id: FlowId, counter: StationCounter) {
        self.stations.get_mut(self.flows.get(id).station).counted[counter] += 1;
    }

    /// Notes the time that a packet of a flow took on a leg.
    pub(super) fn note_time(&mut self, id: FlowId, leg: Leg, took: Span) {
        self.stations.get_mut(self.flows.get(id).station).note_time(leg, took);
        self.total_of(id).latency.note(leg, took);
    }

    /// Notes a segment that has come in by a port, which may show a loss.
    pub(super) fn note_passage(&mut self, now: Instant, id: FlowId, ingress: Port, tcp: &TcpMeta) {
        if tcp.payload == Bytes::ZERO {
            return;
        }
        let direction = if ingress == Port::Wire { DOWN } else { UP };
        let flow = self.flows.get_mut(id);
        let acked = flow.tcp.acked_from(ingress.opposite());
        let seen = flow.watched.seen();
        let passage = seen.passed[direction].note(now, tcp, acked, &mut seen.dropped[direction]);
        let passage = match passage {
            // The earlier copy is still held here, and cannot be lost behind the box.
            Passage::LostBehind if ingress == Port::Wire && !seen.stopwatch.has_released(tcp) => Passage::First,
            other => other,
        };
        self.stations.get_mut(flow.station).losses.note(ingress, passage);
        self.total_of(id).losses.note(ingress, passage);
    }

    /// Notes a packet that is dropped here.
    pub(super) fn note_dropped(&mut self, id: FlowId, direction: usize) {
        let flow = self.flows.get_mut(id);
        // Packets against the data of a connection are ACKs, which are not sent again.
        let is_data = flow.direction == [Direction::Down, Direction::Up][direction];
        if let Some(seen) = flow.watched.seen_so_far().filter(|_| is_data) {
            seen.dropped[direction] = seen.dropped[direction].saturating_add(1);
        }
        self.stations.get_mut(flow.station).losses.of(direction).here += 1;
        self.total_of(id).losses.of(direction).here += 1;
    }

    pub(super) fn report_classes(&self) -> Vec<ClassReport> {
        let policy = &self.config.policy;
        let (totals, none) = self.totals.report(policy);
        if totals.is_empty() {
            return Vec::new();
        }
        let report = |(at, (total, parent)): (usize, (&Total, Option<ClassId>))| {
            let class = u8::try_from(at).map(ClassId).ok();
            let name = policy.names.get(at).cloned().unwrap_or_else(|| alloc::format!("{at}"));
            self.report_class(total, name, parent, class)
        };
        let classes = totals.iter().zip(policy.parents()).enumerate().map(report);
        let rest = self.report_class(&none, "other".into(), None, None);
        classes.chain(core::iter::once(rest)).collect()
    }

    fn report_class(
        &self,
        total: &Total,
        name: alloc::string::String,
        parent: Option<ClassId>,
        class: Option<ClassId>,
    ) -> ClassReport {
        let links = self.wan.iter().flat_map(|wan| &wan.links).map(|link| link.queues.held_in(class));
        let held = self.domains.iter().map(|domain| domain.queues.held_in(class)).chain(links);
        let (packets, bytes) = held.fold((0, Bytes::ZERO), |sum, held| (sum.0 + held.0, sum.1 + held.1));
        ClassReport {
            name,
            parent,
            held: packets,
            held_bytes: bytes,
            at_ceiling: class.is_some_and(|class| self.domains.iter().any(|domain| domain.queues.is_at_ceiling(class))),
            released: total.released,
            from_wlan: total.from_wlan,
            airtime: total.airtime,
            dropped: total.dropped,
            losses: total.losses,
            latency: total.latency,
        }
    }
}
