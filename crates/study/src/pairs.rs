//! Pairs the runs of a table with equal seeds: the difference of each value of a column, such as `policy`, from a base, at each
//! point and for each measure. [`evenair_results::paired`] has the statistics.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use evenair_results::paired::{Paired, holm};
use evenair_results::{Table, Values};
use thiserror::Error;

use crate::cell::{Cell, columns_of, rows_of};
use crate::question::{Found, Question};

/// Why runs cannot be compared.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PairsError {
    /// A required column is missing.
    #[error("there is no column {name:?}; there are {there}")]
    NoColumn {
        /// The column.
        name: String,
        /// The existing columns.
        there: String,
    },
    /// A column has no numbers.
    #[error("the column {0:?} has no numbers")]
    NoNumbers(String),
    /// The base is not a value of the column.
    #[error("base: {by} is never {base:?}; it is one of {there}")]
    NoBase {
        /// The column.
        by: String,
        /// The base.
        base: String,
        /// The column's values.
        there: String,
    },
    /// No run has the measure.
    #[error("there is no measure {name:?}; the nearest are {nearest}")]
    NoMeasure {
        /// The measure.
        name: String,
        /// Measures with similar names.
        nearest: String,
    },
    /// Two runs with the same seed cannot be distinguished.
    #[error(
        "seed {seed} has two values of {measure} where {by} is {value}: a column that tells its runs apart is missing"
    )]
    Twice {
        /// The seed.
        seed: u64,
        /// The measure.
        measure: String,
        /// The column.
        by: String,
        /// Value of that column.
        value: String,
    },
}

