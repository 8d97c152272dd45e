//! Ethernet frames through the whole packet path: parsed, cut, managed in virtual time, changed, joined.
#![no_main]

#[path = "../../crates/manager/tests/it/frames.rs"]
mod frames;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some((which, session)) = bytes.split_first() {
        frames::drive(frames::config(*which), session);
    }
});
