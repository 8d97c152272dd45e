//! What figures say in words: the measures with their units and meanings, and what the column of a varied key is of.

use evenair_results::estimate::{CONFIDENCE, Estimate};
use evenair_results::{Table, Values};
use evenair_scenario::measures::{Key, measures};
use pyo3::prelude::*;
use serde_json::Value;

use crate::frame::Frame;

/// Every measure: kind, measure, its full name without phase and name of the one that it is of, unit, meaning.
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
    Frame::new(table)
}

/// The table, the name in it and the key that a column of a sweep is of: `station_slow_mcs` is `("station", "slow", "mcs", "")`, the
/// last is what follows the key, a unit. `None` where no key is meant.
#[pyfunction]
pub fn key_of_column(column: &str) -> Option<(String, String, String, String)> {
    let schema = evenair_scenario::schema();
    let mut found = Vec::new();
    for (table, written) in schema["properties"].as_object()? {
        let Some(rest) = column.strip_prefix(table.as_str()).and_then(|rest| rest.strip_prefix('_')) else { continue };
        let parts = resolved(&schema, written);
        for key in parts["properties"].as_object().into_iter().flat_map(|keys| keys.keys()) {
            for (at, _) in rest.match_indices(key.as_str()) {
                let (before, after) = (&rest[..at], &rest[at + key.len()..]);
                let is_whole = |text: &str, joint: bool| text.is_empty() || joint;
                if is_whole(before, before.ends_with('_')) && is_whole(after, after.starts_with('_')) {
                    let name = before.trim_end_matches('_').to_owned();
                    found.push((table.clone(), name, key.clone(), after.trim_start_matches('_').to_owned()));
                }
            }
        }
    }
    // The longest key, and of equal ones that with the least behind it.
    found.into_iter().max_by_key(|(_, _, key, unit)| (key.len(), std::cmp::Reverse(unit.len())))
}

/// What a part of the schema refers to; of a list, what its entries are.
fn resolved<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    if let Some(name) = part["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return resolved(schema, &schema["$defs"][name]);
    }
    if part["items"].is_object() { resolved(schema, &part["items"]) } else { part }
}

/// Mean of the values of several runs, and the ends of its 95 % confidence interval where there are two runs at least.
#[pyfunction]
pub fn interval(values: Vec<f64>) -> Option<(f64, Option<f64>, Option<f64>)> {
    let estimate = Estimate::of("", values.into_iter().map(Some).collect(), CONFIDENCE)?;
    let (mean, half) = (estimate.mean, estimate.half_width);
    Some((mean, half.map(|half| mean - half), half.map(|half| mean + half)))
}
