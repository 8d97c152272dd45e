//! Layout of the history files of a box: names, numbers and lengths, for those who write and those who read them.

use std::path::{Path, PathBuf};

/// Files of a series beside the one that is written.
pub const OLD_FILES: u64 = 3;
/// Longest line, in bytes, its end included.
pub const LONGEST_LINE: u64 = 1 << 20;

/// Files of one name: the one that is written, and older ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSeries {
    /// All records but those of `Stations`: three quarters of the limit.
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
