//! Reads the bytes of a file, record by record.

use std::io::{BufRead, ErrorKind, Read};

use crate::error::Broken;

/// The records of a file. Reads no byte beyond what is requested.
pub(crate) struct Input {
    reader: Box<dyn BufRead>,
    record: Vec<u8>,
    /// The compressed form ends before its end mark.
    ends_early: bool,
}

impl Input {
    pub(crate) fn new(reader: Box<dyn BufRead>) -> Self {
        Self { reader, record: Vec::new(), ends_early: false }
    }

    /// Bytes of the record read so far.
    pub(crate) fn record(&self) -> &[u8] {
        &self.record
    }

    /// Begins a record and reads its first `len` bytes; `false` at the end of the input.
    pub(crate) fn begin(&mut self, len: usize) -> Result<bool, Broken> {
        self.record.clear();
        match self.extend(len) {
            Err(Broken::Cut) if self.record.is_empty() && !self.ends_early => Ok(false),
            read => read.map(|()| true),
        }
    }

    /// Reads on until the record has `len` bytes. Memory grows with what is read, not with `len`.
    pub(crate) fn extend(&mut self, len: usize) -> Result<(), Broken> {
        let missing = len.saturating_sub(self.record.len()) as u64;
        match (&mut self.reader).take(missing).read_to_end(&mut self.record) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => self.ends_early = true,
            read => drop(read?),
        }
        if self.record.len() < len { Err(Broken::Cut) } else { Ok(()) }
    }
}
