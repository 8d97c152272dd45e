//! Records of each sender on the medium: its series, and values without series.

use std::collections::BTreeMap;

use evenair_medium::PpduCounters;
use evenair_results::histogram::Histogram;
use evenair_results::period::NodePeriod;
use evenair_results::{NodeSeries, UsedRate};
use evenair_units::Span;
use evenair_units::hint::prefetch;
use evenair_wifi::PhyRate;

use crate::records::Record;
use crate::rows::{Interval, Rows, fill, put, put_loss};

/// Values of a sender that have no series.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    sojourn: Histogram,
    by_attempts: Vec<u64>,
    /// Attempts by PHY rate, if senders choose rates.
    by_rate: BTreeMap<UsedRate, u64>,
    /// Toward the station and from it; empty until there are PPDUs.
    ppdus: Vec<PpduCounters>,
}

/// A frame that was delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Time in the buffer.
    pub(crate) sojourn: Span,
    /// Transmissions that it took.
    pub(crate) attempts: u32,
}

/// Interval rows of the senders.
#[derive(Debug)]
pub(crate) struct NodeRows {
    rows: Rows<NodeRow>,
    /// Names and losses of the senders; losses are few.
    series: Vec<NodeSeries>,
}

/// A sender's values in an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeRow {
    pub(crate) offered: u32,
    pub(crate) delivered: u32,
    pub(crate) attempts: u32,
    pub(crate) successes: u32,
    pub(crate) collisions: u32,
    pub(crate) errors: u32,
    pub(crate) repeated_failures: u32,
    pub(crate) slowed: u32,
    pub(crate) airtime_share: f64,
    pub(crate) queue_packets: f64,
    pub(crate) queue_max_packets: u32,
}

impl Deliveries {
    /// Counts attempts at this rate.
    pub(crate) fn use_rate(&mut self, rate: PhyRate, attempts: u64) {
        *self.by_rate.entry(rate.into()).or_default() += attempts;
    }

    /// Counts PPDUs toward the station and from it.
    pub(crate) fn count_ppdus(&mut self, ways: [PpduCounters; 2]) {
        if ways.iter().any(|way| !way.is_empty()) {
            self.ppdus.resize_with(ways.len(), PpduCounters::default);
            self.ppdus.iter_mut().zip(&ways).for_each(|(sum, way)| sum.add(way));
        }
    }

    /// The values since the last call.
    pub(crate) fn take(&mut self) -> NodePeriod {
        NodePeriod {
            sojourn: self.sojourn.take(),
            frames_by_attempts: std::mem::take(&mut self.by_attempts),
            attempts_by_rate: std::mem::take(&mut self.by_rate),
            ppdus: std::mem::take(&mut self.ppdus),
            ..NodePeriod::default()
        }
    }
}

impl Record for Deliveries {
    type Sample = Delivery;

    #[inline]
    fn enter(&mut self, Delivery { sojourn, attempts }: Delivery) {
        self.sojourn.record(sojourn);
        let place = attempts as usize - 1;
        if place >= self.by_attempts.len() {
            self.by_attempts.resize(place + 1, 0);
        }
        self.by_attempts[place] += 1;
    }

    fn prefetch(&self, Delivery { sojourn, .. }: Delivery) {
        self.sojourn.place(sojourn).into_iter().for_each(|place| prefetch(place));
        self.by_attempts.first().into_iter().for_each(|place| prefetch(place));
    }
}

impl NodeRows {
    pub(crate) fn new(nodes: impl Iterator<Item = String>) -> Self {
        let series = |node| NodeSeries { node, ..NodeSeries::default() };
        Self { rows: Rows::default(), series: nodes.map(series).collect() }
    }

    /// Number of senders.
    pub(crate) fn senders(&self) -> usize {
        self.series.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, node: usize, interval: usize, row: NodeRow) {
        self.rows.push(node, interval, row);
    }

    /// Counts frames that were lost for a reason in an interval.
    pub(crate) fn lose(&mut self, node: usize, at: Interval, reason: &str, frames: u64) {
        put_loss(&mut self.series[node].lost_frames, at, reason, frames);
    }

    /// The series, as long as the run.
    pub(crate) fn finish(self, intervals: usize) -> Vec<NodeSeries> {
        let rows = self.rows.sort(self.series.len());
        let series = self.series.into_iter().enumerate();
        series.map(|(node, series)| Self::finish_one(series, rows.of(node), intervals)).collect()
    }

    fn finish_one<'a>(
        mut series: NodeSeries,
        rows: impl Iterator<Item = (usize, &'a NodeRow)>,
        intervals: usize,
    ) -> NodeSeries {
        for (number, row) in rows {
            let at = Interval { number, intervals };
            put(&mut series.offered_frames, at, row.offered.into());
            put(&mut series.delivered_frames, at, row.delivered.into());
            put(&mut series.attempts, at, row.attempts.into());
            put(&mut series.successes, at, row.successes.into());
            put(&mut series.collisions, at, row.collisions.into());
            put(&mut series.errors, at, row.errors.into());
            put(&mut series.repeated_failures, at, row.repeated_failures.into());
            put(&mut series.slowed, at, row.slowed.into());
            put(&mut series.airtime_share, at, row.airtime_share);
            put(&mut series.queue_packets, at, row.queue_packets);
            put(&mut series.queue_max_packets, at, row.queue_max_packets.into());
        }
        for counts in [
            &mut series.offered_frames,
            &mut series.delivered_frames,
            &mut series.attempts,
            &mut series.successes,
            &mut series.collisions,
            &mut series.errors,
            &mut series.repeated_failures,
            &mut series.slowed,
            &mut series.queue_max_packets,
        ] {
            fill(counts, intervals);
        }
        series.lost_frames.iter_mut().for_each(|loss| fill(&mut loss.frames, intervals));
        fill(&mut series.airtime_share, intervals);
        fill(&mut series.queue_packets, intervals);
        series
    }
}
