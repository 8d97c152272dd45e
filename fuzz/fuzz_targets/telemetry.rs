//! What access points and controllers answer: text of hostapd and of iw, JSON of the drivers over HTTP.
#![no_main]

#[path = "../../crates/telemetry/tests/drivers/parsers.rs"]
mod parsers;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = parsers::read(text);
});
