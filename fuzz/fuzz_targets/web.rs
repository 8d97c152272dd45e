//! What a controller or an access point answers over HTTP, one request after the other: status, headers and JSON.
#![no_main]

#[path = "../../crates/telemetry/tests/drivers/web_answers.rs"]
mod web_answers;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = web_answers::poll(bytes);
});
