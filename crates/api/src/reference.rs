//! JSON Schema of the box's output, and the list of all its fields, generated from the types.
//!
//! `make reference` writes the schemas to `docs/api`; `evenair status --fields` prints the list.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::Status;
use crate::history::Record;

const INTRODUCTION: &str = "# What a box says of itself

All fields of the status, which the control socket answers to `{\"command\":\"status\"}` and `evenair status --json` prints, and of the
history, which `evenair history --format json` prints, one record to a line. JSON Schema of both is in `docs/api` of the sources. Readers
ignore fields that they do not know; `version` says which meaning the fields have. A field whose type ends in `?` may be absent or `null`.
";

/// JSON Schema of a status.
pub fn status_schema() -> Value {
    schema_of::<Status>()
}

/// JSON Schema of a record of the history.
pub fn history_schema() -> Value {
    schema_of::<Record>()
}

/// Schema of a type as the box writes it.
fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().into()
}

/// Every field of the status and of the history, with type and meaning, in Markdown.
pub fn fields() -> String {
    let mut page = INTRODUCTION.to_owned();
    let (status, history) = (status_schema(), history_schema());
    page += &format!("\nVersion of this page: {}.\n", crate::VERSION);
    section(&mut page, "Status", &status);
    definitions(&mut page, &status, &Map::new());
    section(&mut page, "Record", &history);
    let known = status["$defs"].as_object().cloned().unwrap_or_default();
    definitions(&mut page, &history, &known);
    page
}

/// Adds sections for the definitions that are not in `known`.
fn definitions(page: &mut String, schema: &Value, known: &Map<String, Value>) {
    let definitions = sorted(&schema["$defs"]).into_iter();
    definitions.filter(|(name, _)| !known.contains_key(*name)).for_each(|(name, schema)| section(page, name, schema));
}

/// Section of a type: its fields, its words, or its variants with the fields of each.
fn section(page: &mut String, name: &str, schema: &Value) {
    *page += &format!("\n## {name}\n\n{}\n", meaning(schema));
    table(page, schema);
    let variants = ["oneOf", "anyOf"].map(|key| schema[key].as_array().into_iter().flatten());
    let (words, variants): (Vec<_>, Vec<_>) =
        variants.into_iter().flatten().partition(|variant| variant["const"].is_string());
    if !words.is_empty() {
        *page += "\n| word | meaning |\n|---|---|\n";
        words.iter().for_each(|word| *page += &format!("| `{}` | {} |\n", text(&word["const"]), meaning(word)));
    }
    variants.into_iter().for_each(|variant| section_of_variant(page, variant));
}

/// Section of a variant, headed by its tag if it has one.
fn section_of_variant(page: &mut String, variant: &Value) {
    let tag = ["kind", "event"].map(|key| &variant["properties"][key]["const"]).into_iter().find_map(Value::as_str);
    let heading = tag.map_or_else(|| "In words".to_owned(), |tag| format!("`{tag}`"));
    let (kind, _) = kind(variant);
    let beside = if kind.starts_with('[') { format!(" It has the fields of {kind}.") } else { String::new() };
    *page += &format!("\n### {heading}\n\n{}{beside}\n", meaning(variant));
    table(page, variant);
}

/// Table of the fields of an object.
fn table(page: &mut String, schema: &Value) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = sorted(&schema["properties"]);
    if fields.is_empty() {
        return;
    }
    *page += "\n| field | type | unit | meaning |\n|---|---|---|---|\n";
    for (name, field) in fields {
        let may_be_absent = !required.iter().any(|required| required == name);
        let (kind, is_nullable) = kind(field);
        let mark = if may_be_absent || is_nullable { "?" } else { "" };
        let meaning = if field["const"].is_string() { "Says which.".into() } else { meaning(field) };
        *page += &format!("| `{name}` | {kind}{mark} | {} | {meaning} |\n", unit(name));
    }
}

/// Entries of an object, sorted by key.
fn sorted(object: &Value) -> BTreeMap<&str, &Value> {
    object.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value)).collect()
}

