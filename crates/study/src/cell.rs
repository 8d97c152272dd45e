//! Single values of a table, as keys to look rows up by.

use evenair_results::{Table, Values};

/// One value of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// Absent.
    Absent,
    /// Text.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number, by the bits of its `f64`.
    Number(u64),
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    Text,
    Count,
    Number,
}

/// A selected column of a table: its index, name and type.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub place: usize,
    pub name: String,
    pub kind: CellKind,
}

impl Cell {
    /// The value in a row.
    pub fn of(values: &Values, row: usize) -> Self {
        match values {
            Values::Text(values) => values[row].clone().map_or(Self::Absent, Self::Text),
            Values::Count(values) => values[row].map_or(Self::Absent, Self::Count),
            Values::Number(values) => values[row].map_or(Self::Absent, |number| Self::Number(number.to_bits())),
        }
    }

    /// The value as text; empty if absent.
    pub fn text(&self) -> String {
        match self {
            Self::Absent => String::new(),
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Number(bits) => f64::from_bits(*bits).to_string(),
        }
    }

    /// The text, if it is one.
    pub const fn word(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// Whether this equals a value that a user wrote: text, or a number with or without its unit.
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
    /// The type of a column's values.
    pub const fn of(values: &Values) -> Self {
        match values {
            Values::Text(_) => Self::Text,
            Values::Count(_) => Self::Count,
            Values::Number(_) => Self::Number,
        }
    }

    /// A column of this type. Values of another type become absent.
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

/// Appends columns to a table, from rows as [`rows_of`] makes them.
pub fn columns_of(table: &mut Table, columns: &[Chosen], rows: &[&Vec<Cell>]) {
    for (at, column) in columns.iter().enumerate() {
        table.push(&column.name, column.kind.column(rows.iter().map(|row| &row[at])));
    }
}
