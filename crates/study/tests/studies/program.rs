//! Tests of the simulator's name in the keys of runs.

use std::fs;
use std::path::Path;

#[path = "../../build/sources.rs"]
mod sources;

/// A workspace of a simulator that uses one crate but not the other.
fn workspace(root: &Path) {
    for (name, uses) in [("sim", "evenair-medium.workspace = true\nlibm = \"1\"\n"), ("medium", ""), ("live", "")] {
        let folder = root.join("crates").join(name);
        fs::create_dir_all(folder.join("src/inner")).unwrap();
        let manifest = format!(
            "[package]\nname = \"evenair-{name}\"\n[dependencies]\n{uses}[dev-dependencies]\nevenair-live = 1\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::write(folder.join("src/lib.rs"), "mod inner;").unwrap();
        fs::write(folder.join("src/inner/mod.rs"), "").unwrap();
    }
    fs::write(root.join("Cargo.lock"), "version = 4").unwrap();
}

#[test]
fn the_hash_is_of_all_that_the_simulator_uses_and_of_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    workspace(root);
    let hash = || sources::hash(root).unwrap().0;
    let before = hash();
    assert_eq!((hash(), before.len()), (before.clone(), 32));
    fs::write(root.join("crates/live/src/lib.rs"), "// other").unwrap();
    fs::create_dir(root.join("crates/sim/tests")).unwrap();
    fs::write(root.join("crates/sim/tests/new.rs"), "// other").unwrap();
    assert_eq!(hash(), before, "neither the box nor tests decide a run");
    for file in ["crates/medium/src/inner/mod.rs", "crates/sim/src/lib.rs", "crates/sim/Cargo.toml", "Cargo.lock"] {
        let (path, old) = (root.join(file), hash());
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}\n")).unwrap();
        assert_ne!(hash(), old, "{file}");
    }
    let old = hash();
    fs::rename(root.join("crates/medium/src/inner"), root.join("crates/medium/src/other")).unwrap();
    assert_ne!(hash(), old, "a name is part of it");
}

#[test]
fn a_source_that_is_missing_is_an_error_and_no_hash() {
    let folder = tempfile::tempdir().unwrap();
    workspace(folder.path());
    fs::remove_dir_all(folder.path().join("crates/medium")).unwrap();
    let error = sources::hash(folder.path()).unwrap_err().to_string();
    assert!(error.contains("medium"), "{error}");
}

#[test]
fn the_program_is_the_version_and_the_hash_of_these_sources() {
    let (hash, inputs) = sources::hash(Path::new("../..")).unwrap();
    assert_eq!(evenair_study::program(), format!("{} {hash}", env!("CARGO_PKG_VERSION")));
    let has = |name: &str| inputs.iter().any(|input| input.ends_with(format!("crates/{name}/src")));
    let deciding = [
        "sim", "medium", "link", "manager", "sched", "wifi", "ap", "scenario", "config", "workload", "units", "packet",
        "results",
    ];
    assert!(deciding.iter().all(|name| has(name)), "{inputs:?}");
    assert!(!has("live") && !has("sys") && !has("lab") && !has("report"), "{inputs:?}");
}
