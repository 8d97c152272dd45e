//! The costs of all rows, followed from stretch to stretch.
//!
//! A Kalman filter with one measurement for each stretch: what each row used, times its cost, adds up to what the stretch
//! took. It is least squares that forgets, in a form that has estimates and their errors after each equation, also
//! while there are fewer of these than rows: what they do not determine stays at the mean cost, with a large error.
//! Costs drift a little (`DRIFT_PART`). If two stretches in a row took something else than the costs explain, some
//! station's cost has changed: then all are uncertain, and the next few stretches show whose it is.
//!
//! What is completed at the end of a stretch is seen a little late, and this part of a stretch's time belongs to the one
//! before. So beside the costs there is the lateness at the beginning and at the end of a stretch, in a row each; the one is
//! the other of the next stretch. Without them three times as many stretches would be needed.
//!
//! Source: Kalman filter with a random walk of the parameters (Ljung, "System Identification", 11.2 and 11.6).

use alloc::vec::Vec;

/// Costs are in parts of this.
pub(super) const UNIT: i128 = 1 << 16;
const SQUARED: i128 = UNIT * UNIT;
/// Costs, in `UNIT`: no medium is so much faster than assumed, or slower.
const COSTS: core::ops::RangeInclusive<i128> = UNIT / 256..=UNIT * 256;
/// The variance of what a stretch takes beside what its releases explain, in us squared, at first: a few packets whose
/// answers belong to a neighbouring stretch.
const FIRST_NOISE: i128 = 5_000 * 5_000;
const NOISES: core::ops::RangeInclusive<i128> = 1_000 * 1_000..=12_000 * 12_000;
/// Of it, what comes from one end of the stretch, and what from neither: random backoffs, retries.
const NOISE_OF_AN_END: i128 = 2;
const NOISE_BETWEEN: i128 = 4;
/// The rows of the ends, in units of so many us, before those of stations.
const ENDS: usize = 2;
const END_UNIT: i128 = 1_000;
/// The noise is the mean over about so many stretches.
const NOISE_OVER: i128 = 16;
/// A cost changes by one part in so many from a stretch to the next (standard deviation).
const DRIFT_PART: i128 = 125;
/// Something has changed where the difference, squared, is so many times what is expected: three standard deviations.
const ODD: i128 = 9;
/// A cost is not farther from the mean than by this factor: the rates of a standard have less between them.
const BESIDE_MEAN: i128 = 16;
/// The mean cost is that over about so many stretches.
const MEAN_OVER: i128 = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    /// In `UNIT`.
    costs: Vec<i128>,
    /// Their covariances, in `UNIT` squared.
    covariance: Vec<Vec<i128>>,
    /// The mean cost of all that is used. Zero: nothing was seen.
    mean: i128,
    noise: i128,
    /// The last stretch was odd.
    was_odd: bool,
    /// Which of the ends is that of the last stretch.
    last_end: usize,
}

impl Filter {
    /// The cost of a row, and its standard deviation. `None`: nothing was seen.
    pub(super) fn estimate(&self, row: usize) -> Option<(u64, u64)> {
        let row = row + ENDS;
        let variance = self.covariance.get(row)?[row];
        let deviation = u128::try_from(variance).unwrap_or(0).isqrt();
        Some((u64::try_from(self.costs[row]).ok()?, u64::try_from(deviation).unwrap_or(u64::MAX)))
    }

    /// The mean cost. Zero: nothing was seen.
    pub(super) fn mean(&self) -> u64 {
        u64::try_from(self.mean).unwrap_or(0)
    }

    /// Handles a stretch: what each row used, and what it took, in us. `joins`: it began where the last one ended.
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
            // One alone is an outage, or a station that slept.
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

    /// The same with the ends, of which that of this stretch is not known yet.
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

    /// What the rows have in common with what was used: the covariance times it.
    fn common(&self, used: &[i128]) -> Vec<i128> {
        // Two of them can be multiplied.
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
            // Of what is not used nothing is known in the end, and less than that cannot be. What looks like noise may be
            // wrong costs.
            let drift = self.costs[i] / DRIFT_PART;
            let drift = drift * drift * self.noise.max(FIRST_NOISE) / FIRST_NOISE;
            if self.covariance[i][i] < self.mean * self.mean {
                self.covariance[i][i] = self.covariance[i][i].max(0) + drift + 1;
            }
        }
    }

    /// Any of the costs may be another one now.
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

    /// A row is of another station now.
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

    /// What the row uses is counted in another unit now, which is `numerator / denominator` times the one before.
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
