//! Distributions of sizes and times.
//!
//! A draw uses only the given random stream, so that a value depends on the seed and the stream's name alone.
//! Transcendental functions are those of `libm`, which give the same bits on every machine.
//!
//! Values are plain numbers, in bytes or nanoseconds, as the owner of the distribution defines.

use evenair_units::{Bytes, Rng, Span};
use serde::{Deserialize, Serialize};

/// A distribution of positive numbers with a finite mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always this.
    Constant(f64),
    /// Each value between the two equally likely.
    Uniform {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// `min` plus an exponential value.
    Exponential {
        /// Smallest.
        min: f64,
        /// Mean of the exponential part.
        excess: f64,
        /// Upper limit: larger draws become this.
        max: Option<f64>,
    },
    /// `P(X > x) = (min / x)^alpha`.
    Pareto {
        /// Tail exponent; above 1 where there is no `max`.
        alpha: f64,
        /// Smallest.
        min: f64,
        /// Upper limit: larger draws become this.
        max: Option<f64>,
    },
    /// A truncated Pareto distribution, conditional on a value of at most `max`: unlike a capped one, it has no extra
    /// mass at `max`.
    BoundedPareto {
        /// Tail exponent.
        alpha: f64,
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// The logarithm is normal.
    Lognormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Upper limit: larger draws become this.
        max: Option<f64>,
    },
    /// These values, equally likely.
    Values(Vec<f64>),
    /// A cumulative distribution function: points of value and cumulative probability, both ascending, the last of
    /// probability 1. Linear between two points; the first value has its point's probability mass.
    Cdf(Vec<(f64, f64)>),
}

impl Distribution {
    /// A Pareto distribution by the mean that it has before it is cut off at `cap`: the smallest value is
    /// `mean (alpha - 1) / alpha`.
    pub fn pareto_of_mean(alpha: f64, mean: f64, cap: Option<f64>) -> Self {
        Self::Pareto { alpha, min: mean * (alpha - 1.0) / alpha, max: cap }
    }

    /// A lognormal distribution by its mean and standard deviation.
    pub fn lognormal_of_mean(mean: f64, deviation: f64, max: Option<f64>) -> Self {
        let variance = libm::log(1.0 + (deviation / mean) * (deviation / mean));
        Self::Lognormal { mu: libm::log(mean) - variance / 2.0, sigma: libm::sqrt(variance), max }
    }

    /// The bounded Pareto distribution between `min` and `max` that has this mean; `None` where no exponent from 0.01
    /// to 20 gives it.
    pub fn bounded_pareto_of_mean(min: f64, max: f64, mean: f64) -> Option<Self> {
        let of = |alpha| Self::BoundedPareto { alpha, min, max };
        // The mean falls as the exponent grows.
        let (mut low, mut high) = (0.01, 20.0);
        if !(of(high).mean()..=of(low).mean()).contains(&mean) {
            return None;
        }
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if of(middle).mean() > mean { low = middle } else { high = middle }
        }
        Some(of((low + high) / 2.0))
    }

    /// One value.
    pub fn draw(&self, draws: &mut Rng) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Lognormal { mu, sigma, max } => capped(libm::exp(mu + sigma * normal(draws)), *max),
            Self::Values(values) => values[draws.below(values.len() as u64) as usize],
            _ => self.quantile(draws.unit()),
        }
    }

    /// One value as a size: whole bytes (rounded down), at least one.
    pub fn draw_bytes(&self, draws: &mut Rng) -> Bytes {
        Bytes((self.draw(draws) as u64).max(1))
    }

    /// One value as a time, of whole nanoseconds.
    pub fn draw_span(&self, draws: &mut Rng) -> Span {
        Span::from_nanos(self.draw(draws) as u64)
    }

    /// The value at probability `u` in `[0, 1)`. A lognormal distribution, whose quantile has no closed form, has the
    /// median for all of them: it is drawn otherwise.
    fn quantile(&self, u: f64) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform { min, max } => min + (max - min) * u,
            Self::Exponential { min, excess, max } => capped(min - excess * libm::log1p(-u), *max),
            Self::Pareto { alpha, min, max } => capped(min / libm::pow(1.0 - u, 1.0 / alpha), *max),
            Self::BoundedPareto { alpha, min, max } => {
                let tail = libm::pow(min / max, *alpha);
                (min / libm::pow(1.0 - u * (1.0 - tail), 1.0 / alpha)).min(*max)
            }
            Self::Lognormal { mu, max, .. } => capped(libm::exp(*mu), *max),
            Self::Values(values) => values[(u * values.len() as f64) as usize],
            Self::Cdf(points) => interpolate(points, u),
        }
    }

    /// The mean, taking the upper limit into account, except for a lognormal distribution.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform { min, max } => (min + max) / 2.0,
            Self::Exponential { min, excess, max } => match max {
                Some(max) => min - excess * libm::expm1(-(max - min) / excess),
                None => min + excess,
            },
            Self::Pareto { alpha, min, max } => match max {
                // The integral of P(X > x) up to the cap.
                Some(max) => min + min * power_integral(max / min, -alpha),
                None => min * alpha / (alpha - 1.0),
            },
            Self::BoundedPareto { alpha, min, max } => {
                let tail = libm::pow(min / max, *alpha);
                alpha * min / (1.0 - tail) * power_integral(max / min, -alpha)
            }
            Self::Lognormal { mu, sigma, .. } => libm::exp(mu + sigma * sigma / 2.0),
            Self::Values(values) => values.iter().sum::<f64>() / values.len() as f64,
            Self::Cdf(points) => {
                let first = points[0].0 * points[0].1;
                let between = points.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0);
                first + between.sum::<f64>()
            }
        }
    }
}

