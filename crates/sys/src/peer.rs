//! Credentials of the peer of a Unix socket (`SO_PEERCRED`, unix(7)).
#![allow(unsafe_code)]

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use crate::error::OsError;

/// User id of the process that connected, at the time of the connection.
///
/// # Errors
/// The kernel's error.
pub fn uid_of(stream: &UnixStream) -> Result<u32, OsError> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    let (fd, at) = (stream.as_raw_fd(), (&raw mut peer).cast());
    // SAFETY: the kernel writes at most `len` bytes, the size of the structure, to which any bytes may be written.
    match unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, at, &raw mut len) } {
        0 => Ok(peer.uid),
        _ => Err(OsError::last("getsockopt(SO_PEERCRED)")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn the_other_end_is_this_process() {
        let (here, _there) = UnixStream::pair().expect("a pair");
        let own = std::fs::metadata("/proc/self").expect("proc is mounted").uid();
        assert_eq!(uid_of(&here).expect("a Unix socket"), own);
    }
}
