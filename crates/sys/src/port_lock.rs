//! A lock on a network interface: one process at a time may take its packets.
//!
//! The lock is an abstract Unix socket (unix(7)) named after the interface's index. The kernel allows one socket per name
//! in a network namespace, decides atomically between two processes, and frees the name when the process ends in any way.
//! It needs no file, no privilege and no particular kernel. The socket listens, so that a refused process can query the
//! credentials of the holder (SO_PEERCRED: those of the process that called listen(2)).
//!
//! A recreated interface has another index and another lock. When an interface moves to another namespace, its lock stays
//! in the old one. Any local process can take such a name, so a refused process should check the privileges of the holder.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::error::OsError;

/// The lock of an interface, held until this is dropped.
#[derive(Debug)]
pub struct PortLock {
    _socket: UnixListener,
}

/// Why there is no lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockError {
    /// A process has it: this one, where that can be known. It cannot from another PID namespace.
    Held(Option<u32>),
    /// A call failed.
    Os(OsError),
}

impl PortLock {
    /// Takes the lock of the interface with this number in the calling thread's network namespace. Does not wait.
    ///
    /// # Errors
    /// It is held; the socket cannot be made.
    pub fn acquire(index: u32) -> Result<Self, LockError> {
        let name = name_of(index);
        let address = SocketAddr::from_abstract_name(&name).expect("shorter than a socket's name");
        match UnixListener::bind_addr(&address) {
            Ok(socket) => Ok(Self { _socket: socket }),
            Err(error) if error.raw_os_error() == Some(libc::EADDRINUSE) => Err(LockError::Held(holder(&name))),
            Err(error) => Err(LockError::Os(OsError::from_io(format!("bind the Unix socket \"@{name}\""), &error))),
        }
    }
}

fn name_of(index: u32) -> String {
    format!("evenair-port-{index}")
}

/// The process that listens at this name. Connections there are never accepted, so connect(2) must not wait for room: `None`
/// once thousands are pending.
fn holder(name: &str) -> Option<u32> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if fd < 0 {
        return None;
    }
    // SAFETY: a new descriptor without another owner.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    // The zero before the name says that it is no path.
    address.sun_path[1..].iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
    let len = (std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len()) as libc::socklen_t;
    // SAFETY: the address lives during the call, and the length is within it.
    if unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), len) } != 0 {
        return None;
    }
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of_val(&peer) as libc::socklen_t;
    let option = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: the option's value is a ucred, and the length says how much of it may be written.
    let got = unsafe { libc::getsockopt(socket.as_raw_fd(), option.0, option.1, (&raw mut peer).cast(), &raw mut len) };
    // Zero: a process that is not to be seen from here.
    u32::try_from(peer.pid).ok().filter(|&pid| got == 0 && pid != 0)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::netns::Netns;

    /// Far above the number of any interface, and another one in each process: these tests may run twice at once.
    fn unused(number: u32) -> u32 {
        3_000_000_000 + (std::process::id() << 7) % 1_000_000_000 + number
    }

    #[test]
    fn one_process_at_a_time_has_the_lock_and_is_named() {
        let lock = PortLock::acquire(unused(0)).expect("free");
        let own = std::process::id();
        assert_eq!(PortLock::acquire(unused(0)).expect_err("held"), LockError::Held(Some(own)));
        let other = PortLock::acquire(unused(1)).expect("another interface");
        drop(lock);
        PortLock::acquire(unused(0)).expect("free again, although somebody connected");
        drop(other);
    }

    #[test]
    fn of_many_that_ask_at_once_one_gets_it() {
        for round in 0..50 {
            let (start, got) = (Barrier::new(8), Barrier::new(8));
            let ask = || {
                start.wait();
                let lock = PortLock::acquire(unused(2 + round));
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
    fn the_lock_answers_however_often_it_was_asked_for() {
        let _lock = PortLock::acquire(unused(100)).expect("free");
        for _ in 0..5000 {
            assert!(matches!(PortLock::acquire(unused(100)), Err(LockError::Held(_))));
        }
    }

    #[test]
    fn another_network_namespace_has_locks_of_its_own() {
        let Ok(namespace) = Netns::new() else { return eprintln!("skipped: needs root") };
        let _lock = PortLock::acquire(unused(101)).expect("free");
        namespace.run(|| PortLock::acquire(unused(101)).map(drop)).expect("entered").expect("free there");
    }
}
