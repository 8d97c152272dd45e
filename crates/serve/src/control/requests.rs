//! Requests from a client's connection: one JSON object per line.

use std::io::{self, BufRead, BufReader, Read};

use evenair_api::{Json, Request};

/// Longest line of a client in bytes, including its end.
pub const MAX_LINE: usize = 64 * 1024;

/// The requests in a stream of bytes.
#[derive(Debug)]
pub struct Requests<R> {
    lines: BufReader<R>,
    line: Vec<u8>,
}

/// A line from a client.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A complete line: a request, or why it is none.
    Whole(Result<Request, String>),
    /// The line is longer than [`MAX_LINE`]. The stream cannot be read further, since its rest is not the start of a
    /// request.
    TooLong,
}

/// A line as received.
pub(crate) enum RawLine<'a> {
    /// The complete line.
    Whole(&'a [u8]),
    /// As [`Line::TooLong`].
    TooLong,
}

impl<R: Read> Requests<R> {
    /// The requests in this stream.
    pub fn new(stream: R) -> Self {
        Self { lines: BufReader::new(stream), line: Vec::new() }
    }

    /// The stream.
    pub fn stream_mut(&mut self) -> &mut R {
        self.lines.get_mut()
    }

    /// The next line; `None` at the end of the stream. The last line may lack its end.
    ///
    /// # Errors
    /// An error of the stream.
    pub fn read(&mut self) -> io::Result<Option<Line>> {
        Ok(self.read_raw()?.map(|line| match line {
            RawLine::Whole(line) => {
                Line::Whole(Request::from_json(line).map_err(|error| format!("not a request: {error}")))
            }
            RawLine::TooLong => Line::TooLong,
        }))
    }

    /// The same without parsing the request.
    ///
    /// # Errors
    /// An error of the stream.
    pub(crate) fn read_raw(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.line.clear();
        if (&mut self.lines).take(MAX_LINE as u64).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        let is_too_long = self.line.len() == MAX_LINE && !self.line.ends_with(b"\n");
        Ok(Some(if is_too_long { RawLine::TooLong } else { RawLine::Whole(&self.line) }))
    }
}
