//! Named files.

use std::path::PathBuf;

use evenair_reader::{Problems, Written};

/// The path of a file, if one is named.
pub(super) fn path(written: &Option<Written<String>>, problems: &mut Problems) -> Option<Option<PathBuf>> {
    let Some(written) = written else { return Some(None) };
    let absolute = |path: &String| path.starts_with('/');
    written.get_if(problems, absolute, "a path that begins with /").map(|path| Some(path.into()))
}
