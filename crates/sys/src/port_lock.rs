//! A lock on a network interface: one process at a time may take its packets.
//!
//! The lock is flock(2) on a file below [`DIRECTORY`], named after the inode of the network namespace and the index of the
//! interface, which is unique on the machine. The kernel decides atomically between two processes, and frees the lock when
//! the process ends in any way. The file holds the holder's process id and PID namespace.
//!
//! A user without privileges cannot hold the lock: only the service's user and root can write to the directory and open the
//! file. Symbolic links are not followed.
//!
//! A recreated interface has another index and another lock. When an interface moves to another namespace, its lock stays in
//! the old one. Two processes with different mounts at `/run` have different locks.
#![allow(unsafe_code)]

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use crate::error::OsError;

/// Directory of the lock files: the runtime directory of the packaged service.
pub const DIRECTORY: &str = "/run/evenair";

/// Maximum number of bytes read of such a file: two numbers of at most 20 digits.
const LONGEST_FILE: u64 = 64;

/// The lock of an interface, held until this is dropped.
#[derive(Debug)]
pub struct PortLock {
    path: PathBuf,
    file: File,
}

/// Why the lock was not acquired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockError {
    /// Another process holds it; its id, unless it is in another PID namespace.
    Held(Option<u32>),
    /// Other users can write to the directory, and could hold the lock.
    Unsafe(PathBuf),
    /// A call failed.
    Os(OsError),
}

impl PortLock {
    /// Acquires the lock of the interface with this index in the calling thread's network namespace, without waiting. Creates
    /// the directory if it is missing; its parent must exist.
    ///
    /// # Errors
    /// The lock is held; the directory is writable by other users; the file cannot be created.
    pub fn acquire(directory: &Path, index: u32) -> Result<Self, LockError> {
        let namespace = inode("/proc/thread-self/ns/net")?;
        let made = make_directory(directory)?;
        let path = directory.join(format!("port-{namespace}-{index}.lock"));
        loop {
            let file = open(&path, &made)?;
            // SAFETY: the descriptor is open, and flock takes no pointer.
            if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
                let error = io::Error::last_os_error();
                return Err(match error.kind() {
                    ErrorKind::WouldBlock => LockError::Held(holder(&file)),
                    _ => failed("lock", &path, &error),
                });
            }
            let lock = Self { path: path.clone(), file };
            // Its former holder may have removed the file after it was opened here.
            if lock.is_in_place() {
                lock.sign()?;
                return Ok(lock);
            }
        }
    }

    /// Whether the locked file is the one that another process would open. The service manager removes the directory when the
    /// service stops, although another box may be running.
    pub fn is_in_place(&self) -> bool {
        let of = |found: io::Result<fs::Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
        let own = of(self.file.metadata());
        own.is_some() && own == of(fs::symlink_metadata(&self.path))
    }

    /// Writes the holder's identity to the file.
    fn sign(&self) -> Result<(), LockError> {
        let text = format!("{} {}\n", std::process::id(), inode("/proc/self/ns/pid")?);
        let mut file = &self.file;
        let written = self.file.set_len(0).and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(|error| failed("write", &self.path, &error))
    }
}

