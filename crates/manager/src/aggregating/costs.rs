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
//! Costs scale what is believed: shares, what is in flight, how long a run is, and what is shown as charged.
//!
//! Not here: which releases a completion shows to have left (see `in_flight`).

use alloc::vec::Vec;

use evenair_units::{Instant, Span};

use crate::ids::StationId;
use crate::in_flight::Load;

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

impl Cluster {
    fn add(&mut self, station: StationId, load: Load) {
        if let Some((_, part)) = self.parts.iter_mut().find(|(id, _)| *id == station) {
            *part += load;
        } else if self.parts.len() < STATIONS {
            self.parts.push((station, load));
        } else {
            self.others += load;
        }
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
    /// DATA of stations that came after the last completion: it belongs to the time up to the next one.
    since: Cluster,
    /// What a quarter of all clusters undercut, in nanoseconds for a millisecond as known of their stations: without the accesses
    /// of others in between.
    quick: u64,
    /// What was learned of stations and not yet taken.
    learned: Vec<(StationId, Cost)>,
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

impl Costs {
    /// The medium is believed to take so many parts of [`UNIT`] of what the airtime model says.
    pub(crate) fn new(now: Instant, slowness: u64) -> Self {
        Self {
            all: Cost::of(slowness),
            completed: now,
            is_busy: false,
            cluster: Cluster::default(),
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
        self.since.parts.drain(..).for_each(|(station, load)| cluster.add(station, load));
        cluster.add(done.station, done.own);
    }

    /// DATA of a station have come. They were sent since the last completion, as was what the next one completes, in an order that
    /// does not show: an acknowledgment waits for its station's turn.
    pub(crate) fn note_data(&mut self, now: Instant, station: StationId, load: Load) {
        let is_of_last = now.saturating_since(self.completed) <= TOGETHER;
        if is_of_last { self.cluster.add(station, load) } else { self.since.add(station, load) }
    }

    fn end_cluster(&mut self) {
        let Cluster { took, is_void, others, .. } = self.cluster;
        let mut parts = core::mem::take(&mut self.cluster.parts);
        if !is_void && took > Span::ZERO {
            let all = parts.iter().fold(others, |all, (_, load)| all + *load);
            let part = |load: Load| took.mul_div(load.medium.as_nanos(), all.medium.as_nanos().max(1));
            let of = |&(id, load): &(StationId, Load)| (id, Cost { took: part(load), believed: load.believed });
            self.learned.extend(parts.iter().map(of));
            self.note_quick(took, all.medium);
            self.all.add(took, all.believed, OF_DOMAIN);
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
    pub(crate) fn take_learned(&mut self) -> Option<(StationId, Cost)> {
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
