//! Texts of figures: the measures with their units and meanings, and the labels of axes.

use evenair_results::estimate::{CONFIDENCE, Estimate};
use evenair_results::{Table, Values};
use evenair_scenario::measure_label;
use evenair_scenario::measures::{Key, measures};
use pyo3::prelude::*;

use crate::frame::Frame;

/// Every measure: kind, measure, its full name without phase and name of the one that it is of, unit, meaning, and what an axis
/// says.
#[pyfunction]
pub fn catalogue() -> Frame {
    let all: Vec<_> = measures().filter_map(|declared| Some((Key::parse(declared.pattern)?.0, declared))).collect();
    let short = |pattern: &str| {
        let parts: Vec<_> = pattern.split('.').skip(1).filter(|part| *part != "*").collect();
        parts.join(".")
    };
    let text = |of: &dyn Fn(&(Key<'_>, &evenair_scenario::measures::Declaration)) -> String| {
        Values::Text(all.iter().map(|one| Some(of(one))).collect())
    };
    let mut table = Table::default();
    table.push("kind", text(&|(key, _)| key.kind.word().to_owned()));
    table.push("measure", text(&|(key, _)| key.measure.to_string()));
    table.push("path", text(&|(_, declared)| short(declared.pattern)));
    table.push("unit", text(&|(_, declared)| declared.unit.to_owned()));
    table.push("meaning", text(&|(_, declared)| declared.meaning.to_owned()));
    table.push("label", text(&|(_, declared)| measure_label(declared).words));
    Frame::new(table)
}

/// What an axis with a column of a table of points shows, in words, and its unit.
#[pyfunction]
pub fn column_label(column: &str) -> (String, String) {
    let label = evenair_scenario::column_label(column);
    (label.words, label.unit)
}

/// Mean of the values of several runs, and the ends of its 95 % confidence interval where there are two runs at least.
#[pyfunction]
pub fn interval(values: Vec<f64>) -> Option<(f64, Option<f64>, Option<f64>)> {
    let estimate = Estimate::of("", values.into_iter().map(Some).collect(), CONFIDENCE)?;
    let (mean, half) = (estimate.mean, estimate.half_width);
    Some((mean, half.map(|half| mean - half), half.map(|half| mean + half)))
}
