//! Decompresses a file and detects its format by its first bytes.

use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::Broken;
use crate::input::Input;
use crate::pcap::Pcap;
use crate::pcapng::{self, Pcapng};
use crate::{Capture, CaptureError, Opened};

/// Bytes that suffice to distinguish all known formats.
const MAGIC_BYTES: u64 = 6;
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Read buffer, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// Formats that are not supported: their first bytes, and what to do instead.
const FOREIGN: [(&[u8], &str); 6] = [
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "is compressed with xz: decompress it with `xz -d`, or use gzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "is compressed with zstd: decompress it with `zstd -d`, or use gzip"),
    (b"BZh", "is compressed with bzip2: decompress it with `bzip2 -d`, or use gzip"),
    (&[0x34, 0xcd, 0xb2, 0xa1], "is of a modified form of pcap: convert it with `editcap -F pcap`"),
    (b"snoop\0", "is a capture of snoop: convert it with `editcap -F pcap`"),
    (b"GMBU", "is a capture of Network Monitor: convert it with `editcap -F pcap`"),
];

/// A file that is no capture.
pub struct Other {
    /// All its bytes, decompressed.
    pub reader: Box<dyn BufRead>,
    begins: Vec<u8>,
}

impl Other {
    /// Why the file is no capture, as a clause.
    pub fn why(&self) -> String {
        if self.begins.is_empty() {
            return "is empty".into();
        }
        let hex: Vec<_> = self.begins.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("is no capture: neither pcap nor pcapng begins with the bytes {}", hex.join(" "))
    }
}

/// Detects the format of the bytes that `reader` supplies.
pub(crate) fn opened(path: &Path, reader: Box<dyn Read>) -> Result<Opened, CaptureError> {
    let (mut begins, mut reader) = peek(path, reader)?;
    if begins.starts_with(&GZIP) {
        (begins, reader) = peek(path, Box::new(MultiGzDecoder::new(reader)))?;
    }
    if let Some((_, what)) = FOREIGN.iter().find(|(magic, _)| begins.starts_with(magic)) {
        return Err(CaptureError::new(path, *what));
    }
    let reader: Box<dyn BufRead> = Box::new(BufReader::with_capacity(BUFFER_BYTES, reader));
    if begins.starts_with(&pcapng::MAGIC) {
        return Ok(Opened::Capture(Capture::of_pcapng(path, Input::new(reader), Pcapng::default())));
    }
    if !Pcap::begins_so(&begins) {
        return Ok(Opened::Other(Other { reader, begins }));
    }
    let mut input = Input::new(reader);
    let header = Pcap::read(&mut input).map_err(|broken| match broken {
        Broken::Cut => CaptureError::new(path, "ends within its header"),
        Broken::Format(what) => CaptureError::new(path, what),
        Broken::Io(error) => CaptureError::new(path, error.to_string()),
    })?;
    Ok(Opened::Capture(Capture::of_pcap(path, input, header)))
}

/// The first bytes, and a reader of all bytes.
fn peek(path: &Path, mut reader: Box<dyn Read>) -> Result<(Vec<u8>, Box<dyn Read>), CaptureError> {
    let mut begins = Vec::new();
    match (&mut reader).take(MAGIC_BYTES).read_to_end(&mut begins) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            return Err(CaptureError::new(path, "ends before its first packet"));
        }
        Err(error) => return Err(CaptureError::new(path, error.to_string())),
        Ok(_) => {}
    }
    let all = Box::new(Cursor::new(begins.clone()).chain(reader));
    Ok((begins, all))
}
