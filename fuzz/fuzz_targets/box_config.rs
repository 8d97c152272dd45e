//! The box's configuration file.
#![no_main]

use evenair_boxfile::BoxConfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = BoxConfig::parse(text, "fuzz.toml");
});
