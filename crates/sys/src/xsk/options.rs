//! Options of AF_XDP sockets.

use std::os::fd::{AsRawFd, OwnedFd};

use crate::error::OsError;
use crate::iface::Interface;

/// Offsets of the rings' words and elements in their mappings.
pub(super) fn offsets_of(fd: &OwnedFd, interface: &Interface) -> Result<libc::xdp_mmap_offsets, OsError> {
    // SAFETY: plain numbers, for which zero is a value.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    match get_option(fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, &mut offsets) {
        true => Ok(offsets),
        false => Err(OsError::last(format!("getsockopt(XDP_MMAP_OFFSETS) for {}", interface.name))),
    }
}

/// Sets an option with a plain value.
pub(super) fn set_option<T>(
    fd: &OwnedFd,
    option: i32,
    value: &T,
    name: &str,
    interface: &Interface,
) -> Result<(), OsError> {
    let len = size_of::<T>() as libc::socklen_t;
    let value = std::ptr::from_ref(value).cast();
    // SAFETY: the kernel reads `len` bytes of a live value.
    match unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_XDP, option, value, len) } {
        0 => Ok(()),
        _ => Err(OsError::last(format!("setsockopt({name}) for {}", interface.name))),
    }
}

/// Whether the kernel wrote the option's value. `T` is plain data, for which any bytes are valid.
pub(super) fn get_option<T>(fd: &OwnedFd, level: i32, option: i32, value: &mut T) -> bool {
    let mut len = size_of::<T>() as libc::socklen_t;
    let value = std::ptr::from_mut(value).cast();
    // SAFETY: the kernel writes at most `len` bytes into a live value; the callers' types are of numbers alone.
    unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, value, &raw mut len) == 0 }
}
