//! Muted codes, in `alert-mutes.json` of the state directory. Only shell commands write it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use evenair_api::health::{Code, Reason};
use serde::{Deserialize, Serialize};

use crate::secret::{read_private, write_private};

/// The name of the file.
const FILE: &str = "alert-mutes.json";
/// Maximum number of mutes.
const MOST: usize = 100;

/// A code that is muted for a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mute {
    /// The code.
    pub code: Code,
    /// Name, MAC address or id of its subject; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Its end, in seconds since 1970, UTC.
    pub until_s: u64,
}

impl Mute {
    fn is_about(&self, reason: &Reason) -> bool {
        let named = |subject: &String| {
            [&reason.subject.id, &reason.subject.name].iter().any(|name| name.eq_ignore_ascii_case(subject))
        };
        self.code == reason.code && self.subject.as_ref().is_none_or(named)
    }
}

/// The file, and its content when last read.
#[derive(Debug)]
pub(crate) struct Mutes {
    path: PathBuf,
    mutes: Vec<Mute>,
    /// Inode, length, and modification time in nanoseconds since 1970.
    stamp: Option<(u64, u64, i128)>,
}

impl Mutes {
    pub(crate) fn of(state: &Path) -> Self {
        Self { path: state.join(FILE), mutes: vec![], stamp: None }
    }

    /// Reads the file again if it has changed.
    pub(crate) fn refresh(&mut self) {
        let stamp = std::fs::metadata(&self.path).ok();
        let stamp =
            stamp.map(|at| (at.ino(), at.len(), i128::from(at.mtime()) * 1_000_000_000 + i128::from(at.mtime_nsec())));
        if stamp != self.stamp {
            self.stamp = stamp;
            match self.read() {
                Ok(mutes) => self.mutes = mutes,
                Err(error) => eprintln!("alerts: {}: {error}", self.path.display()),
            }
        }
    }

    /// Whether a reason is muted at a time, in seconds since 1970.
    pub(crate) fn has(&self, reason: &Reason, now_s: u64) -> bool {
        self.mutes.iter().any(|mute| now_s < mute.until_s && mute.is_about(reason))
    }

    /// The mutes in the file.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(crate) fn read(&self) -> std::io::Result<Vec<Mute>> {
        let Some(text) = read_private(&self.path)? else { return Ok(vec![]) };
        serde_json::from_str(&text).map_err(std::io::Error::other)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written, or there are too many.
    pub(crate) fn write(&self, mutes: &[Mute]) -> std::io::Result<()> {
        if mutes.len() > MOST {
            return Err(std::io::Error::other(format!("there are {MOST} mutes already: end one")));
        }
        write_private(&self.path, &serde_json::to_string(mutes)?)
    }
}
