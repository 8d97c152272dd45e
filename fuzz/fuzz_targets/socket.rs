//! What a client sends on the control socket, in parts: lines, and the requests among them.
#![no_main]

#[path = "../../crates/serve/tests/changed/control.rs"]
mod control;

use libfuzzer_sys::fuzz_target;

/// Input repeated so often is longer than a line may be.
const OFTEN: usize = 9;

fuzz_target!(|bytes: &[u8]| {
    if let Some((&[most, often], bytes)) = bytes.split_first_chunk() {
        let times = if often == 0 { OFTEN } else { 1 };
        let _ = control::control(&bytes.repeat(times), usize::from(most) * 64);
    }
});