impl Drop for PortLock {
    fn drop(&mut self) {
        // Before the lock is released: afterwards the file could be another process's.
        if self.is_in_place() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates the directory if it is missing, and returns its metadata.
fn make_directory(directory: &Path) -> Result<fs::Metadata, LockError> {
    match DirBuilder::new().mode(0o755).create(directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed("create", directory, &error)),
        _ => {}
    }
    let found = fs::symlink_metadata(directory).map_err(|error| failed("look at", directory, &error))?;
    if !found.is_dir() {
        return Err(failed("open", directory, &io::Error::from_raw_os_error(libc::ENOTDIR)));
    }
    if found.mode() & 0o022 != 0 {
        return Err(LockError::Unsafe(directory.to_owned()));
    }
    Ok(found)
}

/// Opens or creates the file, for the directory's owner: a box that root starts by hand leaves it to the service.
fn open(path: &Path, directory: &fs::Metadata) -> Result<File, LockError> {
    let options = || {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        options
    };
    let file = match options().create_new(true).open(path) {
        Ok(file) => {
            let own = file.metadata().map_err(|error| failed("look at", path, &error))?;
            if own.uid() != directory.uid() {
                // Without the privilege the file keeps this user as owner.
                let _ = fchown(&file, Some(directory.uid()), Some(directory.gid()));
            }
            return Ok(file);
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => options().open(path),
        Err(error) => Err(error),
    };
    let file = match file {
        Ok(file) => file,
        // It was removed in between: the caller detects that this one is not in place, or creates it.
        Err(error) if error.kind() == ErrorKind::NotFound => return open(path, directory),
        Err(error) => return Err(failed("open", path, &error)),
    };
    let found = file.metadata().map_err(|error| failed("look at", path, &error))?;
    if !found.is_file() || found.nlink() > 1 || found.mode() & 0o077 != 0 {
        return Err(LockError::Unsafe(path.to_owned()));
    }
    Ok(file)
}

/// Process id of the holder in the file, if it is in this PID namespace.
fn holder(mut file: &File) -> Option<u32> {
    let mut text = String::new();
    Read::by_ref(&mut file).take(LONGEST_FILE).read_to_string(&mut text).ok()?;
    let (pid, namespace) = text.trim_end().split_once(' ')?;
    (namespace.parse() == Ok(inode("/proc/self/ns/pid").ok()?)).then(|| pid.parse().ok())?
}

fn inode(path: &str) -> Result<u64, LockError> {
    fs::metadata(path).map(|found| found.ino()).map_err(|error| failed("look at", Path::new(path), &error))
}

fn failed(what: &str, path: &Path, error: &io::Error) -> LockError {
    LockError::Os(OsError::from_io(format!("{what} {}", path.display()), error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::netns::Netns;

    fn directory() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("set");
        folder
    }

    fn files(directory: &Path) -> Vec<PathBuf> {
        fs::read_dir(directory).expect("there").map(|entry| entry.expect("readable").path()).collect()
    }

    #[test]
    fn one_process_at_a_time_holds_the_lock_and_is_named() {
        let folder = directory();
        let below = folder.path().join("evenair");
        let lock = PortLock::acquire(&below, 7).expect("free");
        assert_eq!(PortLock::acquire(&below, 7).expect_err("held"), LockError::Held(Some(std::process::id())));
        let namespace = inode("/proc/thread-self/ns/net").expect("there");
        assert_eq!(files(&below), [below.join(format!("port-{namespace}-7.lock"))]);
        let other = PortLock::acquire(&below, 8).expect("another interface");
        drop(lock);
        let again = PortLock::acquire(&below, 7).expect("free again");
        fs::write(&again.path, "17 4\n").expect("written");
        assert_eq!(PortLock::acquire(&below, 7).expect_err("held"), LockError::Held(None), "of another PID namespace");
        drop((again, other));
        assert_eq!(files(&below), Vec::<PathBuf>::new());
    }

    #[test]
    fn one_of_many_concurrent_requests_gets_the_lock() {
        let folder = directory();
        for _ in 0..50 {
            let (start, got) = (Barrier::new(8), Barrier::new(8));
            let ask = || {
                start.wait();
                let lock = PortLock::acquire(folder.path(), 1);
                got.wait();
                lock.is_ok()
            };
            let winners = thread::scope(|scope| {
                let all: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
                all.into_iter().map(|one| one.join().expect("no panic")).filter(|won| *won).count()
            });
            assert_eq!(winners, 1);
        }
    }

    #[test]
    fn the_file_of_a_killed_holder_does_not_block() {
        let folder = directory();
        let lock = PortLock::acquire(folder.path(), 1).expect("free");
        // A killed process does not remove its file.
        fs::copy(&lock.path, folder.path().join("copy")).expect("copied");
        let path = lock.path.clone();
        drop(lock);
        fs::rename(folder.path().join("copy"), &path).expect("moved");
        let lock = PortLock::acquire(folder.path(), 1).expect("free");
        assert!(lock.is_in_place());
        fs::remove_file(&path).expect("removed");
        assert!(!lock.is_in_place());
    }

    #[test]
    fn locks_open_to_other_users_are_refused_and_links_are_not_followed() {
        let folder = directory();
        let path = PortLock::acquire(folder.path(), 1).expect("free").path.clone();
        let target = folder.path().join("target");
        fs::write(&target, "kept").expect("written");
        symlink(&target, &path).expect("made");
        let LockError::Os(error) = PortLock::acquire(folder.path(), 1).expect_err("a link") else { panic!("no error") };
        assert_eq!(error.errno(), libc::ELOOP);
        assert_eq!(fs::read_to_string(&target).expect("there"), "kept");
        fs::remove_file(&path).expect("removed");
        fs::hard_link(&target, &path).expect("made");
        assert_eq!(PortLock::acquire(folder.path(), 1).expect_err("a link"), LockError::Unsafe(path.clone()));
        fs::remove_file(&path).expect("removed");
        let lock = PortLock::acquire(folder.path(), 1).expect("free");
        assert_eq!(lock.file.metadata().expect("open").mode() & 0o077, 0, "no other user can open it");
        drop(lock);
        let link = folder.path().join("link");
        symlink(folder.path(), &link).expect("made");
        assert!(PortLock::acquire(&link, 1).is_err());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("set");
        let error = PortLock::acquire(folder.path(), 1).expect_err("open to all");
        assert_eq!(error, LockError::Unsafe(folder.path().to_owned()));
    }

    #[test]
    fn network_namespaces_have_separate_locks() {
        let Ok(namespace) = Netns::new() else { return eprintln!("skipped: needs root") };
        let folder = directory();
        let _lock = PortLock::acquire(folder.path(), 1).expect("free");
        namespace.run(|| PortLock::acquire(folder.path(), 1).map(drop)).expect("entered").expect("free there");
    }
}
