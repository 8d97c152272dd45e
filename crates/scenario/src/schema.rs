//! The JSON schema of scenario files, for editors, and the reference of their keys.

use evenair_reader::schema_of;
use serde_json::Value;

use crate::raw::ScenarioRaw;

const INTRODUCTION: &str = r#"# The keys of a scenario

All tables and keys of a scenario file, version 1. [scenario-guide.md](scenario-guide.md) explains them with examples.
`evenair scenario check FILE` reports a file's errors, `evenair scenario schema` prints the JSON schema for editors, and
`evenair scenario reference` prints this page.

Quantities are strings with their unit: `"20 ms"`, `"5.5 Mb/s"` (bits, powers of 1000), `"8 MB"`, `"90 %"`, `"100 packets"`.
A heading with double brackets, `[[list]]`, is a list of tables. "Only with" names the values of another key with which a key has an
effect; with others it is refused.
"#;

/// The type of `[manager]`, and where its keys are described.
const MANAGER: [(&str, &str); 1] =
    [("ManagerSpec", "`[manager]` in the box's configuration: `evenair config reference`")];

/// The schema of scenario files: keys, kinds of values, units, and descriptions. Conditions of the checks (names that must
/// exist, instants inside the run) are not in it.
pub fn schema() -> Value {
    schema_of::<ScenarioRaw>("Evenair scenario")
}

/// All tables and keys of scenario files, in Markdown.
pub fn reference() -> String {
    evenair_reader::reference(INTRODUCTION, &schema(), &MANAGER)
}
