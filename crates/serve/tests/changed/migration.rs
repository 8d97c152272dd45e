//! Files of older versions: refused with places, or migrated completely, with every value that they had.
//!
//! `fuzz/fuzz_targets/migration.rs` does the same with inputs from libFuzzer.

use evenair_boxfile::BoxConfig;
use evenair_reader::{Migrated, migrate};
use toml::Value;

/// Number of values that are no tables or lists.
fn values(value: &Value) -> usize {
    match value {
        Value::Table(table) => table.values().map(values).sum(),
        Value::Array(list) => list.iter().map(values).sum(),
        _ => 1,
    }
}

fn values_in(text: &str) -> usize {
    values(&Value::Table(text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))))
}

/// Migrates a file. Returns the number of changes; `None`: it is refused.
pub fn migration(text: &str) -> Option<usize> {
    let Migrated { text: new, changes } = match migrate(text, "box.toml") {
        Ok(migrated) => migrated,
        Err(error) => {
            assert!(error.to_string().starts_with("box.toml:"), "{error}");
            return None;
        }
    };
    if changes.is_empty() {
        assert_eq!(new, text);
    }
    for change in &changes {
        assert!((1..=text.lines().count()).contains(&change.line), "{change}");
    }
    let left_out = changes.iter().filter(|change| change.new.starts_with("left out")).count();
    assert_eq!(values_in(&new) + left_out, values_in(text), "{changes:#?}\n{new}");
    let again = migrate(&new, "box.toml").unwrap_or_else(|error| panic!("{error}\n{new}"));
    assert_eq!(again.changes, [], "{new}");
    _ = BoxConfig::parse(&new, "box.toml");
    Some(changes.len())
}
