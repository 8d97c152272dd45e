//! A table of results: named columns of one kind each. Units are in the names of the columns.

use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

/// Named columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns, from left to right.
    pub columns: Vec<Column>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, with the unit at its end: `total_ip_mbps`.
    pub name: String,
    /// Its values, one per row.
    pub values: Values,
}

/// The values of a column; absent where a row has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Words.
    Text(Vec<Option<String>>),
    /// Whole numbers.
    Count(Vec<Option<u64>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
}

impl Values {
    /// Number of values.
    pub const fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Count(values) => values.len(),
            Self::Number(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of these rows, in this order.
    pub fn take(&self, rows: &[usize]) -> Self {
        match self {
            Self::Text(values) => Self::Text(rows.iter().map(|&row| values[row].clone()).collect()),
            Self::Count(values) => Self::Count(rows.iter().map(|&row| values[row]).collect()),
            Self::Number(values) => Self::Number(rows.iter().map(|&row| values[row]).collect()),
        }
    }

    /// Appends values of the same kind.
    ///
    /// # Panics
    /// They are of another kind.
    pub fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Text(values), Self::Text(more)) => values.extend(more),
            (Self::Count(values), Self::Count(more)) => values.extend(more),
            (Self::Number(values), Self::Number(more)) => values.extend(more),
            (of, more) => panic!("values of two kinds: {of:?} and {more:?}"),
        }
    }

    /// The value of a row as text; empty if absent.
    pub fn text(&self, row: usize) -> String {
        match self {
            Self::Text(values) => values[row].clone().unwrap_or_default(),
            Self::Count(values) => values[row].map_or_else(String::new, |n| n.to_string()),
            Self::Number(values) => values[row].map_or_else(String::new, |x| x.to_string()),
        }
    }

    /// The value of a row as a number, where it is one.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Self::Text(_) => None,
            Self::Count(values) => values[row].map(|n| n as f64),
            Self::Number(values) => values[row],
        }
    }
}

impl Table {
    /// Appends a column.
    ///
    /// # Panics
    /// Its length differs from that of the existing ones, or its name exists.
    pub fn push(&mut self, name: impl Into<String>, values: Values) {
        let name = name.into();
        assert!(self.columns.iter().all(|column| column.values.len() == values.len()), "{name} has another length");
        assert!(self.column(&name).is_none(), "two columns are called {name}");
        self.columns.push(Column { name, values });
    }

    /// Appends the rows of a table with the same columns.
    ///
    /// # Panics
    /// Its columns differ, see [`Table::is_like`].
    pub fn append(&mut self, more: Self) {
        assert!(self.is_like(&more), "a table has other columns");
        self.columns.iter_mut().zip(more.columns).for_each(|(column, more)| column.values.append(more.values));
    }

    /// Whether both have columns of the same names and kinds, in the same order, each with all rows.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_whole = |table: &Self| table.columns.iter().all(|column| column.values.len() == table.rows());
        let is_like = |(a, b): (&Column, &Column)| {
            a.name == b.name && std::mem::discriminant(&a.values) == std::mem::discriminant(&b.values)
        };
        self.columns.len() == other.columns.len()
            && self.columns.iter().zip(&other.columns).all(is_like)
            && is_whole(self)
            && is_whole(other)
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// The table as CSV (RFC 4180), with a heading. Absent values are empty.
    ///
    /// # Panics
    /// Never: writing to memory does not fail.
    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|column| &column.name)).expect("memory takes it");
        for row in 0..self.rows() {
            writer.write_record(self.columns.iter().map(|column| column.values.text(row))).expect("memory takes it");
        }
        String::from_utf8(writer.into_inner().expect("memory takes it")).expect("it was text")
    }
}

/// A list of rows, each an object with the columns' names, in their order; absent values are `null`.
impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.rows()))?;
        for row in 0..self.rows() {
            list.serialize_element(&Row { table: self, row })?;
        }
        list.end()
    }
}

struct Row<'a> {
    table: &'a Table,
    row: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.table.columns.len()))?;
        for column in &self.table.columns {
            match &column.values {
                Values::Text(values) => map.serialize_entry(&column.name, &values[self.row])?,
                Values::Count(values) => map.serialize_entry(&column.name, &values[self.row])?,
                Values::Number(values) => map.serialize_entry(&column.name, &values[self.row])?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::default();
        table.push("radio_ap_buffer", Values::Text(vec![Some("50 packets".into()), Some("a, \"b\"".into()), None]));
        table.push("replications", Values::Count(vec![Some(3), None, Some(u64::MAX)]));
        table.push("total_ip_mbps", Values::Number(vec![Some(0.1), Some(-2.5e-9), None]));
        table
    }

    #[test]
    fn csv_quotes_what_it_must() {
        let expected = "radio_ap_buffer,replications,total_ip_mbps\n50 packets,3,0.1\n\"a, \"\"b\"\"\",,-0.0000000025\n\
                        ,18446744073709551615,\n";
        assert_eq!(sample().to_csv(), expected);
    }

    #[test]
    fn json_keeps_the_order_of_columns() {
        let text = serde_json::to_string(&sample()).unwrap();
        assert!(
            text.starts_with(r#"[{"radio_ap_buffer":"50 packets","replications":3,"total_ip_mbps":0.1},"#),
            "{text}"
        );
        assert!(
            text.ends_with(r#"{"radio_ap_buffer":null,"replications":18446744073709551615,"total_ip_mbps":null}]"#)
        );
    }

    #[test]
    fn rows_are_put_below_those_with_the_same_columns() {
        let mut table = sample();
        table.append(sample());
        assert_eq!((table.rows(), table.columns[1].values.number(3)), (6, Some(3.0)));
        let mut renamed = sample();
        renamed.columns[0].name.push('x');
        let mut short = sample();
        short.columns[2].values = Values::Number(vec![]);
        let mut other = sample();
        other.columns[1].values = Values::Number(vec![None; 3]);
        assert!(table.is_like(&sample()) && [renamed, short, other].iter().all(|other| !table.is_like(other)));
    }

    #[test]
    #[should_panic(expected = "two columns")]
    fn names_are_unique() {
        let mut table = sample();
        table.push("replications", Values::Count(vec![None; 3]));
    }
}
