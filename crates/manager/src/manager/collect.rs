//! Reports of the state: whole, or in parts between packets.

use evenair_units::{BitRate, Instant};

use super::Manager;
use crate::collection::{Collection, Part};
use crate::flows::Flow;
use crate::flows::recency::Look;
use crate::stations::complete_domains;
use crate::{Counters, FlowReport, Report};

impl<P: Send + 'static> Manager<P> {
    /// The complete state. Takes time in proportion to the number of flows.
    pub fn report(&self, now: Instant) -> Report {
        let mut report = self.report_totals(now);
        report.flows = self.flows.iter().map(|flow| self.report_flow(flow)).collect();
        report.queues = self.report_queues();
        report.stations = self.stations.report(now);
        complete_domains(&mut report.domains, report.stations.iter());
        report
    }

    /// The state without stations, flows and queues, and without the values of domains that follow from stations: their number, and the
    /// access points of learned domains. Takes a time that is independent of their number.
    pub fn report_totals(&self, now: Instant) -> Report {
        let (service_rate, capacity) = self.rates();
        let throughputs = self.domains.iter().map(|domain| domain.pacer.throughput());
        Report {
            mode: self.mode,
            service_rate,
            capacity,
            throughput: throughputs.fold(BitRate::ZERO, |sum, rate| sum + rate),
            domains: self.report_domains(now),
            stations: Default::default(),
            stations_known: self.stations.len(),
            flows: Default::default(),
            classes: self.report_classes(),
            queues: Default::default(),
            hops: self.report_hops(),
            calls: self.report_calls(),
            calls_watched: self.config.voice.is_some(),
            receiver: self.report_receiver(),
            uplink: self.report_limit(now),
            rate_reports: self.stations.report_counts(),
            guard: self.report_guard(),
            counters: self.counters(),
        }
    }

    /// Adds to `part` up to `most` changed stations, or once those are all copied, looks at up to `most` flows and adds those that are not
    /// copied yet. Returns whether there is more to collect.
    pub fn collect(&mut self, now: Instant, collection: &mut Collection, most: usize, part: &mut Part) -> bool {
        match collection.slot {
            Some(slot) => {
                collection.slot = self.collect_stations(now, slot, most, part);
                if collection.slot.is_none() {
                    self.flows.start_walk();
                }
                true
            }
            None => self.collect_flows(collection, most, part),
        }
    }

    /// Copies changed stations from this slot on. Returns the next slot, unless that was the end.
    fn collect_stations(&mut self, now: Instant, slot: u32, most: usize, part: &mut Part) -> Option<u32> {
        if part.slots.is_empty() {
            part.slots = slot..slot;
        }
        let mut next = slot;
        for _ in 0..most {
            let Some(changed) = self.stations.take_changed(now, next) else {
                part.slots.end = self.stations.end();
                return None;
            };
            next = changed.0 + 1;
            part.stations.push(changed);
        }
        part.slots.end = next;
        Some(next)
    }

    /// Copies the most recently used flows, including those used since the last part.
    fn collect_flows(&mut self, collection: &mut Collection, most: usize, part: &mut Part) -> bool {
        for _ in 0..most.min(collection.looks) {
            let wanted = collection.flows > 0;
            let Some(look) = self.flows.look().filter(|_| wanted) else { return false };
            collection.looks -= 1;
            if let Look::First(id) = look {
                collection.flows -= 1;
                part.flows.push(self.report_flow(self.flows.get(id)));
            }
        }
        collection.flows.min(collection.looks) > 0
    }

    /// Number of stations, flows and held packets, in the millions at most. The time that
    /// [`Command::Reconfigure`](crate::Command::Reconfigure) takes grows with it.
    pub fn entries(&self) -> usize {
        self.stations.len() + self.flows.ids().count() + self.held()
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        Counters { held: self.held() as u64, ..self.counters }
    }

    fn report_flow(&self, flow: &Flow) -> FlowReport {
        FlowReport {
            key: flow.key.flow,
            vlan: flow.key.vlan,
            station: flow.unheard.unwrap_or(self.stations.get(flow.station).mac),
            direction: flow.direction,
            d_milli: flow.ratio_milli(),
            released: flow.released,
            from_wlan: flow.from_wlan,
            wlan_rtt: flow.watched.trip(),
            wlan_rtt_least: flow.watched.shortest_trip(),
            charged: flow.watched.charged,
            resent_down: flow.watched.again[0],
            resent_up: flow.watched.again[1],
            backlog_packets: flow.held_anywhere(),
            dropped: flow.dropped,
        }
    }
}
