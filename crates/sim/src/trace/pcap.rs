//! The pcap file format, with times in nanoseconds (draft-ietf-opsawg-pcap).

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use evenair_units::Instant;

/// LINKTYPE_ETHERNET.
pub(super) const ETHERNET: u32 = 1;
/// LINKTYPE_IEEE802_11_RADIOTAP.
pub(super) const RADIOTAP: u32 = 127;

/// Magic number of files with times in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Maximum length of a frame, in bytes.
const SNAP_LENGTH: u32 = 65_535;

/// A pcap file being written.
#[derive(Debug)]
pub(super) struct Pcap {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Pcap {
    pub(super) fn create(path: &Path, link: u32) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 18, File::create(path)?);
        file.write_all(&MAGIC.to_le_bytes())?;
        // Version 2.4, then two fields that are zero today.
        file.write_all(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
        file.write_all(&SNAP_LENGTH.to_le_bytes())?;
        file.write_all(&link.to_le_bytes())?;
        Ok(Self { path: path.to_owned(), file })
    }

    pub(super) fn write(&mut self, at: Instant, bytes: &[u8]) -> Result<(), (PathBuf, io::Error)> {
        self.try_write(at, bytes).map_err(|error| (self.path.clone(), error))
    }

    fn try_write(&mut self, at: Instant, bytes: &[u8]) -> io::Result<()> {
        let ns = at.saturating_since(Instant::ZERO).as_nanos();
        let length = bytes.len() as u32;
        for field in [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, length, length] {
            self.file.write_all(&field.to_le_bytes())?;
        }
        self.file.write_all(bytes)
    }

    pub(super) fn finish(mut self) -> Result<(), (PathBuf, io::Error)> {
        self.file.flush().map_err(|error| (self.path, error))
    }
}
