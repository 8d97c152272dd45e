//! Reads small files with names from an untrusted source: a configuration named in a request, and the secrets and certificates that
//! it names.
//!
//! The name may be that of an endless device (`/dev/zero`), a FIFO without a writer, or a huge log file. Only a regular
//! file of bounded size is read, without blocking.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Reads the text of a regular file of at most `most` bytes.
///
/// # Errors
/// If it cannot be opened, is no regular file, is longer, or is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    // Discards the bytes, which the error of the standard library would carry.
    String::from_utf8(read_bytes(path, most)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// If it cannot be opened, is no regular file, or is longer.
pub fn read_bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Opening some devices has side effects, hence the first check; the second one is on what was really opened.
    refuse_others(fs::metadata(path)?.is_file())?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    refuse_others(file.metadata()?.is_file())?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is longer than {most} bytes")));
    }
    Ok(bytes)
}

/// Replaces a file atomically: a reader finds the old content or the new one, even after a power cut.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = fs::File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

fn refuse_others(is_regular: bool) -> io::Result<()> {
    if is_regular { Ok(()) } else { Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn regular_files_of_bounded_size_are_read_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "12345").expect("writable");
        assert_eq!(read_text(&file, 5).expect("read"), "12345");
        assert!(read_text(&file, 4).expect_err("too long").to_string().contains("longer than 4 bytes"));
        fs::write(&file, [b'a', 0xff]).expect("writable");
        assert_eq!(read_text(&file, 5).expect_err("no text").to_string(), "it is not UTF-8 text");
        let fifo = folder.path().join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().expect("started").success());
        for path in [Path::new("/dev/zero"), folder.path(), &fifo] {
            let error = read_text(path, 5).expect_err("refused").to_string();
            assert_eq!(error, "it is not a regular file", "{}", path.display());
        }
        // A file of size zero that has content all the same.
        assert!(read_text(Path::new("/proc/cpuinfo"), 5).is_err());
    }
}
