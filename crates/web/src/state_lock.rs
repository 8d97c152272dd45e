//! Who uses the state directory: a server holds a shared lock on the directory itself, a restore the only one (flock(2)).
//!
//! The lock ends with its process, so that none stays behind after a crash. A restore that a crash has cut short leaves a mark, with
//! which no server starts: half of the accounts could be those of before.

use std::fs::File;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::secret::make_folder;

/// Is there while a restore replaces files.
pub(crate) const UNFINISHED: &str = ".restore-unfinished";

/// How often a restore tries again to get the lock, and how long after: a server that ends lets go of it within a second.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// The lock of a state directory, for as long as it lives.
#[derive(Debug)]
pub(crate) struct StateLock {
    _folder: File,
}

impl StateLock {
    /// The lock of a server, beside those of others; `None`: the directory can neither be made nor read, so that nothing can be restored
    /// into it by this user either.
    ///
    /// # Errors
    /// A restore goes on, or was cut short.
    pub(crate) fn of_server(state: &Path) -> Result<Option<Self>> {
        _ = make_folder(state);
        let Ok(folder) = File::open(state) else { return Ok(None) };
        if flock(&folder, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK) {
            bail!("a backup is being restored to {}: start evenair-web when that has ended", state.display());
        }
        if state.join(UNFINISHED).exists() {
            bail!(
                "a restore to {} was cut short, and what is there may be of two times: run `evenair-web restore FILE` again",
                state.display()
            );
        }
        Ok(Some(Self { _folder: folder }))
    }

    /// The only lock, for a restore.
    ///
    /// # Errors
    /// A server runs, or the directory cannot be opened.
    pub(crate) fn of_restore(state: &Path) -> Result<Self> {
        let folder = File::open(state).with_context(|| state.display().to_string())?;
        let lock = || flock(&folder, FlockOperation::NonBlockingLockExclusive);
        let mut locked = lock();
        for _ in 0..TRIES {
            if locked != Err(Errno::WOULDBLOCK) {
                break;
            }
            sleep(PAUSE);
            locked = lock();
        }
        match locked {
            Ok(()) => Ok(Self { _folder: folder }),
            Err(Errno::WOULDBLOCK) => bail!(
                "evenair-web runs with {}: end it first (sudo systemctl stop evenair-web), restore, and start it again (sudo systemctl \
                 start evenair-web)",
                state.display()
            ),
            Err(error) => Err(error).with_context(|| format!("cannot lock {}", state.display())),
        }
    }
}
