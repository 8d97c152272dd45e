//! Records of history, printed in words, as CSV and as JSON.
#![no_main]

#[path = "../../crates/serve/tests/changed/printed.rs"]
mod printed;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = printed::printed(bytes);
});
