//! Compares two variants of an experiment, run with the same seeds.
//!
//! Runs with the same seed share all random draws that the variants have in common, so that the difference of a pair
//! varies less than that of two independent runs (common random numbers). The interval is that of the mean of the
//! paired differences (paired t test). Each measure is tested separately: of twenty measures without a difference, one
//! may seem to differ.

use std::collections::HashMap;

use evenair_results::estimate::CONFIDENCE;
use evenair_results::paired::Paired;
use evenair_results::{Table, Values};
use evenair_scenario::measures::measure_named;

use crate::sweep::union;
use crate::{Plan, PlannedRun, Store};

/// Difference of one measure between the two variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Name of the measure.
    pub name: String,
    /// Pairs of runs in which both have a value.
    pub pairs: u64,
    /// Mean of the measure in the first variant, over these pairs.
    pub a: f64,
    /// Mean in the second variant.
    pub b: f64,
    /// Mean of the paired differences, second minus first.
    pub difference: f64,
    /// Half-width of its 95 % confidence interval; absent with fewer than two pairs.
    pub half_width: Option<f64>,
}

impl Comparison {
    /// Whether zero lies outside of the interval.
    pub fn is_significant(&self) -> bool {
        self.half_width.is_some_and(|half_width| self.difference.abs() > half_width)
    }

    /// A value as a percentage of the first variant's mean; `None` if that is zero.
    pub fn percent(&self, value: f64) -> Option<f64> {
        (self.a != 0.0).then(|| 100.0 * value / self.a.abs())
    }
}

/// Compares a plan's two points, measure by measure.
///
/// # Panics
/// The plan does not have two points.
pub fn compare(plan: &Plan, store: &Store) -> Vec<Comparison> {
    assert_eq!(plan.points.len(), 2, "a comparison has two variants");
    pair(plan, store, 1)
}

/// Compares each further point of a plan with its first, in their order.
pub fn against_first(plan: &Plan, store: &Store) -> Vec<Vec<Comparison>> {
    (1..plan.points.len()).map(|other| pair(plan, store, other)).collect()
}

/// Compares a point with the first.
fn pair(plan: &Plan, store: &Store, other: usize) -> Vec<Comparison> {
    let runs = plan.runs();
    let of = |point: usize| -> Vec<&PlannedRun> { runs.iter().filter(|run| run.point == point).collect() };
    let pairs: Vec<_> = of(0)
        .into_iter()
        .zip(of(other))
        .filter_map(|(a, b)| Some((&store.get(&a.key)?.scalars, &store.get(&b.key)?.scalars)))
        .collect();
    let names = union(pairs.iter().flat_map(|(a, b)| a.iter().chain(*b)).map(|(name, _)| name.as_str()));
    let index = |list: &[(String, f64)]| -> HashMap<String, f64> { list.iter().cloned().collect() };
    let values: Vec<_> = pairs.iter().map(|(a, b)| (index(a), index(b))).collect();
    names
        .into_iter()
        .filter_map(|name| {
            let both: Vec<_> = values.iter().map(|(a, b)| Some((*a.get(name)?, *b.get(name)?))).collect();
            let Paired { count, first, second, mean, half_width, .. } =
                Paired::of(&both.into_iter().flatten().collect::<Vec<_>>(), CONFIDENCE)?;
            Some(Comparison { name: name.to_owned(), pairs: count, a: first, b: second, difference: mean, half_width })
        })
        .collect()
}

/// One row for each measure.
pub fn comparison_table(comparisons: &[Comparison]) -> Table {
    let number = |value: &dyn Fn(&Comparison) -> Option<f64>| Values::Number(comparisons.iter().map(value).collect());
    let text = |value: &dyn Fn(&Comparison) -> Option<String>| Values::Text(comparisons.iter().map(value).collect());
    let unit = |name: &str| measure_named(name).map(|measure| measure.unit).filter(|unit| !unit.is_empty());
    let mut table = Table::default();
    table.push("measure", text(&|c| Some(c.name.clone())));
    table.push("unit", text(&|c| unit(&c.name).map(str::to_owned)));
    table.push("pairs", Values::Count(comparisons.iter().map(|c| Some(c.pairs)).collect()));
    table.push("a", number(&|c| Some(c.a)));
    table.push("b", number(&|c| Some(c.b)));
    table.push("difference", number(&|c| Some(c.difference)));
    table.push("difference_ci95", number(&|c| c.half_width));
    table.push("difference_percent", number(&|c| c.percent(c.difference)));
    table.push("difference_percent_ci95", number(&|c| c.percent(c.half_width?)));
    table.push("significant", text(&|c| Some(if c.is_significant() { "yes" } else { "no" }.to_owned())));
    table
}
