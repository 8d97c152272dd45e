//! The end of the initial transient of a run, by MSER-5.
//!
//! Values are averaged in batches of five. The truncation point is the one for which the mean of the rest has the smallest
//! marginal standard error, `sum (y - mean)^2 / n^2` over the `n` values that remain (White, "An Effective Truncation Heuristic
//! for Bias Reduction in Simulation Output", Simulation 69, 1997; with batches of five: White, Cobb, Spratt, WSC 2000). Only
//! the first half is searched: near the end a few values that happen to be equal would win. If the best point is the last of
//! them, the series has no steady state, and is not truncated.

/// Values per batch.
pub const BATCH: usize = 5;
/// Minimum number of batches.
const LEAST_BATCHES: usize = 4;

/// Approximate maximum number of cut points of a phase, since the counters between any two are stored.
const PLACES: usize = 256;

/// Number of intervals between cut points of a phase with `intervals`: one batch, unless that gives too many.
pub fn step(intervals: usize) -> usize {
    let batches = intervals.div_ceil(BATCH);
    BATCH * batches.div_ceil(PLACES).next_power_of_two()
}

/// Number of values in the initial transient, a multiple of [`BATCH`]; `None` with too few values, or if no cut in the first
/// half makes the rest steady.
pub fn transient(values: &[f64]) -> Option<usize> {
    let (batches, _) = values.as_chunks::<BATCH>();
    let means: Vec<f64> = batches.iter().map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if means.len() < LEAST_BATCHES {
        return None;
    }
    // From the end, so that each cut's sums follow from the one after it (Welford, Technometrics 4, 1962).
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let last = means.len() / 2;
    let mut best = (f64::INFINITY, last);
    for (cut, &value) in means.iter().enumerate().rev() {
        count += 1.0;
        let away = value - mean;
        mean += away / count;
        squares += away * (value - mean);
        let error = squares / (count * count);
        if cut <= last && error <= best.0 {
            best = (error, cut);
        }
    }
    (best.1 < last).then_some(best.1 * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_cut_off_at_its_batch() {
        // Zero for 12 values, then 10: the third batch has both.
        let values: Vec<f64> = (0..100).map(|k| if k < 12 { 0.0 } else { 10.0 + f64::from(k % 2) * 0.1 }).collect();
        assert_eq!(transient(&values), Some(15));
    }

    #[test]
    fn a_steady_series_keeps_everything() {
        assert_eq!(transient(&[3.0; 60]), Some(0));
        let wave: Vec<f64> = (0..200).map(|k| 5.0 + [0.0, 1.0, 0.0, -1.0, 0.5, -0.5, 0.2][k % 7]).collect();
        assert!(transient(&wave).unwrap() <= 20);
    }

    /// The first values of an exponential approach, 10 (1 - e^(-k/10)) with noise: the bias is below the noise after
    /// some 50 values, and long before half of the 400.
    #[test]
    fn an_approach_is_cut_where_it_has_become_small() {
        let mut rng = evenair_units::Streams::new(3).stream("noise");
        let values: Vec<f64> =
            (0..400).map(|k| 10.0 * (1.0 - (-f64::from(k) / 10.0).exp()) + rng.unit() - 0.5).collect();
        let cut = transient(&values).unwrap();
        assert!((15..=60).contains(&cut), "{cut}");
        let mean = |from: usize| values[from..].iter().sum::<f64>() / (values.len() - from) as f64;
        assert!((mean(cut) - 10.0).abs() < 0.08 && (mean(0) - 10.0).abs() > 0.2);
    }

    #[test]
    fn a_phase_has_a_bounded_number_of_places_to_cut() {
        assert_eq!([1, 60, BATCH * PLACES].map(step), [BATCH; 3]);
        assert_eq!([BATCH * PLACES + 1, 10_000, 1_000_000].map(step), [2 * BATCH, 8 * BATCH, 1024 * BATCH]);
    }

    #[test]
    fn unsteady_and_short_series_are_not_cut() {
        assert_eq!(transient(&(0..100).map(f64::from).collect::<Vec<_>>()), None);
        assert_eq!(transient(&[1.0; 19]), None);
        assert_eq!(transient(&[]), None);
    }
}
