//! Lateness of the loop at the manager's deadlines: a histogram by powers of two of a microsecond.

use evenair_api::PacingStatus;
use evenair_units::Span;

const CLASSES: usize = 32;

/// The histogram. Class 0 is below 1 us, class n below 2^n us.
#[derive(Debug, Default)]
pub struct Pacing {
    classes: [u64; CLASSES],
    count: u64,
    max: Span,
}

impl Pacing {
    /// Notes a deadline that was met this late.
    pub fn add(&mut self, late: Span) {
        let class = (u64::BITS - late.as_micros().leading_zeros()) as usize;
        self.classes[class.min(CLASSES - 1)] += 1;
        self.count += 1;
        self.max = self.max.max(late);
    }

    /// The smallest class boundary that at least `permille` thousandths do not exceed, in us.
    fn at_most_us(&self, permille: u64) -> u64 {
        let wanted = (self.count * permille).div_ceil(1000);
        let mut sum = 0;
        let class = self.classes.iter().position(|n| {
            sum += n;
            sum >= wanted
        });
        1 << class.unwrap_or(0)
    }

    /// For the status.
    pub fn status(&self) -> PacingStatus {
        if self.count == 0 {
            return PacingStatus::default();
        }
        PacingStatus {
            deadlines: self.count,
            p50_us: self.at_most_us(500),
            p99_us: self.at_most_us(990),
            max_us: self.max.as_micros(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_boundaries_above_the_values() {
        let mut pacing = Pacing::default();
        assert_eq!(pacing.status(), PacingStatus::default());
        for _ in 0..98 {
            pacing.add(Span::from_micros(30));
        }
        pacing.add(Span::from_micros(900));
        pacing.add(Span::from_millis(5));
        let status = pacing.status();
        assert_eq!((status.deadlines, status.p50_us, status.p99_us, status.max_us), (100, 32, 1024, 5000));
    }
}
