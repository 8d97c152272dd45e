//! Ranks the points of a sweep by a measure, subject to a constraint on another.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::str::FromStr;

use evenair_reader::nearest;
use evenair_results::estimate::Estimate;
use evenair_results::{Measure, Table, Values};

use crate::tidy::{Rows, keys, named};
use crate::{PointResult, SweepResult};

/// The ranking criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// A measure. Without a phase, points are ranked in each phase separately.
    pub measure: String,
    /// Whether the least value is the best, rather than the greatest.
    pub is_least: bool,
    /// A condition that points must meet.
    pub constraint: Option<Constraint>,
}

/// A bound of a measure's mean, such as `ap.sojourn_p99_ms < 20`.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    measure: String,
    relation: &'static str,
    bound: f64,
}

impl FromStr for Constraint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} is no bound of a measure; write such as \"ap.sojourn_p99_ms < 20\", with <, <=, > or >=")
        };
        let relation = ["<=", ">=", "<", ">"].into_iter().find(|relation| text.contains(relation)).ok_or_else(wrong)?;
        let (measure, bound) = text.split_once(relation).ok_or_else(wrong)?;
        let bound = bound.trim().parse().map_err(|_| wrong())?;
        Ok(Self { measure: measure.trim().to_owned(), relation, bound })
    }
}

impl Constraint {
    fn is_met(&self, mean: f64) -> bool {
        match self.relation {
            "<=" => mean <= self.bound,
            ">=" => mean >= self.bound,
            "<" => mean < self.bound,
            _ => mean > self.bound,
        }
    }
}

impl Criterion {
    /// The constraint as text, for the table.
    fn text(&self) -> String {
        let which = if self.is_least { "least" } else { "greatest" };
        let of = |Constraint { measure, relation, bound }: &Constraint| format!(", where {measure} {relation} {bound}");
        format!("{which} {}{}", self.measure, self.constraint.as_ref().map_or_else(String::new, of))
    }

    /// A row for each point and each phase that has the measure, the best first in each phase: `rank` (absent if the constraint is not
    /// met), the varied keys, `phase`, `kind`, `name`, `measure`, `unit`, `mean`, `low`, `high`, `n`, then `constraint_mean` and
    /// `criterion`.
    ///
    /// # Errors
    /// No point has the measure; the error names similar ones.
    pub fn rank(&self, result: &SweepResult) -> Result<Table, String> {
        let names = known(result, &self.measure)?;
        let bounds = self.constraint.as_ref().map(|constraint| known(result, &constraint.measure)).transpose()?;
        let mut ranked = Vec::new();
        for name in &names {
            let bound = bounds.as_ref().and_then(|bounds| fitting(name, bounds));
            ranked.extend(self.of_measure(result, name, bound));
        }
        Ok(self.table(result, &ranked))
    }

