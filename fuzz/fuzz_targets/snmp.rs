//! What an SNMP agent answers, one datagram after the other.
#![no_main]

#[path = "../../crates/telemetry/tests/drivers/answers.rs"]
mod answers;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = answers::poll(bytes);
});
