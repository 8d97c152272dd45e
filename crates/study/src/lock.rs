//! Locks a file for one writer at a time, on one machine or several.
//!
//! The writer of `part-3-of-16.jsonl` keeps the file `part-3-of-16.lock` beside it, with its host and process id, and writes a new
//! heartbeat number into it every few seconds. A process on the same machine asks the kernel whether the holder lives; one on another
//! machine watches the number, and takes over if it does not change. The file system only has to create a file once and return what was
//! last written. Kernel locks (`flock`, `fcntl`) end with their process and need no watching, but on the network file systems of
//! clusters they depend on the mount options: they may be local to a node (BeeGFS, GPFS, Lustre with `localflock`) or missing.
//!
//! Limit: a process that was stopped for longer than [`Pace::dead`] may lose its lock. It notices within [`Pace::beat`] after it
//! continues. Two processes that take over at the same instant may both have the lock for as long.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::StoreError;

/// Heartbeat interval of a lock, and its lease.
#[derive(Clone, Copy)]
struct Pace {
    /// Time between two heartbeats.
    beat: Duration,
    /// Time without a heartbeat after which the lock expires. Six intervals: file servers may respond late.
    dead: Duration,
}

const PACE: Pace = Pace { beat: Duration::from_secs(5), dead: Duration::from_secs(30) };

/// Why there is no lock.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process writes the file.
    #[error("{} is being written by process {process} on {host}", file.display())]
    Held {
        /// The file.
        file: PathBuf,
        /// The host of the other process.
        host: String,
        /// Its process id on that host.
        process: u32,
    },
    /// The lock file cannot be read or written.
    #[error(transparent)]
    File(#[from] StoreError),
}

/// The holder of a lock, and its heartbeat number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    host: String,
    process: u32,
    /// Boot id of the kernel and namespace of process ids: ids are comparable only if these are equal. Empty if unknown.
    machine: String,
    /// Start time of the process, in the kernel's clock ticks: process ids are reused.
    started: Option<u64>,
    beat: u64,
}

