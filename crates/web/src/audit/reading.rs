//! Reads the log backwards. Positions in it are stable, since files are only appended to.

use std::fs::File;
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom};

use super::{Audit, AuditEntry};

/// Bytes read at a time, and the maximum total length of a page's lines.
const CHUNK: u64 = 64 << 10;
const LONGEST_PAGE: usize = 1 << 20;

/// The position of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuditPlace {
    /// The month of its file.
    pub month: String,
    /// Offset of the line in the file, in bytes.
    pub offset: u64,
}

/// Entries, the newest first.
#[derive(Debug)]
pub(crate) struct AuditPage {
    pub entries: Vec<AuditEntry>,
    /// Where the page ends; `None`: there are no older entries.
    pub next: Option<AuditPlace>,
}

impl Audit {
    /// At most `limit` entries before this position, or the newest ones. Damaged lines are skipped.
    ///
    /// # Errors
    /// The files cannot be read.
    pub(crate) fn page(&self, limit: usize, before: Option<&AuditPlace>) -> anyhow::Result<AuditPage> {
        let mut page = AuditPage { entries: vec![], next: None };
        let (mut bytes, mut last) = (0, None);
        for month in self.months()?.into_iter().rev() {
            let end = match before {
                Some(place) if month > place.month => continue,
                Some(place) if month == place.month => Some(place.offset),
                _ => None,
            };
            let Some(mut lines) = Backwards::open(File::open(self.path(&month)), end)? else { continue };
            while let Some((offset, line)) = lines.previous()? {
                let Ok(entry) = serde_json::from_slice(&line) else { continue };
                if page.entries.len() >= limit || bytes >= LONGEST_PAGE {
                    page.next = last;
                    return Ok(page);
                }
                bytes += line.len();
                last = Some(AuditPlace { month: month.clone(), offset });
                page.entries.push(entry);
            }
        }
        Ok(page)
    }
}

/// Reads complete lines of a file, the last one first.
struct Backwards {
    file: File,
    /// Offset of the buffer in the file.
    at: u64,
    buffer: Vec<u8>,
}

impl Backwards {
    /// Lines that end before `end`, or all; `None`: the file was removed.
    fn open(file: Result<File>, end: Option<u64>) -> Result<Option<Self>> {
        let file = match file {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let length = file.metadata()?.len();
        Ok(Some(Self { file, at: end.map_or(length, |end| end.min(length)), buffer: vec![] }))
    }

    /// The previous line with its newline, and its offset. An incomplete last line is skipped.
    fn previous(&mut self) -> Result<Option<(u64, Vec<u8>)>> {
        loop {
            let inner = &self.buffer[..self.buffer.len().saturating_sub(1)];
            if let Some(end) = inner.iter().rposition(|byte| *byte == b'\n') {
                let line = self.buffer.split_off(end + 1);
                return Ok(Some((self.at + end as u64 + 1, line)));
            }
            if self.at == 0 {
                let line = std::mem::take(&mut self.buffer);
                return Ok((!line.is_empty()).then_some((0, line)));
            }
            let start = self.at.saturating_sub(CHUNK);
            let mut chunk = vec![0; (self.at - start) as usize];
            self.file.seek(SeekFrom::Start(start))?;
            self.file.read_exact(&mut chunk)?;
            chunk.append(&mut self.buffer);
            (self.at, self.buffer) = (start, chunk);
        }
    }
}
