//! The history of a box: read, and gone on with.
#![no_main]

#[path = "../../crates/serve/tests/changed/history.rs"]
mod history;

use libfuzzer_sys::fuzz_target;

fn folder() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("evenair-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fuzz_target!(|bytes: &[u8]| {
    history::history(&folder(), bytes);
});
