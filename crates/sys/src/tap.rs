//! TAP devices: Ethernet frames to and from a network namespace (Documentation/networking/tuntap.rst).
//!
//! One descriptor per device, without packet information and without offloads: a read returns a whole frame with complete
//! checksums, at most MTU + 14 bytes (18 with a VLAN tag). The device vanishes with the descriptor. Addresses, MTU and "up"
//! are not set here.
#![allow(unsafe_code)]

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::error::OsError;

/// The device file of the TUN/TAP driver.
pub const DEVICE: &str = "/dev/net/tun";

/// A TAP device, read and written without blocking.
#[derive(Debug)]
pub struct Tap {
    fd: OwnedFd,
    name: String,
}

impl Tap {
    /// Creates the TAP device `name` in the calling thread's network namespace (see [`crate::netns::Netns::run`]).
    ///
    /// # Errors
    /// `ENOENT`, `ENODEV` or `EACCES` of [`DEVICE`]; `EPERM` without `CAP_NET_ADMIN` over the namespace; `EBUSY` if an
    /// interface of this name exists; `EINVAL` for a name longer than 15 bytes.
    pub fn create(name: &str) -> Result<Self, OsError> {
        let mut request = request_for(name)?;
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as libc::c_short;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(DEVICE)
            .map_err(|e| OsError::from_io(format!("open {DEVICE}"), &e))?;
        let fd = OwnedFd::from(file);
        // SAFETY: TUNSETIFF reads and writes one ifreq, which outlives the call.
        let rc = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
        if rc != 0 {
            return Err(OsError::last(format!("ioctl(TUNSETIFF) for the TAP device {name}")));
        }
        Ok(Self { fd, name: name.to_owned() })
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the next frame that the namespace sent into `buffer`, and returns its length; `None` if there is none. A frame
    /// longer than the buffer is truncated.
    ///
    /// # Errors
    /// `EIO` while the interface is down.
    pub fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, OsError> {
        // SAFETY: the pointer and the length are those of a live, exclusively borrowed slice.
        let n = unsafe { libc::read(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        match usize::try_from(n) {
            Ok(n) => Ok(Some(n)),
            Err(_) => match io::Error::last_os_error().kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(OsError::last(format!("read from the TAP device {}", self.name))),
            },
        }
    }

    /// Passes a frame to the namespace, as if it arrived at the interface. When this returns, the kernel has processed it up
    /// to the socket (reception runs on the caller's core).
    ///
    /// # Errors
    /// `EIO` while the interface is down, `EINVAL` for less than an Ethernet header, `ENOBUFS`/`EAGAIN` without memory.
    pub fn write(&self, frame: &[u8]) -> Result<(), OsError> {
        // SAFETY: the pointer and the length are those of a live slice.
        let n = unsafe { libc::write(self.fd.as_raw_fd(), frame.as_ptr().cast(), frame.len()) };
        if n < 0 { Err(OsError::last(format!("write to the TAP device {}", self.name))) } else { Ok(()) }
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn request_for(name: &str) -> Result<libc::ifreq, OsError> {
    // SAFETY: ifreq is plain data for which all zero bytes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(OsError::new(format!("name a TAP device {name:?}"), libc::EINVAL));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::netns::Netns;

    fn namespace_or_skip() -> Option<Netns> {
        let namespace = match Netns::new() {
            Ok(namespace) => namespace,
            Err(error) => {
                eprintln!("skipped: {error} (needs root or a user namespace)");
                return None;
            }
        };
        match namespace.run(|| Tap::create("probe0")).expect("entered") {
            Ok(_) => Some(namespace),
            Err(error) => {
                eprintln!("skipped: {error}");
                None
            }
        }
    }

    #[test]
    fn a_name_in_use_is_busy_and_a_dropped_device_is_gone() {
        let Some(namespace) = namespace_or_skip() else { return };
        let first = namespace.run(|| Tap::create("tap0")).expect("entered").expect("created");
        let second = namespace.run(|| Tap::create("tap0")).expect("entered").expect_err("the name is taken");
        assert_eq!(second.errno(), libc::EBUSY);
        assert!(second.to_string().contains("tap0"), "{second}");
        drop(first);
        // Another test of this process may be starting a program: the child of its fork(2) holds the device open until
        // execve(2), for as long as the scheduler lets it wait.
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(error) = namespace.run(|| Tap::create("tap0")).expect("entered") {
            assert_eq!(error.errno(), libc::EBUSY);
            assert!(Instant::now() < deadline, "the name is still taken");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn nothing_to_read_is_none_not_an_error() {
        let Some(namespace) = namespace_or_skip() else { return };
        let tap = namespace.run(|| Tap::create("tap0")).expect("entered").expect("created");
        let mut buffer = [0; 2048];
        // Down: the driver returns EIO only for writes; an empty queue is EAGAIN in any case.
        assert_eq!(tap.read(&mut buffer), Ok(None));
        let down = tap.write(&[0; 60]).expect_err("the interface is down");
        assert_eq!(down.errno(), libc::EIO);
    }

    #[test]
    fn a_name_too_long_is_refused_before_the_kernel_sees_it() {
        assert_eq!(Tap::create("a-name-of-sixteen").expect_err("too long").errno(), libc::EINVAL);
    }
}
