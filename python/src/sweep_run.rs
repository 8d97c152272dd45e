//! Repeats one run of an experiment.

use evenair_scenario::sweep::Settings;
use evenair_study::Plan;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

/// Index of the point at which keys have these values.
pub fn point_of(plan: &Plan, wanted: &Settings) -> PyResult<usize> {
    let mut axes = Vec::new();
    for (key, value) in wanted {
        let is_it = |known: &str| known == key || known.replace('.', "_") == *key;
        let axis = plan.axes.iter().position(|axis| is_it(&axis.key)).ok_or_else(|| {
            let keys: Vec<_> = plan.axes.iter().map(|axis| axis.key.as_str()).chain(["seed"]).collect();
            PyKeyError::new_err(format!("there is no key {key:?} in this sweep; there are {}", keys.join(", ")))
        })?;
        if !plan.axes[axis].values.iter().any(|known| is_same(known, value)) {
            let there = plan.axes[axis].values.join(", ");
            let key = &plan.axes[axis].key;
            return Err(PyValueError::new_err(format!("{key} is never {value} in this sweep; it is one of {there}")));
        }
        axes.push((axis, value));
    }
    let fits = |at: &usize| axes.iter().all(|&(axis, value)| is_same(&plan.points[*at].varied[axis].1, value));
    let found: Vec<usize> = (0..plan.points.len()).filter(fits).collect();
    match found[..] {
        [point] => Ok(point),
        [] => Err(PyValueError::new_err("no point of this sweep has all these values")),
        _ => {
            let open = plan.axes.iter().enumerate().filter(|(at, _)| axes.iter().all(|(axis, _)| axis != at));
            let open: Vec<_> = open.map(|(_, axis)| format!("{} ({})", axis.key, axis.values.join(", "))).collect();
            Err(PyValueError::new_err(format!(
                "{} points have these values; say also {}",
                found.len(),
                open.join(" and ")
            )))
        }
    }
}

/// Whether two values are equal; a number without unit matches one with a unit.
fn is_same(known: &str, given: &str) -> bool {
    let [known, given] = [known, given].map(|text| text.trim_matches('"').trim());
    let number = |text: &str| text.parse::<f64>().ok();
    known == given || number(given).is_some() && known.split_whitespace().next().and_then(number) == number(given)
}

/// Checks that the point has the seed; without one, returns its first seed.
pub fn seed_of(plan: &Plan, point: usize, given: Option<u64>) -> PyResult<u64> {
    let point = &plan.points[point];
    let seeds = point.seed..point.seed.saturating_add(u64::from(point.runs));
    match given {
        None => Ok(point.seed),
        Some(seed) if seeds.contains(&seed) => Ok(seed),
        Some(seed) => {
            let last = seeds.end.saturating_sub(1);
            Err(PyValueError::new_err(format!(
                "seed: {seed} is none of this point, which has {} to {last}",
                point.seed
            )))
        }
    }
}
