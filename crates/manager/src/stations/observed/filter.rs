//! The costs of all rows, tracked from interval to interval.
//!
//! A Kalman filter with one measurement for each interval (stretch): what each row used, times its cost, adds up to the length of the
//! interval. It is least squares with forgetting, in a form that has estimates and their errors after each equation, also while there are
//! fewer equations than rows: costs that are not determined stay at the mean, with a large error. Costs drift a little (`DRIFT_PART`). If
//! the lengths of two intervals in a row contradict the costs, some station's cost has changed: then all become uncertain, and the next
//! few intervals show which one.
//!
//! Packets that leave at the end of an interval are seen to complete a little later, in the next one, although their time belongs to the
//! first. So beside the costs there are two more rows, the lateness at the beginning and at the end of an interval; the end is the
//! beginning of the next interval. Without them three times as many intervals would be needed.
//!
//! Source: Kalman filter with a random walk of the parameters (Ljung, "System Identification", 11.2 and 11.6).

use alloc::vec::Vec;

/// Fixed-point unit of costs, and its square.
pub(super) const UNIT: i128 = 1 << 16;
const SQUARED: i128 = UNIT * UNIT;
/// Bounds of a cost, in `UNIT`: no medium is so much faster or slower than assumed.
const COSTS: core::ops::RangeInclusive<i128> = UNIT / 256..=UNIT * 256;
/// Variance of an interval's length beyond what its releases explain, in us squared: initially (a few packets whose acknowledgments belong
/// to a neighbouring interval), and its bounds.
const FIRST_NOISE: i128 = 5_000 * 5_000;
const NOISES: core::ops::RangeInclusive<i128> = 1_000 * 1_000..=12_000 * 12_000;
/// Divisors of that variance: `NOISE_OF_AN_END` gives the variance of the lateness at each end of an interval, `NOISE_BETWEEN` that of
/// what happens between the ends (random back-offs, retries).
const NOISE_OF_AN_END: i128 = 2;
const NOISE_BETWEEN: i128 = 4;
/// Number of rows for the ends of an interval, before those of stations; their unit, in us.
const ENDS: usize = 2;
const END_UNIT: i128 = 1_000;
/// Intervals over which the variance is averaged, as an exponential mean.
const NOISE_OVER: i128 = 16;
/// Change of a cost from one interval to the next, as its standard deviation, as a divisor.
const DRIFT_PART: i128 = 125;
/// Squared error, relative to the expected one, from which on an interval is odd: three standard deviations.
const ODD: i128 = 9;
/// Largest factor between a cost and the mean: the rates of a standard have less between them.
const BESIDE_MEAN: i128 = 16;
/// Intervals over which the mean cost is averaged, as an exponential mean.
const MEAN_OVER: i128 = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    /// Costs of the rows, in `UNIT`.
    costs: Vec<i128>,
    /// Covariances of the costs, in `UNIT` squared.
    covariance: Vec<Vec<i128>>,
    /// Mean cost of all that is used. Zero: no interval yet.
    mean: i128,
    noise: i128,
    /// Whether the last interval was odd.
    was_odd: bool,
    /// Which end row belongs to the last interval.
    last_end: usize,
}

impl Filter {
    /// The cost of a row, and its standard deviation. `None`: no interval yet.
    pub(super) fn estimate(&self, row: usize) -> Option<(u64, u64)> {
        let row = row + ENDS;
        let variance = self.covariance.get(row)?[row];
        let deviation = u128::try_from(variance).unwrap_or(0).isqrt();
        Some((u64::try_from(self.costs[row]).ok()?, u64::try_from(deviation).unwrap_or(u64::MAX)))
    }

    /// The mean cost. Zero: no interval yet.
    pub(super) fn mean(&self) -> u64 {
        u64::try_from(self.mean).unwrap_or(0)
    }

    /// Handles an interval: what each row used, and its length, in us. `joins`: it began where the last one ended.
    pub(super) fn on_stretch(&mut self, used: &[i128], took: i128, joins: bool) {
        let all: i128 = used.iter().sum();
        if all <= 0 {
            return;
        }
        let cost = within(took * UNIT / all, &COSTS);
        if self.mean == 0 {
            (self.mean, self.noise) = (cost, FIRST_NOISE);
        }
        self.mean += (cost - self.mean) / MEAN_OVER;
        (self.costs.len()..used.len() + ENDS).for_each(|_| self.add_row());
        let used = self.with_ends(used, joins);
        let expected = dot(&used, &self.costs) / UNIT;
        let error = took - expected;
        let mut common = self.common(&used);
        let mut total = dot(&used, &common) / SQUARED + self.noise / NOISE_BETWEEN;
        let is_odd = error * error > total * ODD;
        let changed = is_odd && self.was_odd;
        self.was_odd = is_odd && !changed;
        if self.was_odd {
            // A single odd interval is an outage, or a station that slept.
            return;
        }
        if changed {
            self.loosen();
            common = self.common(&used);
            total = dot(&used, &common) / SQUARED + self.noise / NOISE_BETWEEN;
        } else {
            let noise = error * error * self.noise / total;
            self.noise = within(self.noise + (noise - self.noise) / NOISE_OVER, &NOISES);
        }
        self.correct(&common, error, total);
    }

