//! Child processes that live in a namespace and cannot outlive the thread that started them.
//!
//! `PR_SET_PDEATHSIG` is bound to the *thread* that spawned the child (prctl(2)), so callers of [`tie`] must spawn from a
//! thread that lives as long as the child should.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::error::OsError;

/// Makes the child die (SIGKILL) when the spawning thread ends for any reason, and, if `namespace` is given, run in it. The
/// namespace must stay open until the command is spawned.
pub fn tie<'a>(command: &'a mut Command, namespace: Option<BorrowedFd<'_>>) -> &'a mut Command {
    let namespace = namespace.map(|fd| fd.as_fd().as_raw_fd());
    // SAFETY: getpid takes nothing and cannot fail.
    let parent = unsafe { libc::getpid() };
    let before_exec = move || {
        // SAFETY: between fork and exec; setns, prctl, getppid and _exit are plain system calls that neither allocate
        // nor lock. The descriptor is open in the child as it was in the parent (close-on-exec comes later).
        unsafe {
            if let Some(fd) = namespace
                && libc::setns(fd, libc::CLONE_NEWNET) != 0
            {
                return Err(std::io::Error::last_os_error());
            }
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            if libc::getppid() != parent {
                // The parent died before the request took effect: the signal would never come.
                libc::_exit(1);
            }
        }
        Ok(())
    };
    // SAFETY: the closure keeps to what is allowed between fork and exec, as said above.
    unsafe { command.pre_exec(before_exec) }
}

/// Lets this process end quietly when the reader of its output has gone (`evenair status | head`), as command-line programs
/// do; Rust's runtime would turn it into an error of every print.
pub fn end_with_the_reader() {
    // SAFETY: SIG_DFL is a valid disposition, and no handler of this process is replaced: the runtime only ignores it.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Sends a signal to a process.
///
/// # Errors
/// `ESRCH` if there is no such process, `EPERM` if it is another user's.
pub fn signal(pid: u32, signal: i32) -> Result<(), OsError> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| OsError::new(format!("kill {pid}"), libc::ESRCH))?;
    // SAFETY: kill takes no pointer.
    if unsafe { libc::kill(pid, signal) } == 0 { Ok(()) } else { Err(OsError::last(format!("kill({pid}, {signal})"))) }
}

/// When a process started, in clock ticks since boot (field 22 of `/proc/PID/stat`); `None` if there is no such process.
/// Together with the process id this identifies a process permanently: ids are reused, start times are not.
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses and may itself contain spaces and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The effective user id of this process.
pub fn effective_user() -> u32 {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether this process has the capability (its number in capability.h, for instance 12 for `CAP_NET_ADMIN`) in its
/// effective set, according to its status file.
pub fn has_capability(number: u32) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/thread-self/status") else { return false };
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask >> number & 1 == 1
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::netns::Netns;

    #[test]
    fn a_tied_child_dies_with_its_thread() {
        let child = std::thread::spawn(|| tie(Command::new("sleep").arg("100"), None).spawn().expect("sleep"));
        let mut child = child.join().expect("spawned");
        let deadline = Instant::now() + Duration::from_secs(5);
        let status = loop {
            if let Some(status) = child.try_wait().expect("our child") {
                break status;
            }
            assert!(Instant::now() < deadline, "still alive");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
    }

    #[test]
    fn a_child_runs_in_the_namespace() {
        let Ok(namespace) = Netns::new() else {
            eprintln!("skipped: no new network namespace (needs root or a user namespace)");
            return;
        };
        let inside = namespace.run(|| std::fs::read_link("/proc/thread-self/ns/net")).expect("entered").expect("read");
        let mut command = Command::new("readlink");
        command.arg("/proc/self/ns/net").stdout(Stdio::piped());
        let output = tie(&mut command, Some(namespace.as_fd())).output().expect("readlink");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), inside.to_string_lossy());
    }

    #[test]
    fn start_times_tell_processes_apart() {
        let own = start_time(std::process::id()).expect("this process lives");
        assert_eq!(start_time(std::process::id()), Some(own));
        let mut child = Command::new("true").spawn().expect("true");
        let pid = child.id();
        assert!(start_time(pid).expect("not yet waited for") >= own);
        child.wait().expect("ends");
        assert_eq!(start_time(pid), None);
        assert_eq!(signal(pid, 0).expect_err("gone").errno(), libc::ESRCH);
    }
}
