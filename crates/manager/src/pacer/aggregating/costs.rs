//! Medium time of releases, measured from completions.
//!
//! While something is in flight and the box always has more to release, the medium is busy, so that the time between two completions is
//! what the second one's releases have taken: frames, retries, waiting for other networks. Releases go out in runs of one station (see
//! `queues`), and so that time belongs to one station. Relative to the airtime of the same releases by the model (`believed`), it gives
//! the cost of a station, whatever its rate is, and the mean cost of the domain.
//!
//! Where an acknowledgment has to wait while the access point sends to the next station, both complete at nearly the same time, and so do
//! all releases whose acknowledgments a path delivers in one batch. The time of such a *cluster* is divided by the costs of its stations
//! so far.
//!
//! Often an access point has sent the next run before an acknowledgment of this one gets the medium, or the acknowledgment of an odd
//! packet is delayed until the next run. Then time of one station is measured as another's, which moves the sums of both toward the mean:
//! before MCS 11 beside MCS 0 by a third. Mostly such clusters are the minority, though not always before queues by station. So two costs
//! of a station are kept: the quotient of sums ([`Cost`]), which conserves time, for medium time in flight and the length of runs; and the
//! median of recent clusters ([`Typical`]) for shares. Charged airtime, as shown in reports, has a third one ([`ShownCost`]), which decides
//! nothing.
//!
//! Not here: which releases a completion shows to have left (see `in_flight`).

use alloc::vec::Vec;

use evenair_units::{Instant, Span};

use crate::ids::StationId;
use crate::pacer::in_flight::Load;

/// Longest time between two completions that counts as medium time; a longer one is an outage.
const OUTAGE: Span = Span::from_millis(200);
/// Memory of the mean cost of a domain, and of a station's cost, in their own medium time: older measurements count half.
const OF_DOMAIN: Span = Span::from_secs(1);
const OF_STATION: Span = Span::from_millis(80);
/// Medium time below which a station's cost is unknown, and taken to be the mean.
const LEAST: Span = Span::from_millis(4);
/// Weight of the initial estimate of a domain's cost, in medium time.
const BEFORE: Span = Span::from_millis(10);
/// Bound of a station's cost relative to the mean: this factor, or its inverse.
const MOST_TIMES: u64 = 64;
/// Completions at most this far apart belong to one cluster.
const TOGETHER: Span = Span::from_micros(300);
/// Step by which the 25th percentile of clusters is tracked, as a divisor; the medium time that `quick` is given for.
const QUICK_PART: u64 = 32;
const MS: Span = Span::from_millis(1);
/// A completion belongs to the cluster before it if it comes within 1/`JOINS` of the medium time in flight of
/// its train: the access point had begun to send it long before.
const JOINS: u64 = 4;
/// Longest cluster. On a medium much faster than the airtime model, every completion would join.
const LONGEST: Span = Span::from_millis(20);
/// Clusters of a station whose median is its typical cost.
const RECENT: usize = 24;
/// Stations distinguished in a cluster or block, at most.
const STATIONS: usize = 8;
/// Longest block, if no cluster of several stations ends it.
const LONGEST_BLOCK: Span = Span::from_millis(50);
/// Shown costs: part of a block's error that is corrected, as a divisor, and the largest change, a quarter.
const GAIN: i128 = 16;
const MOST_STEP: i128 = SHOWN_UNIT as i128 / 4;
/// Fixed-point unit of shown costs.
const SHOWN_UNIT: u64 = 1 << 20;
/// Fixed-point unit of slowness and ratios.
pub(crate) const UNIT: u64 = 1 << 10;

/// A cost: medium time of releases, and their airtime by the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    took: Span,
    believed: Span,
}

/// A station's part of a cluster; times in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    took: u32,
    believed: u32,
    /// Airtime by the model, times the station's part of the cluster: of clusters of several stations less is known.
    weight: u32,
}

/// The typical cost of a station: the weighted median of its recent clusters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Typical {
    recent: [Part; RECENT],
    next: usize,
    median: Cost,
}

/// Completions that came together.
#[derive(Clone, Debug, Default)]
struct Cluster {
    /// Time since the completion before the first.
    took: Span,
    /// Time from the first completion to the last.
    joined: Span,
    /// Whether the medium may have been idle in that time, so that it measures nothing.
    is_void: bool,
    /// Completed releases, by station.
    parts: Vec<(StationId, Load)>,
    others: Load,
}

