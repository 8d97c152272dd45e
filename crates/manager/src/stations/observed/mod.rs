//! Airtime estimator: what the releases toward each station really cost the medium, by least squares from observation
//! alone.
//!
//! Reported or assumed rates give each release an airtime. How long the medium took for all releases together is known from
//! completions: the newest acknowledged release has left the access point, and all before it are taken to have left too, which
//! is right before a FIFO access point. So each stretch in which the medium always had something to send is one equation: the releases
//! completed in it, station by station, each weighted with the unknown cost per unit of charged airtime, add up to
//! its length. The equations determine the costs ([`filter`]). If the rates are right, all costs are alike,
//! because retries, other networks and model errors affect all stations. A station whose cost differs from the
//! others' has a wrong report, or, where nothing is reported, another rate than is assumed ([`groups`]).
//!
//! By itself a fair scheduler serves the same mixture in each stretch, and the equations cannot separate the
//! stations. Therefore the scheduler adds a dither ([`Observed::lean`]): in each stretch a station is charged so that it gets
//! more than its share or less, by a sequence of some seconds in which both are equally frequent, and in which each
//! station begins elsewhere. Over that time no station loses. The dither is large while costs are unknown, and small
//! afterwards. While it is large each stretch is followed by its opposite, so that shares are right over two of them.
//!
//! Completions are observed a packet or two late, and not in the order of transmission. Therefore stretches are long
//! compared with packets, and costs of single packets are not used: when two stations alternate, one packet of delay
//! would charge the other station.
//!
//! What is not here: the consequence for reported rates (see `reports::outliers`) and for those of which nothing is reported
//! (see `stations::inferred`); stations beyond the [`MOST`] that
//! use the medium most, which are lumped together; traffic from stations that no release has caused.
//!
//! Source: least squares with exponential forgetting (Ljung, "System Identification", 11.2); the dither is what that
//! book calls excitation, and its sequence a pseudorandom binary signal (13.3).

mod filter;
mod groups;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use evenair_units::{Instant, Span};

use crate::ids::StationId;
use filter::Filter;
pub(crate) use groups::{Estimate, Group, groups};

/// A stretch in which each station leans one way.
const STRETCH: Span = Span::from_millis(200);
/// Less than this of it, and it says nothing: a few packets that were answered late.
const LEAST: Span = Span::from_millis(80);
/// Without any answer for so long, and it is no packet that took so long: nothing was heard.
const OUTAGE: Span = Span::from_millis(100);
/// Without any answer for so long, and nothing is learned by leaning.
const SILENCE: Span = Span::from_secs(1);
/// Stations with a row of their own.
pub(crate) const MOST: usize = 24;
/// The most releases whose completion is awaited; the controller keeps far fewer in flight.
const MOST_UNDER_WAY: usize = 4096;
/// A cost is known where its error, twice the standard deviation, is below one part of so many of it, or of the mean cost.
const KNOWN_PART: u64 = 2;
/// While it leans, a station has this part more or less: where the worst error is above so many hundredths, and else.
const LEANS: [(u64, (u64, u64)); 2] = [(50, (3, 5)), (12, (1, 3))];
const LEAST_LEAN: (u64, u64) = (1, 8);
/// A maximum-length sequence (x^5 + x^2 + 1): shifted by another number, it has next to nothing in common with itself.
const SEQUENCE: u32 = 0b100_1011_0011_1110_0011_0111_0101_0000;
const SEQUENCE_BITS: u64 = 31;

/// Releases of one medium, and what they cost.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// Unacknowledged releases: the number, the row, the airtime by the reported rate.
    under_way: VecDeque<(u64, u8, Span)>,
    /// Answers count from here on; when the last one came.
    since: Option<Instant>,
    answered: Instant,
    stretch: Stretch,
    /// The row of each station. Row 0 is of all others.
    rows: BTreeMap<StationId, u8>,
    owners: Vec<Option<Owner>>,
    /// What each row used of late, in us.
    lately: Vec<u64>,
    /// One of the others, which gets a row if one is free or idle.
    newcomer: Option<StationId>,
    filter: Filter,
    /// A station has this part more or less while it leans.
    lean: (u64, u64),
    /// The stretch begins where the last one that said something ended.
    joins: bool,
}

/// Whose a row is.
#[derive(Clone, Copy, Debug)]
struct Owner {
    station: StationId,
    /// In what its releases are counted. `None`: not known yet.
    unit: Option<Measure>,
}

