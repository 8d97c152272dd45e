//! The schema for editors and the reference agree with the program.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::keys::{Key, keys};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_committed_reference_is_up_to_date() {
    let committed = fs::read_to_string(root().join("docs/scenario-format.md")).unwrap();
    let up_to_date = committed == evenair_scenario::reference();
    assert!(up_to_date, "write it anew: make reference");
}

#[test]
fn the_committed_schema_is_up_to_date() {
    let committed = fs::read_to_string(root().join("scenarios/schema.json")).unwrap();
    let committed: Value = serde_json::from_str(&committed).unwrap();
    assert_eq!(committed, evenair_scenario::schema(), "write it anew: make reference");
}

#[test]
fn every_key_has_a_description() {
    let keys = keys(&evenair_scenario::schema());
    assert!(keys.len() > 100, "{}", keys.len());
    for Key { table, name, description, .. } in keys {
        assert!(description.len() > 5, "{table}.{name} has no description");
    }
}