    /// The points ranked by one measure, the best first.
    fn of_measure<'a>(&self, result: &'a SweepResult, name: &str, bound: Option<&str>) -> Vec<Ranked<'a>> {
        let ranked = |(point, found): (usize, &'a PointResult)| {
            let estimate = found.estimate(name)?;
            let bounded = bound.and_then(|bound| found.estimate(bound)).map(|estimate| estimate.mean);
            let is_met =
                self.constraint.as_ref().is_none_or(|constraint| bounded.is_some_and(|mean| constraint.is_met(mean)));
            Some(Ranked { point, estimate, bounded, is_met, rank: None })
        };
        let mut all: Vec<_> = result.points.iter().enumerate().filter_map(ranked).collect();
        all.sort_by(|a, b| b.is_met.cmp(&a.is_met).then_with(|| self.order(a.estimate.mean, b.estimate.mean)));
        let met = all.iter_mut().filter(|one| one.is_met);
        met.zip(1..).for_each(|(one, rank)| one.rank = Some(rank));
        all
    }

    fn order(&self, a: f64, b: f64) -> Ordering {
        if self.is_least { a.total_cmp(&b) } else { b.total_cmp(&a) }
    }

    fn table(&self, result: &SweepResult, ranked: &[Ranked<'_>]) -> Table {
        let varied: Vec<_> = result.points.iter().map(|point| point.varied.as_slice()).collect();
        let (mut rows, mut names) = (Rows::default(), HashMap::new());
        ranked.iter().for_each(|one| rows.add(one.point, named(&mut names, &one.estimate.name)));
        let number = |of: &dyn Fn(&Ranked<'_>) -> Option<f64>| Values::Number(ranked.iter().map(of).collect());
        let count = |of: &dyn Fn(&Ranked<'_>) -> Option<u64>| Values::Count(ranked.iter().map(of).collect());
        let mut table = Table::default();
        table.push("rank", count(&|one| one.rank));
        table.columns.extend(rows.keyed(&keys(&result.axes, &varied)).columns);
        rows.describe(&mut table);
        table.push("mean", number(&|one| Some(one.estimate.mean)));
        table.push("low", number(&|one| Some(one.estimate.mean - one.estimate.half_width?)));
        table.push("high", number(&|one| Some(one.estimate.mean + one.estimate.half_width?)));
        table.push("n", count(&|one| Some(one.estimate.count)));
        table.push("constraint_mean", number(&|one| one.bounded));
        table.push("criterion", Values::Text(vec![Some(self.text()); ranked.len()]));
        table
    }
}

/// A point with its rank.
struct Ranked<'a> {
    point: usize,
    estimate: &'a Estimate,
    /// Mean of the constrained measure.
    bounded: Option<f64>,
    is_met: bool,
    rank: Option<u64>,
}

/// The full names of a measure that some point has.
fn known(result: &SweepResult, name: &str) -> Result<Vec<String>, String> {
    let names = result.named(name);
    if !names.is_empty() {
        return Ok(names);
    }
    let short = |full: &&str| {
        full.strip_prefix("phase.").and_then(|rest| rest.split_once('.')).map(|(_, rest)| rest.to_owned())
    };
    let there: Vec<String> =
        result.measures().iter().map(|full| short(full).unwrap_or_else(|| (*full).to_owned())).collect();
    let near = nearest(name, there.iter().map(String::as_str), 3).join(", ");
    Err(format!("no run has a measure {name:?}; the nearest are {near}"))
}

/// Among the full names of the constrained measure, that of the same phase, or of the whole run.
fn fitting<'a>(name: &str, bounds: &'a [String]) -> Option<&'a str> {
    let phase = |name: &str| Measure::named(name, 0.0).phase;
    let wanted = phase(name);
    let same = bounds.iter().find(|bound| phase(bound) == wanted);
    same.or_else(|| bounds.iter().find(|bound| phase(bound).is_none())).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use evenair_scenario::Axis;

    use super::*;

    fn result() -> SweepResult {
        let point = |policy: &str, total: f64, delay: f64| {
            let of = |name: &str, value| Estimate::of(name, vec![Some(value); 2], 0.95).unwrap();
            let estimates = vec![of("phase.all.total_ip_mbps", total), of("phase.all.ap.sojourn_mean_ms", delay)];
            let varied = vec![("policy".to_owned(), policy.to_owned())];
            PointResult { varied, runs: 2, estimates, failed: None }
        };
        let axis = Axis { key: "policy".into(), values: vec!["a".into(), "b".into(), "c".into()], together: false };
        SweepResult {
            axes: vec![axis],
            points: vec![point("a", 3.0, 9.0), point("b", 5.0, 90.0), point("c", 4.0, 8.0)],
        }
    }

    fn order(measure: &str, is_least: bool, constraint: Option<&str>) -> Vec<(String, String)> {
        let constraint = constraint.map(|text| text.parse().unwrap());
        let table = Criterion { measure: measure.into(), is_least, constraint }.rank(&result()).unwrap();
        let column = |name: &str, row| table.column(name).unwrap().values.text(row);
        (0..table.rows()).map(|row| (column("policy", row), column("rank", row))).collect()
    }

    #[test]
    fn the_best_comes_first_and_points_outside_the_bound_have_no_rank() {
        let of = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
            rows.iter().map(|(policy, rank)| ((*policy).to_owned(), (*rank).to_owned())).collect()
        };
        assert_eq!(order("total_ip_mbps", false, None), of(&[("b", "1"), ("c", "2"), ("a", "3")]));
        assert_eq!(order("ap.sojourn_mean_ms", true, None), of(&[("c", "1"), ("a", "2"), ("b", "3")]));
        let bounded = order("total_ip_mbps", false, Some("ap.sojourn_mean_ms < 20"));
        assert_eq!(bounded, of(&[("c", "1"), ("a", "2"), ("b", "")]));
    }

    #[test]
    fn invalid_criteria_are_refused() {
        let wrong = Criterion { measure: "totl_ip_mbps".into(), is_least: false, constraint: None };
        assert!(wrong.rank(&result()).unwrap_err().contains("the nearest are total_ip_mbps"));
        for text in ["ap.sojourn_mean_ms", "a < b", "a = 3"] {
            assert!(text.parse::<Constraint>().unwrap_err().contains("with <, <=, > or >="), "{text}");
        }
    }
}
