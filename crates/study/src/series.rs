//! The series of an experiment's runs as one table, a run at a time.

use std::iter;

use evenair_results::{Column, Series, SeriesKind, Table, Values};

use crate::tidy::{ROWS, keys_of};
use crate::{Plan, PlannedRun, Store, StoreError};

/// A row for each interval of each flow, station or other object of `kind`, for each run that has such series: the varied keys, `seed`,
/// `time_s`, then the columns of [`SeriesKind::table`]. Runs come in the order of the plan's points, then of seeds. The table comes in
/// parts, at least one, all with the same columns.
///
/// # Errors
/// Of a part: the file of the store cannot be read.
pub fn series_rows(plan: &Plan, store: &Store, kind: SeriesKind) -> impl Iterator<Item = Result<Table, StoreError>> {
    let keys = keys_of(plan);
    let mut runs = plan.runs();
    runs.sort_by_key(|run| run.point);
    let mut planned = runs.into_iter();
    let mut is_first = true;
    iter::from_fn(move || {
        let mut part = Part::new(kind);
        while part.points.len() < ROWS
            && let Some(run) = planned.next()
        {
            match store.series(&run.key, kind) {
                Ok(Some(table)) => part.add(&run, table),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        let any = is_first || !part.points.is_empty();
        is_first = false;
        any.then(|| Ok(part.keyed(&keys)))
    })
}

/// Rows being collected.
struct Part {
    points: Vec<usize>,
    seeds: Vec<Option<u64>>,
    values: Table,
}

impl Part {
    fn new(kind: SeriesKind) -> Self {
        Self { points: Vec::new(), seeds: Vec::new(), values: kind.table(&Series::default()) }
    }

    fn add(&mut self, run: &PlannedRun, table: Table) {
        self.points.extend(iter::repeat_n(run.point, table.rows()));
        self.seeds.extend(iter::repeat_n(Some(run.seed), table.rows()));
        self.values.append(table);
    }

    fn keyed(self, keys: &[(String, Values)]) -> Table {
        let mut table = Table::default();
        keys.iter().for_each(|(name, values)| table.push(name, values.take(&self.points)));
        table.push("seed", Values::Count(self.seeds));
        self.values.columns.into_iter().for_each(|Column { name, values }| table.push(name, values));
        table
    }
}
