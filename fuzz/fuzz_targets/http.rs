//! A request to the box's HTTP listener, with and without its password.
#![no_main]

#[path = "../../crates/serve/tests/changed/http.rs"]
mod http;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = http::http(bytes);
});
