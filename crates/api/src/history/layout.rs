//! Layout of the history files of a box: names, numbers and sizes, for writers and readers.

use std::path::{Path, PathBuf};

/// Number of older files of a series.
pub const OLD_FILES: u64 = 3;
/// Maximum length of a line in bytes, including its end.
pub const LONGEST_LINE: u64 = 1 << 20;

/// A series of files: the current one, and older ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSeries {
    /// All records except those of `Stations`: three quarters of the limit.
    History,
    /// Events about stations: a quarter of the limit.
    Stations,
}

impl FileSeries {
    /// Path of a file in `directory`; number 0 is the newest.
    #[must_use]
    pub fn file(self, directory: &Path, number: u64) -> PathBuf {
        let name = match self {
            Self::History => "history",
            Self::Stations => "stations",
        };
        directory.join(if number == 0 { format!("{name}.ndjson") } else { format!("{name}.{number}.ndjson") })
    }
}