/// In what the releases of a station are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measure {
    /// The airtime of a full-size packet.
    pub(crate) full_size: Span,
    /// It follows from a report: where it changes, so has the station.
    pub(crate) is_reported: bool,
}

/// What happens in one stretch.
#[derive(Clone, Debug, Default)]
struct Stretch {
    number: u64,
    took: Span,
    /// By row.
    used: Vec<Span>,
}

/// The real cost of a station for each unit of charged airtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) station: StationId,
    /// In parts of 2^16.
    pub(crate) cost: u64,
    /// It is hardly off by more than this.
    pub(crate) error: u64,
}

impl Cost {
    /// It is known beside itself, and not only beside the mean.
    pub(crate) const fn is_precise(&self) -> bool {
        self.error.saturating_mul(KNOWN_PART) <= self.cost
    }
}

fn stretch_of(now: Instant) -> u64 {
    now.as_nanos() / STRETCH.as_nanos()
}

impl Default for Observed {
    fn default() -> Self {
        Self {
            under_way: VecDeque::new(),
            since: None,
            answered: Instant::ZERO,
            stretch: Stretch { used: alloc::vec![Span::ZERO], ..Stretch::default() },
            rows: BTreeMap::new(),
            owners: alloc::vec![None],
            lately: alloc::vec![0],
            newcomer: None,
            filter: Filter::default(),
            lean: LEANS[0].1,
            joins: false,
        }
    }
}

impl Observed {
    /// What a station is charged in this stretch for each part that it takes: `(numerator, denominator)`.
    pub(crate) fn lean(&self, station: StationId, now: Instant) -> (u64, u64) {
        let Some(&row) = self.rows.get(&station) else { return (1, 1) };
        if now.saturating_since(self.answered) > SILENCE {
            return (1, 1);
        }
        let stretch = stretch_of(now);
        let (part, whole) = self.lean;
        let is_paired = self.lean == LEANS[0].1;
        let step = if is_paired { stretch / 2 } else { stretch };
        let bit = (SEQUENCE >> ((step + u64::from(row) * 11) % SEQUENCE_BITS)) & 1 == 1;
        let more = bit ^ (is_paired && stretch % 2 == 1);
        (whole, if more { whole + part } else { whole - part })
    }

    /// Notes a release of this airtime by the reported rate.
    pub(crate) fn release(&mut self, number: u64, station: StationId, airtime: Span) {
        if self.under_way.len() == MOST_UNDER_WAY {
            self.lose();
            self.under_way.pop_front();
        }
        let row = self.rows.get(&station).copied();
        let row = row.or_else(|| (self.owners.len() <= MOST).then(|| self.give_row(station))?);
        if row.is_none() {
            self.newcomer = Some(station);
        }
        self.under_way.push_back((number, row.unwrap_or(0), airtime));
    }

    /// The medium may have had nothing to do, or what it did is not known.
    pub(crate) fn lose(&mut self) {
        self.since = None;
    }

    /// All releases up to this one have left the access point. True: there is news of the costs.
    pub(crate) fn answer(&mut self, now: Instant, number: u64) -> bool {
        let ends = self.stretch.number != stretch_of(now);
        let news = ends && self.finish();
        self.stretch.number = stretch_of(now);
        self.answered = now;
        let since = self.since.replace(now).filter(|&since| now.saturating_since(since) < OUTAGE);
        match since {
            Some(since) => self.stretch.took += now.saturating_since(since),
            None => self.joins = false,
        }
        while let Some(&(released, row, airtime)) = self.under_way.front()
            && released <= number
        {
            self.under_way.pop_front();
            if since.is_some() {
                self.stretch.used[usize::from(row)] += airtime;
            }
        }
        if ends && let Some(station) = self.newcomer.take() {
            let _ = self.give_row(station);
        }
        news
    }

    /// A stretch has ended. True: it says something.
    fn finish(&mut self) -> bool {
        let took = core::mem::take(&mut self.stretch.took);
        let used: Vec<i128> = self.stretch.used.iter().map(|used| i128::from(used.as_micros())).collect();
        self.stretch.used.fill(Span::ZERO);
        for (lately, &used) in self.lately.iter_mut().zip(&used) {
            *lately = *lately - lately.div_ceil(LATELY) + u64::try_from(used).unwrap_or(0);
        }
        if took < LEAST {
            self.joins = false;
            return false;
        }
        let joins = core::mem::replace(&mut self.joins, true);
        self.filter.on_stretch(&used, i128::from(took.as_micros()), joins);
        self.lean = self.next_lean();
        true
    }

