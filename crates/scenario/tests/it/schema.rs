//! The schema for editors and the reference agree with the program, with the files in `scenarios/` and with the guide.

use std::collections::BTreeSet;
use std::fs;

use evenair_scenario::{Scenario, reference, schema};
use regex::Regex;
use serde_json::{Map, Value};

use crate::files::{scenarios, toml_files};
use crate::keys::{Key, keys};

/// What an editor does with the schema `.0`: the keywords of JSON Schema that it has.
struct Editor(Value);

impl Editor {
    fn accepts(&self, text: &str) -> bool {
        self.is_valid(&toml::from_str(text).unwrap(), &self.0)
    }

    fn is_valid(&self, value: &Value, schema: &Value) -> bool {
        let Some(schema) = schema.as_object() else { return *schema == Value::Bool(true) };
        schema.keys().all(|keyword| self.follows(keyword, value, schema))
    }

    /// Whether the value follows one keyword of the schema.
    fn follows(&self, keyword: &str, value: &Value, schema: &Map<String, Value>) -> bool {
        let of = &schema[keyword];
        let mut list = of.as_array().into_iter().flatten();
        let mut table = value.as_object().into_iter().flatten();
        let number = || value.as_f64().zip(of.as_f64());
        match keyword {
            "$ref" => self.is_valid(value, self.0.pointer(&of.as_str().unwrap()[1..]).unwrap()),
            "type" if of.is_array() => list.any(|of| is_of_type(value, of)),
            "type" => is_of_type(value, of),
            "enum" => list.any(|of| of == value),
            "const" => of == value,
            "minimum" => number().is_none_or(|(number, least)| number >= least),
            "maximum" => number().is_none_or(|(number, most)| number <= most),
            "exclusiveMaximum" => number().is_none_or(|(number, bound)| number < bound),
            "pattern" => value.as_str().is_none_or(|text| Regex::new(of.as_str().unwrap()).unwrap().is_match(text)),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= of.as_u64().unwrap()),
            "items" => value.as_array().into_iter().flatten().all(|item| self.is_valid(item, of)),
            "required" => !value.is_object() || list.all(|key| value.get(key.as_str().unwrap()).is_some()),
            "properties" => table.all(|(key, value)| of.get(key).is_none_or(|of| self.is_valid(value, of))),
            "additionalProperties" => table.all(|(key, _)| schema["properties"].get(key).is_some()),
            "anyOf" => list.any(|of| self.is_valid(value, of)),
            "allOf" => list.all(|of| self.is_valid(value, of)),
            "if" => {
                let branch = if self.is_valid(value, of) { "then" } else { "else" };
                schema.get(branch).is_none_or(|of| self.is_valid(value, of))
            }
            "then" | "else" | "$defs" | "$schema" | "title" | "description" | "examples" | "default" => true,
            extension => extension.starts_with("x-") || panic!("no check of the keyword {extension}"),
        }
    }
}

fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        other => panic!("no check of the type {other}"),
    }
}

#[test]
fn the_schema_accepts_every_file() {
    let editor = Editor(schema());
    for file in toml_files(&scenarios()) {
        assert!(editor.accepts(&fs::read_to_string(&file).unwrap()), "{}", file.display());
    }
}

#[test]
fn schema_and_program_refuse_the_same_mistakes() {
    let editor = Editor(schema());
    let sound = fs::read_to_string(scenarios().join("smoke.toml")).unwrap();
    for (right, wrong) in [
        ("version = 1", ""),
        ("name = \"upload\"", ""),
        ("name = \"smoke\"", "name = 1"),
        ("name = \"smoke\"", "name = \"smoke\"\nnmae = \"smoke\""),
        ("preamble = \"short\"", "preamble = \"none\""),
        ("preamble = \"short\"", "preamble = [\"short\"]"),
        ("preamble = \"short\"", "cw_min = 40000"),
        ("preamble = \"short\"", "idle_slots = 4"),
        ("ap_buffer = \"150 kB\"", "ap_buffer = \"150\""),
        ("duration = \"10 s\"", "duration = \"10 Mb/s\""),
        ("stations = [\"uploader\"]", "stations = \"uploader\""),
        ("[radio]", "[[radio]]"),
        ("[radio]", "[manager.controller]\nkind = \"fixed\"\n[radio]"),
    ] {
        assert!(sound.contains(right), "{right}");
        let broken = sound.replacen(right, wrong, 1);
        assert!(!editor.accepts(&broken), "the schema accepts {wrong:?} for {right:?}");
        assert!(Scenario::parse(&broken, "broken.toml").is_err(), "the program accepts {wrong:?} for {right:?}");
    }
}

#[test]
fn every_key_has_a_description() {
    let keys = keys(&schema());
    assert!(keys.len() > 100, "{}", keys.len());
    for Key { table, name, description, .. } in keys {
        assert!(description.len() > 5, "{table}.{name} has no description");
    }
}

/// Paths of all tables, without the places in lists.
fn tables() -> BTreeSet<String> {
    let tables = keys(&schema()).into_iter().filter(|key| key.is_table);
    tables
        .map(|key| format!("{}.{}", key.table, key.name).replace(".1.", ".").trim_start_matches('.').to_owned())
        .collect()
}

#[test]
fn the_reference_has_every_key_once_but_those_of_the_manager() {
    let text = reference();
    let sections: Vec<_> = text.split("\n## ").skip(1).collect();
    let section = |table: &str| {
        let headings = [format!("`[{table}]`\n"), format!("`[[{table}]]`\n")];
        let mut found = sections.iter().filter(|section| headings.iter().any(|heading| section.starts_with(heading)));
        let section = found.next();
        assert!(found.next().is_none(), "[{table}] is described twice");
        section
    };
    // Where another section has the keys, the section says so, and there is none of the tables in it.
    let own = |table: &str| section(table).filter(|section| !section.contains("\nIts keys are those of `["));
    for Key { table, name, is_table, .. } in keys(&schema()) {
        let table = table.replace(".1", "");
        let path = format!("{table}.{name}");
        let described = if table.is_empty() { Some(&sections[0]) } else { own(&table) };
        assert_eq!(section(path.trim_start_matches('.')).is_some(), is_table && described.is_some(), "{path}");
        let rows = described.map(|section| section.matches(&format!("\n| `{name}` | ")).count());
        assert!(
            matches!(rows, None | Some(1)) || (table.is_empty() && is_table && rows == Some(0)),
            "{path}: {rows:?}"
        );
    }
    assert!(text.contains("[scenario-guide.md](scenario-guide.md)"));
    assert!(
        text.contains("\nIts keys are those of `[manager]` in the box's configuration: `evenair config reference`.\n")
    );
}

#[test]
fn tables_that_headings_of_the_guide_name_are_there() {
    let guide = fs::read_to_string(scenarios().join("../docs/scenario-guide.md")).unwrap();
    let (tables, mut named) = (tables(), 0);
    for heading in guide.lines().filter(|line| line.starts_with('#')) {
        for table in heading.split('`').skip(1).step_by(2) {
            assert!(tables.contains(table.trim_matches(['[', ']'])), "{heading}: no table {table}");
            named += 1;
        }
    }
    assert!(named > 50, "{named}");
}