fn capped(value: f64, max: Option<f64>) -> f64 {
    max.map_or(value, |max| value.min(max))
}

/// The integral of `x^power` from 1 to `to`.
fn power_integral(to: f64, power: f64) -> f64 {
    let n = power + 1.0;
    if n.abs() < 1e-9 { libm::log(to) } else { libm::expm1(n * libm::log(to)) / n }
}

fn interpolate(points: &[(f64, f64)], u: f64) -> f64 {
    let above = points.iter().position(|&(_, p)| p >= u).unwrap_or(points.len() - 1);
    let (value, p) = points[above];
    match above.checked_sub(1).map(|below| points[below]) {
        Some((before, q)) if p > q => before + (value - before) * (u - q) / (p - q),
        _ => value,
    }
}

/// A standard normal number: Box and Muller, "A Note on the Generation of Random Normal Deviates", Ann. Math. Stat.
/// 29(2), 1958. Only one of the method's two numbers is used, so that each draw consumes the same part of the stream.
fn normal(draws: &mut Rng) -> f64 {
    let (u, v) = (draws.unit(), draws.unit());
    libm::sqrt(-2.0 * libm::log1p(-u)) * libm::cos(2.0 * core::f64::consts::PI * v)
}

#[cfg(test)]
mod tests {
    use evenair_units::Streams;

    use super::*;

    const N: usize = 400_000;

    fn all() -> Vec<Distribution> {
        vec![
            Distribution::Constant(7.0),
            Distribution::Uniform { min: 2.0, max: 5.0 },
            Distribution::Exponential { min: 0.0, excess: 30.0, max: None },
            Distribution::Exponential { min: 6.0, excess: 34.0, max: Some(50.0) },
            Distribution::Pareto { alpha: 2.5, min: 12_000.0, max: None },
            Distribution::Pareto { alpha: 1.1, min: 1000.0, max: Some(50_000.0) },
            Distribution::Pareto { alpha: 1.0, min: 1.0, max: Some(100.0) },
            Distribution::BoundedPareto { alpha: 1.5, min: 6.0, max: 1300.0 },
            Distribution::BoundedPareto { alpha: 1.0, min: 1.0, max: 50.0 },
            Distribution::lognormal_of_mean(10.0, 5.0, None),
            Distribution::Values(vec![1.0, 2.0, 6.0]),
            Distribution::Cdf(vec![(1.0, 0.25), (3.0, 0.5), (11.0, 1.0)]),
        ]
    }

