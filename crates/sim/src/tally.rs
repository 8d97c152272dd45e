//! What is counted on the air: by sender, by interval, and in stretches for what has no series. What stands in a queue
//! is counted as `occupancy` says.

use std::collections::{BTreeMap, BTreeSet};

use evenair_medium::{BacklogChain, Counters, Totals};
use evenair_scenario::Scenario;
use evenair_scenario::results::histogram::Histogram;
use evenair_scenario::results::stretch::{CategoryStretch, FlowStretch, NodeStretch, Stretch};
use evenair_scenario::results::{LossSeries, MediumSeries, NodeSeries, Series};
use evenair_units::{Instant, Span};
use evenair_wifi::PhyRate;

use crate::air::Losses;
use crate::occupancy::Occupancy;

/// What is counted of all senders; the access point is the last of them.
#[derive(Debug)]
pub(crate) struct Tally {
    interval: Span,
    nodes: Vec<NodeTally>,
    access_point: usize,
    /// Time at each level of the access point's queue.
    levels: Vec<u64>,
    /// Stations with a frame to send, and wrapping nanoseconds as of an [`Occupancy`].
    active: (u64, u64),
    active_before: u64,
    totals: Totals,
    medium: MediumSeries,
    /// Intervals that have ended.
    intervals: usize,
    stretch_began: usize,
    ends: BTreeSet<usize>,
    stretches: Vec<Stretch>,
}

#[derive(Debug, Default)]
struct NodeTally {
    offered: u64,
    queue: Occupancy,
    sojourn: Histogram,
    by_attempts: Vec<u64>,
    /// Attempts by PHY rate in b/s, where senders choose.
    by_rate: BTreeMap<u64, u64>,
    /// Something of it was counted in this interval.
    touched: bool,
    before: Before,
    /// Rows that are not in the series yet, and whose interval each is.
    rows: Vec<(usize, NodeRow)>,
    series: NodeSeries,
}

/// Rows of a sender or an application that are kept back and entered into its series together: a series is many vectors,
/// and where senders and applications are many, each is far from the processor.
pub(crate) const ROWS: usize = 16;

/// A sender's part in an interval.
#[derive(Clone, Copy, Debug)]
struct NodeRow {
    offered: u64,
    /// Since the interval before.
    counters: Counters,
    airtime_share: f64,
    queue_packets: f64,
    queue_max_packets: u64,
}

/// How a node stood at the end of the last interval.
#[derive(Debug, Default)]
struct Before {
    offered: u64,
    counters: Counters,
    losses: Losses,
}

/// How a node stands at the end of an interval.
#[derive(Debug)]
pub(crate) struct NodeGlance<'a> {
    pub(crate) counters: Counters,
    pub(crate) losses: &'a Losses,
}

impl Tally {
    pub(crate) fn new(scenario: &Scenario, names: impl Iterator<Item = String>) -> Self {
        let node =
            |name| NodeTally { series: NodeSeries { node: name, ..NodeSeries::default() }, ..NodeTally::default() };
        let nodes: Vec<_> = names.map(node).collect();
        Self {
            interval: scenario.measure.interval,
            access_point: nodes.len() - 1,
            nodes,
            levels: Vec::new(),
            active: (0, 0),
            active_before: 0,
            totals: Totals::default(),
            medium: MediumSeries::default(),
            intervals: 0,
            stretch_began: 0,
            ends: Stretch::ends(scenario),
            stretches: Vec::new(),
        }
    }

    /// A frame that was due in a sender's buffer at `due`, which may be past, comes to it. One that finds no room leaves
    /// at once.
    pub(crate) fn arrive(&mut self, node: usize, now: Instant, due: Instant) {
        let tally = &mut self.nodes[node];
        tally.touched = true;
        tally.offered += 1;
        tally.queue.arrive(now, due);
        if tally.queue.packets() == 1 && node != self.access_point {
            self.active.0 += 1;
            self.active.1 = self.active.1.wrapping_sub(now.as_nanos());
        }
    }

