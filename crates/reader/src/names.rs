//! Names in files.

use crate::{Problems, Written};

/// A name of a host, an application or a phase; or `None` and what is wrong.
pub fn name(written: &Written<String>, problems: &mut Problems) -> Option<String> {
    let fits = |name: &String| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        name.len() <= 40 && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().all(plain)
    };
    written.get_if(problems, fits, "a letter, then up to 39 letters, digits, \"-\", \"_\"")
}
