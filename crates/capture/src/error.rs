//! Errors of capture files.

use std::path::{Path, PathBuf};

/// A capture that ends within a packet. The packets before it are valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: ends within packet {}; the {packets} before it are used", path.display(), packets + 1)]
pub struct Cut {
    pub(crate) path: PathBuf,
    pub(crate) packets: u64,
}

/// A capture that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct CaptureError {
    path: PathBuf,
    what: String,
}

impl CaptureError {
    /// `what` is a clause about the file.
    pub fn new(path: &Path, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), what: what.into() }
    }
}

/// Why the next packet cannot be read.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The input ends within the packet.
    Cut,
    /// A violation of the format, as a clause.
    Format(String),
    /// An error of the operating system or of the decompression.
    Io(std::io::Error),
}

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// An error of the format.
pub(crate) fn broken<T>(what: impl Into<String>) -> Result<T, Broken> {
    Err(Broken::Format(what.into()))
}