    /// Adds the rows of the ends, of which that of this interval's end is unknown yet.
    fn with_ends(&mut self, used: &[i128], joins: bool) -> Vec<i128> {
        let (first, last) = (self.last_end, 1 - self.last_end);
        self.last_end = last;
        self.reset_end(last);
        if !joins {
            self.reset_end(first);
        }
        let mut all = Vec::with_capacity(used.len() + ENDS);
        all.resize(ENDS, END_UNIT);
        all[first] = -END_UNIT;
        all.extend_from_slice(used);
        all
    }

    fn reset_end(&mut self, row: usize) {
        self.reset(row, 0, self.noise * SQUARED / NOISE_OF_AN_END / (END_UNIT * END_UNIT));
    }

    /// The covariance matrix times what was used.
    fn common(&self, used: &[i128]) -> Vec<i128> {
        // Small enough for the product of two.
        let limit = 1 << 62;
        self.covariance.iter().map(|row| dot(row, used).clamp(-limit, limit)).collect()
    }

    fn correct(&mut self, common: &[i128], error: i128, total: i128) {
        let plausible = self.mean / BESIDE_MEAN..=self.mean * BESIDE_MEAN;
        for (i, own) in common.iter().enumerate() {
            let cost = self.costs[i] + own * error / total / UNIT;
            self.costs[i] = if i < ENDS { cost } else { within(cost, &plausible) };
            for (j, other) in common.iter().enumerate() {
                self.covariance[i][j] -= own * other / total / SQUARED;
            }
        }
        for i in ENDS..self.costs.len() {
            // The variance of an unused row grows up to the square of the mean cost: an unknown cost is no worse known than that. A large
            // noise may be due to wrong costs, so the drift grows with it.
            let drift = self.costs[i] / DRIFT_PART;
            let drift = drift * drift * self.noise.max(FIRST_NOISE) / FIRST_NOISE;
            if self.covariance[i][i] < self.mean * self.mean {
                self.covariance[i][i] = self.covariance[i][i].max(0) + drift + 1;
            }
        }
    }

    /// Makes all costs uncertain, since any of them may have changed.
    fn loosen(&mut self) {
        self.noise = self.noise.min(FIRST_NOISE);
        for (i, cost) in self.costs.iter().enumerate().skip(ENDS) {
            if self.covariance[i][i] < self.mean * self.mean {
                self.covariance[i][i] += cost * cost;
            }
        }
    }

    fn add_row(&mut self) {
        self.costs.push(0);
        self.covariance.iter_mut().for_each(|row| row.push(0));
        self.covariance.push(self.costs.iter().map(|_| 0).collect());
        self.reset(self.costs.len() - 1, self.mean, self.mean * self.mean);
    }

    /// Resets a row that gets another station.
    pub(super) fn forget(&mut self, row: usize) {
        if row + ENDS < self.costs.len() {
            self.reset(row + ENDS, self.mean, self.mean * self.mean);
        }
    }

    fn reset(&mut self, row: usize, cost: i128, variance: i128) {
        self.costs[row] = cost;
        self.covariance[row].fill(0);
        self.covariance.iter_mut().for_each(|other| other[row] = 0);
        self.covariance[row][row] = variance;
    }

    /// Changes the unit of a row to `numerator / denominator` times the former one.
    pub(super) fn rescale(&mut self, row: usize, numerator: i128, denominator: i128) {
        let row = row + ENDS;
        if row >= self.costs.len() {
            return;
        }
        let scaled = |value: i128| value * denominator / numerator.max(1);
        self.costs[row] = within(scaled(self.costs[row]), &COSTS);
        let own = &mut self.covariance[row];
        own.iter_mut().for_each(|value| *value = scaled(*value));
        self.covariance.iter_mut().for_each(|other| other[row] = scaled(other[row]));
    }
}

fn dot(a: &[i128], b: &[i128]) -> i128 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn within(value: i128, range: &core::ops::RangeInclusive<i128>) -> i128 {
    value.clamp(*range.start(), *range.end())
}
