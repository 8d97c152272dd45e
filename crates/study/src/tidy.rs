//! Results of many runs as tables with one row per number and its keys in columns: the varied keys, then phase, kind, name, measure
//! and unit, as docs/measures.md explains them.

use std::collections::HashMap;
use std::iter;
use std::rc::Rc;

use evenair_results::estimate::Estimate;
use evenair_results::{Measure, Table, Values};
use evenair_scenario::Axis;

use crate::sweep::key_column;
use crate::{Plan, PlannedRun, Store, SweepResult};

/// Rows per part of the table of runs: bounds the memory, whatever the number of runs.
pub(crate) const ROWS: usize = 1 << 17;
/// Columns that every table of runs has. A varied key of one of these names gets a column `set_NAME`.
const COLUMNS: [&str; 7] = ["seed", "phase", "kind", "name", "measure", "unit", "value"];

/// A row for each number of each successful run: the varied keys, `seed`, `phase`, `kind`, `name`, `measure`, `unit`, `value`. Runs
/// come in the order of the plan's points, then of seeds. The table comes in parts, at least one, all with the same columns.
pub fn run_rows(plan: &Plan, store: &Store) -> impl Iterator<Item = Table> {
    let keys = keys_of(plan);
    let mut runs = plan.runs();
    runs.sort_by_key(|run| run.point);
    let mut planned = runs.into_iter();
    let mut names = HashMap::new();
    let mut is_first = true;
    iter::from_fn(move || {
        let mut part = Runs::default();
        while part.values.len() < ROWS
            && let Some(run) = planned.next()
        {
            part.add(&run, store, &mut names);
        }
        let any = is_first || !part.values.is_empty();
        is_first = false;
        any.then(|| part.table(&keys))
    })
}

/// A row for each measure of each point: the varied keys, `phase`, `kind`, `name`, `measure`, `unit`, then `mean`, `low` and `high`
/// (its confidence interval), `n` (runs that have the measure) and `sd`.
pub fn point_rows(result: &SweepResult) -> Table {
    let varied: Vec<_> = result.points.iter().map(|point| point.varied.as_slice()).collect();
    let mut rows = Rows::default();
    let mut estimates: Vec<&Estimate> = Vec::new();
    let mut names = HashMap::new();
    for (at, point) in result.points.iter().enumerate() {
        for estimate in &point.estimates {
            rows.add(at, named(&mut names, &estimate.name));
            estimates.push(estimate);
        }
    }
    let number = |of: &dyn Fn(&Estimate) -> Option<f64>| Values::Number(estimates.iter().map(|one| of(one)).collect());
    let mut table = rows.keyed(&keys(&result.axes, &varied));
    rows.describe(&mut table);
    table.push("mean", number(&|estimate| Some(estimate.mean)));
    table.push("low", number(&|estimate| Some(estimate.mean - estimate.half_width?)));
    table.push("high", number(&|estimate| Some(estimate.mean + estimate.half_width?)));
    table.push("n", Values::Count(estimates.iter().map(|estimate| Some(estimate.count)).collect()));
    table.push("sd", number(&|estimate| estimate.deviation));
    table
}

/// A row for each failed run, and for each invalid point, which has no seed: the varied keys, `seed`, `reason`.
pub fn failed_rows(plan: &Plan, store: &Store) -> Table {
    let wrong = plan.points.iter().enumerate().filter_map(|(at, point)| Some((at, None, point.wrong.clone()?)));
    let of_run = |run: PlannedRun| Some((run.point, Some(run.seed), store.failure(&run.key)?.to_owned()));
    let mut failed: Vec<_> = wrong.chain(plan.runs().into_iter().filter_map(of_run)).collect();
    failed.sort_by_key(|(point, ..)| *point);
    let points: Vec<usize> = failed.iter().map(|(point, ..)| *point).collect();
    let mut table = Table::default();
    keys_of(plan).iter().for_each(|(name, values)| table.push(name, values.take(&points)));
    table.push("seed", Values::Count(failed.iter().map(|(_, seed, _)| *seed).collect()));
    table.push("reason", Values::Text(failed.into_iter().map(|(.., reason)| Some(reason)).collect()));
    table
}