/// Clusters up to one in which several stations completed. The last of these was not delayed by the next run, so that the time of a block
/// is that of its releases alone.
#[derive(Clone, Debug, Default)]
struct Block {
    took: Span,
    is_void: bool,
    /// Medium time of completed releases at shown costs, by station.
    parts: Vec<(StationId, Span)>,
    others: Span,
}

/// The cost of a station as shown in reports, in parts of [`SHOWN_UNIT`]. It follows blocks and not single clusters, so that it excludes
/// the delay of an acknowledgment behind the next station's run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ShownCost(Option<u64>);

/// News of a station's cost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Learned {
    /// A measurement, and its weight for the median.
    Cost(Cost, Span),
    /// Change of its shown cost, in parts of [`SHOWN_UNIT`].
    Shown(i64),
}

/// The entry of a station, or the common entry of all others once [`STATIONS`] are distinguished.
fn part<'a, T: Default>(parts: &'a mut Vec<(StationId, T)>, others: &'a mut T, station: StationId) -> &'a mut T {
    let at = parts.iter().position(|(id, _)| *id == station).unwrap_or(parts.len());
    if at == parts.len() && at < STATIONS {
        parts.push((station, T::default()));
    }
    parts.get_mut(at).map_or(others, |(_, part)| part)
}

impl Cluster {
    fn add(&mut self, station: StationId, load: Load) {
        *part(&mut self.parts, &mut self.others, station) += load;
    }
}

/// A completion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) station: StationId,
    /// Releases that have left flight, of this station and of others.
    pub(crate) own: Load,
    pub(crate) others: Load,
    /// When its train can have reached the access point, as far as completions show it: the path's lag after its release.
    pub(crate) arrived: Instant,
    /// Medium time that was in flight of its train before.
    pub(crate) train: Span,
}

/// Measured costs of a contention domain.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    all: Cost,
    /// Instant of the last completion.
    completed: Instant,
    /// Whether since then something was always in flight, and the box always had something to release.
    is_busy: bool,
    cluster: Cluster,
    block: Block,
    /// DATA from stations after the last completion, which share the time up to the next one.
    since: Cluster,
    /// 25th percentile of clusters, in nanoseconds for a millisecond at the costs of their stations: the cost without the accesses of
    /// others in between.
    quick: u64,
    /// News of stations' costs, not taken yet.
    learned: Vec<(StationId, Learned)>,
}

impl Cost {
    /// An initial cost of this slowness, in parts of [`UNIT`].
    fn of(slowness: u64) -> Self {
        // The longer of the two times has the weight [`BEFORE`], so that neither estimate lasts.
        let longer = slowness.max(UNIT);
        Self { took: BEFORE.mul_div(slowness, longer), believed: BEFORE.mul_div(UNIT, longer) }
    }

    fn add(&mut self, took: Span, believed: Span, most: Span) {
        if self.took > most {
            *self = Self { took: self.took / 2, believed: self.believed / 2 };
        }
        *self = Self { took: self.took + took, believed: self.believed + believed };
    }

    /// Adds a measurement.
    pub(crate) fn learn(&mut self, more: Self) {
        self.add(more.took, more.believed, OF_STATION);
    }

    fn is_known(self) -> bool {
        self.took >= LEAST && self.believed > Span::ZERO
    }
}

impl Part {
    /// Order of its medium time for the same airtime, beside another part's.
    fn cmp_cost(self, other: Self) -> core::cmp::Ordering {
        let product = |took: u32, believed: u32| u64::from(took) * u64::from(believed);
        product(self.took, other.believed).cmp(&product(other.took, self.believed))
    }
}

impl Typical {
    /// The median, as medium time and airtime by the model of the recent clusters.
    pub(crate) const fn cost(&self) -> &Cost {
        &self.median
    }

