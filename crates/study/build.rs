//! Names the sources of the simulator that the program is built from, for the keys of runs.

use std::path::Path;

#[path = "build/sources.rs"]
mod sources;

fn main() {
    let root = Path::new("../..");
    let (hash, inputs) = sources::hash(root).unwrap_or_else(|error| {
        panic!(
            "the sources of the simulator, whose hash is part of the keys of runs, are not beside this crate: {error}"
        )
    });
    println!("cargo::rustc-env=EVENAIR_SIMULATOR_SOURCES={hash}");
    for input in inputs {
        println!("cargo::rerun-if-changed={}", input.display());
    }
    println!("cargo::rerun-if-changed=build");
}