/// Measures by full name: a sweep has the same names in every run.
pub(crate) type Names = HashMap<String, Rc<Measure>>;

pub(crate) fn named(names: &mut Names, full_name: &str) -> Rc<Measure> {
    if let Some(known) = names.get(full_name) {
        return Rc::clone(known);
    }
    let measure = Rc::new(Measure::named(full_name, f64::NAN));
    names.insert(full_name.to_owned(), Rc::clone(&measure));
    measure
}

/// The columns of a plan's varied keys, with a row for each point.
pub(crate) fn keys_of(plan: &Plan) -> Vec<(String, Values)> {
    let varied: Vec<_> = plan.points.iter().map(|point| point.varied.as_slice()).collect();
    keys(&plan.axes, &varied)
}

/// The columns of the varied keys, with a row for each point; the policy is last. Two variants, which have no axis, are `a` and `b`.
pub(crate) fn keys(axes: &[Axis], varied: &[&[(String, String)]]) -> Vec<(String, Values)> {
    if axes.is_empty() && varied.len() == 2 {
        return vec![("variant".to_owned(), Values::Text(vec![Some("a".to_owned()), Some("b".to_owned())]))];
    }
    let mut columns: Vec<_> = axes
        .iter()
        .enumerate()
        .map(|(axis, Axis { key, .. })| {
            let (name, values) =
                key_column(key, &varied.iter().map(|point| point[axis].1.as_str()).collect::<Vec<_>>());
            let is_taken = COLUMNS.contains(&name.as_str());
            (if is_taken { format!("set_{name}") } else { name }, values)
        })
        .collect();
    columns.sort_by_key(|(name, _)| name == "policy");
    columns
}

/// Runs being collected.
#[derive(Default)]
struct Runs {
    rows: Rows,
    seeds: Vec<Option<u64>>,
    values: Vec<Option<f64>>,
}

impl Runs {
    /// Adds the numbers of a run, if it succeeded.
    fn add(&mut self, run: &PlannedRun, store: &Store, names: &mut Names) {
        let Some(record) = store.get(&run.key) else { return };
        for (name, value) in &record.scalars {
            self.rows.add(run.point, named(names, name));
            self.seeds.push(Some(run.seed));
            self.values.push(Some(*value));
        }
    }

    fn table(self, keys: &[(String, Values)]) -> Table {
        let mut table = self.rows.keyed(keys);
        table.push("seed", Values::Count(self.seeds));
        self.rows.describe(&mut table);
        table.push("value", Values::Number(self.values));
        table
    }
}

/// The keys of rows being collected.
#[derive(Default)]
pub(crate) struct Rows {
    points: Vec<usize>,
    measures: Vec<Rc<Measure>>,
}

impl Rows {
    pub(crate) fn add(&mut self, point: usize, measure: Rc<Measure>) {
        self.points.push(point);
        self.measures.push(measure);
    }

    /// A table with the varied keys.
    pub(crate) fn keyed(&self, keys: &[(String, Values)]) -> Table {
        let mut table = Table::default();
        keys.iter().for_each(|(name, values)| table.push(name, values.take(&self.points)));
        table
    }

    /// Appends the columns that identify the measures: their kinds, names and units.
    pub(crate) fn describe(&self, table: &mut Table) {
        let text = |of: &dyn Fn(&Measure) -> Option<&str>| {
            Values::Text(self.measures.iter().map(|measure| of(measure).map(str::to_owned)).collect())
        };
        table.push("phase", text(&|measure| measure.phase.as_deref()));
        table.push("kind", text(&|measure| Some(measure.kind.word())));
        table.push("name", text(&|measure| measure.name.as_deref()));
        table.push("measure", text(&|measure| Some(&measure.measure)));
        table.push("unit", text(&|measure| Some(measure.unit).filter(|unit| !unit.is_empty())));
    }
}
