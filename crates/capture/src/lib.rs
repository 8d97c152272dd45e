//! Capture files: the packets of pcap and pcapng, with time, link type and length, one packet in memory at a time.
//!
//! pcap is draft-ietf-opsawg-pcap (microseconds and nanoseconds, both byte orders), pcapng draft-ietf-opsawg-pcapng (several
//! sections and interfaces; Enhanced Packet, Simple Packet and the obsolete Packet blocks; all other blocks are passed over).
//! Either may be gzipped. The input need not be seekable.
//!
//! `pcap-file` reads the headers of pcap. Its reader of pcapng is not used: it takes the times of all interfaces for
//! nanoseconds, refuses files with if_tzone or names that are not UTF-8, and its Simple Packet blocks include the padding.
//!
//! Not here: what is in the packets.

mod capture;
mod error;
mod input;
mod link;
mod open;
mod packet;
mod pcap;
mod pcapng;
mod wanted;

use std::path::Path;
use std::time::Duration;

pub use self::capture::Capture;
pub use self::error::{CaptureError, Cut};
pub use self::link::Link;
pub use self::open::Other;
pub use self::wanted::Wanted;

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Which packet of the file it is; the first is 1.
    pub number: u64,
    /// Time since the beginning of 1970, UTC. Simple Packet blocks have none.
    pub time: Option<Duration>,
    /// Link type: the header that the bytes begin with.
    pub link: Link,
    /// The captured part of the packet.
    pub bytes: &'a [u8],
    /// Length of the whole packet, in bytes.
    pub original_len: u32,
    /// Length of the frame check sequence at the end of the whole packet, in bytes, if the file states it.
    pub fcs_len: Option<u8>,
}

/// A file that was opened.
pub enum Opened {
    /// A capture.
    Capture(Capture),
    /// Another file, to be read as text.
    Other(Other),
}

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// Opens a file; `-` is standard input.
///
/// # Errors
/// The file cannot be opened, or is of a known kind that is not supported.
pub fn open(path: &Path) -> Result<Opened, CaptureError> {
    if path == Path::new(STANDARD_INPUT) {
        return open::opened(name_of(path), Box::new(std::io::stdin()));
    }
    let file = std::fs::File::open(path).map_err(|error| CaptureError::new(path, error.to_string()))?;
    open::opened(path, Box::new(file))
}

/// The file's name in messages.
fn name_of(path: &Path) -> &Path {
    if path == Path::new(STANDARD_INPUT) { Path::new("standard input") } else { path }
}

/// Opens the capture that `reader` supplies; `name` is for messages.
///
/// # Errors
/// As [`open`].
pub fn read(name: &Path, reader: impl std::io::Read + 'static) -> Result<Opened, CaptureError> {
    open::opened(name, Box::new(reader))
}
