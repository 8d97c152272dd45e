//! Counters of one medium: by sender, by interval, and by period for values without series. Queue lengths are counted by
//! `occupancy`.

use std::collections::BTreeSet;
use std::iter::repeat_with;

use evenair_medium::{BacklogChain, Counters, PpduCounters, Totals};
use evenair_results::period::{CategoryPeriod, FlowPeriod, Period};
use evenair_results::{MediumSeries, NodeSeries};
use evenair_scenario::Scenario;
use evenair_units::hint::prefetch;
use evenair_units::{Airtime, Instant, Span};
use evenair_wifi::PhyRate;

use crate::occupancy::Occupancy;
use crate::records::Records;
use crate::rows::{Interval, intervals};
use crate::senders::{Deliveries, Delivery, NodeRow, NodeRows};

/// Counters of all senders: stations first, then access points.
#[derive(Debug)]
pub(crate) struct MediumCounters {
    interval: Span,
    /// Per-frame counters of each sender.
    nodes: Vec<NodeCounters>,
    deliveries: Records<Deliveries>,
    /// Counters of each sender at the end of the last interval.
    before: Vec<Before>,
    rows: NodeRows,
    /// Number of stations.
    stations: usize,
    /// Time at each queue length, for each access point.
    levels: Vec<Vec<u64>>,
    /// Number of stations with a frame to send, and their backlogged time in wrapping nanoseconds, as in [`Occupancy`].
    active: (u64, u64),
    active_before: u64,
    totals: Totals,
    medium: MediumSeries,
    /// Number of intervals of the run.
    whole: usize,
    /// Number of intervals that have ended.
    intervals: usize,
    period_began: usize,
    ends: BTreeSet<usize>,
    periods: Vec<Period>,
}

/// All counters of a run: access points first, then stations.
#[derive(Debug)]
pub(crate) struct RunCounters {
    pub(crate) nodes: Vec<NodeSeries>,
    pub(crate) medium: MediumSeries,
    pub(crate) periods: Vec<Period>,
}

/// Counters of a sender in the present interval that each frame updates, half a cache line in size.
#[derive(Debug, Default)]
#[repr(align(32))]
struct NodeCounters {
    queue: Occupancy,
    offered: u32,
    delivered: u32,
}

/// Counters of a sender at the end of the last interval, in one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Before {
    attempts: u64,
    successes: u64,
    airtime: Airtime,
    collisions: u64,
    losses: u64,
    repeated_failures: u64,
    slowed: u64,
}

impl MediumCounters {
    /// Counters of senders of these names, the last `access_points` of which are access points.
    pub(crate) fn new(scenario: &Scenario, names: impl Iterator<Item = String>, access_points: usize) -> Self {
        let rows = NodeRows::new(names);
        let senders = rows.senders();
        Self {
            interval: scenario.measure.interval,
            stations: senders - access_points,
            nodes: repeat_with(NodeCounters::default).take(senders).collect(),
            deliveries: Records::new(repeat_with(Deliveries::default).take(senders)),
            before: repeat_with(Before::default).take(senders).collect(),
            rows,
            whole: intervals(scenario),
            levels: vec![Vec::new(); access_points],
            active: (0, 0),
            active_before: 0,
            totals: Totals::default(),
            medium: MediumSeries::default(),
            intervals: 0,
            period_began: 0,
            ends: Period::ends(scenario),
            periods: Vec::new(),
        }
    }

    /// Prefetches a sender's per-frame counters.
    #[inline]
    pub(crate) fn prefetch(&self, node: usize) {
        prefetch(&self.nodes[node]);
    }

    /// Counts the arrival of a frame that was due in a sender's buffer at `due`, which may be past. A frame that finds no
    /// room leaves at once.
    pub(crate) fn arrive(&mut self, node: usize, now: Instant, due: Instant) {
        let medium_counters = &mut self.nodes[node];
        medium_counters.offered += 1;
        medium_counters.queue.arrive(now, due);
        if medium_counters.queue.packets() == 1 && node < self.stations {
            self.active.0 += 1;
            self.active.1 = self.active.1.wrapping_sub(now.as_nanos());
        }
    }

    /// Counts frames that were lost before they entered a buffer.
    pub(crate) fn never_arrived(&mut self, node: usize, frames: u64) {
        let offered = &mut self.nodes[node].offered;
        *offered = offered.saturating_add(frames.try_into().unwrap_or(u32::MAX));
    }

    /// Counts a frame that left a sender's buffer, or that `found_no_room` in it.
    pub(crate) fn leave(&mut self, node: usize, at: Instant, found_no_room: bool) {
        let medium_counters = &mut self.nodes[node];
        medium_counters.queue.leave(at, found_no_room);
        if medium_counters.queue.packets() == 0 && node < self.stations {
            self.active.0 -= 1;
            self.active.1 = self.active.1.wrapping_add(at.as_nanos());
        }
    }

    /// Counts a frame that a sender delivered after `sojourn` in its buffer.
    pub(crate) fn deliver(&mut self, node: usize, sojourn: Span, attempts: u32) {
        self.nodes[node].delivered += 1;
        self.deliveries.enter(node, Delivery { sojourn, attempts });
    }

    /// Adds the time that an access point's queue had this length.
    pub(crate) fn stay(&mut self, access_point: usize, packets: usize, time: Span) {
        let levels = &mut self.levels[access_point];
        if packets >= levels.len() {
            levels.resize(packets + 1, 0);
        }
        levels[packets] += time.as_nanos();
    }

