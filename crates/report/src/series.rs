//! The table of the measures of one run.

use evenair_results::{RunResult, Table, Values, measures};

/// Every measure of the run: its name, its value and its unit.
pub fn measures_table(run: &RunResult) -> Table {
    let measures = measures(run);
    let unit = |unit: &str| (!unit.is_empty()).then(|| unit.to_owned());
    let mut table = Table::default();
    table.push("measure", Values::Text(measures.iter().map(|measure| Some(measure.full_name())).collect()));
    table.push("value", Values::Number(measures.iter().map(|measure| Some(measure.value)).collect()));
    table.push("unit", Values::Text(measures.iter().map(|measure| unit(measure.unit)).collect()));
    table
}
