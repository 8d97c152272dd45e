//! A file of an older version: refused, or written with the present names.
#![no_main]

#[path = "../../crates/serve/tests/changed/migration.rs"]
mod migration;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = migration::migration(text);
});
