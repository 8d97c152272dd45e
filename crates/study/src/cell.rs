//! Values of a table one by one, so that rows can be looked up by them.

use evenair_results::{Table, Values};

/// One value of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// No value.
    Absent,
    /// A word.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number, by its bits.
    Number(u64),
}

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    Text,
    Count,
    Number,
}

/// A column of a table: its place, name and kind.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub place: usize,
    pub name: String,
    pub kind: CellKind,
}

impl Cell {
    /// The value of a row.
    pub fn of(values: &Values, row: usize) -> Self {
        match values {
            Values::Text(values) => values[row].clone().map_or(Self::Absent, Self::Text),
            Values::Count(values) => values[row].map_or(Self::Absent, Self::Count),
            Values::Number(values) => values[row].map_or(Self::Absent, |number| Self::Number(number.to_bits())),
        }
    }

    /// As it is written in a text; empty where there is none.
    pub fn text(&self) -> String {
        match self {
            Self::Absent => String::new(),
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Number(bits) => f64::from_bits(*bits).to_string(),
        }
    }

    /// The word, if it is one.
    pub const fn word(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// Whether this is what a person wrote: a word, or a number with or without its unit.
    pub fn is(&self, written: &str) -> bool {
        let number = || written.split_whitespace().next().and_then(|number| number.parse::<f64>().ok());
        match self {
            Self::Absent => false,
            Self::Text(text) => text == written,
            Self::Count(count) => number() == Some(*count as f64),
            Self::Number(bits) => number() == Some(f64::from_bits(*bits)),
        }
    }
}

impl CellKind {
    /// What the values of a column are.
    pub const fn of(values: &Values) -> Self {
        match values {
            Values::Text(_) => Self::Text,
            Values::Count(_) => Self::Count,
            Values::Number(_) => Self::Number,
        }
    }

    /// A column of this kind; a value of another kind is absent.
    pub fn column<'a>(self, cells: impl Iterator<Item = &'a Cell>) -> Values {
        match self {
            Self::Text => Values::Text(cells.map(|cell| cell.word().map(str::to_owned)).collect()),
            Self::Count => Values::Count(
                cells.map(|cell| if let Cell::Count(count) = cell { Some(*count) } else { None }).collect(),
            ),
            Self::Number => Values::Number(
                cells
                    .map(|cell| if let Cell::Number(bits) = cell { Some(f64::from_bits(*bits)) } else { None })
                    .collect(),
            ),
        }
    }
}

/// The values of a row in these columns.
pub fn rows_of(table: &Table, columns: &[Chosen], row: usize) -> Vec<Cell> {
    columns.iter().map(|column| Cell::of(&table.columns[column.place].values, row)).collect()
}

/// Puts columns at the right of a table, of rows as [`rows_of`] makes them.
pub fn columns_of(table: &mut Table, columns: &[Chosen], rows: &[&Vec<Cell>]) {
    for (at, column) in columns.iter().enumerate() {
        table.push(&column.name, column.kind.column(rows.iter().map(|row| &row[at])));
    }
}