    /// Adds a measurement.
    pub(crate) fn learn(&mut self, more: Cost, weight: Span) {
        let nanos = |span: Span| u32::try_from(span.as_nanos()).unwrap_or(u32::MAX);
        let part = Part { took: nanos(more.took), believed: nanos(more.believed), weight: nanos(weight) };
        if part.believed == 0 {
            return;
        }
        self.recent[self.next] = part;
        self.next = (self.next + 1) % RECENT;
        let mut sorted = self.recent;
        sorted.sort_unstable_by(|a, b| a.cmp_cost(*b));
        let sum = |of: fn(&Part) -> u32| sorted.iter().map(|part| u64::from(of(part))).sum::<u64>();
        let (weight, believed) = (sum(|part| part.weight), Span::from_nanos(sum(|part| part.believed)));
        let mut before = 0;
        let median = sorted.iter().find(|part| {
            before += u64::from(part.weight);
            part.believed > 0 && before * 2 >= weight
        });
        let took = |part: &Part| believed.mul_div(u64::from(part.took), u64::from(part.believed));
        self.median = median.map_or(Cost::default(), |part| Cost { took: took(part), believed });
    }
}

impl ShownCost {
    /// Starts with the cost of this completed load, if there is none yet.
    pub(crate) fn begin(&mut self, load: Load) {
        let believed = load.believed.as_nanos().max(1);
        self.0.get_or_insert(Span::from_nanos(SHOWN_UNIT).mul_div(load.medium.as_nanos(), believed).as_nanos());
    }

    /// Shown medium time of releases of this airtime. `None`: no cost yet.
    pub(crate) fn of(self, believed: Span) -> Option<Span> {
        self.0.map(|cost| believed.mul_div(cost, SHOWN_UNIT))
    }

    /// Changes the cost by this many parts of [`SHOWN_UNIT`].
    pub(crate) fn step(&mut self, parts: i64) {
        let factor = SHOWN_UNIT.saturating_add_signed(parts);
        self.0 = self.0.map(|cost| Span::from_nanos(cost).mul_div(factor, SHOWN_UNIT).as_nanos().max(1));
    }
}

impl Block {
    fn add(&mut self, station: StationId, shown: Span) {
        *part(&mut self.parts, &mut self.others, station) += shown;
    }

    /// Normalised least mean squares (Widrow, Hoff, 1960): divides the error among the stations by their times.
    fn end(&mut self, learned: &mut Vec<(StationId, Learned)>) {
        let nanos = |span: Span| i128::from(span.as_nanos());
        let all = self.parts.iter().fold(nanos(self.others), |all, (_, shown)| all + nanos(*shown));
        let squares = self.parts.iter().fold(nanos(self.others).pow(2), |all, (_, shown)| all + nanos(*shown).pow(2));
        if !self.is_void && squares > 0 {
            let error = nanos(self.took) - all;
            let step = |shown: Span| i128::from(SHOWN_UNIT) * error * nanos(shown) / (squares * GAIN);
            let step = |shown: Span| step(shown).clamp(-MOST_STEP, MOST_STEP) as i64;
            learned.extend(self.parts.iter().map(|&(id, shown)| (id, Learned::Shown(step(shown)))));
        }
        self.parts.clear();
        *self = Self { parts: core::mem::take(&mut self.parts), ..Self::default() };
    }
}

impl Costs {
    /// Costs that start with this slowness of the medium, in parts of [`UNIT`].
    pub(crate) fn new(now: Instant, slowness: u64) -> Self {
        Self {
            all: Cost::of(slowness),
            completed: now,
            is_busy: false,
            cluster: Cluster::default(),
            block: Block::default(),
            since: Cluster::default(),
            quick: 1_000_000,
            learned: Vec::new(),
        }
    }

    /// Medium time of a release of this airtime, at the mean cost.
    pub(crate) fn mean(&self, believed: Span) -> Span {
        believed.mul_div(self.all.took.as_nanos(), self.all.believed.as_nanos().max(1))
    }

    /// The mean cost: medium time, and airtime by the model.
    pub(crate) const fn pace(&self) -> (u64, u64) {
        (self.all.took.as_nanos(), self.all.believed.as_nanos())
    }

    /// The mean cost as a slowness, in parts of [`UNIT`].
    pub(crate) fn slowness(&self) -> u64 {
        self.mean(Span::from_nanos(UNIT * UNIT)).as_nanos().div_ceil(UNIT).max(1)
    }