    fn drawn(distribution: &Distribution) -> Vec<f64> {
        let mut draws = Streams::new(1).stream("distribution test");
        let mut values: Vec<_> = (0..N).map(|_| distribution.draw(&mut draws)).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn draws_have_the_mean_of_the_closed_form() {
        for distribution in all() {
            let values = drawn(&distribution);
            let mean = values.iter().sum::<f64>() / N as f64;
            let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / N as f64;
            // Five standard errors.
            let margin = 5.0 * (variance / N as f64).sqrt() + 1e-9;
            assert!(
                (mean - distribution.mean()).abs() < margin,
                "{distribution:?}: {mean}, not {}",
                distribution.mean()
            );
        }
    }

    #[test]
    fn draws_have_the_distribution_function_of_the_closed_form() {
        // P(X <= x) as the definitions have it.
        let cases: &[(Distribution, f64, f64)] = &[
            (Distribution::Uniform { min: 2.0, max: 5.0 }, 2.6, 0.2),
            (Distribution::Exponential { min: 6.0, excess: 34.0, max: None }, 40.0, 1.0 - (-1.0f64).exp()),
            (Distribution::Exponential { min: 0.0, excess: 1.0, max: Some(2.0) }, 1.999, 1.0 - (-1.999f64).exp()),
            (Distribution::Pareto { alpha: 1.3, min: 1000.0, max: None }, 5000.0, 1.0 - 0.2f64.powf(1.3)),
            (
                Distribution::BoundedPareto { alpha: 1.052, min: 6.0, max: 13_000.0 },
                100.0,
                (1.0 - 0.06f64.powf(1.052)) / (1.0 - (6.0f64 / 13_000.0).powf(1.052)),
            ),
            // The median of a lognormal is exp(mu), and 84.134 % are below exp(mu + sigma).
            (Distribution::Lognormal { mu: 1.0, sigma: 0.5, max: None }, 1f64.exp(), 0.5),
            (Distribution::Lognormal { mu: 1.0, sigma: 0.5, max: None }, 1.5f64.exp(), 0.841_345),
            (Distribution::Values(vec![1.0, 2.0, 6.0]), 2.0, 2.0 / 3.0),
            (Distribution::Cdf(vec![(1.0, 0.25), (3.0, 0.5), (11.0, 1.0)]), 1.0, 0.25),
            (Distribution::Cdf(vec![(1.0, 0.25), (3.0, 0.5), (11.0, 1.0)]), 7.0, 0.75),
        ];
        for (distribution, x, p) in cases {
            let below = drawn(distribution).partition_point(|value| value <= x) as f64 / N as f64;
            let margin = 5.0 * (p * (1.0 - p) / N as f64).sqrt();
            assert!((below - p).abs() < margin, "{distribution:?}: P(X <= {x}) is {below}, not {p}");
        }
    }

    #[test]
    fn draws_stay_between_their_bounds() {
        for distribution in all() {
            let values = drawn(&distribution);
            let bounds = match distribution {
                Distribution::Uniform { min, max } | Distribution::BoundedPareto { min, max, .. } => min..=max,
                Distribution::Exponential { min, max, .. } | Distribution::Pareto { min, max, .. } => {
                    min..=max.unwrap_or(f64::INFINITY)
                }
                _ => f64::MIN_POSITIVE..=f64::INFINITY,
            };
            assert!(bounds.contains(&values[0]) && bounds.contains(&values[N - 1]), "{distribution:?}");
        }
    }

    #[test]
    fn a_published_bounded_pareto_follows_from_its_mean() {
        // Heusse, Urvoy-Keller, Duda, Eurecom RR-08-220: mean 40 packets between 6 and 13 000; about 95 % of the
        // transfers are below 100 packets and carry 38 % of the bytes, and the coefficient of variation is about 6.
        let found = Distribution::bounded_pareto_of_mean(6.0, 13_000.0, 40.0).expect("there is one");
        let Distribution::BoundedPareto { alpha, .. } = found else { panic!("{found:?}") };
        assert!((alpha - 1.052).abs() < 0.002, "{alpha}");
        let values = drawn(&found);
        let small = values.partition_point(|&value| value < 100.0);
        assert!((small as f64 / N as f64 - 0.95).abs() < 0.005, "{small}");
        let carried = values[..small].iter().sum::<f64>() / values.iter().sum::<f64>();
        assert!((carried - 0.38).abs() < 0.03, "{carried}");
        assert_eq!(Distribution::bounded_pareto_of_mean(6.0, 13_000.0, 12_000.0), None);
    }

    #[test]
    fn sizes_are_whole_and_positive() {
        let mut draws = Streams::new(1).stream("sizes");
        assert_eq!(Distribution::Constant(0.3).draw_bytes(&mut draws), Bytes(1));
        assert_eq!(Distribution::Constant(1500.9).draw_bytes(&mut draws), Bytes(1500));
        assert_eq!(Distribution::Constant(2e6).draw_span(&mut draws), Span::from_millis(2));
        let size = Distribution::pareto_of_mean(1.1, 20_000.0, Some(15_000.0));
        assert!((0..10_000).all(|_| size.draw_bytes(&mut draws) <= Bytes(15_000)));
    }
}
