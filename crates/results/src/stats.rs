//! Descriptive statistics.

use std::ops::Range;

/// Jain's fairness index: 1 where all are equal, 1/n if one has everything; `None` if all are zero.
///
/// Jain, Chiu, Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared Computer
/// Systems", DEC-TR-301, 1984.
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Ratio of `part` to `whole`, 0 to 1; zero if `whole` is.
pub fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The mean; `None` without values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0u64), |(sum, count), x| (sum + x, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The standard deviation of a sample (n - 1); `None` with fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let middle = mean(values.iter().copied()).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|x| (x - middle) * (x - middle)).sum();
    Some((squares / (values.len() as f64 - 1.0)).sqrt())
}

/// The smallest value that at least `permille` thousandths of the values do not exceed (nearest rank); `None` without
/// values.
pub fn percentile(values: &[f64], permille: u32) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() as u64 * u64::from(permille)).div_ceil(1000).max(1);
    sorted.get(rank as usize - 1).copied()
}

/// The values of some intervals, as far as they exist.
pub(crate) fn part<'a, T>(values: &'a [T], intervals: &Range<usize>) -> &'a [T] {
    let to = intervals.end.min(values.len());
    &values[intervals.start.min(to)..to]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equals_and_one_nth_for_a_monopoly() {
        assert_eq!(jain(&[2.0; 5]), Some(1.0));
        assert_eq!(jain(&[7.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0; 3]), None);
        assert_eq!(jain(&[]), None);
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(percentile(&values, 500), Some(3.0));
        assert_eq!(percentile(&values, 990), Some(5.0));
        assert_eq!(percentile(&values, 0), Some(1.0));
        assert_eq!(percentile(&values, 1000), Some(5.0));
        assert_eq!(percentile(&[], 500), None);
    }

    #[test]
    fn a_deviation_needs_two_values() {
        assert_eq!(deviation(&[4.0]), None);
        assert_eq!(deviation(&[1.0, 3.0]), Some(2f64.sqrt()));
        assert_eq!(deviation(&[2.0; 4]), Some(0.0));
    }

    #[test]
    fn nothing_has_no_mean_and_no_share() {
        assert_eq!(mean([]), None);
        assert_eq!(mean([1.0, 2.0]), Some(1.5));
        assert_eq!(share(1.0, 0.0), 0.0);
        assert_eq!(share(1.0, 4.0), 0.25);
    }
}
