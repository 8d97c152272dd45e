//! Differences of runs in pairs, such as those with the same seed under two policies.
//!
//! Runs of one seed are alike in all that both have in common, so that the difference of each pair varies less than two independent
//! runs would (common random numbers). Mean, interval and p are those of the paired t test (Student, "The Probable Error of a Mean",
//! Biometrika 6, 1908): exact for normal differences. Of many measures that do not differ some seem to; [`holm`] counts for that.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::estimate::half_width;
use crate::stats::{deviation, mean};

/// One measure of runs in pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// Pairs in which both have a value.
    pub count: u64,
    /// Mean of the first ones.
    pub first: f64,
    /// Mean of the second ones.
    pub second: f64,
    /// Mean of the differences, second less first.
    pub mean: f64,
    /// Half the width of that mean's confidence interval; absent with fewer than two pairs.
    pub half_width: Option<f64>,
    /// Standard deviation of the differences (n - 1); absent with fewer than two pairs.
    pub deviation: Option<f64>,
}

impl Paired {
    /// From pairs of values; `None` without any.
    ///
    /// # Panics
    /// The confidence is not between 0 and 1.
    pub fn of(pairs: &[(f64, f64)], confidence: f64) -> Option<Self> {
        let differences: Vec<f64> = pairs.iter().map(|(first, second)| second - first).collect();
        Some(Self {
            count: pairs.len() as u64,
            first: mean(pairs.iter().map(|(first, _)| *first))?,
            second: mean(pairs.iter().map(|(_, second)| *second))?,
            mean: mean(differences.iter().copied())?,
            half_width: half_width(&differences, confidence),
            deviation: deviation(&differences),
        })
    }

    /// A value as a percentage of the first values' mean; `None` if that is zero.
    pub fn percent(&self, value: f64) -> Option<f64> {
        (self.first != 0.0).then(|| 100.0 * value / self.first.abs())
    }

    /// Effect size: the mean difference in standard deviations of the differences. Infinite where all are equal and not zero; absent
    /// with fewer than two pairs or where all are zero.
    pub fn effect(&self) -> Option<f64> {
        Some(self.mean / self.deviation?).filter(|effect| !effect.is_nan())
    }

    /// Probability of a mean difference of this size or more if the expectation were zero (two-sided paired t test); absent if the
    /// effect size is.
    ///
    /// # Panics
    /// Never: with two pairs there is a degree of freedom.
    pub fn p(&self) -> Option<f64> {
        let count = self.count as f64;
        let t = self.effect()?.abs() * count.sqrt();
        if t.is_infinite() {
            return Some(0.0);
        }
        let student = StudentsT::new(0.0, 1.0, count - 1.0).expect("degrees of freedom are positive");
        Some((2.0 * student.cdf(-t)).min(1.0))
    }
}

/// The p of several tests, adjusted so that the probability of one or more false ones among those called significant is at most the
/// level. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6, 1979.
pub fn holm(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|&a, &b| ps[a].total_cmp(&ps[b]));
    let (mut adjusted, mut least) = (vec![0.0; ps.len()], 0.0_f64);
    for (rank, &at) in order.iter().enumerate() {
        least = least.max((ps.len() - rank) as f64 * ps[at]).min(1.0);
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's own example: hours of sleep gained by two drugs, ten patients; t = 4.0621, p = 0.00283.
    #[test]
    fn the_example_that_student_gave() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let pairs: Vec<_> = first.into_iter().zip(second).collect();
        let paired = Paired::of(&pairs, 0.95).unwrap();
        assert!((paired.mean - 1.58).abs() < 1e-12 && paired.count == 10);
        assert!((paired.p().unwrap() - 0.002_832_890_197_384_26).abs() < 1e-12, "{:?}", paired.p());
        assert!((paired.effect().unwrap() * 10f64.sqrt() - 4.062_127_683_382_037).abs() < 1e-12);
        assert!((paired.percent(paired.mean).unwrap() - 100.0 * 1.58 / 0.75).abs() < 1e-9);
    }

    #[test]
    fn values_that_cannot_be_known_are_absent() {
        assert_eq!(Paired::of(&[], 0.95), None);
        let one = Paired::of(&[(1.0, 3.0)], 0.95).unwrap();
        assert_eq!((one.mean, one.half_width, one.effect(), one.p()), (2.0, None, None, None));
        let equal = Paired::of(&[(1.0, 1.0); 3], 0.95).unwrap();
        assert_eq!((equal.effect(), equal.p(), equal.half_width), (None, None, Some(0.0)));
        let shifted = Paired::of(&[(0.0, 1.0); 3], 0.95).unwrap();
        assert_eq!((shifted.effect(), shifted.p(), shifted.percent(1.0)), (Some(f64::INFINITY), Some(0.0), None));
    }

    #[test]
    fn adjusted_values_never_fall_and_end_at_one() {
        assert_eq!(holm(&[]), Vec::<f64>::new());
        let got = holm(&[0.03, 0.01, 0.04, 0.7]);
        let expected = [0.09, 0.04, 0.09, 0.7];
        assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-15), "{got:?}");
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