    /// Ends an interval; `counters` returns each sender's totals. Returns whether a period ends as well.
    pub(crate) fn end_interval(
        &mut self,
        now: Instant,
        totals: Totals,
        may_repeat: bool,
        counters: impl Fn(usize) -> Counters,
    ) -> bool {
        for (sender, (node, before)) in self.nodes.iter_mut().zip(&mut self.before).enumerate() {
            // A sender without frames has sent nothing and is skipped, which matters with thousands of stations.
            if !may_repeat && !node.had_frames(self.interval, now) {
                continue;
            }
            if let Some(row) = node.end_interval(self.interval, now, &counters(sender), before) {
                self.rows.push(sender, self.intervals, row);
            }
        }
        self.end_medium(now, totals);
        self.intervals += 1;
        self.ends.contains(&self.intervals)
    }

    /// Counts frames that a sender lost in the interval that is about to end.
    pub(crate) fn lose(&mut self, node: usize, reason: &str, frames: u64) {
        let at = Interval { number: self.intervals, intervals: self.whole };
        self.rows.lose(node, at, reason, frames);
    }

    fn end_medium(&mut self, now: Instant, totals: Totals) {
        let part = |span: Span| span.as_nanos() as f64 / self.interval.as_nanos() as f64;
        let before = std::mem::replace(&mut self.totals, totals);
        let new = totals - before;
        self.medium.busy_share.push(part(new.busy));
        self.medium.contending_share.push(part(new.contending));
        self.medium.idle_share.push(part(new.idle));
        self.medium.transmissions.push(new.transmissions);
        self.medium.collisions.push(new.collisions);
        let area = self.active.1.wrapping_add(self.active.0.wrapping_mul(now.as_nanos()));
        let active = area.wrapping_sub(std::mem::replace(&mut self.active_before, area));
        self.medium.active_stations.push(part(Span::from_nanos(active)));
    }

    /// Counts a sender's attempts by PHY rate.
    pub(crate) fn use_rates(&mut self, node: usize, used: Vec<(PhyRate, u64)>) {
        for (rate, attempts) in used {
            self.deliveries.get_mut(node).use_rate(rate, attempts);
        }
    }

    /// Counts PPDUs toward a station and from it, if they are counted.
    pub(crate) fn count_ppdus(&mut self, station: usize, ways: [PpduCounters; 2]) {
        self.deliveries.get_mut(station).count_ppdus(ways);
    }

    /// Ends a period, with the counters of each sender's access categories, if any. Results list access points first.
    pub(crate) fn end_period(
        &mut self,
        flows: Vec<FlowPeriod>,
        chain: BacklogChain,
        categories: Vec<Vec<CategoryPeriod>>,
    ) {
        let mut nodes: Vec<_> = self.deliveries.all().iter_mut().map(Deliveries::take).collect();
        nodes.iter_mut().zip(categories).for_each(|(node, categories)| node.categories = categories);
        nodes.rotate_right(self.levels.len());
        nodes.iter_mut().zip(&mut self.levels).for_each(|(node, levels)| node.time_at_level = std::mem::take(levels));
        let intervals = self.period_began..self.intervals;
        self.period_began = self.intervals;
        self.periods.push(Period { intervals, nodes, flows, chain, ..Period::default() });
    }

    /// All counters, at the end of the run.
    pub(crate) fn finish(self) -> RunCounters {
        let mut nodes = self.rows.finish(self.intervals);
        nodes.rotate_right(self.levels.len());
        RunCounters { nodes, medium: self.medium, periods: self.periods }
    }
}

impl Before {
    /// Replaces the old totals by `now`; returns the difference.
    fn replace(&mut self, now: &Counters) -> Self {
        let &Counters { attempts, successes, airtime, collisions, losses, repeated_failures, slowed, .. } = now;
        let now = Self { attempts, successes, airtime, collisions, losses, repeated_failures, slowed };
        let past = std::mem::replace(self, now);
        Self {
            attempts: attempts - past.attempts,
            successes: successes - past.successes,
            airtime: Airtime(airtime.0 - past.airtime.0),
            collisions: collisions - past.collisions,
            losses: losses - past.losses,
            repeated_failures: repeated_failures - past.repeated_failures,
            slowed: slowed - past.slowed,
        }
    }
}

impl NodeCounters {
    /// Whether there was a frame to send in the interval that ends at `now`.
    fn had_frames(&self, interval: Span, now: Instant) -> bool {
        self.offered > 0 || self.queue.was_left_since(now - interval) || self.queue.packets() > 0
    }

    /// The row of the interval that ends, unless nothing happened.
    fn end_interval(
        &mut self,
        interval: Span,
        now: Instant,
        counters: &Counters,
        before: &mut Before,
    ) -> Option<NodeRow> {
        // Attempts are counted by outcome, when they end.
        let ended = |attempts: [u64; 3]| attempts.iter().sum::<u64>();
        let is_quiet = before.attempts == counters.attempts
            && before.airtime == counters.airtime
            && ended([before.successes, before.collisions, before.losses])
                == ended([counters.successes, counters.collisions, counters.losses]);
        if is_quiet && !self.had_frames(interval, now) {
            return None;
        }
        let part = |ns: u64| ns as f64 / interval.as_nanos() as f64;
        let since = before.replace(counters);
        let (area, most) = self.queue.take(now);
        Some(NodeRow {
            offered: std::mem::take(&mut self.offered),
            delivered: std::mem::take(&mut self.delivered),
            attempts: since.attempts as u32,
            successes: since.successes as u32,
            collisions: since.collisions as u32,
            errors: since.losses as u32,
            repeated_failures: since.repeated_failures as u32,
            slowed: since.slowed as u32,
            airtime_share: part(since.airtime.as_nanos()),
            queue_packets: part(area),
            queue_max_packets: most as u32,
        })
    }
}
