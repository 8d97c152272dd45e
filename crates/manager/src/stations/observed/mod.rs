//! Airtime estimator: the real medium time of releases toward each station, by least squares from observation alone.
//!
//! Reported or assumed rates give each release an airtime. The medium time of all releases together is known from completions: the newest
//! acknowledged release has left the access point, and all earlier ones are taken to have left too, which is right before a FIFO access
//! point. So each interval (*stretch*) in which the medium always had something to send is one equation: the releases completed in it, by
//! station, each times the unknown cost per unit of charged airtime, add up to its length. The equations determine the costs ([`filter`]).
//! If the rates are right, all costs are alike, because retries, other networks and model errors affect all stations. A station whose cost
//! differs has a wrong report or, without a report, another rate than the assumed one ([`groups`]).
//!
//! By itself a fair scheduler serves the same mixture in each interval, and the equations cannot separate the stations. Therefore the
//! scheduler adds a dither ([`Observed::lean`]): in each interval a station is charged so that it gets more or less than its share, by a
//! sequence of some seconds in which both are equally frequent, and in which each station has its own offset. Over that time no station
//! loses. The dither is large while costs are unknown, and small afterwards. While it is large each interval is followed by its opposite,
//! so that shares are right over two of them.
//!
//! Completions are observed a packet or two late, and not in the order of transmission. Therefore intervals are long compared with
//! packets, and costs of single packets are not used: when two stations alternate, one packet of delay would charge the other station.
//!
//! What is not here: the consequence for reported rates (see `reports::outliers`) and for unreported ones (see `stations::inferred`);
//! stations beyond the [`MOST`] that use the medium most, which share one row; traffic from stations that no release has caused.
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

/// Length of an interval of measurement, in which the dither of each station is constant.
const STRETCH: Span = Span::from_millis(200);
/// Shortest measured part of an interval that counts: less is a few packets that were acknowledged late.
const LEAST: Span = Span::from_millis(80);
/// Time without acknowledgments that is an outage: no packet takes so long.
const OUTAGE: Span = Span::from_millis(100);
/// Time without acknowledgments after which the dither pauses.
const SILENCE: Span = Span::from_secs(1);
/// Stations with a row of their own, at most.
pub(crate) const MOST: usize = 24;
/// Releases with an awaited completion, at most; the controller has far fewer in flight.
const MOST_UNDER_WAY: usize = 4096;
/// A cost is known if its error, twice the standard deviation, is below this part (as a divisor) of it or of the mean cost.
const KNOWN_PART: u64 = 2;
/// Dither, as a fraction of a station's charge: the first if the worst error of a cost, in hundredths, exceeds the number before it; the
/// last otherwise.
const LEANS: [(u64, (u64, u64)); 2] = [(50, (3, 5)), (12, (1, 3))];
const LEAST_LEAN: (u64, u64) = (1, 8);
/// A maximum-length sequence (x^5 + x^2 + 1), which is nearly uncorrelated with its own shifts; its length.
const SEQUENCE: u32 = 0b100_1011_0011_1110_0011_0111_0101_0000;
const SEQUENCE_BITS: u64 = 31;

/// The estimator of a contention domain.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// Releases without a completion: number, row, airtime by the reported rate.
    under_way: VecDeque<(u64, u8, Span)>,
    /// Completions count from this instant on; the last one.
    since: Option<Instant>,
    answered: Instant,
    stretch: Stretch,
    /// The row of each station. Row 0 belongs to all others together.
    rows: BTreeMap<StationId, u8>,
    owners: Vec<Option<Owner>>,
    /// Recent use of each row, in us.
    lately: Vec<u64>,
    /// A station of row 0 that gets its own row if one is free or idle.
    newcomer: Option<StationId>,
    filter: Filter,
    /// The dither, as a fraction.
    lean: (u64, u64),
    /// Whether the interval begins at the end of the last counted one.
    joins: bool,
}

/// The station of a row.
#[derive(Clone, Copy, Debug)]
struct Owner {
    station: StationId,
    /// Unit in which its releases are counted. `None`: unknown yet.
    unit: Option<Measure>,
}

/// The unit in which the releases of a station are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measure {
    /// Airtime of a full-size packet.
    pub(crate) full_size: Span,
    /// Whether it follows from a report: if it changes, the station's rate has changed.
    pub(crate) is_reported: bool,
}

/// Measurements of one interval.
#[derive(Clone, Debug, Default)]
struct Stretch {
    number: u64,
    took: Span,
    /// Completed airtime by row.
    used: Vec<Span>,
}

/// The real cost of a station for each unit of charged airtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) station: StationId,
    /// In parts of 2^16.
    pub(crate) cost: u64,
    /// Error bound: two standard deviations.
    pub(crate) error: u64,
}

impl Cost {
    /// Whether it is known relative to itself, and not only relative to the mean.
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
    /// The charge of a station in this interval for each unit that it uses: `(numerator, denominator)`.
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

    /// The medium may have been idle, or its use is unknown: restarts the measurement.
    pub(crate) fn lose(&mut self) {
        self.since = None;
    }

    /// All releases up to this one have left the access point. True: the costs have changed.
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

    /// Ends an interval. True: it counts.
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

    /// The dither for the next interval: the larger, the less is known of the stations in use.
    fn next_lean(&self) -> (u64, u64) {
        let in_use = self.lately.iter().enumerate().skip(1).filter(|(_, lately)| **lately > 0);
        let errors = in_use.filter_map(|(row, _)| self.filter.estimate(row));
        // In hundredths.
        let worst = errors.map(|(cost, deviation)| deviation.saturating_mul(200) / cost.max(1)).max().unwrap_or(0);
        LEANS.iter().find(|(above, _)| worst > *above).map_or(LEAST_LEAN, |(_, lean)| *lean)
    }

    /// A row for a station: a vacant one, a new one, or that of a station that has used next to nothing for long.
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

    /// Sets the unit in which each station's releases are counted from now on (`None`: it is in another domain).
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

    /// Converts the use and the cost of a row to another unit.
    fn rescale(&mut self, row: usize, from: Span, to: Span) {
        let (from, to) = (from.as_nanos().max(1), to.as_nanos().max(1));
        if from == to {
            return;
        }
        self.filter.rescale(row, i128::from(to), i128::from(from));
        let own = self.under_way.iter_mut().filter(|(_, of, _)| usize::from(*of) == row).map(|(.., airtime)| airtime);
        own.chain(&mut self.stretch.used[row..=row]).for_each(|airtime| *airtime = airtime.mul_div(to, from));
    }

    /// The present estimates for stations with a row of their own, if they are precise enough to distinguish them from the mean.
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

/// Intervals over which the recent use is summed: ten seconds.
const LATELY: u64 = 50;

#[cfg(test)]
mod tests;
