//! One acceptance figure, and its status over several runs.
//!
//! A figure passes if the median over the runs is within its bound and no single run exceeds twice the tolerance.

/// The bound of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At least `limit`; a single run at least `single`.
    AtLeast { limit: f64, single: f64 },
    /// At most `limit`; a single run at most `single`.
    AtMost { limit: f64, single: f64 },
}

/// One figure of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Description, with the unit.
    pub what: &'static str,
    /// Value in this run; NaN if the run did not yield it, which fails.
    pub value: f64,
    /// Its bound.
    pub bound: Bound,
}

/// A figure over all runs of a case, with its status.
#[derive(Clone, Debug)]
pub struct Judged {
    pub what: &'static str,
    pub bound: Bound,
    pub values: Vec<f64>,
    pub median: f64,
    pub holds: bool,
}

impl Bound {
    /// A relative deviation of at most `band` (0.05 = 5 %).
    pub const fn within(band: f64) -> Self {
        Self::AtMost { limit: band, single: 2.0 * band }
    }

    /// A ratio of at most `times` (1.15: 15 % more).
    pub const fn within_times(times: f64) -> Self {
        Self::AtMost { limit: times, single: 2.0 * times - 1.0 }
    }

    /// A ratio of at least `1 - band`.
    pub const fn short_by_at_most(band: f64) -> Self {
        Self::AtLeast { limit: 1.0 - band, single: 1.0 - 2.0 * band }
    }

    /// The same bound with twice the band, for short runs.
    pub fn doubled(self) -> Self {
        match self {
            Self::AtLeast { limit, single } => Self::AtLeast { limit: single, single: single - (limit - single) },
            Self::AtMost { limit, single } => Self::AtMost { limit: single, single: single + (single - limit) },
        }
    }

    /// The same bound for a run in which `part` of the time was lost: the band narrows by that much. A bound of zero
    /// stays.
    pub fn narrowed(self, part: f64) -> Self {
        match self {
            Self::AtLeast { limit, single } => Self::AtLeast { limit: limit + part, single: single + part },
            Self::AtMost { limit: 0.0, .. } => self,
            Self::AtMost { limit, single } => Self::AtMost { limit: limit - part, single: single - part },
        }
    }

    fn median_holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast { limit, .. } => value >= limit,
            Self::AtMost { limit, .. } => value <= limit,
        }
    }

    fn single_holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast { single, .. } => value >= single,
            Self::AtMost { single, .. } => value <= single,
        }
    }

    /// Text for the table: the bound of the median, and that of a single run.
    pub fn describe(self) -> String {
        match self {
            Self::AtLeast { limit, single } => format!(">= {limit:.3} (each >= {single:.3})"),
            Self::AtMost { limit, single } => format!("<= {limit:.3} (each <= {single:.3})"),
        }
    }
}

/// The status of each figure over several runs, which list the same figures in the same order.
pub fn judge(runs: &[Vec<Figure>]) -> Vec<Judged> {
    let Some(first) = runs.first() else { return Vec::new() };
    first
        .iter()
        .enumerate()
        .map(|(index, figure)| {
            let values: Vec<f64> = runs.iter().map(|run| run[index].value).collect();
            let median = median(&values);
            let bound = figure.bound;
            let holds = bound.median_holds(median) && values.iter().all(|&value| bound.single_holds(value));
            Judged { what: figure.what, bound, values, median, holds }
        })
        .collect()
}

fn median(values: &[f64]) -> f64 {
    if values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[f64], bound: Bound) -> Vec<Vec<Figure>> {
        values.iter().map(|&value| vec![Figure { what: "x", value, bound }]).collect()
    }

    #[test]
    fn the_median_is_held_to_the_bound_and_each_run_to_twice_the_band() {
        let bound = Bound::within(0.05);
        assert!(judge(&runs(&[0.01, 0.04, 0.09], bound))[0].holds);
        assert!(!judge(&runs(&[0.01, 0.06, 0.09], bound))[0].holds, "median outside");
        assert!(!judge(&runs(&[0.01, 0.02, 0.11], bound))[0].holds, "one run outside twice the band");
    }

    #[test]
    fn a_figure_that_a_run_did_not_yield_fails() {
        assert!(!judge(&runs(&[0.0, f64::NAN, 0.0], Bound::within(0.05)))[0].holds);
        assert!(!judge(&runs(&[1.0, f64::NAN, 1.0], Bound::short_by_at_most(0.05)))[0].holds);
    }

    #[test]
    fn doubling_widens_both_limits() {
        assert_eq!(Bound::within(0.5).doubled(), Bound::AtMost { limit: 1.0, single: 1.5 });
        assert_eq!(Bound::short_by_at_most(0.25).doubled(), Bound::AtLeast { limit: 0.5, single: 0.25 });
    }
    #[test]
    fn lateness_narrows_the_bounds() {
        assert_eq!(Bound::within(0.5).narrowed(0.25), Bound::AtMost { limit: 0.25, single: 0.75 });
        assert_eq!(Bound::short_by_at_most(0.25).narrowed(0.125), Bound::AtLeast { limit: 0.875, single: 0.625 });
        let nothing = Bound::AtMost { limit: 0.0, single: 0.0 };
        assert_eq!(nothing.narrowed(0.25), nothing);
    }
}
