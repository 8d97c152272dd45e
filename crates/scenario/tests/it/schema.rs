//! The schema for editors, and the reference, say what the program reads.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::keys::{Key, keys};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_committed_schema_is_up_to_date() {
    let committed = fs::read_to_string(root().join("scenarios/schema.json")).unwrap();
    let committed: Value = serde_json::from_str(&committed).unwrap();
    assert_eq!(
        committed,
        evenair_scenario::schema(),
        "write it anew: cargo run -p evenair-scenario --example schema > scenarios/schema.json"
    );
}

/// The lines below every heading of the reference that names a table.
fn section<'a>(text: &'a str, table: &str) -> Vec<&'a str> {
    let names = match table {
        "" => ["At the top".to_owned(), "At the top".to_owned()],
        _ => [format!("`[{table}]`"), format!("`[[{table}]]`")],
    };
    let mut inside = false;
    let lines: Vec<_> = text
        .lines()
        .filter(|line| {
            if line.starts_with("## ") {
                inside = names.iter().any(|name| line.contains(name));
            }
            inside
        })
        .collect();
    assert!(!lines.is_empty(), "no heading names {table:?}");
    lines
}

#[test]
fn the_reference_has_every_key_with_its_default() {
    let text = fs::read_to_string(root().join("docs/scenario-format.md")).unwrap();
    let keys = keys(&evenair_scenario::schema());
    assert!(keys.len() > 100, "{}", keys.len());
    for Key { table, name, description, is_table } in keys {
        let table = table.replace(".1", "");
        assert!(!description.is_empty(), "{table}.{name} has no description");
        if is_table {
            section(&text, &if table.is_empty() { name } else { format!("{table}.{name}") });
            continue;
        }
        let row = section(&text, &table).into_iter().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("`{name}` of {table:?} is not in the reference"));
        let default = description.split("Default: ").nth(1).map(|rest| rest.trim_end_matches('.'));
        match default {
            Some(default) => assert!(row.contains(default), "{table}.{name}: default {default}, but: {row}"),
            None => assert!(row.contains("required") || row.contains("| - |"), "{table}.{name} has no default: {row}"),
        }
    }
}
