//! Counters of arrivals and losses at the wired ports and the box, by interval.

use evenair_manager::{Cause, Counters};
use evenair_results::PlaceSeries;
use evenair_scenario::Scenario;

use crate::report;
use crate::rows::{Interval, fill, put, put_loss};
use crate::wire::{Leads, Wire};

/// Counters of the ports in their order, then of the box.
#[derive(Debug)]
pub(crate) struct SiteCounters {
    /// Number of intervals of the run.
    whole: usize,
    /// Number of intervals that have ended.
    intervals: usize,
    ports: Vec<Port>,
    middlebox: Option<(Counters, PlaceSeries)>,
}

#[derive(Debug)]
struct Port {
    leads: Leads,
    offered: u64,
    drops: u64,
    series: PlaceSeries,
}

impl SiteCounters {
    pub(crate) fn new(intervals: usize) -> Self {
        Self { whole: intervals, intervals: 0, ports: Vec::new(), middlebox: None }
    }

    pub(crate) fn end_interval(&mut self, wire: &Wire, middlebox: Option<Counters>) {
        let at = Interval { number: self.intervals, intervals: self.whole };
        self.intervals += 1;
        for (place, (leads, offered, drops)) in wire.counts().enumerate() {
            if place == self.ports.len() {
                self.ports.push(Port { leads, offered: 0, drops: 0, series: PlaceSeries::default() });
            }
            let port = &mut self.ports[place];
            put(&mut port.series.offered_packets, at, offered - std::mem::replace(&mut port.offered, offered));
            let lost = drops - std::mem::replace(&mut port.drops, drops);
            put_loss(&mut port.series.lost_packets, at, "buffer full", lost);
        }
        if let Some(now) = middlebox {
            let (past, series) = self.middlebox.get_or_insert_default();
            let past = std::mem::replace(past, now);
            put(&mut series.offered_packets, at, now.received - past.received);
            for (reason, packets) in now.drops.since(&past.drops).iter() {
                put_loss(&mut series.lost_packets, at, reason.word(), packets);
            }
        }
    }

    pub(crate) fn finish(self, scenario: &Scenario) -> Vec<PlaceSeries> {
        let ports = self.ports.into_iter().map(|port| (report::port(scenario, port.leads), port.series));
        let middlebox = self.middlebox.map(|(_, series)| ("box".to_owned(), series));
        let finish = |(place, mut series): (String, PlaceSeries)| {
            fill(&mut series.offered_packets, self.intervals);
            series.lost_packets.iter_mut().for_each(|loss| fill(&mut loss.frames, self.intervals));
            PlaceSeries { place, ..series }
        };
        ports.chain(middlebox).map(finish).collect()
    }
}
