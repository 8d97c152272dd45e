//! Anonymous network namespaces (namespaces(7), network_namespaces(7)).
//!
//! A namespace is created by unsharing in a short-lived thread, and is held by one file descriptor. It has no name in the
//! file system, so that it is gone with the last process that lives in it or holds the descriptor: a parent killed with
//! SIGKILL leaves nothing behind. The calling thread never changes its own namespace: code that must run inside one runs on
//! a separate thread or in a child process.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread;

use crate::error::OsError;

/// A network namespace that lives at least as long as this value.
#[derive(Debug)]
pub struct Netns {
    fd: OwnedFd,
}

impl Netns {
    /// Creates a new, empty namespace.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN` in the user namespace, `ENOSPC` at the limit of namespaces.
    pub fn new() -> Result<Self, OsError> {
        on_own_thread(|| {
            // SAFETY: unshare takes no pointer; it moves only this thread, which ends right after.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(OsError::last("unshare(CLONE_NEWNET)"));
            }
            Self::current()
        })?
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// If `/proc` is not mounted.
    pub fn current() -> Result<Self, OsError> {
        Self::open(Path::new("/proc/thread-self/ns/net"))
    }

    /// The namespace behind a path such as `/proc/PID/fd/N` or `/run/netns/NAME`.
    ///
    /// # Errors
    /// If the file cannot be opened. Whether it is a namespace shows only when it is entered.
    pub fn open(path: &Path) -> Result<Self, OsError> {
        let file = File::open(path).map_err(|e| OsError::from_io(format!("open {}", path.display()), &e))?;
        Ok(Self { fd: OwnedFd::from(file) })
    }

    /// Runs `f` inside the namespace on a separate thread and returns its result. Sockets, TUN/TAP descriptors and
    /// `/proc/sys/net` opened there belong to this namespace permanently.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    ///
    /// # Panics
    /// If `f` panics.
    pub fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> Result<T, OsError> {
        on_own_thread(|| {
            enter(self.fd.as_fd())?;
            Ok(f())
        })?
    }
}

impl AsFd for Netns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Moves the calling thread into the namespace. Only a descriptor of the old one allows it to return.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN` over it, `EINVAL` if `namespace` is not a network namespace.
pub fn enter(namespace: BorrowedFd<'_>) -> Result<(), OsError> {
    // SAFETY: the descriptor is open for the length of the call, and setns takes no pointer.
    match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(OsError::last("setns(CLONE_NEWNET)")),
    }
}

/// Sets one kernel variable of the calling thread's namespace, for instance `net/ipv4/ip_forward`.
///
/// # Errors
/// The file's name and the kernel's error.
pub fn set_sysctl(name: &str, value: &str) -> Result<(), OsError> {
    let path = Path::new("/proc/sys").join(name);
    std::fs::write(&path, value).map_err(|e| OsError::from_io(format!("write {value:?} to {}", path.display()), &e))
}

fn on_own_thread<T: Send>(f: impl FnOnce() -> T + Send) -> Result<T, OsError> {
    thread::scope(|scope| {
        let handle = thread::Builder::new()
            .name("netns".into())
            .spawn_scoped(scope, f)
            .map_err(|e| OsError::from_io("create a thread", &e))?;
        match handle.join() {
            Ok(value) => Ok(value),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace_or_skip() -> Option<Netns> {
        match Netns::new() {
            Ok(namespace) => Some(namespace),
            Err(error) => {
                eprintln!("skipped: {error} (needs root or a user namespace)");
                None
            }
        }
    }

    fn interfaces() -> Vec<String> {
        let text = std::fs::read_to_string("/proc/thread-self/net/dev").expect("/proc is mounted");
        text.lines().skip(2).filter_map(|line| line.split(':').next()).map(|name| name.trim().to_owned()).collect()
    }

    #[test]
    fn a_new_namespace_has_only_loopback_and_leaves_the_caller_where_it_was() {
        let Some(namespace) = namespace_or_skip() else { return };
        let before = std::fs::read_link("/proc/thread-self/ns/net").expect("/proc is mounted");
        assert_eq!(namespace.run(interfaces).expect("entered"), ["lo"]);
        assert_eq!(std::fs::read_link("/proc/thread-self/ns/net").expect("/proc is mounted"), before);
    }

    #[test]
    fn kernel_variables_are_per_namespace() {
        let Some(namespace) = namespace_or_skip() else { return };
        let before = std::fs::read_to_string("/proc/sys/net/ipv4/ip_forward").expect("readable");
        let other = if before.trim() == "1" { "0" } else { "1" };
        namespace.run(|| set_sysctl("net/ipv4/ip_forward", other)).expect("entered").expect("set");
        let inside = namespace.run(|| std::fs::read_to_string("/proc/sys/net/ipv4/ip_forward")).expect("entered");
        assert_eq!(inside.expect("readable").trim(), other);
        assert_eq!(std::fs::read_to_string("/proc/sys/net/ipv4/ip_forward").expect("readable"), before);
    }

    #[test]
    fn a_wrong_sysctl_names_its_file() {
        let error = set_sysctl("net/ipv4/no_such_variable", "1").expect_err("does not exist");
        assert!(error.to_string().contains("/proc/sys/net/ipv4/no_such_variable"), "{error}");
    }
}
