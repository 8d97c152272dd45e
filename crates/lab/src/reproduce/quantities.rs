//! Counts published numbers, each once, however many rows state it.

use std::collections::BTreeMap;

use super::judge::{Verdict, is_figure};
use super::table::Row;

/// Rows that state one number: a sum and its equal parts, a ratio and its terms, one value of several runs.
const SAME: [&[&str]; 11] = [
    &["a01/sum", "a01/sum-3"],
    &["a08/capacity", "a09/capacity", "a09/capacity-4"],
    &["a10/total", "a10/up", "a10/down"],
    &["a11/total", "a11/up", "a11/down"],
    &["a14/total", "a14/gold", "a14/plain"],
    &["a04/internet", "a15/total"],
    &["r01/lossless", "r05/total", "r05/lossless-total", "r09/capacity"],
    &["i01/saturated-16", "i01/saturation-16"],
    &["i01/one", "i01/one-computed", "i01/one-measured"],
    &["i07/rate", "i08/peak"],
    &["i15/above-10", "i15/above-16"],
];

/// The source whose numbers are counted separately, because the channels of all its columns are
/// unpublished.
const APART: &str = "w0";

/// The name under which a row is counted.
fn quantity(row: &str) -> &str {
    SAME.iter().find(|rows| rows.contains(&row)).map_or(row, |rows| rows[0])
}

/// The worst status among each quantity's rows.
fn worst(rows: &[Row]) -> BTreeMap<&str, Verdict> {
    let mut worst = BTreeMap::new();
    for row in rows.iter().filter(|row| is_figure(&row.published)) {
        let known = worst.entry(quantity(&row.name)).or_insert(row.verdict);
        *known = row.verdict.min(*known);
    }
    worst
}

/// Whether a simulator could reproduce the value: the place is described, and no other number rules it out.
const fn can_be_reproduced(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::RealPlace | Verdict::Contradicted | Verdict::Inconsistent)
}

/// Numbers of quantities, of reproducible ones, and of those within.
pub fn text(rows: &[Row]) -> String {
    let all = worst(rows);
    let count = |apart: bool| {
        let these = || all.iter().filter(|(name, _)| name.starts_with(APART) == apart).map(|(_, &verdict)| verdict);
        let possible = these().filter(|&verdict| can_be_reproduced(verdict)).count();
        let within = these().filter(|&verdict| verdict == Verdict::Within).count();
        let part = if possible == 0 { 0.0 } else { 100.0 * within as f64 / possible as f64 };
        format!("{}, of which {possible} can be reproduced and {within} are within ({part:.0} %)", these().count())
    };
    format!("Quantities: {}. Of WHTB, apart: {}.", count(false), count(true))
}

#[cfg(test)]
/// The rows that share a number with others.
pub fn rows() -> impl Iterator<Item = &'static str> {
    SAME.iter().flat_map(|rows| rows.iter().copied())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_row_is_of_one_quantity() {
        let rows: Vec<_> = rows().collect();
        assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len());
        assert!(SAME.iter().all(|rows| rows.len() > 1));
    }
}
