//! The JSON document with the results of many runs, such as `sweep.json`.

use evenair_results::Table;
use serde_json::{json, to_string_pretty};

use crate::Plan;

/// The document: the experiment, the program's `version`, whether all runs have ended, then the table as
/// `rows`.
///
/// # Errors
/// Serialization fails, which it does for no value of these types.
pub fn document(
    plan: &Plan,
    version: &str,
    is_complete: bool,
    rows: &str,
    table: &Table,
) -> Result<String, serde_json::Error> {
    let mut about = json!({
        "scenario": plan.name,
        "title": plan.title,
        "version": version,
        "replications": plan.replications,
        "complete": is_complete,
    });
    if !plan.left_out.is_empty() {
        about["left_out"] = json!(plan.left_out);
    }
    let about = to_string_pretty(&about)?;
    // The table is inserted as text: a JSON value would lose the order of its columns.
    let open = about.trim_end().trim_end_matches('}').trim_end();
    Ok(format!("{open},\n  \"{rows}\": {}\n}}\n", to_string_pretty(table)?))
}
