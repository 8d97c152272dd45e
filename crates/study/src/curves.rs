//! Curves of a sweep: a measure over the values of the first key, with a line for each setting of the others.

use evenair_reader::closest;
use evenair_results::summary::capitalised;
use evenair_results::{Curve, Curves, Values};
use evenair_scenario::measures::{Declaration, full_name, measure_named, measures};
use evenair_scenario::{Label, column_label, measure_label};

use crate::sweep::{SweepResult, key_column, union};

impl SweepResult {
    /// The full names of the measures that a short name matches: in every phase, or of the whole run.
    pub fn named(&self, name: &str) -> Vec<String> {
        let measures = self.measures();
        let is_it = |full: &&&str| {
            **full == name
                || full
                    .strip_prefix("phase.")
                    .and_then(|rest| rest.split_once('.'))
                    .is_some_and(|(_, rest)| rest == name)
                || ["run", "run.medium"].iter().any(|path| **full == format!("{path}.{name}"))
        };
        measures.iter().filter(is_it).map(|full| (*full).to_owned()).collect()
    }

    /// The curves of a measure, by its full name.
    pub fn curves(&self, measure: &str) -> Option<Curves> {
        let first = self.axes.first()?;
        let column =
            |axis: usize| -> Vec<&str> { self.points.iter().map(|point| point.varied[axis].1.as_str()).collect() };
        let values = column(0);
        let (name, numbers) = key_column(&first.key, &values);
        let categories: Option<Vec<String>> = match &numbers {
            Values::Text(texts) => {
                Some(union(texts.iter().flatten().map(String::as_str)).into_iter().map(str::to_owned).collect())
            }
            Values::Count(_) | Values::Number(_) => None,
        };
        let x = |row: usize| match &categories {
            Some(names) => names.iter().position(|name| *name == numbers.text(row)).map(|at| at as f64 + 1.0),
            None => numbers.number(row),
        };
        let others: Vec<usize> = (1..self.axes.len()).filter(|&axis| !self.axes[axis].together).collect();
        let setting = |row: usize| -> String {
            let of = |&axis: &usize| {
                let (key, value) = &self.points[row].varied[axis];
                format!("{} {}", key.rsplit('.').next().unwrap_or(key), value.trim_matches('"'))
            };
            others.iter().map(of).collect::<Vec<_>>().join(", ")
        };
        let settings: Vec<String> = (0..self.points.len()).map(setting).collect();
        let curves: Vec<_> = union(settings.iter().map(String::as_str))
            .into_iter()
            .map(|name| {
                let rows = (0..self.points.len()).filter(|&row| settings[row] == name);
                let points = rows.filter_map(|row| {
                    let estimate = self.points[row].estimate(measure)?;
                    Some((x(row)?, estimate.mean, estimate.half_width))
                });
                Curve { name: (!name.is_empty()).then(|| name.to_owned()), points: points.collect() }
            })
            .collect();
        let runs = self.points.iter().map(|point| point.runs).max().unwrap_or(0);
        let over = if runs > 1 {
            format!("mean of {runs} runs and its 95 % confidence interval")
        } else {
            "one run for each point".to_owned()
        };
        let declared = measure_named(measure);
        let shown = declared.map_or_else(|| Label { words: measure.to_owned(), unit: String::new() }, measure_label);
        let by = column_label(&name);
        Some(Curves {
            name: measure.replace('.', "-"),
            title: format!(
                "{}, by {}",
                declared.map_or(measure.to_owned(), |declared| capitalised(declared.meaning)),
                by.words
            ),
            subtitle: format!("{measure}: {over}"),
            x_label: by.to_string(),
            y_label: shown.to_string(),
            categories,
            curves,
        })
    }
}

/// Whether a name may be that of a measure, in full or short.
pub fn is_measure(name: &str) -> bool {
    [name.to_owned(), full_name(name, "x"), format!("run.{name}"), format!("run.medium.{name}")]
        .iter()
        .any(|full| measure_named(full).is_some())
}

/// The measure, by its short name, whose spelling is nearest to an unknown name, if one is near.
pub fn near_measure(name: &str) -> Option<&'static str> {
    let short = |measure: &'static Declaration| {
        let pattern = measure.pattern;
        pattern.strip_prefix("phase.*.").or_else(|| pattern.strip_prefix("run.")).unwrap_or(pattern)
    };
    closest(name, measures().map(short).filter(|short| !short.contains('*')))
}
