//! A recording of the manager's inputs: played as far as it makes sense.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = evenair_recording::replay(bytes);
});
