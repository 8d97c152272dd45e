//! Notifications of changed network interfaces (rtnetlink(7), RTNLGRP_LINK).
//!
//! They do not contain the change: the caller queries the interfaces ([`crate::iface`]). So an overflow of the socket loses
//! nothing, and no message has to be parsed.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::OsError;

/// Maximum number of notifications taken by one call; the socket stays readable if there are more.
const MOST: usize = 4096;

/// A socket that becomes readable when an interface of its namespace is created, changed or deleted.
#[derive(Debug)]
pub struct LinkEvents {
    socket: OwnedFd,
}

impl LinkEvents {
    /// Subscribes to changes.
    ///
    /// # Errors
    /// A failed system call, with its name.
    pub fn subscribe() -> Result<Self, OsError> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes no pointer.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
        if fd < 0 {
            return Err(OsError::last("socket(AF_NETLINK)"));
        }
        // SAFETY: a new descriptor without another owner.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: sockaddr_nl is plain data for which all zero bytes is a valid value.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = libc::RTMGRP_LINK as u32;
        let len = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: the pointer and the length are those of a live structure.
        if unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) } < 0 {
            return Err(OsError::last("bind(AF_NETLINK) to the notifications of interfaces"));
        }
        Ok(Self { socket })
    }

    /// Takes the pending notifications. Returns whether there were any, or the socket overflowed.
    pub fn take(&self) -> bool {
        // The rest of a message is truncated: only its arrival matters.
        let mut start = [0u8; 16];
        for taken in 0..MOST {
            // SAFETY: the pointer and the length are those of a live, exclusively borrowed array.
            let n = unsafe { libc::recv(self.socket.as_raw_fd(), start.as_mut_ptr().cast(), start.len(), 0) };
            let lost = || std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS);
            if n < 0 && !lost() {
                return taken > 0;
            }
        }
        true
    }
}

impl AsFd for LinkEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::*;
    use crate::netns::Netns;
    use crate::rt::Epoll;

    #[test]
    fn a_change_of_an_interface_is_notified_once() {
        let Ok(namespace) = Netns::new() else { return eprintln!("skipped: needs root") };
        let watch = || {
            let events = LinkEvents::subscribe().expect("subscribed");
            assert!(!events.take(), "nothing has changed");
            let ip = |arguments: &str| {
                let status = Command::new("ip").args(arguments.split_whitespace()).status();
                assert!(status.expect("ip(8) is installed").success());
            };
            ip("link add br0 type bridge");
            let mut epoll = Epoll::new(1).expect("an epoll");
            epoll.add(&events, 0).expect("added");
            assert_eq!(epoll.wait(Some(Duration::from_secs(20))).expect("waits").count(), 1);
            assert!(events.take() && !events.take());
            // More than the socket can hold.
            (0..400).for_each(|n| ip(&format!("link set br0 mtu {}", 1400 + n % 2)));
            assert!(events.take(), "what was lost counts as a change");
        };
        namespace.run(watch).expect("entered");
    }
}
