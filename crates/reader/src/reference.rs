//! The reference of a kind of file: all its tables and keys, in Markdown, from the schema of the types that read it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::keys::{NEEDED_WITH, ONLY_WITH};
use crate::range::RANGE;

/// The reference with all tables and keys of `schema`, as [`schema_of`](crate::schema_of) makes it, after an introduction: notation,
/// default and description of each. The keys of the types in `elsewhere` are left out, for the place named there.
pub fn reference(introduction: &str, schema: &Value, elsewhere: &[(&str, &str)]) -> String {
    let printed = elsewhere.iter().map(|&(name, place)| (name, place.to_owned())).collect();
    let mut reference = Reference { schema, text: introduction.to_owned(), printed };
    let required = required(schema);
    let (tables, values): (Vec<_>, Vec<_>) =
        properties(schema).partition(|(_, property)| type_of_table(property).is_some());
    if !values.is_empty() {
        reference.text += "\n## The top of the file\n\n";
        reference.rows("", values.iter().copied(), &required);
    }
    // Required tables come first.
    let (first, others): (Vec<_>, Vec<_>) = tables.into_iter().partition(|(key, _)| required.contains(key));
    for (key, property) in first.into_iter().chain(others) {
        reference.table(key, property);
    }
    reference.text
}

struct Reference<'a> {
    schema: &'a Value,
    text: String,
    /// Where the keys of each type of table are printed: its first heading, or elsewhere.
    printed: BTreeMap<&'a str, String>,
}

impl<'a> Reference<'a> {
    /// The table of the keys of the table at `path`.
    fn rows<'k>(&mut self, path: &str, keys: impl Iterator<Item = (&'k str, &'k Value)>, required: &[&str]) {
        self.text += "| key | value | default | meaning |\n|---|---|---|---|\n";
        for (key, property) in keys {
            self.text += &row(path, key, property, required.contains(&key));
        }
    }

    /// The section of the table at `path`, and those of the tables in it.
    fn table(&mut self, path: &str, property: &'a Value) {
        let Some((name, is_list)) = type_of_table(property) else { return };
        let table = &self.schema["$defs"][name];
        let heading = if is_list { format!("`[[{path}]]`") } else { format!("`[{path}]`") };
        let meaning = line(property["description"].as_str().or(table["description"].as_str()).unwrap_or_default());
        self.text += &format!("\n## {heading}\n\n{meaning}\n\n");
        if let Some(first) = self.printed.get(name) {
            self.text += &format!("Its keys are those of {first}.\n");
            return;
        }
        self.printed.insert(name, heading);
        self.rows(path, properties(table), &required(table));
        for (key, property) in properties(table) {
            self.table(&format!("{path}.{key}"), property);
        }
    }
}

fn properties(table: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let keys = table["properties"].as_object().into_iter().flat_map(Map::iter);
    keys.map(|(key, property)| (key.as_str(), property))
}

fn required(table: &Value) -> Vec<&str> {
    table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The type of a table or of a list of tables, and whether it is a list; `None` for a value.
fn type_of_table(property: &Value) -> Option<(&str, bool)> {
    let name = |value: &'_ Value| value["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")).is_some();
    let is_list = name(&property["items"]);
    let of = if is_list { &property["items"] } else { property };
    of["$ref"].as_str()?.strip_prefix("#/$defs/").map(|name| (name, is_list))
}

/// The condition on other keys, as a sentence.
fn condition(word: &str, with: &Value) -> String {
    let of = |(of, with): (&String, &Value)| {
        let values: Vec<_> = with.as_array().into_iter().flatten().map(|value| format!("`{value}`")).collect();
        format!("`{}` = {}", of.trim_start_matches("../"), values.join(" or "))
    };
    let all: Vec<_> = with.as_object().into_iter().flatten().map(of).collect();
    if all.is_empty() { String::new() } else { format!(" {word} {}.", all.join(" and ")) }
}

fn row(table: &str, key: &str, property: &Value, required: bool) -> String {
    let description = line(property["description"].as_str().unwrap_or_default());
    let (meaning, default) = match description.split_once("Default: ") {
        Some((meaning, default)) => (meaning.trim(), default.trim_end_matches('.')),
        None if required => (description.as_str(), "required"),
        None => (description.as_str(), "-"),
    };
    // Values in their usual notation; strings unchanged.
    let is_value =
        default.parse::<f64>().is_ok() || matches!(default, "true" | "false") || default.starts_with(['"', '[']);
    let default = if is_value { format!("`{default}`") } else { default.to_owned() };
    let dotted = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
    let value = match type_of_table(property) {
        Some((_, true)) => format!("tables, below: `[[{dotted}]]`"),
        Some((_, false)) => format!("table, below: `[{dotted}]`"),
        None => kind(property),
    };
    let with =
        [("Only with", ONLY_WITH), ("Needed with", NEEDED_WITH)].map(|(word, what)| condition(word, &property[what]));
    format!("| `{key}` | {value} | {default} | {meaning}{} |\n", with.concat())
}

/// Example of each quantity in the schema, and its name.
const QUANTITIES: [(&str, &str); 10] = [
    ("20 s", "time"),
    ("5.5 Mb/s", "bit rate"),
    ("1500 bytes", "size"),
    ("100 packets", "buffer: packets, a size, or `\"unlimited\"`"),
    ("90 %", "percent"),
    ("30 %", "percent"),
    ("10 m", "length"),
    ("50 /s", "frequency"),
    ("10 dB", "ratio in dB"),
    ("16 dBm", "power in dBm"),
];

/// Notation of a value.
fn kind(property: &Value) -> String {
    let quoted = |values: &Vec<Value>| values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    if let Some(words) = property["enum"].as_array() {
        return quoted(words);
    }
    let quantity =
        |examples: &[Value]| QUANTITIES.iter().find(|(example, _)| examples[0] == *example).map(|(_, kind)| *kind);
    let kind = match (property["type"].as_str(), property["examples"].as_array()) {
        (Some("array"), _) => format!("list: {}", kind(&property["items"])),
        (_, Some(examples)) => {
            quantity(examples).map_or_else(|| format!("such as {}", quoted(examples)), str::to_owned)
        }
        (Some("boolean"), _) => "`true`, `false`".into(),
        (Some("integer"), _) => "whole number".into(),
        (Some("number"), _) => "number".into(),
        _ => "text".into(),
    };
    let comma = if kind.contains(',') { ";" } else { "," };
    property[RANGE].as_str().map_or_else(|| kind.clone(), |range| format!("{kind}{comma} {range}"))
}

/// A text in one line, escaped for a table cell.
fn line(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}
