//! What `evenair init` finds of a machine's network: what `ip` prints, networkd's files, interfaces(5).
#![no_main]

#[path = "../../crates/serve/tests/changed/init.rs"]
mod init;

use libfuzzer_sys::fuzz_target;

fn folder() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("evenair-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fuzz_target!(|text: &str| {
    // Parts are separated by a byte that no text has.
    let mut parts = text.split('\0');
    let mut part = || parts.next().unwrap_or_default();
    match part() {
        "ip" => drop(init::ports(part(), part())),
        "networkd" => drop(init::networkd(&folder(), part(), part(), part())),
        interfaces => drop(init::ifupdown(&folder(), interfaces)),
    }
});
