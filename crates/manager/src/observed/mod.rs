//! Airtime estimator: what the releases toward each station really cost the medium, by least squares from observation
//! alone.
//!
//! Reported rates give each release an airtime. How long the medium took for all releases together is known from
//! completions: the newest acknowledged release has left the access point, and so have all before it (see
//! `standing`). So each interval in which the medium always had something to send is one equation: the releases
//! completed in it, station by station, each weighted with the unknown cost per unit of reported airtime, add up to
//! its length. A few dozen equations determine the costs. If the reported rates are right, all costs are alike,
//! because retries, other networks and model errors affect all stations. A station whose cost differs from the
//! others' has a wrong report.
//!
//! By itself a fair scheduler serves the same mixture in each interval, and the equations cannot separate the
//! stations. Therefore the scheduler adds a dither ([`lean`]): in one interval a station is charged so that it gets a
//! third more, in the next so that it gets a third less, or the other way round, chosen by a hash per station.
//! Over both intervals no station loses.
//!
//! Completions are observed a packet or two late, and not in the order of transmission. Therefore intervals are long
//! compared with packets, and costs of single packets are not used: when two stations alternate, one packet of delay
//! would charge the other station.
//!
//! What is not here: the consequence for the reported rates (see `reports::outliers`); stations beyond the [`MOST`] that
//! use the medium most, which are lumped together; traffic from stations that no release has caused.
//!
//! Source: least squares with exponential forgetting (Ljung, "System Identification", 11.2); the dither is what that
//! book calls excitation.

mod solve;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use evenair_units::{Instant, Span};

use crate::ids::StationId;
use crate::index::hash;
use solve::Solution;

/// A stretch in which each station leans one way.
const STRETCH: Span = Span::from_millis(500);
/// Less than this of it, and it says nothing: a few packets that were answered late.
const LEAST: Span = Span::from_millis(100);
/// Without any answer for so long, and it is no packet that took so long: nothing was heard.
const OUTAGE: Span = Span::from_millis(100);
/// Stations with a row of their own.
pub(crate) const MOST: usize = 24;
/// Stretches until the older ones count for `1/e` of their weight: half a minute.
const MEMORY: u128 = 64;
/// The most releases whose completion is awaited; the controller keeps far fewer in flight.
const MOST_UNDER_WAY: usize = 4096;
/// A cost is known where its error, twice the standard deviation, is below one part of so many of it.
const KNOWN_PART: u128 = 2;
/// A station has one part of so many more or less while it leans.
const LEAN: u64 = 3;

/// Releases of one medium, and what they cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// Unacknowledged releases: the number, the station's row, the airtime by the reported rate.
    under_way: VecDeque<(u64, StationId, Span)>,
    /// Answers count from here on.
    since: Option<Instant>,
    stretch: Stretch,
    /// The station of each row. Row 0 is of all others.
    rows: BTreeMap<StationId, usize>,
    owners: Vec<Option<StationId>>,
    sums: Sums,
}

/// What happens in one stretch.
#[derive(Clone, Debug, Default)]
struct Stretch {
    number: u64,
    took: Span,
    used: BTreeMap<StationId, Span>,
}

/// Of all stretches, the older ones by less: products of what was used, and of that with the time it took, in us.
#[derive(Clone, Debug, Default)]
struct Sums {
    used: Vec<Vec<u128>>,
    took: Vec<u128>,
    took_squared: u128,
    /// How many there are, in `COUNT`.
    count: u128,
}

const COUNT: u128 = 1 << 10;

/// The real cost of a station for each unit of reported airtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) station: StationId,
    /// In parts of 2^16.
    pub(crate) cost: u64,
    /// It is hardly off by more than this.
    pub(crate) error: u64,
}

/// What a station is charged in this stretch for each part that it takes: `(numerator, denominator)`.
pub(crate) fn lean(station: StationId, now: Instant) -> (u64, u64) {
    let number = stretch_of(now);
    let coin = hash([station.number(), number / 2]) >> 32;
    (LEAN, if (coin ^ number) & 1 == 0 { LEAN + 1 } else { LEAN - 1 })
}

fn stretch_of(now: Instant) -> u64 {
    now.as_nanos() / STRETCH.as_nanos()
}

impl Observed {
    /// Notes a release of this airtime by the reported rate.
    pub(crate) fn release(&mut self, number: u64, station: StationId, airtime: Span) {
        if self.under_way.len() == MOST_UNDER_WAY {
            self.lose();
        }
        self.under_way.push_back((number, station, airtime));
    }

    /// The medium may have had nothing to do, or what it did is not known.
    pub(crate) fn lose(&mut self) {
        self.since = None;
    }

