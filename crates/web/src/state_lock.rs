//! Lock of the state directory: a server holds a shared lock on the directory itself, a restore an exclusive one (flock(2)).
//!
//! The lock ends with its process, so that none is left after a crash. An interrupted restore leaves a marker file, with which no server
//! starts: the accounts could be half old and half new.

use std::fs::File;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::secret::make_folder;

/// Marker file that exists while a restore replaces files.
pub(crate) const UNFINISHED: &str = ".restore-unfinished";

/// Number of attempts of a restore to get the lock, and the pause between them: a server that is stopping releases it within a second.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// The lock of a state directory, held until dropped.
#[derive(Debug)]
pub(crate) struct StateLock {
    _folder: File,
}

impl StateLock {
    /// The shared lock of a server; `None`: the directory can neither be created nor read, so this user cannot restore into it either.
    ///
    /// # Errors
    /// A restore is running, or was interrupted.
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

    /// The exclusive lock of a restore.
    ///
    /// # Errors
    /// A server is running, or the directory cannot be opened.
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
