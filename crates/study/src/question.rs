//! The question that a comparison of runs answers, and the columns that it concerns.

use evenair_reader::nearest;
use evenair_results::{Table, Values};
use evenair_scenario::measures::{Key, Kind};

use crate::cell::{Cell, CellKind, Chosen};
use crate::pairs::PairsError;

/// Columns that identify the measure of a row.
const MEASURE: [&str; 5] = ["phase", "kind", "name", "measure", "unit"];

/// Columns of a comparison. A varied key of such a name gets a column `set_NAME`.
const COMPARISON: [&str; 10] =
    ["base", "n", "base_mean", "mean", "low", "high", "percent", "effect", "p", "p_adjusted"];

/// A comparison of runs.
#[derive(Clone, Debug)]
pub struct Question {
    /// The column whose values are compared, or its key: `policy`, `lan.delay`.
    pub by: String,
    /// The value that the others are compared with; the first one if absent.
    pub base: Option<String>,
    /// Measures to compare, by name or full name, the phase of which may be left out; all if absent.
    pub measures: Option<Vec<String>>,
    /// Confidence level of the intervals, between 0 and 1.
    pub confidence: f64,
    /// Whether p is adjusted for the number of measures.
    pub is_adjusted: bool,
}

/// The columns that a question concerns.
pub struct Found {
    /// Columns that identify the point.
    pub point: Vec<Chosen>,
    /// Columns that identify the measure.
    pub measure: Vec<Chosen>,
    /// Index of the compared column.
    pub by: usize,
    pub by_name: String,
    pub by_kind: CellKind,
    seed: usize,
    value: usize,
}

impl Question {
    /// Finds the columns.
    pub fn columns(&self, table: &Table) -> Result<Found, PairsError> {
        let at = |name: &str| {
            let place = table.columns.iter().position(|column| column.name == name);
            place.ok_or_else(|| missing(name, table))
        };
        let by = self.compared(table).ok_or_else(|| missing(&self.by, table))?;
        let (seed, value) = (at("seed")?, at("value")?);
        at("measure")?;
        let chosen = |place: usize| {
            let column = &table.columns[place];
            let is_taken = COMPARISON.contains(&column.name.as_str());
            let name = if is_taken { format!("set_{}", column.name) } else { column.name.clone() };
            Chosen { place, name, kind: CellKind::of(&column.values) }
        };
        let others = || (0..table.columns.len()).filter(|place| ![by, seed, value].contains(place));
        let is_measure = |place: &usize| MEASURE.contains(&table.columns[*place].name.as_str());
        for place in [seed, value] {
            if matches!(table.columns[place].values, Values::Text(_)) {
                return Err(PairsError::NoNumbers(table.columns[place].name.clone()));
            }
        }
        Ok(Found {
            point: others().filter(|place| !is_measure(place)).map(chosen).collect(),
            measure: others().filter(is_measure).map(chosen).collect(),
            by,
            by_name: chosen(by).name,
            by_kind: chosen(by).kind,
            seed,
            value,
        })
    }

    /// Index of the compared column, by its name or by its key, which the column name may extend by a unit.
    fn compared(&self, table: &Table) -> Option<usize> {
        let plain = self.by.replace('.', "_");
        let with_unit = format!("{plain}_");
        let is_free = |name: &str| !MEASURE.contains(&name) && !["seed", "value"].contains(&name);
        let place = |fits: &dyn Fn(&str) -> bool| {
            table.columns.iter().position(|column| is_free(&column.name) && fits(&column.name))
        };
        let exact = place(&|name| name == self.by || name == plain || name == format!("set_{plain}"));
        exact.or_else(|| place(&|name| self.by.contains('.') && name.starts_with(&with_unit)))
    }
}

fn missing(name: &str, table: &Table) -> PairsError {
    let there = table.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    PairsError::NoColumn { name: name.to_owned(), there }
}

impl Found {
    /// The seed of a row.
    pub fn seed(&self, table: &Table, row: usize) -> Option<u64> {
        match &table.columns[self.seed].values {
            Values::Count(seeds) => seeds[row],
            other => other.number(row).map(|seed| seed as u64),
        }
    }

    /// The number of a row.
    pub fn value(&self, table: &Table, row: usize) -> Option<f64> {
        table.columns[self.value].values.number(row)
    }

    /// The text of a measure in a column.
    fn word<'a>(&self, measure: &'a [Cell], column: &str) -> Option<&'a str> {
        measure[self.measure.iter().position(|chosen| chosen.name == column)?].word()
    }

    /// The name of a measure, without the keys that qualify it.
    pub fn measure_name<'a>(&self, measure: &'a [Cell]) -> &'a str {
        self.word(measure, "measure").unwrap_or_default()
    }

    /// Names that match a measure: its own, the full one, and the full one without the phase.
    fn names(&self, measure: &[Cell]) -> Vec<String> {
        let own = self.measure_name(measure);
        let kind = self.word(measure, "kind").and_then(|word| Kind::ALL.iter().find(|kind| kind.word() == word));
        let Some(&kind) = kind else { return vec![own.to_owned()] };
        let phase = self.word(measure, "phase");
        let key = Key { phase, kind, name: self.word(measure, "name"), measure: own.into() };
        let full = key.full_name();
        let scope = phase.map_or_else(|| "run.".to_owned(), |phase| format!("phase.{phase}."));
        let short = full.strip_prefix(&scope).unwrap_or(&full).to_owned();
        vec![own.to_owned(), short, full]
    }

    /// The numbers of the requested measures, in their order.
    pub fn asked(&self, question: &Question, measures: &[Vec<Cell>]) -> Result<Vec<usize>, PairsError> {
        let Some(wanted) = &question.measures else { return Ok((0..measures.len()).collect()) };
        let names: Vec<Vec<String>> = measures.iter().map(|measure| self.names(measure)).collect();
        if let Some(name) = wanted.iter().find(|name| !names.iter().flatten().any(|known| known == *name)) {
            let near = nearest(name, names.iter().flatten().map(String::as_str), 3);
            return Err(PairsError::NoMeasure { name: name.clone(), nearest: near.join(", ") });
        }
        let is_wanted = |at: &usize| names[*at].iter().any(|name| wanted.contains(name));
        Ok((0..measures.len()).filter(is_wanted).collect())
    }
}