    /// All releases up to this one have left the access point.
    pub(crate) fn answer(&mut self, now: Instant, number: u64) {
        if self.stretch.number != stretch_of(now) {
            self.finish();
            self.stretch = Stretch { number: stretch_of(now), ..Stretch::default() };
        }
        let since = self.since.replace(now).filter(|&since| now.saturating_since(since) < OUTAGE);
        if let Some(since) = since {
            self.stretch.took += now.saturating_since(since);
        }
        while let Some(&(released, station, airtime)) = self.under_way.front()
            && released <= number
        {
            self.under_way.pop_front();
            if since.is_some() {
                *self.stretch.used.entry(station).or_default() += airtime;
            }
        }
    }

    /// A stretch has ended.
    fn finish(&mut self) {
        let Stretch { took, used, .. } = core::mem::take(&mut self.stretch);
        if took < LEAST {
            return;
        }
        let mut row = Vec::new();
        for (station, used) in used {
            let at = self.row_of(station);
            row.resize(self.owners.len(), Span::ZERO);
            row[at] += used;
        }
        row.resize(self.owners.len(), Span::ZERO);
        self.sums.add(&row, took);
    }

    /// Where what a station used is counted.
    fn row_of(&mut self, station: StationId) -> usize {
        if self.owners.is_empty() {
            self.owners.push(None);
        }
        if let Some(&at) = self.rows.get(&station) {
            return at;
        }
        let vacant = (1..self.owners.len()).find(|&at| self.owners[at].is_none());
        let at = vacant.or_else(|| (self.owners.len() <= MOST).then_some(self.owners.len())).or_else(|| self.idlest());
        let Some(at) = at else { return 0 };
        if at == self.owners.len() {
            self.owners.push(None);
        }
        self.rows.insert(station, at);
        self.owners[at] = Some(station);
        at
    }

    /// A row whose station has used next to nothing for long, emptied for another one.
    fn idlest(&mut self) -> Option<usize> {
        let of = |at: usize| self.sums.used.get(at).map_or(0, |row| row[at]);
        let idlest = (1..self.owners.len()).min_by_key(|&at| of(at))?;
        let all: u128 = (0..self.owners.len()).map(of).sum();
        if of(idlest) * 100 * (self.owners.len() as u128) > all {
            return None;
        }
        if let Some(station) = self.owners[idlest].take() {
            self.rows.remove(&station);
        }
        self.sums.clear(idlest);
        Some(idlest)
    }

    /// The present estimates for the stations with a row of their own.
    pub(crate) fn costs(&self) -> Vec<Cost> {
        let Some((solution, noise)) = self.sums.solve() else { return Vec::new() };
        let of = |(at, owner): (usize, &Option<StationId>)| {
            let cost = u64::try_from(solution.values[at]).ok().filter(|&cost| cost > 0)?;
            // Twice the root of noise * spread / (scale * UNIT), in parts of UNIT.
            let unit = Solution::UNIT as u128;
            let variance =
                noise.saturating_mul(u128::from(solution.spread[at])).saturating_mul(4 * unit) / solution.scale;
            let error = u64::try_from(variance.isqrt()).unwrap_or(u64::MAX);
            let known = u128::from(error) * KNOWN_PART <= u128::from(cost);
            owner.filter(|_| known).map(|station| Cost { station, cost, error })
        };
        self.owners.iter().enumerate().filter_map(of).collect()
    }
}

impl Sums {
    fn add(&mut self, used: &[Span], took: Span) {
        let us = |span: Span| u128::from(span.as_micros());
        self.used.resize_with(used.len(), Vec::new);
        self.used.iter_mut().for_each(|row| row.resize(used.len(), 0));
        self.took.resize(used.len(), 0);
        let sums =
            self.used.iter_mut().flatten().chain(&mut self.took).chain([&mut self.took_squared, &mut self.count]);
        sums.for_each(|sum| *sum -= *sum / MEMORY);
        for (i, &own) in used.iter().enumerate() {
            self.used[i].iter_mut().zip(used).for_each(|(sum, &other)| *sum += us(own) * us(other));
            self.took[i] += us(own) * us(took);
        }
        self.took_squared += us(took) * us(took);
        self.count += COUNT;
    }

    fn clear(&mut self, at: usize) {
        self.used.iter_mut().filter_map(|row| row.get_mut(at)).for_each(|sum| *sum = 0);
        self.used.get_mut(at).into_iter().for_each(|row| row.fill(0));
        self.took.get_mut(at).into_iter().for_each(|sum| *sum = 0);
    }

    /// The costs, and the variance of what they do not explain.
    fn solve(&self) -> Option<(Solution, u128)> {
        let unknowns = self.took.len() as u128;
        // More equations than unknowns.
        let spare = (self.count / COUNT).checked_sub(unknowns).filter(|&spare| spare >= 8)?;
        let solution = solve::solve(&self.used, &self.took)?;
        let unit = Solution::UNIT as i128;
        let explained: i128 =
            solution.values.iter().zip(&self.took).map(|(&x, &b)| i128::from(x) * b as i128 / unit).sum();
        let noise = self.took_squared.saturating_sub(u128::try_from(explained).unwrap_or(0)) / spare;
        // Where all is explained, what is cut off is left.
        Some((solution, noise.max(1)))
    }
}

#[cfg(test)]
mod tests;
