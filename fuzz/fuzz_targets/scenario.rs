//! A scenario's file: refused with a reason, or taken.
#![no_main]

use evenair_scenario::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Scenario::parse(text, "fuzz.toml") {
        assert!(!error.to_string().is_empty());
    }
});