/// The lock of a file, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    holder: Holder,
    is_held: Arc<AtomicBool>,
    renewal: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Lock {
    /// Locks a file of completed runs, which need not exist. If the last writer was on another machine and left its lock, this takes
    /// half a minute.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn of(file: &Path) -> Result<Self, LockError> {
        Self::with_pace(file, PACE)
    }

    fn with_pace(file: &Path, pace: Pace) -> Result<Self, LockError> {
        let path = file.with_extension("lock");
        let holder = Holder::this_process();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(StoreError::at(folder))?;
        }
        let mut made = OpenOptions::new().write(true).create_new(true).open(&path);
        if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
            if let Some(Holder { host, process, .. }) = living(&path, &holder, pace)? {
                return Err(LockError::Held { file: file.to_owned(), host, process });
            }
            made = fs::remove_file(&path).or_else(absent).and_then(|()| File::create_new(&path));
        }
        let mut made = made.map_err(StoreError::at(&path))?;
        made.write_all(&holder.text()).and_then(|()| made.sync_data()).map_err(StoreError::at(&path))?;
        let is_held = Arc::new(AtomicBool::new(true));
        let (stop, stopped) = mpsc::channel();
        let mut renewed = Renewed { path: path.clone(), file: made, holder: holder.clone() };
        let held = Arc::clone(&is_held);
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(pace.beat) == Err(RecvTimeoutError::Timeout) {
                held.store(renewed.renew(), Ordering::Relaxed);
            }
        });
        Ok(Self { path, holder, is_held, renewal: Some((stop, thread)) })
    }

    /// Whether this process still holds the lock: another one takes over if this was stopped for half a minute.
    pub fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.renewal.take() {
            drop(stop);
            // After a panic of the thread there is nothing to renew.
            let _ = thread.join();
        }
        if read(&self.path).is_ok_and(|(_, now)| now.is_some_and(|now| now.is(&self.holder))) {
            // A file that cannot be removed is later recognized as that of an ended process.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The lock file of this process.
struct Renewed {
    path: PathBuf,
    file: File,
    holder: Holder,
}

impl Renewed {
    /// Writes the next heartbeat; `false` if another process holds the lock. It writes through the descriptor of its own file, so that
    /// it never damages another's.
    fn renew(&mut self) -> bool {
        self.holder.beat += 1;
        // A failed write is repeated at the next heartbeat.
        let _ = self.file.write_all_at(&self.holder.text(), 0).and_then(|()| self.file.sync_data());
        match read(&self.path) {
            Ok((_, now)) => now.is_none_or(|now| now.is(&self.holder)),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

impl Holder {
    fn this_process() -> Self {
        let process = std::process::id();
        let line = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let boot = line("/proc/sys/kernel/random/boot_id");
        Self {
            host: line("/proc/sys/kernel/hostname"),
            process,
            machine: if boot.is_empty() { boot } else { format!("{boot} {}", space.display()) },
            started: started(process),
            beat: 0,
        }
    }

    /// One line, of the same length for every heartbeat.
    fn text(&self) -> Vec<u8> {
        let text = serde_json::to_string(self).expect("a holder is plain data");
        let padding = 20 - self.beat.to_string().len();
        format!("{text}{:padding$}\n", "").into_bytes()
    }

    /// Whether this is the same process.
    fn is(&self, other: &Self) -> bool {
        Self { beat: other.beat, ..self.clone() } == *other
    }

    /// Whether the process lives, if `observer` can tell.
    fn lives(&self, observer: &Self) -> Option<bool> {
        let knows = !self.machine.is_empty() && self.machine == observer.machine && self.started.is_some();
        knows.then(|| started(self.process) == self.started)
    }
}

/// The living process that holds the lock, if any.
fn living(path: &Path, observer: &Holder, pace: Pace) -> Result<Option<Holder>, StoreError> {
    let read = || match read(path) {
        Ok((text, holder)) => Ok(Some((text, holder))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::at(path)(error)),
    };
    let Some((first, _)) = read()? else { return Ok(None) };
    let start = Instant::now();
    while start.elapsed() < pace.dead {
        let Some((text, holder)) = read()? else { return Ok(None) };
        match holder.as_ref().and_then(|holder| holder.lives(observer)) {
            Some(true) => return Ok(holder),
            Some(false) => return Ok(None),
            None if text != first && holder.is_some() => return Ok(holder),
            None => thread::sleep(pace.beat / 10),
        }
    }
    Ok(None)
}

/// The content of a lock file, and its holder; no holder while the file is being created.
fn read(path: &Path) -> io::Result<(Vec<u8>, Option<Holder>)> {
    let text = fs::read(path)?;
    let holder = serde_json::from_slice(&text).ok();
    Ok((text, holder))
}

fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Start time of a process, in the kernel's clock ticks (proc(5), field 22 of `stat`); `None` if it has ended.
fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The process name, in parentheses, may contain any character.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    (!["Z", "X"].contains(&state)).then(|| fields.nth(18)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Pace = Pace { beat: Duration::from_millis(20), dead: Duration::from_millis(400) };

    /// A lock file whose holder is on another machine.
    fn elsewhere(file: &Path) -> (PathBuf, Holder) {
        let path = file.with_extension("lock");
        let holder = Holder { host: "node17".into(), machine: "elsewhere".into(), ..Holder::this_process() };
        fs::write(&path, holder.text()).unwrap();
        (path, holder)
    }

    #[test]
    fn a_lock_is_refused_while_it_is_held_and_free_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/part-1-of-2.jsonl");
        let lock = Lock::of(&file).unwrap();
        let refused = Lock::of(&file).unwrap_err().to_string();
        let this = Holder::this_process();
        assert!(refused.ends_with(&format!("written by process {} on {}", this.process, this.host)), "{refused}");
        assert!(lock.is_held() && Lock::of(&file.with_file_name("part-2-of-2.jsonl")).is_ok());
        drop(lock);
        assert!(!file.with_extension("lock").exists() && Lock::of(&file).is_ok());
    }

    #[test]
    fn the_lock_of_a_process_that_has_ended_is_free_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("part-1-of-2.jsonl");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let holder = Holder { process: child.id(), started: started(child.id()), ..Holder::this_process() };
        fs::write(file.with_extension("lock"), holder.text()).unwrap();
        assert!(matches!(Lock::of(&file), Err(LockError::Held { process, .. }) if process == child.id()));
        child.kill().unwrap();
        let start = Instant::now();
        while started(child.id()).is_some() && start.elapsed().as_secs() < 10 {
            thread::yield_now();
        }
        assert!(Lock::of(&file).is_ok());
        child.wait().unwrap();
        // The process id has been reused.
        let again = Holder { started: Some(1), ..Holder::this_process() };
        fs::write(file.with_extension("lock"), again.text()).unwrap();
        assert!(Lock::of(&file).is_ok());
    }

    #[test]
    fn a_lock_of_another_machine_is_free_where_it_is_not_renewed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("part-1-of-2.jsonl");
        let (path, holder) = elsewhere(&file);
        let start = Instant::now();
        let lock = Lock::with_pace(&file, QUICK).unwrap();
        assert!(start.elapsed() >= QUICK.dead && lock.is_held());
        drop(lock);

        fs::write(&path, holder.text()).unwrap();
        let mut renewed =
            Renewed { path: path.clone(), file: File::options().write(true).open(&path).unwrap(), holder };
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(QUICK.beat) == Err(RecvTimeoutError::Timeout) {
                assert!(renewed.renew());
            }
        });
        let refused = Lock::with_pace(&file, QUICK);
        assert!(matches!(refused, Err(LockError::Held { host, .. }) if host == "node17"));
        drop(stop);
        thread.join().unwrap();
    }

    #[test]
    fn a_lock_that_was_taken_over_is_noticed_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("part-1-of-2.jsonl");
        let lock = Lock::with_pace(&file, QUICK).unwrap();
        fs::remove_file(file.with_extension("lock")).unwrap();
        let (path, holder) = elsewhere(&file);
        let start = Instant::now();
        while lock.is_held() && start.elapsed().as_secs() < 10 {
            thread::sleep(QUICK.beat);
        }
        assert!(!lock.is_held());
        drop(lock);
        assert_eq!(fs::read(&path).unwrap(), holder.text());
    }

    #[test]
    fn a_lock_has_one_length() {
        let holder = Holder::this_process();
        let late = Holder { beat: u64::MAX, ..holder.clone() };
        assert_eq!(holder.text().len(), late.text().len());
        assert_eq!(serde_json::from_slice::<Holder>(&late.text()).unwrap(), late);
    }
}
