//! Sweeps whose points are repeated until their confidence intervals are narrow enough.
//!
//! A round gives a quarter more runs to each point whose intervals are still too wide. The result does not depend on the
//! number of threads. [`evenair_results::replicate`] explains how stopping by the width affects intervals.

use evenair_results::estimate::Estimate;

use crate::{Plan, PointResult, SweepResult};

/// When a point has enough runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Until {
    /// Upper limit of the interval's half-width, relative to the mean.
    pub relative_half_width: f64,
    /// Measures that must meet the limit. Without a phase, in each phase.
    pub measures: Vec<String>,
    /// Maximum number of runs of a point.
    pub most: u32,
}

impl Until {
    /// Gives more runs to points whose intervals are too wide. Returns the number of such points.
    ///
    /// # Errors
    /// A measure that no point has a value of, by its name.
    pub fn raise(&self, plan: &mut Plan, result: &SweepResult) -> Result<usize, String> {
        let mut names = Vec::new();
        for measure in &self.measures {
            let known = result.named(measure);
            if known.is_empty() && result.points.iter().any(|point| point.runs > 0) {
                return Err(measure.clone());
            }
            names.extend(known);
        }
        let mut raised = 0;
        for (point, found) in plan.points.iter_mut().zip(&result.points) {
            if found.failed.is_none() && point.runs < self.most && !self.is_known(found, &names) {
                point.runs = (point.runs + point.runs.div_ceil(4).max(1)).min(self.most);
                raised += 1;
            }
        }
        Ok(raised)
    }

    /// Whether the point's intervals are narrow enough. Measures without a value are ignored.
    fn is_known(&self, point: &PointResult, names: &[String]) -> bool {
        let is_narrow = |estimate: &Estimate| {
            estimate.half_width.is_some_and(|half| half <= self.relative_half_width * estimate.mean.abs())
        };
        names.iter().filter_map(|name| point.estimate(name)).all(is_narrow)
    }
}

#[cfg(test)]
mod tests {
    use evenair_results::estimate::CONFIDENCE;

    use super::*;
    use crate::{Point, Source};

    fn point(values: &[f64]) -> (Point, PointResult) {
        let known = values.iter().map(|&value| Some(value)).collect();
        let estimates = vec![Estimate::of("phase.all.total_ip_mbps", known, CONFIDENCE).unwrap()];
        let runs = values.len() as u32;
        let point = Point { source: 0, varied: Vec::new(), settings: Vec::new(), seed: 1, runs, wrong: None };
        (point, PointResult { varied: Vec::new(), runs: u64::from(runs), estimates, failed: None })
    }

    #[test]
    fn points_that_are_not_known_well_enough_get_more_runs() {
        let (points, found) = [point(&[1.0, 1.0, 1.001, 1.0]), point(&[1.0, 2.0, 3.0, 2.0])].into_iter().unzip();
        let mut plan = Plan {
            sources: vec![Source { file: String::new(), text: String::new() }],
            name: String::new(),
            title: String::new(),
            axes: Vec::new(),
            points,
            replications: 4,
            program: String::new(),
            left_out: Vec::new(),
            series: Vec::new(),
        };
        let result = SweepResult { axes: Vec::new(), points: found };
        let mut until = Until { relative_half_width: 0.02, measures: vec!["total_ip_mbps".into()], most: 100 };
        assert_eq!(until.raise(&mut plan, &result), Ok(1));
        assert_eq!(plan.points.iter().map(|point| point.runs).collect::<Vec<_>>(), [4, 5]);
        assert_eq!(plan.runs().len(), 9);
        until.most = 5;
        assert_eq!(until.raise(&mut plan, &result), Ok(0), "it has as many as it may have");
        until.measures = vec!["nonsense".into()];
        assert_eq!(until.raise(&mut plan, &result), Err("nonsense".into()));
    }
}