    /// How much stations are to lean: the more, the less is known of those that use something.
    fn next_lean(&self) -> (u64, u64) {
        let in_use = self.lately.iter().enumerate().skip(1).filter(|(_, lately)| **lately > 0);
        let errors = in_use.filter_map(|(row, _)| self.filter.estimate(row));
        // In hundredths.
        let worst = errors.map(|(cost, deviation)| deviation.saturating_mul(200) / cost.max(1)).max().unwrap_or(0);
        LEANS.iter().find(|(above, _)| worst > *above).map_or(LEAST_LEAN, |(_, lean)| *lean)
    }

    /// A row for a station: a vacant one, another one, or that of a station that has used next to nothing for long.
    fn give_row(&mut self, station: StationId) -> Option<u8> {
        let vacant = (1..self.owners.len()).find(|&row| self.owners[row].is_none());
        let row =
            vacant.or_else(|| (self.owners.len() <= MOST).then_some(self.owners.len())).or_else(|| self.idlest())?;
        if row == self.owners.len() {
            self.owners.push(None);
            self.lately.push(0);
            self.stretch.used.push(Span::ZERO);
        }
        self.vacate(row);
        let number = u8::try_from(row).ok()?;
        self.rows.insert(station, number);
        self.owners[row] = Some(Owner { station, unit: None });
        Some(number)
    }

    /// A row whose station has used next to nothing for long.
    fn idlest(&self) -> Option<usize> {
        let idlest = (1..self.owners.len()).min_by_key(|&row| self.lately[row])?;
        let all: u64 = self.lately.iter().sum();
        (self.lately[idlest] * 10 * self.owners.len() as u64 <= all).then_some(idlest)
    }

    fn vacate(&mut self, row: usize) {
        if let Some(owner) = self.owners[row].take() {
            self.rows.remove(&owner.station);
        }
        self.lately[row] = 0;
        self.under_way.iter_mut().filter(|(_, of, _)| usize::from(*of) == row).for_each(|(_, of, _)| *of = 0);
        self.filter.forget(row);
    }

    /// Takes in what releases of each station are counted from now on (`None`: it is elsewhere).
    pub(crate) fn measure_in(&mut self, unit: impl Fn(StationId) -> Option<Measure>) {
        for row in 1..self.owners.len() {
            let Some(mut owner) = self.owners[row] else { continue };
            let Some(unit) = unit(owner.station) else {
                self.vacate(row);
                continue;
            };
            let before = owner.unit.replace(unit);
            if let Some(before) = before.filter(|before| !(before.is_reported && unit.is_reported)) {
                self.rescale(row, before.full_size, unit.full_size);
            }
            self.owners[row] = Some(owner);
        }
    }

    /// What a row used, and what is known of its cost, in another unit.
    fn rescale(&mut self, row: usize, from: Span, to: Span) {
        let (from, to) = (from.as_nanos().max(1), to.as_nanos().max(1));
        if from == to {
            return;
        }
        self.filter.rescale(row, i128::from(to), i128::from(from));
        let own = self.under_way.iter_mut().filter(|(_, of, _)| usize::from(*of) == row).map(|(.., airtime)| airtime);
        own.chain(&mut self.stretch.used[row..=row]).for_each(|airtime| *airtime = airtime.mul_div(to, from));
    }

    /// The present estimates for the stations with a row of their own, as far as they are known well enough to tell them
    /// from the mean.
    pub(crate) fn costs(&self) -> Vec<Cost> {
        let of = |(row, owner): (usize, &Option<Owner>)| {
            let station = (*owner)?.station;
            let (cost, deviation) = self.filter.estimate(row)?;
            let error = deviation.saturating_mul(2);
            let is_known = error.saturating_mul(KNOWN_PART) <= cost.max(self.filter.mean());
            is_known.then_some(Cost { station, cost, error })
        };
        self.owners.iter().enumerate().filter_map(of).collect()
    }
}

/// What was used of late is the sum over about so many stretches: ten seconds.
const LATELY: u64 = 50;

#[cfg(test)]
mod tests;
