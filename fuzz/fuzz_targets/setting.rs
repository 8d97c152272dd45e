//! `--set KEY=VALUE`, for a scenario of the project. The input is `KEY=VALUE`.
#![no_main]

use evenair_scenario::Scenario;
use libfuzzer_sys::fuzz_target;

const PLAIN: &str = include_str!("../../scenarios/smoke.toml");

fuzz_target!(|text: &str| {
    if let Some(setting) = text.split_once('=')
        && let Err(error) = Scenario::parse_with(PLAIN, "smoke.toml", &[setting])
    {
        assert!(!error.to_string().is_empty());
    }
});
