//! Random secrets, and files that only their owner may read.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Size limit of a private file, in bytes: some thousand accounts.
const LONGEST_FILE: u64 = 1 << 20;

/// SHA-256 of a secret, which the server stores instead of the secret. Secrets have 256 random bits, so that a fast hash
/// suffices.
pub(crate) type Digest256 = [u8; 32];

/// Random bytes of the operating system.
///
/// # Panics
/// The system has none: there could be no secrets.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes
}

/// A new secret of 256 bits, as 64 hexadecimal digits.
pub(crate) fn new_secret() -> String {
    hex(&random::<32>())
}

/// The digest of a secret.
pub(crate) fn digest(secret: &str) -> Digest256 {
    Sha256::digest(secret.as_bytes()).into()
}

/// Hexadecimal digits of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// Parses exactly `N` bytes of hexadecimal digits; `None` if malformed.
pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    bytes_of_hex(text)?.try_into().ok()
}

/// Parses hexadecimal digits; `None` if malformed or of odd number.
pub(crate) fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<Vec<_>>>()?;
    let (pairs, rest) = digits.as_chunks();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Creates the folder of private files, if it is missing.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Gives a file to the owner of its folder, so that the service can use files made by root.
pub(crate) fn give_to_owner(file: &File, folder: &Path) -> Result<()> {
    let (owner, ours) = (fs::metadata(folder)?, file.metadata()?);
    if owner.uid() == ours.uid() { Ok(()) } else { fchown(file, Some(owner.uid()), Some(owner.gid())) }
}

/// Replaces a file atomically, with mode 0600. It belongs to the folder's owner, so that the service can read files written by
/// root.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().ok_or_else(|| Error::other("the path has no folder"))?;
    make_folder(folder)?;
    let new = folder.join(format!(".new-{}", hex(&random::<8>())));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        give_to_owner(&file, folder)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        File::open(folder)?.sync_all()
    })();
    if written.is_err() {
        _ = fs::remove_file(&new);
    }
    written
}

/// Reads a private file; `None` if it does not exist.
///
/// # Errors
/// It cannot be read, is not UTF-8, is too long, or others than its owner may read it.
pub(crate) fn read_private(path: &Path) -> Result<Option<String>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mode = file.metadata()?.mode() & 0o777;
    if mode & 0o077 != 0 {
        let what = format!("others may read it (mode {mode:o}): run `chmod 600 {}`", path.display());
        return Err(Error::other(what));
    }
    let mut text = String::new();
    file.take(LONGEST_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(Error::other("it is longer than 1 MB"));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_are_read_as_they_were_written() {
        let bytes = random::<32>();
        assert_eq!(from_hex(&hex(&bytes)), Some(bytes));
        for wrong in ["", "0", "+f", "0g", "000000"] {
            assert_eq!(from_hex::<1>(wrong), None, "{wrong}");
        }
    }
}