    /// The cost of a station relative to the mean: `(numerator, denominator)`.
    pub(crate) fn ratio(&self, of: &Cost) -> (u64, u64) {
        if !of.is_known() {
            return (1, 1);
        }
        let own = self.mean(of.believed).as_nanos().max(1);
        let ratio = Span::from_nanos(UNIT).mul_div(of.took.as_nanos(), own).as_nanos();
        (ratio.clamp(UNIT / MOST_TIMES, UNIT * MOST_TIMES), UNIT)
    }

    /// Notes a completion.
    pub(crate) fn note_completion(&mut self, now: Instant, done: Done) {
        let took = now.saturating_since(self.completed);
        let joins = took <= TOGETHER || took * JOINS < done.train;
        if joins && self.cluster.joined + took <= LONGEST {
            self.cluster.joined += took;
        } else {
            self.end_cluster();
        }
        let cluster = &mut self.cluster;
        cluster.is_void |= !self.is_busy || took > OUTAGE;
        // A medium that waited for the train was not busy.
        cluster.took += took.min(now.saturating_since(done.arrived));
        cluster.others += done.others;
        cluster.others += core::mem::take(&mut self.since.others);
        self.block.others += done.others.shown;
        for (station, load) in self.since.parts.drain(..).chain([(done.station, done.own)]) {
            cluster.add(station, load);
            self.block.add(station, load.shown);
        }
    }

    /// Notes DATA of a station. They were sent since the last completion, as was what the next one completes, in an unknown order: an
    /// acknowledgment waits for its station's turn.
    pub(crate) fn note_data(&mut self, now: Instant, station: StationId, load: Load) {
        if now.saturating_since(self.completed) > TOGETHER {
            return self.since.add(station, load);
        }
        self.cluster.add(station, load);
        self.block.add(station, load.shown);
    }

    fn end_cluster(&mut self) {
        let Cluster { took, is_void, others, .. } = self.cluster;
        let mut parts = core::mem::take(&mut self.cluster.parts);
        if !is_void && took > Span::ZERO {
            let all = parts.iter().fold(others, |all, (_, load)| all + *load);
            let part = |load: Load| took.mul_div(load.medium.as_nanos(), all.medium.as_nanos().max(1));
            let cost = |load: Load| Cost { took: part(load), believed: load.believed };
            let weight = |load: Load| load.believed.mul_div(load.medium.as_nanos(), all.medium.as_nanos().max(1));
            let of = |&(id, load): &(StationId, Load)| (id, Learned::Cost(cost(load), weight(load)));
            self.learned.extend(parts.iter().map(of));
            self.note_quick(took, all.medium);
            self.all.add(took, all.believed, OF_DOMAIN);
        }
        self.block.took += took;
        self.block.is_void |= is_void;
        if parts.len() > 1 || self.block.took >= LONGEST_BLOCK || is_void {
            self.block.end(&mut self.learned);
        }
        parts.clear();
        self.cluster = Cluster { parts, ..Cluster::default() };
    }

    fn note_quick(&mut self, took: Span, known: Span) {
        let sample = took.mul_div(MS.as_nanos(), known.as_nanos().max(1)).as_nanos();
        let step = self.quick / QUICK_PART;
        self.quick = if sample < self.quick { self.quick.saturating_sub(3 * step) } else { self.quick + step };
        self.quick = self.quick.clamp(MS.as_nanos() / 64, MS.as_nanos());
    }

    /// Medium time without the accesses of others in between.
    pub(crate) fn undisturbed(&self, medium: Span) -> Span {
        medium.mul_div(self.quick, MS.as_nanos())
    }

    /// News of some station's cost.
    pub(crate) fn take_learned(&mut self) -> Option<(StationId, Learned)> {
        self.learned.pop()
    }

    /// Starts measuring after a completion; `in_flight`: more is in flight.
    pub(crate) const fn begin(&mut self, now: Instant, in_flight: bool) {
        (self.completed, self.is_busy) = (now, in_flight);
    }

    /// Stops measuring: the box has nothing to release, or releases nothing on purpose.
    pub(crate) const fn starve(&mut self) {
        self.is_busy = false;
    }

    /// Replaces the mean cost by this slowness.
    pub(crate) fn set(&mut self, slowness: u64) {
        self.all = Cost::of(slowness);
    }
}

#[cfg(test)]
mod tests;
