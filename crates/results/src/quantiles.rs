//! Quantiles of any number of times in bounded memory: exact for few, accurate to a histogram's bucket (better than
//! one per cent) for many.

use evenair_units::Span;

use super::histogram::Times;

/// Number of times up to which quantiles are exact.
pub const EXACT: usize = 10_000;

/// Times for quantiles.
#[derive(Clone, Debug, Default)]
pub struct Quantiles {
    /// The first times.
    exact: Vec<Span>,
    all: Times,
}

impl Quantiles {
    /// Records a value.
    pub fn record(&mut self, time: Span) {
        if self.exact.len() < EXACT {
            self.exact.push(time);
        }
        self.all.record(time);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.all.count()
    }

    /// For each of `permille`, the least value that at least this many thousandths do not exceed (nearest rank);
    /// `None` without values. The maximum, 1000, is always exact.
    pub fn at<const N: usize>(&self, permille: [u64; N]) -> Option<[Span; N]> {
        let count = self.count();
        if count > EXACT as u64 {
            return Some(permille.map(|permille| self.all.quantile(permille)));
        }
        let mut sorted = self.exact.clone();
        sorted.sort_unstable();
        let rank = |permille: u64| (count * permille).div_ceil(1000).max(1) as usize;
        (count > 0).then(|| permille.map(|permille| sorted[rank(permille) - 1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: u64) -> Quantiles {
        let mut quantiles = Quantiles::default();
        // All times from 1 us to `count` us, in a mixed order: 7 919 is a prime.
        (0..count).for_each(|k| quantiles.record(Span::from_micros(1 + k * 7_919 % count)));
        quantiles
    }

    #[test]
    fn few_are_exact_and_many_are_known_to_a_per_cent() {
        assert_eq!(of(0).at([500]), None);
        assert_eq!(of(1).at([0, 500, 1000]), Some([Span::from_micros(1); 3]));
        let exact = [500, 990, 1000].map(|permille| Span::from_micros(EXACT as u64 * permille / 1000));
        assert_eq!(of(EXACT as u64).at([500, 990, 1000]), Some(exact));
        let many = of(200_000);
        assert_eq!((many.count(), many.exact.len()), (200_000, EXACT));
        let [median, high, most] = many.at([500, 990, 1000]).unwrap();
        for (near, exact) in [(median, 100_000.0), (high, 198_000.0)] {
            assert!((near.as_micros() as f64 / exact - 1.0).abs() < 0.01, "{near:?} for {exact} us");
        }
        assert_eq!(most, Span::from_micros(200_000));
    }
}