/// Values numbered in the order of their first appearance.
struct Interned<T> {
    places: HashMap<T, usize>,
    all: Vec<T>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { places: HashMap::new(), all: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Interned<T> {
    fn place(&mut self, thing: T) -> usize {
        if let Some(&known) = self.places.get(&thing) {
            return known;
        }
        self.places.insert(thing.clone(), self.all.len());
        self.all.push(thing);
        self.all.len() - 1
    }
}

/// Numbers of a point, a measure and a value of the compared column.
type Cells = (usize, usize, usize);

/// Collects the rows of a table that has one row per run and measure, in parts.
pub struct Pairs {
    question: Question,
    points: Interned<Vec<Cell>>,
    measures: Interned<Vec<Cell>>,
    sides: Interned<Cell>,
    /// Values by seed.
    values: HashMap<Cells, BTreeMap<u64, f64>>,
    /// The columns of points and measures, once known.
    named: Option<Found>,
}

impl Pairs {
    /// Without rows.
    pub fn new(question: Question) -> Self {
        Self {
            question,
            points: Interned::default(),
            measures: Interned::default(),
            sides: Interned::default(),
            values: HashMap::new(),
            named: None,
        }
    }

    /// Adds a part of the rows; all parts must have the same columns.
    ///
    /// # Errors
    /// See [`PairsError`].
    pub fn add(&mut self, part: &Table) -> Result<(), PairsError> {
        let found = self.question.columns(part)?;
        for row in 0..part.rows() {
            let (Some(seed), Some(value)) = (found.seed(part, row), found.value(part, row)) else { continue };
            let point = self.points.place(rows_of(part, &found.point, row));
            let measure = self.measures.place(rows_of(part, &found.measure, row));
            let side = self.sides.place(Cell::of(&part.columns[found.by].values, row));
            if self.values.entry((point, measure, side)).or_default().insert(seed, value).is_some() {
                return Err(PairsError::Twice {
                    seed,
                    measure: found.measure_name(&self.measures.all[measure]).to_owned(),
                    by: found.by_name.clone(),
                    value: self.sides.all[side].text(),
                });
            }
        }
        self.named = Some(found);
        Ok(())
    }

    /// A row for each measure of each comparison: the columns that identify the point, the compared column, `base`, `phase`, `kind`,
    /// `name`, `measure`, `unit` (as far as they exist), `n` (pairs), `base_mean`, `mean` (of the differences from the base), `low`,
    /// `high`, `percent` (the mean as a percentage of the base's), `effect`, `p`, `p_adjusted`. Comparisons come in the order of the
    /// rows, measures by effect size; measures that are equal in all pairs are left out.
    ///
    /// # Errors
    /// See [`PairsError`].
    pub fn finish(self) -> Result<Table, PairsError> {
        let Some(found) = &self.named else { return Ok(Table::default()) };
        let base = self.base(found)?;
        let asked = found.asked(&self.question, &self.measures.all)?;
        let mut rows = Vec::new();
        for point in 0..self.points.all.len() {
            for side in (0..self.sides.all.len()).filter(|&side| side != base) {
                rows.extend(self.comparison(point, [base, side], &asked));
            }
        }
        Ok(self.table(found, base, &rows))
    }

    fn base(&self, found: &Found) -> Result<usize, PairsError> {
        let Some(base) = &self.question.base else { return Ok(0) };
        self.sides.all.iter().position(|side| side.is(base)).ok_or_else(|| PairsError::NoBase {
            by: found.by_name.clone(),
            base: base.clone(),
            there: self.sides.all.iter().map(Cell::text).collect::<Vec<_>>().join(", "),
        })
    }

    /// The measures of one comparison, by effect size.
    fn comparison(&self, point: usize, [base, side]: [usize; 2], asked: &[usize]) -> Vec<Row> {
        let row = |&measure: &usize| {
            let first = self.values.get(&(point, measure, base))?;
            let second = self.values.get(&(point, measure, side))?;
            let pairs: Vec<_> = first.iter().filter_map(|(seed, a)| Some((*a, *second.get(seed)?))).collect();
            let differs = pairs.iter().any(|(a, b)| a != b);
            let paired = Paired::of(&pairs, self.question.confidence).filter(|_| differs)?;
            let p = paired.p();
            Some(Row { point, measure, side, paired, p, adjusted: p })
        };
        let mut rows: Vec<Row> = asked.iter().filter_map(row).collect();
        if self.question.is_adjusted {
            let tested: Vec<usize> = (0..rows.len()).filter(|&at| rows[at].p.is_some()).collect();
            let ps: Vec<f64> = tested.iter().filter_map(|&at| rows[at].p).collect();
            tested.iter().zip(holm(&ps)).for_each(|(&at, adjusted)| rows[at].adjusted = Some(adjusted));
        }
        let size = |row: &Row| row.paired.effect().map_or(-1.0, f64::abs);
        rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
        rows
    }

    fn table(&self, found: &Found, base: usize, rows: &[Row]) -> Table {
        let number = |of: &dyn Fn(&Row) -> Option<f64>| Values::Number(rows.iter().map(of).collect());
        let mut table = Table::default();
        let points: Vec<_> = rows.iter().map(|row| &self.points.all[row.point]).collect();
        columns_of(&mut table, &found.point, &points);
        table.push(&found.by_name, found.by_kind.column(rows.iter().map(|row| &self.sides.all[row.side])));
        table.push("base", found.by_kind.column(rows.iter().map(|_| &self.sides.all[base])));
        let measures: Vec<_> = rows.iter().map(|row| &self.measures.all[row.measure]).collect();
        columns_of(&mut table, &found.measure, &measures);
        table.push("n", Values::Count(rows.iter().map(|row| Some(row.paired.count)).collect()));
        table.push("base_mean", number(&|row| Some(row.paired.first)));
        table.push("mean", number(&|row| Some(row.paired.mean)));
        table.push("low", number(&|row| Some(row.paired.mean - row.paired.half_width?)));
        table.push("high", number(&|row| Some(row.paired.mean + row.paired.half_width?)));
        table.push("percent", number(&|row| row.paired.percent(row.paired.mean)));
        table.push("effect", number(&|row| row.paired.effect()));
        table.push("p", number(&|row| row.p));
        table.push("p_adjusted", number(&|row| row.adjusted));
        table
    }
}

/// One measure of a comparison.
struct Row {
    point: usize,
    measure: usize,
    side: usize,
    paired: Paired,
    p: Option<f64>,
    /// The adjusted p; equal to `p` without adjustment.
    adjusted: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two measures of two policies with three seeds; one run lacks the second measure.
    fn runs() -> Table {
        let rows = [
            ("fifo", 1, "a_ms", 1.0),
            ("fifo", 1, "b_ms", 1.0),
            ("fifo", 2, "a_ms", 2.0),
            ("fifo", 2, "b_ms", 2.0),
            ("fifo", 3, "a_ms", 3.0),
            ("ours", 1, "a_ms", 3.0),
            ("ours", 1, "b_ms", 1.0),
            ("ours", 2, "a_ms", 5.0),
            ("ours", 2, "b_ms", 2.0),
            ("ours", 3, "a_ms", 4.0),
            ("ours", 4, "a_ms", 9.0),
        ];
        let mut table = Table::default();
        let text =
            |of: fn(&(&str, u64, &str, f64)) -> String| Values::Text(rows.iter().map(|row| Some(of(row))).collect());
        table.push("n", Values::Count(vec![Some(7); rows.len()]));
        table.push("policy", text(|row| row.0.to_owned()));
        table.push("seed", Values::Count(rows.iter().map(|row| Some(row.1)).collect()));
        table.push("measure", text(|row| row.2.to_owned()));
        table.push("value", Values::Number(rows.iter().map(|row| Some(row.3)).collect()));
        table
    }

    fn question(by: &str) -> Question {
        Question { by: by.to_owned(), base: None, measures: None, confidence: 0.95, is_adjusted: true }
    }

    fn compared(question: Question) -> Result<Table, PairsError> {
        let mut pairs = Pairs::new(question);
        pairs.add(&runs())?;
        pairs.finish()
    }

    #[test]
    fn runs_of_one_seed_are_pairs() {
        let table = compared(question("policy")).unwrap();
        assert_eq!(table.rows(), 1, "b_ms is equal in all pairs");
        let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names[..5], ["set_n", "policy", "base", "measure", "n"]);
        let number = |name: &str| table.column(name).unwrap().values.number(0).unwrap();
        assert_eq!((number("n"), number("base_mean"), number("mean"), number("effect")), (3.0, 2.0, 2.0, 2.0));
        assert_eq!(number("percent"), 100.0);
    }

    #[test]
    fn missing_columns_and_measures_are_named() {
        let wrong = |question: Question| compared(question).unwrap_err().to_string();
        assert!(wrong(question("polic")).contains("there is no column \"polic\"; there are n, policy, seed"));
        let base = Question { base: Some("mine".to_owned()), ..question("policy") };
        assert_eq!(wrong(base), "base: policy is never \"mine\"; it is one of fifo, ours");
        let measures = Some(vec!["c_ms".to_owned()]);
        assert!(wrong(Question { measures, ..question("policy") }).contains("the nearest are a_ms, b_ms"));
        let mut twice = Pairs::new(question("policy"));
        twice.add(&runs()).unwrap();
        assert!(
            twice
                .add(&runs())
                .unwrap_err()
                .to_string()
                .starts_with("seed 1 has two values of a_ms where policy is fifo")
        );
    }
}
