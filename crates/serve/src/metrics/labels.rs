//! Labels of single stations on the page: `[metrics] stations`.
//!
//! An unkeyed hash of a MAC address is reversed by trying all addresses. So it has a key, 128 random bits in the state directory, in a
//! file that only root can read. It is SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast
//! short-input PRF", INDOCRYPT 2012), whose results reveal nothing of its input without the key.

use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::hash::Hasher;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use evenair_boxfile::StationLabels;
use evenair_boxfile::small_file::read_bytes;
use siphasher::sip::SipHasher24;
use tracing::warn;

/// Bytes of the key.
const KEY: usize = 16;

/// Labels of stations on the page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Labels {
    Names,
    Mac,
    Hashed([u8; KEY]),
    None,
}

impl Labels {
    /// The configured labels. The key is in a file, which is created if missing.
    pub(super) fn new(stations: StationLabels, file: &Path) -> Self {
        match stations {
            StationLabels::Names => Self::Names,
            StationLabels::Mac => Self::Mac,
            StationLabels::None => Self::None,
            StationLabels::Hashed => Self::Hashed(key(file)),
        }
    }

    /// The label of a station's MAC address, or of another address of a person; `None`: it has none.
    pub(super) fn of<'a>(&self, address: &'a str) -> Option<Cow<'a, str>> {
        match self {
            Self::Names | Self::Mac => Some(address.into()),
            Self::Hashed(key) => {
                let mut hasher = SipHasher24::new_with_key(key);
                hasher.write(address.as_bytes());
                Some(format!("{:016x}", hasher.finish()).into())
            }
            Self::None => None,
        }
    }

    /// Whether names and IP addresses of stations are shown.
    pub(super) const fn has_names(&self) -> bool {
        matches!(self, Self::Names)
    }
}

/// File of the key, beside the names of the stations.
pub(super) fn key_file() -> PathBuf {
    evenair_boxfile::names::file().with_file_name("metrics-key")
}

/// The key in the file, or a new one, which is stored there.
fn key(file: &Path) -> [u8; KEY] {
    match read_bytes(file, KEY as u64) {
        Ok(bytes) => match bytes.try_into() {
            Ok(key) => return key,
            Err(_) => warn!("{} is no key: a new one takes its place", file.display()),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => warn!("read {}: {error}: a new key takes its place", file.display()),
    }
    let key = evenair_sys::random::random().expect("the kernel has random bytes");
    if let Err(error) = keep(file, &key) {
        warn!("write {}: {error}; the hashes of the metrics are others after the next start", file.display());
    }
    key
}

/// Writes the file as a whole, readable by root only.
fn keep(file: &Path, key: &[u8; KEY]) -> io::Result<()> {
    let new = file.with_extension("new");
    let mut options = OpenOptions::new();
    let _ = fs::remove_file(&new);
    let mut writer = options.write(true).create_new(true).mode(0o600).open(&new)?;
    writer.write_all(key)?;
    writer.sync_all()?;
    fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const MAC: &str = "02:00:00:00:00:01";

    #[test]
    fn a_hash_is_the_same_after_a_restart_and_differs_between_boxes() {
        let folder = tempfile::tempdir().expect("a folder");
        let hash = |name: &str| {
            let labels = Labels::new(StationLabels::Hashed, &folder.path().join(name));
            labels.of(MAC).expect("a label").into_owned()
        };
        let first = hash("key");
        assert_eq!(first.len(), 16, "{first}");
        assert_eq!(hash("key"), first, "the key is kept");
        let mode = fs::metadata(folder.path().join("key")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(hash("other"), first);
        assert_ne!(hash("missing/key"), first, "without a folder it is of this run");
        fs::write(folder.path().join("key"), "short").expect("writable");
        let second = hash("key");
        assert_ne!(second, first, "what is no key is replaced");
        assert_eq!(hash("key"), second);
    }

    #[test]
    fn without_hashes_there_is_no_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        for (stations, label) in
            [(StationLabels::Names, Some(MAC)), (StationLabels::Mac, Some(MAC)), (StationLabels::None, None)]
        {
            assert_eq!(Labels::new(stations, &file).of(MAC).as_deref(), label);
        }
        assert!(!file.exists());
    }
}
