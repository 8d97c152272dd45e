//! The JSON schema of scenario files, for editors.

use evenair_reader::schema_of;
use serde_json::Value;

use crate::raw::ScenarioRaw;

/// The schema of scenario files: keys, kinds of values, units, and descriptions. What only the checks know (names that
/// must exist, instants inside the run) is not in it.
pub fn schema() -> Value {
    schema_of::<ScenarioRaw>("Evenair scenario")
}