/// The unit at the end of a field's name.
fn unit(name: &str) -> &'static str {
    const UNITS: [(&str, &str); 7] = [
        ("_mbps", "Mb/s"),
        ("_bytes", "bytes"),
        ("_percent", "%"),
        ("_dbm", "dBm"),
        ("_ms", "ms"),
        ("_us", "us"),
        ("_s", "s"),
    ];
    UNITS.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}

/// The type of a field in words, and whether it may be `null`.
fn kind(field: &Value) -> (String, bool) {
    if let Some(word) = field["const"].as_str() {
        return (format!("\"{word}\""), false);
    }
    if let Some(reference) = field["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return (format!("[{name}](#{})", name.to_lowercase()), false);
    }
    if let Some(choices) = field["anyOf"].as_array() {
        let is_null = |choice: &&Value| choice["type"] == "null";
        let kinds: Vec<_> = choices.iter().filter(|choice| !is_null(choice)).map(|choice| kind(choice).0).collect();
        return (kinds.join(" or "), choices.iter().any(|choice| is_null(&choice)));
    }
    let (name, is_nullable) = match &field["type"] {
        Value::Array(types) => (text(&types[0]), types.iter().any(|other| other == "null")),
        one => (text(one), false),
    };
    match name {
        "array" => (format!("list of {}", kind(&field["items"]).0), is_nullable),
        "boolean" => ("yes or no".into(), is_nullable),
        name => (name.to_owned(), is_nullable),
    }
}

/// The description in one line of a table.
fn meaning(schema: &Value) -> String {
    let lines = text(&schema["description"]).split_whitespace().collect::<Vec<_>>().join(" ");
    // Links of the code's documentation do not work here.
    lines.replace("|", "\\|").replace("[`VERSION`](crate::VERSION)", "below the title")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::*;

    fn committed(path: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    #[test]
    fn the_committed_schemas_are_up_to_date() {
        for (path, schema) in [("status", status_schema()), ("history", history_schema())] {
            let committed: Value = serde_json::from_str(&committed(&format!("api/{path}.schema.json"))).expect("JSON");
            assert!(committed == schema, "docs/api/{path}.schema.json: write it anew: make reference");
        }
    }

    #[test]
    fn every_field_has_a_meaning() {
        let text = fields();
        let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| `")).collect();
        assert!(rows.len() > 150, "{}", rows.len());
        for row in rows {
            let cells: Vec<_> = row.split(" | ").collect();
            assert!(cells.last().is_some_and(|meaning| meaning.len() > 6), "no meaning: {row}");
        }
    }

    #[test]
    fn every_type_has_one_section() {
        let text = fields();
        for schema in [status_schema(), history_schema()] {
            for name in sorted(&schema["$defs"]).keys() {
                assert_eq!(text.matches(&format!("\n## {name}\n")).count(), 1, "{name}");
            }
        }
    }

    /// Keys of a value that the schema of its object lacks, or has in addition.
    fn differences(value: &Value, schema: &Value) -> Vec<String> {
        let properties = schema["properties"].as_object().expect("an object");
        let unknown =
            value.as_object().expect("an object").keys().filter(|key| !properties.contains_key(*key)).cloned();
        let required = schema["required"].as_array().into_iter().flatten();
        let missing = required.map(text).filter(|key| value.get(key).is_none()).map(str::to_owned);
        unknown.chain(missing).collect()
    }

    #[test]
    fn the_schema_has_every_field_written() {
        let schema = status_schema();
        let status = serde_json::to_value(Status::default()).expect("serialises");
        assert_eq!(differences(&status, &schema), Vec::<String>::new());
        for (key, name) in
            [("packets", "PacketStatus"), ("kinds", "Kinds"), ("wlan", "PortStatus"), ("guard", "GuardStatus")]
        {
            assert_eq!(differences(&status[key], &schema["$defs"][name]), Vec::<String>::new(), "{name}");
        }
        let station = serde_json::to_value(StationStatus::default()).expect("serialises");
        assert_eq!(differences(&station, &schema["$defs"]["StationStatus"]), Vec::<String>::new());
        // Canary: a field that the schema does not have is found.
        assert_eq!(
            differences(&serde_json::json!({}), &serde_json::json!({"properties": {}, "required": ["a"]})),
            ["a"]
        );
    }
}