    /// Frames were lost before they came to a buffer.
    pub(crate) fn never_arrived(&mut self, node: usize, frames: u64) {
        self.nodes[node].offered += frames;
        self.nodes[node].touched = true;
    }

    /// A frame left a sender's buffer, or `found_no_room` in it.
    pub(crate) fn leave(&mut self, node: usize, at: Instant, found_no_room: bool) {
        let tally = &mut self.nodes[node];
        tally.touched = true;
        tally.queue.leave(at, found_no_room);
        if tally.queue.packets() == 0 && node != self.access_point {
            self.active.0 -= 1;
            self.active.1 = self.active.1.wrapping_add(at.as_nanos());
        }
    }

    /// A sender delivered a frame after `sojourn` in its buffer.
    pub(crate) fn deliver(&mut self, node: usize, sojourn: Span, attempts: u32) {
        let tally = &mut self.nodes[node];
        tally.sojourn.record(sojourn);
        let place = attempts as usize - 1;
        if place >= tally.by_attempts.len() {
            tally.by_attempts.resize(place + 1, 0);
        }
        tally.by_attempts[place] += 1;
    }

    /// The access point's queue stayed at a level.
    pub(crate) fn stay(&mut self, packets: usize, time: Span) {
        if packets >= self.levels.len() {
            self.levels.resize(packets + 1, 0);
        }
        self.levels[packets] += time.as_nanos();
    }

    /// An interval has ended; `glance` says how each sender stands. Whether a stretch ends too.
    pub(crate) fn end_interval<'a>(
        &mut self,
        now: Instant,
        totals: Totals,
        glance: impl Fn(usize) -> NodeGlance<'a>,
    ) -> bool {
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.end_interval(self.intervals, self.interval, now, &glance(number));
        }
        self.end_medium(now, totals);
        self.intervals += 1;
        self.ends.contains(&self.intervals)
    }

    fn end_medium(&mut self, now: Instant, totals: Totals) {
        let part = |span: Span| span.as_nanos() as f64 / self.interval.as_nanos() as f64;
        let before = std::mem::replace(&mut self.totals, totals);
        self.medium.busy_share.push(part(totals.busy - before.busy));
        self.medium.contending_share.push(part(totals.contending - before.contending));
        self.medium.idle_share.push(part(totals.idle - before.idle));
        self.medium.transmissions.push(totals.transmissions - before.transmissions);
        self.medium.collisions.push(totals.collisions - before.collisions);
        let area = self.active.1.wrapping_add(self.active.0.wrapping_mul(now.as_nanos()));
        let active = area.wrapping_sub(std::mem::replace(&mut self.active_before, area));
        self.medium.active_stations.push(part(Span::from_nanos(active)));
    }

    /// A sender has made so many attempts at these rates.
    pub(crate) fn use_rates(&mut self, node: usize, used: Vec<(PhyRate, u64)>) {
        for (rate, attempts) in used {
            *self.nodes[node].by_rate.entry(rate.bit_rate().as_bps()).or_default() += attempts;
        }
    }

    /// A stretch has ended, with what was counted of each sender's access categories, where there are any. The access
    /// point comes first in results.
    pub(crate) fn end_stretch(
        &mut self,
        flows: Vec<FlowStretch>,
        chain: BacklogChain,
        categories: Vec<Vec<CategoryStretch>>,
    ) {
        let mut nodes: Vec<_> = self.nodes.iter_mut().map(NodeTally::take).collect();
        nodes.iter_mut().zip(categories).for_each(|(node, categories)| node.categories = categories);
        nodes.rotate_right(1);
        nodes[0].time_at_level = std::mem::take(&mut self.levels);
        let intervals = self.stretch_began..self.intervals;
        self.stretch_began = self.intervals;
        self.stretches.push(Stretch { intervals, nodes, flows, chain });
    }

    /// Puts the series into those of the run, and gives the stretches.
    pub(crate) fn finish(self, series: &mut Series) -> Vec<Stretch> {
        let intervals = self.intervals;
        series.nodes = self.nodes.into_iter().map(|node| node.finish(intervals)).collect();
        series.nodes.rotate_right(1);
        series.medium = Some(self.medium);
        self.stretches
    }
}

