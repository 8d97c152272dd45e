//! Series of a run as stored in its record: columns as JSON, compressed with zstd, encoded in Base64. A store leaves them in its file and
//! reads those of one run at a time.

use std::collections::BTreeMap;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use evenair_results::{Column, Series, SeriesKind, Table};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Series of a run, by kind.
pub type RunSeries = BTreeMap<SeriesKind, PackedSeries>;

/// A table of series in stored form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PackedSeries(String);

impl PackedSeries {
    /// Packs a table, whose numbers must be finite.
    ///
    /// # Panics
    /// Never: writing to memory does not fail.
    pub fn of(table: &Table) -> Self {
        let text = serde_json::to_vec(&table.columns).expect("columns are plain data");
        Self(BASE64.encode(zstd::encode_all(&*text, 0).expect("memory takes it")))
    }

    /// Unpacks the table.
    ///
    /// # Errors
    /// It is no table of this kind.
    pub fn table(&self, kind: SeriesKind) -> io::Result<Table> {
        let columns: Vec<Column> = serde_json::from_slice(&self.text()?)?;
        let table = Table { columns };
        if !table.is_like(&kind.table(&Series::default())) {
            return Err(invalid(format!("these are no {kind} series of this version")));
        }
        Ok(table)
    }

    /// A hash of the values, bit by bit, independent of the compression; of the stored text if it cannot be unpacked.
    pub(crate) fn digest(&self) -> [u8; 16] {
        let text = self.text().unwrap_or_else(|_| self.0.clone().into_bytes());
        *Sha256::digest(text).first_chunk().expect("a hash is longer")
    }

    fn text(&self) -> io::Result<Vec<u8>> {
        let bytes = BASE64.decode(&self.0).map_err(invalid)?;
        zstd::decode_all(&*bytes)
    }
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The first value that differs between the series of one run: its column and row, and both values if they are numbers.
pub(crate) fn first_value(a: &RunSeries, b: &RunSeries) -> Option<(String, [Option<f64>; 2])> {
    let both = |kind: &SeriesKind| Some((*kind, a.get(kind)?, b.get(kind)?));
    let (kind, a, b) = a.keys().filter_map(both).find(|(_, a, b)| a.digest() != b.digest())?;
    let (Ok(a), Ok(b)) = (a.table(kind), b.table(kind)) else {
        return Some((format!("a column of the series of {kind}"), [None, None]));
    };
    let values = |at: usize| [&a.columns[at].values, &b.columns[at].values];
    let is_other = |at: usize, row: usize| values(at)[0].take(&[row]) != values(at)[1].take(&[row]);
    let rows = a.rows().min(b.rows());
    let first = (0..rows).find_map(|row| Some(((0..a.columns.len()).find(|&at| is_other(at, row))?, row)));
    Some(match first {
        Some((at, row)) => {
            let name = format!("{} in row {row} of the series of {kind}", a.columns[at].name);
            (name, values(at).map(|all| all.number(row)))
        }
        None => (format!("the number of rows of the series of {kind}"), [&a, &b].map(|all| Some(all.rows() as f64))),
    })
}

#[cfg(test)]
mod tests {
    use evenair_results::Values;

    use super::*;

    fn table(goodput_mbps: f64) -> Table {
        let mut table = SeriesKind::Station.table(&Series::default());
        for column in &mut table.columns {
            let is_it = column.name == "goodput_mbps";
            match &mut column.values {
                Values::Text(values) => values.push(None),
                Values::Count(values) => values.push(Some(u64::MAX)),
                Values::Number(values) => values.push(Some(if is_it { goodput_mbps } else { 0.1 })),
            }
        }
        table
    }

    #[test]
    fn packed_series_are_unpacked_to_the_bit() {
        let packed = PackedSeries::of(&table(1.0 / 3.0));
        assert_eq!(packed.table(SeriesKind::Station).unwrap(), table(1.0 / 3.0));
        assert_eq!(packed, PackedSeries::of(&table(1.0 / 3.0)));
        let wrong = packed.table(SeriesKind::Flow).unwrap_err().to_string();
        assert!(wrong.contains("no flow series"), "{wrong}");
        for wrong in ["", "?", "AAAA", &packed.0[..packed.0.len() - 8]] {
            assert!(PackedSeries(wrong.to_owned()).table(SeriesKind::Station).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_first_value_that_differs_is_named() {
        let series = |value: f64| RunSeries::from([(SeriesKind::Station, PackedSeries::of(&table(value)))]);
        assert_eq!(first_value(&series(0.5), &series(0.5)), None);
        assert_eq!(first_value(&series(0.5), &RunSeries::new()), None, "only what both have is compared");
        let (name, values) = first_value(&series(0.5), &series(0.25)).unwrap();
        assert_eq!(
            (name.as_str(), values),
            ("goodput_mbps in row 0 of the series of station", [Some(0.5), Some(0.25)])
        );
    }
}
