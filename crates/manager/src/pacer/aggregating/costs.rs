//! What the medium takes, measured from completions.
//!
//! While something is in flight and the box always has more to release, the medium is busy, so that the time between two
//! completions is what the second one's releases have taken: frames, retries, waiting for other networks. Releases go out in
//! runs of one station (see `queues`), and so that time belongs to one station. Beside what the airtime model believes of the
//! same releases it gives the cost of a station, whatever its rate is, and the mean cost of the domain.
//!
//! Where an acknowledgment has to wait while the access point sends to the next station, both complete at nearly the same time, and
//! so do all that a path delivers in one batch. The time of such a *cluster* is divided as is known of its stations so far.
//!
//! Costs scale what is believed: shares, what is in flight, how long a run is. What is shown as charged has a cost of its own
//! ([`ShownCost`]), which nothing is decided by.
//!
//! Not here: which releases a completion shows to have left (see `in_flight`).

use alloc::vec::Vec;

use evenair_units::{Instant, Span};

use crate::ids::StationId;
use crate::pacer::in_flight::Load;

/// A longer pause between two completions is an outage.
const OUTAGE: Span = Span::from_millis(200);
/// The mean of a domain, and of a station, is that of about so much of its own medium time.
const OF_DOMAIN: Span = Span::from_secs(1);
const OF_STATION: Span = Span::from_millis(80);
/// With less medium time than this a station is taken to cost what all cost on average.
const LEAST: Span = Span::from_millis(4);
/// What was believed of a domain before anything was measured counts as much as this medium time.
const BEFORE: Span = Span::from_millis(10);
/// The cost of a station is within these parts of the mean one.
const MOST_TIMES: u64 = 64;
/// Completions that are no further apart came together.
const TOGETHER: Span = Span::from_micros(300);
/// The quick quarter of clusters is followed in steps of one part in so many.
const QUICK_PART: u64 = 32;
const MS: Span = Span::from_millis(1);
/// One that comes earlier than this part of what is in flight of its train may take, one in so many, came together with the one
/// before: the access point had begun to send it long ago.
const JOINS: u64 = 4;
/// A cluster lasts no longer: where the medium is much faster than is believed, each completion is one that joins.
const LONGEST: Span = Span::from_millis(20);
/// Stations of a cluster that are distinguished.
const STATIONS: usize = 8;
/// A block of clusters that ends with none of several stations ends after this long.
const LONGEST_BLOCK: Span = Span::from_millis(50);
/// Of the error of a block, shown costs follow one part in so many, and change by a quarter at most.
const GAIN: i128 = 16;
const MOST_STEP: i128 = SHOWN_UNIT as i128 / 4;
/// Shown costs are in parts of this.
const SHOWN_UNIT: u64 = 1 << 20;
/// Ratios are in parts of this.
pub(crate) const UNIT: u64 = 1 << 10;

/// Medium time, beside the airtime that is believed of the same releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    took: Span,
    believed: Span,
}

/// Completions that came together.
#[derive(Clone, Debug, Default)]
struct Cluster {
    /// Since the completion before them.
    took: Span,
    /// From the first of them to the last.
    joined: Span,
    /// In that time the medium may have waited.
    is_void: bool,
    /// What was completed, by station.
    parts: Vec<(StationId, Load)>,
    others: Load,
}

/// Clusters up to one in which stations completed together. The last of those was not delayed by the next run, so that the
/// time of a block is that of its releases alone.
#[derive(Clone, Debug, Default)]
struct Block {
    took: Span,
    is_void: bool,
    /// Medium time of what was completed, by shown costs.
    parts: Vec<(StationId, Span)>,
    others: Span,
}

/// The cost of a station as it is shown: follows blocks of clusters, not single ones, so that it does not contain the delay of an
/// acknowledgment behind the next station's run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ShownCost(Option<u64>);

/// What was learned of a station.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Learned {
    Cost(Cost),
    /// Change of its shown cost, in parts of [`SHOWN_UNIT`].
    Shown(i64),
}

/// The part of a station; that of all others where too many stations are distinguished already.
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
    /// What has left flight of this station, and of others.
    pub(crate) own: Load,
    pub(crate) others: Load,
    /// Medium time of what was in flight of its train before.
    pub(crate) train: Span,
}

/// Costs of a contention domain.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    all: Cost,
    /// The last completion.
    completed: Instant,
    /// Since then something was always in flight, and the box had something to release.
    is_busy: bool,
    cluster: Cluster,
    block: Block,
    /// DATA of stations that came after the last completion: it belongs to the time up to the next one.
    since: Cluster,
    /// What a quarter of all clusters undercut, in nanoseconds for a millisecond as known of their stations: without the accesses
    /// of others in between.
    quick: u64,
    /// What was learned of stations and not yet taken.
    learned: Vec<(StationId, Learned)>,
}