impl NodeTally {
    fn end_interval(&mut self, number: usize, interval: Span, now: Instant, glance: &NodeGlance<'_>) {
        let counters = glance.counters;
        if !std::mem::take(&mut self.touched) && self.queue.packets() == 0 && self.before.counters == counters {
            return;
        }
        let before = &mut self.before;
        let part = |ns: u64| ns as f64 / interval.as_nanos() as f64;
        let since = counters - std::mem::replace(&mut before.counters, counters);
        let (area, most) = self.queue.take(now);
        let row = NodeRow {
            offered: self.offered - std::mem::replace(&mut before.offered, self.offered),
            counters: since,
            airtime_share: part(since.airtime.as_nanos()),
            queue_packets: part(area),
            queue_max_packets: most,
        };
        if before.losses != *glance.losses {
            let past = std::mem::replace(&mut before.losses, *glance.losses);
            for ((reason, frames), (_, past)) in glance.losses.reasons().into_iter().zip(past.reasons()) {
                put_loss(&mut self.series.lost_frames, reason, number, frames - past);
            }
        }
        self.rows.push((number, row));
        if self.rows.len() == ROWS {
            self.enter_rows();
        }
    }

    /// Enters the rows that were kept back into the series.
    fn enter_rows(&mut self) {
        let series = &mut self.series;
        for (number, NodeRow { offered, counters, airtime_share, queue_packets, queue_max_packets }) in
            self.rows.drain(..)
        {
            put(&mut series.offered_frames, number, offered);
            put(&mut series.delivered_frames, number, counters.successes);
            put(&mut series.attempts, number, counters.attempts);
            put(&mut series.collisions, number, counters.collisions);
            put(&mut series.errors, number, counters.losses);
            put(&mut series.repeated_failures, number, counters.repeated_failures);
            put(&mut series.slowed, number, counters.slowed);
            put(&mut series.airtime_share, number, airtime_share);
            put(&mut series.queue_packets, number, queue_packets);
            put(&mut series.queue_max_packets, number, queue_max_packets);
        }
    }

    fn take(&mut self) -> NodeStretch {
        NodeStretch {
            sojourn: self.sojourn.take(),
            frames_by_attempts: std::mem::take(&mut self.by_attempts),
            attempts_by_rate: std::mem::take(&mut self.by_rate),
            ..NodeStretch::default()
        }
    }

    fn finish(mut self, intervals: usize) -> NodeSeries {
        self.enter_rows();
        let mut series = self.series;
        for counts in [
            &mut series.offered_frames,
            &mut series.delivered_frames,
            &mut series.attempts,
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

/// Enters the value of interval `number`, unless it is zero as those before that are not there yet.
pub(crate) fn put<T: Copy + Default + PartialEq>(series: &mut Vec<T>, number: usize, value: T) {
    if value != T::default() {
        series.resize(number, T::default());
        series.push(value);
    }
}

/// The same for a reason of losses.
pub(crate) fn put_loss(series: &mut Vec<LossSeries>, reason: &str, number: usize, frames: u64) {
    if frames > 0 {
        let place = series.iter().position(|loss| loss.reason == reason).unwrap_or_else(|| {
            series.push(LossSeries { reason: reason.to_owned(), frames: Vec::new() });
            series.len() - 1
        });
        put(&mut series[place].frames, number, frames);
    }
}

/// Makes a series as long as the run, unless it is empty.
pub(crate) fn fill<T: Copy + Default>(series: &mut Vec<T>, intervals: usize) {
    if !series.is_empty() {
        series.resize(intervals, T::default());
    }
}
