//! Capture files of all formats: complete, truncated, and with damaged bytes.

mod files;
mod forms;
mod wrong;

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use evenair_capture::{Capture, CaptureError, Link, Opened, read};

/// A copy of a record that outlives its capture.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    number: u64,
    time: Option<Duration>,
    link: Link,
    bytes: Vec<u8>,
    original_len: u32,
    fcs_len: Option<u8>,
}

/// What was read from a capture.
#[derive(Debug, PartialEq, Eq)]
struct Got {
    records: Vec<Kept>,
    /// Message of the error at the truncated packet.
    cut: Option<String>,
    links: Vec<Link>,
}

fn all_of(mut capture: Capture) -> Result<Got, CaptureError> {
    let mut records = Vec::new();
    while let Some(record) = capture.next_record()? {
        records.push(Kept {
            number: record.number,
            time: record.time,
            link: record.link,
            bytes: record.bytes.to_vec(),
            original_len: record.original_len,
            fcs_len: record.fcs_len,
        });
    }
    assert!(capture.next_record()?.is_none(), "a capture that has ended goes on");
    let cut = capture.cut().map(ToString::to_string);
    Ok(Got { records, cut, links: capture.links().to_vec() })
}

/// Reads a capture from a reader; `None` if it is no capture.
fn of_reader(reader: impl Read + 'static) -> Result<Option<Got>, CaptureError> {
    match read(Path::new("x.pcap"), reader)? {
        Opened::Capture(capture) => all_of(capture).map(Some),
        Opened::Other(_) => Ok(None),
    }
}

fn of_bytes(bytes: &[u8]) -> Result<Option<Got>, CaptureError> {
    of_reader(std::io::Cursor::new(bytes.to_vec()))
}

/// Reads a complete and valid capture.
fn got(bytes: &[u8]) -> Got {
    let got = of_bytes(bytes).unwrap_or_else(|error| panic!("{error}")).expect("a capture");
    assert_eq!(got.cut, None);
    got
}

/// Supplies one byte at a time and cannot seek, like a slow pipe.
struct Dripping(std::io::Cursor<Vec<u8>>);

impl Read for Dripping {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = buffer.len().min(1);
        self.0.read(&mut buffer[..len])
    }
}

fn dripping(bytes: &[u8]) -> Dripping {
    Dripping(std::io::Cursor::new(bytes.to_vec()))
}