impl Cost {
    /// By so many parts of [`UNIT`].
    fn of(slowness: u64) -> Self {
        // As much of the longer one, so that neither belief lasts.
        let longer = slowness.max(UNIT);
        Self { took: BEFORE.mul_div(slowness, longer), believed: BEFORE.mul_div(UNIT, longer) }
    }

    fn add(&mut self, took: Span, believed: Span, most: Span) {
        if self.took > most {
            *self = Self { took: self.took / 2, believed: self.believed / 2 };
        }
        *self = Self { took: self.took + took, believed: self.believed + believed };
    }

    /// More was learned.
    pub(crate) fn learn(&mut self, more: Self) {
        self.add(more.took, more.believed, OF_STATION);
    }

    fn is_known(self) -> bool {
        self.took >= LEAST && self.believed > Span::ZERO
    }
}

impl ShownCost {
    /// Something was completed. Where nothing is known yet, this load begins it.
    pub(crate) fn begin(&mut self, load: Load) {
        let believed = load.believed.as_nanos().max(1);
        self.0.get_or_insert(Span::from_nanos(SHOWN_UNIT).mul_div(load.medium.as_nanos(), believed).as_nanos());
    }

    /// Medium time of releases of which this is believed. `None`: nothing is known yet.
    pub(crate) fn of(self, believed: Span) -> Option<Span> {
        self.0.map(|cost| believed.mul_div(cost, SHOWN_UNIT))
    }

    /// It changes by so many parts of [`SHOWN_UNIT`].
    pub(crate) fn step(&mut self, parts: i64) {
        let factor = SHOWN_UNIT.saturating_add_signed(parts);
        self.0 = self.0.map(|cost| Span::from_nanos(cost).mul_div(factor, SHOWN_UNIT).as_nanos().max(1));
    }
}

impl Block {
    fn add(&mut self, station: StationId, shown: Span) {
        *part(&mut self.parts, &mut self.others, station) += shown;
    }

    /// Normalised least mean squares (Widrow, Hoff, 1960): each station has its part of the error, weighted by its time.
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
    /// The medium is believed to take so many parts of [`UNIT`] of what the airtime model says.
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

    /// Medium time of a release of which this is believed, to a station that costs what all do on average.
    pub(crate) fn mean(&self, believed: Span) -> Span {
        believed.mul_div(self.all.took.as_nanos(), self.all.believed.as_nanos().max(1))
    }

    /// The mean cost: medium time, and the airtime that is believed of it.
    pub(crate) const fn pace(&self) -> (u64, u64) {
        (self.all.took.as_nanos(), self.all.believed.as_nanos())
    }

    /// The mean cost in parts of [`UNIT`].
    pub(crate) fn slowness(&self) -> u64 {
        self.mean(Span::from_nanos(UNIT * UNIT)).as_nanos().div_ceil(UNIT).max(1)
    }

    /// The cost of a station beside the mean one: `(numerator, denominator)`.
    pub(crate) fn ratio(&self, of: &Cost) -> (u64, u64) {
        if !of.is_known() {
            return (1, 1);
        }
        let own = self.mean(of.believed).as_nanos().max(1);
        let ratio = Span::from_nanos(UNIT).mul_div(of.took.as_nanos(), own).as_nanos();
        (ratio.clamp(UNIT / MOST_TIMES, UNIT * MOST_TIMES), UNIT)
    }

    /// Releases of a station were completed.
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
        cluster.took += took;
        cluster.others += done.others;
        cluster.others += core::mem::take(&mut self.since.others);
        self.block.others += done.others.shown;
        for (station, load) in self.since.parts.drain(..).chain([(done.station, done.own)]) {
            cluster.add(station, load);
            self.block.add(station, load.shown);
        }
    }

    /// DATA of a station have come. They were sent since the last completion, as was what the next one completes, in an order that
    /// does not show: an acknowledgment waits for its station's turn.
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
            let of = |&(id, load): &(StationId, Load)| (id, Learned::Cost(cost(load)));
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

    /// Medium time, as it is without the accesses of others in between.
    pub(crate) fn undisturbed(&self, medium: Span) -> Span {
        medium.mul_div(self.quick, MS.as_nanos())
    }

    /// What was learned of some station.
    pub(crate) fn take_learned(&mut self) -> Option<(StationId, Learned)> {
        self.learned.pop()
    }

    /// A completion has come, after which something is in flight or not.
    pub(crate) const fn begin(&mut self, now: Instant, in_flight: bool) {
        (self.completed, self.is_busy) = (now, in_flight);
    }

    /// The box has nothing to release, or keeps it back.
    pub(crate) const fn starve(&mut self) {
        self.is_busy = false;
    }

    /// Believes something else.
    pub(crate) fn set(&mut self, slowness: u64) {
        self.all = Cost::of(slowness);
    }
}

#[cfg(test)]
mod tests;
