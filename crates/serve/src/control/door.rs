//! A Unix socket that clients connect to, and the loop that accepts them: of the control socket and of the watch socket.
//!
//! The socket is created again if its file is deleted, since the box would no longer be reachable.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use evenair_sys::rt::{Epoll, Waker};
use tracing::warn;

/// Pause before the next attempt if no client can be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Interval of checks whether the path still leads to the socket.
const CHECK: Duration = Duration::from_secs(2);

/// Purpose of a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    /// "control socket".
    pub(crate) name: &'static str,
    /// Its key in the configuration.
    pub(crate) key: &'static str,
    /// The group that may open it, if there is such a group; otherwise that of the process.
    pub(crate) group: Option<&'static str>,
}

/// The end of the box, as a signal to the thread that accepts clients.
pub(crate) struct End {
    reached: AtomicBool,
    /// Woken when the end is reached.
    waker: Waker,
}

impl End {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { reached: AtomicBool::new(false), waker: Waker::new()? })
    }

    /// Ends the acceptance of clients.
    pub(crate) fn reach(&self) {
        self.reached.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// The socket that clients connect to, and its file.
pub(crate) struct Door {
    path: PathBuf,
    purpose: Purpose,
    listener: UnixListener,
    /// Device and inode number of the file.
    file: (u64, u64),
}

impl Door {
    /// Listens at `path`, whose directory is created if needed. A socket left by a dead box is replaced.
    ///
    /// # Errors
    /// A running box replies there already, or the directory or the socket cannot be created.
    pub(crate) fn open(path: &Path, purpose: Purpose) -> Result<Self> {
        let describe = || format!("{} = {:?}", purpose.key, path.display());
        if UnixStream::connect(path).is_ok() {
            bail!("{}: another box answers there already", describe());
        }
        // A directory below /run is gone after a boot.
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            let directory = || format!("{}: make the directory {}", describe(), parent.display());
            fs::create_dir_all(parent).with_context(directory)?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).with_context(describe),
            _ => {}
        }
        let listener = UnixListener::bind(path).with_context(describe)?;
        // Write access to the control socket includes the right to bypass the box.
        fs::set_permissions(path, fs::Permissions::from_mode(0o660)).with_context(describe)?;
        purpose.give_to_group(path);
        listener.set_nonblocking(true).with_context(describe)?;
        let file = number_of(path).with_context(describe)?;
        Ok(Self { path: path.to_owned(), purpose, listener, file })
    }

    /// Whether the path still leads to this socket.
    fn is_there(&self) -> bool {
        number_of(&self.path).is_ok_and(|file| file == self.file)
    }

    /// Passes each client to `admit` until the end. Creates the socket again if its file was deleted.
    ///
    /// # Errors
    /// A refused system call.
    pub(crate) fn accept(mut self, end: &End, mut admit: impl FnMut(UnixStream)) -> Result<()> {
        let (mut refusal, mut logged) = (String::new(), false);
        let name = self.purpose.name;
        loop {
            let mut epoll = Epoll::new(2)?;
            epoll.add(&self.listener, 0)?;
            epoll.add(&end.waker, 1)?;
            while self.is_there() {
                let _ = epoll.wait(Some(CHECK))?;
                if end.reached.load(Ordering::Acquire) {
                    return Ok(());
                }
                self.admit_all(&mut admit, &mut logged);
            }
            match Self::open(&self.path, self.purpose) {
                Ok(new) => {
                    warn!("the {name} {} was deleted, and is made again", self.path.display());
                    self = new;
                    refusal.clear();
                }
                Err(error) => {
                    let text = format!("{error:#}");
                    if text != refusal {
                        warn!("the {name} was deleted, and cannot be made again: {text}");
                        refusal = text;
                    }
                    let _ = epoll.wait(Some(CHECK))?;
                    if end.reached.load(Ordering::Acquire) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Admits each waiting client. `logged`: the failure to accept clients has been logged since the last success.
    fn admit_all(&self, admit: &mut impl FnMut(UnixStream), logged: &mut bool) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    *logged = false;
                    admit(stream);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    // For instance without free descriptors: an immediate attempt would only use processor time.
                    if !std::mem::replace(logged, true) {
                        warn!("cannot accept a client of the {}: {error}", self.purpose.name);
                    }
                    return thread::sleep(ACCEPT_PAUSE);
                }
            }
        }
    }
}

fn number_of(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

impl Purpose {
    /// Gives the socket to its group. A failure is logged: then only root and the box's own group may open it.
    fn give_to_group(self, path: &Path) {
        let Some(name) = self.group else { return };
        let Some(number) = fs::read_to_string("/etc/group").ok().and_then(|groups| group_number(&groups, name)) else {
            return;
        };
        if let Err(error) = chown(path, None, Some(number)) {
            warn!("the {} {} cannot be given to the group {name}: {error}", self.name, path.display());
        }
    }
}

/// The number of a group in the text of group(5).
fn group_number(groups: &str, name: &str) -> Option<u32> {
    let line = groups.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split(':').nth(2)?.parse().ok()
}

/// A client's connection with a deadline for reads and writes.
pub(crate) struct Timed<'a> {
    pub(crate) stream: &'a UnixStream,
    pub(crate) deadline: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_whole_name() {
        let groups = "root:x:0:\nevenair-watchers:x:7:\nevenair-watch:x:990:anne,ben\nbroken\n";
        assert_eq!(group_number(groups, "evenair-watch"), Some(990));
        assert_eq!((group_number(groups, "evenair"), group_number(groups, "broken")), (None, None));
    }
}
