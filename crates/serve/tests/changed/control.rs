//! Bytes on the control socket: in whatever parts they arrive, each line is a request or refused, and after a line that is too long
//! nothing is read.
//!
//! `fuzz/fuzz_targets/socket.rs` does the same with inputs from libFuzzer.

use std::io::{self, Read};

use evenair_api::Request;
use evenair_serve::control::{Line, MAX_LINE, Requests};

/// A stream that returns at most so many bytes at once.
struct InParts<'a> {
    bytes: &'a [u8],
    most: usize,
}

impl Read for InParts<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let most = self.most.min(to.len());
        self.bytes.read(&mut to[..most])
    }
}

fn read(bytes: &[u8], most: usize) -> Vec<Line> {
    let mut requests = Requests::new(InParts { bytes, most });
    let mut lines = Vec::new();
    while let Some(line) = requests.read().expect("memory is readable") {
        let is_last = line == Line::TooLong;
        lines.push(line);
        if is_last {
            break;
        }
    }
    lines
}

/// Reads a client's bytes, in parts of at most `most` bytes. Returns the requests among its lines.
pub fn control(bytes: &[u8], most: usize) -> Vec<Request> {
    let lines = read(bytes, most.max(1));
    let parts = bytes.split_inclusive(|byte| *byte == b'\n');
    for (line, part) in lines.iter().zip(parts.clone()) {
        let is_whole = part.len() < MAX_LINE || part.len() == MAX_LINE && part.ends_with(b"\n");
        assert_eq!(matches!(line, Line::Whole(_)), is_whole, "{} bytes", part.len());
        if let Line::Whole(request) = line {
            assert_eq!(request.is_ok(), serde_json::from_slice::<Request>(part).is_ok());
        }
    }
    assert!(lines.len() == parts.count() || lines.last() == Some(&Line::TooLong), "each line is answered");
    let requests =
        lines.into_iter().filter_map(|line| if let Line::Whole(request) = line { request.ok() } else { None });
    let requests: Vec<_> = requests.collect();
    let text: String = requests.iter().map(|request| serde_json::to_string(request).expect("JSON") + "\n").collect();
    let again: Vec<_> = requests.iter().cloned().map(|request| Line::Whole(Ok(request))).collect();
    assert_eq!(read(text.as_bytes(), usize::MAX), again, "what a client writes is read");
    requests
}
