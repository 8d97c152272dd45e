//! Means over replications with confidence intervals.
//!
//! Replications differ in their seed alone, so that their values of one measure are independent and alike distributed. The mean
//! of `n` of them then lies within `t * s / sqrt(n)` of the expectation with the chosen confidence, where `s` is the sample's
//! standard deviation and `t` the quantile of Student's distribution with `n - 1` degrees of freedom (Student, "The Probable
//! Error of a Mean", Biometrika 6, 1908). It is exact for normal values and near it for means over a phase; each interval is
//! for its own measure, not for all measures at once.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::stats::{deviation, mean};

/// The usual confidence of an interval.
pub const CONFIDENCE: f64 = 0.95;

/// One measure over replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Name of the measure, as [`super::scalars`] has it.
    pub name: String,
    /// Number of replications with a value.
    pub count: u64,
    /// Mean of their values.
    pub mean: f64,
    /// Half the width of the mean's confidence interval; absent with fewer than two values.
    pub half_width: Option<f64>,
    /// Standard deviation of the values (n - 1); absent with fewer than two.
    pub deviation: Option<f64>,
    /// Least value.
    pub min: f64,
    /// Greatest value.
    pub max: f64,
    /// The value of each replication, in the order of the seeds; absent where the measure had none.
    pub values: Vec<Option<f64>>,
}

impl Estimate {
    /// From the values of a measure, in the order of their seeds; `None` without any.
    ///
    /// # Panics
    /// The confidence is not between 0 and 1.
    pub fn of(name: &str, values: Vec<Option<f64>>, confidence: f64) -> Option<Self> {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        Some(Self {
            name: name.to_owned(),
            count: known.len() as u64,
            mean: mean(known.iter().copied())?,
            half_width: half_width(&known, confidence),
            deviation: deviation(&known),
            min: known.iter().copied().fold(f64::INFINITY, f64::min),
            max: known.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            values,
        })
    }

    /// Half-width relative to the mean; absent with fewer than two values, infinite around zero unless all values are equal.
    pub fn relative_half_width(&self) -> Option<f64> {
        let half_width = self.half_width?;
        Some(if half_width == 0.0 { 0.0 } else { half_width / self.mean.abs() })
    }
}

/// Half the width of the confidence interval of the mean of `values`; `None` with fewer than two.
///
/// # Panics
/// If the confidence is not between 0 and 1.
pub fn half_width(values: &[f64], confidence: f64) -> Option<f64> {
    let n = values.len();
    let deviation = deviation(values)?;
    Some(student(confidence, n as f64 - 1.0) * deviation / (n as f64).sqrt())
}

/// The value that Student's t with `freedom` degrees of freedom stays within, either side of zero, with the given
/// probability.
///
/// # Panics
/// If the confidence is not between 0 and 1, or the degrees of freedom are not positive.
pub fn student(confidence: f64, freedom: f64) -> f64 {
    assert!(confidence > 0.0 && confidence < 1.0, "no confidence: {confidence}");
    let t = StudentsT::new(0.0, 1.0, freedom).expect("degrees of freedom are positive");
    t.inverse_cdf(0.5 + confidence / 2.0)
}

#[cfg(test)]
mod tests {
    use evenair_units::Streams;

    use super::*;

    /// Two-sided quantiles of Student's t, as printed in statistical tables.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (0.95, 1.0, 12.706),
            (0.95, 2.0, 4.303),
            (0.95, 4.0, 2.776),
            (0.95, 9.0, 2.262),
            (0.95, 19.0, 2.093),
            (0.95, 120.0, 1.980),
            (0.99, 9.0, 3.250),
            (0.90, 19.0, 1.729),
        ];
        for (confidence, freedom, expected) in table {
            let got = student(confidence, freedom);
            assert!((got - expected).abs() < 6e-4, "t({confidence}, {freedom}) = {got}, table {expected}");
        }
    }

    #[test]
    fn an_interval_by_hand() {
        // Mean 3, s = sqrt(10/4) = 1.5811, t(4) = 2.776: half width 2.776 * 1.5811 / sqrt(5) = 1.963.
        let estimate = Estimate::of("x", [1.0, 2.0, 3.0, 4.0, 5.0].map(Some).to_vec(), 0.95).unwrap();
        assert_eq!((estimate.mean, estimate.min, estimate.max), (3.0, 1.0, 5.0));
        assert!((estimate.half_width.unwrap() - 1.963).abs() < 1e-3);
        assert!((estimate.relative_half_width().unwrap() - 0.6544).abs() < 1e-3);
    }

    #[test]
    fn missing_values_are_left_out_and_one_value_has_no_interval() {
        let estimate = Estimate::of("x", vec![None, Some(2.0), None], 0.95).unwrap();
        assert_eq!((estimate.count, estimate.mean, estimate.half_width), (1, 2.0, None));
        assert_eq!(Estimate::of("x", vec![None], 0.95), None);
        let same = Estimate::of("x", vec![Some(0.0); 3], 0.95).unwrap();
        assert_eq!(same.relative_half_width(), Some(0.0));
    }

    /// Of 2000 intervals around means of ten normal values, 95 % hold the expectation: 1900 give or take 3.3 standard
    /// errors of a binomial count (9.7). A normal quantile in place of Student's would give about 1840.
    #[test]
    fn intervals_hold_the_expectation_as_often_as_they_say() {
        let mut rng = Streams::new(1).stream("coverage");
        let mut uniform = || (rng.below(1 << 53) as f64 + 0.5) / (1u64 << 53) as f64;
        // Box and Muller.
        let mut normal = || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let mut holds = 0;
        for _ in 0..2000 {
            let values: Vec<f64> = (0..10).map(|_| 5.0 + 3.0 * normal()).collect();
            let middle = mean(values.iter().copied()).unwrap();
            holds += u32::from((middle - 5.0).abs() <= half_width(&values, 0.95).unwrap());
        }
        assert!((1868..=1932).contains(&holds), "{holds} of 2000");
    }
}
