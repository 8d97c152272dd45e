//! An error of the operating system with the name of the failed call.
//!
//! `std::io::Error` says only "Operation not permitted", so that a log does not show which of a hundred calls failed.
//! [`OsError`] has the call (with its object) and the error number.

use std::fmt;
use std::io;

/// A failed call to the operating system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OsError {
    call: String,
    errno: i32,
}

impl OsError {
    /// The call `call` failed with the error number `errno`.
    pub fn new(call: impl Into<String>, errno: i32) -> Self {
        Self { call: call.into(), errno }
    }

    /// The call `call` failed just now: takes the calling thread's `errno`.
    pub fn last(call: impl Into<String>) -> Self {
        Self::from_io(call, &io::Error::last_os_error())
    }

    /// An error from one of the standard library; error number 0 if it has none.
    pub fn from_io(call: impl Into<String>, error: &io::Error) -> Self {
        Self { call: call.into(), errno: error.raw_os_error().unwrap_or(0) }
    }

    /// The error number, for instance `libc::EPERM`.
    pub fn errno(&self) -> i32 {
        self.errno
    }

    /// The call that failed.
    pub fn call(&self) -> &str {
        &self.call
    }
}

impl fmt::Display for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, io::Error::from_raw_os_error(self.errno))
    }
}

impl std::error::Error for OsError {}

impl From<OsError> for io::Error {
    fn from(error: OsError) -> Self {
        let kind = io::Error::from_raw_os_error(error.errno).kind();
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_call_and_keeps_the_number() {
        let error = OsError::new("open /dev/net/tun", libc::EACCES);
        assert!(error.to_string().starts_with("open /dev/net/tun: Permission denied"), "{error}");
        assert_eq!(error.errno(), libc::EACCES);
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::PermissionDenied);
    }
}
