//! Secret files: read, or refused without showing their content.
//!
//! `fuzz/fuzz_targets/secrets.rs` does the same with inputs from libFuzzer.

use std::fs;
use std::path::Path;

use evenair_boxfile::telemetry::password_in;

/// The password in a secret file of these bytes. A refusal shows nothing of the file.
pub fn secrets(folder: &Path, bytes: &[u8]) -> Option<String> {
    let path = folder.join("secrets");
    fs::write(&path, bytes).expect("writable");
    match password_in(&path) {
        Ok(password) => Some(password),
        Err(why) => {
            let said = ["it has no password: password = \"...\"", "it is not UTF-8 text"];
            let number = why.strip_prefix("line ").and_then(|rest| rest.strip_suffix(" is not as it should be"));
            let is_line = number.is_some_and(|number| number.parse::<usize>().is_ok());
            assert!(is_line || said.contains(&&*why) || why.starts_with("it is longer than "), "{why}");
            None
        }
    }
}
