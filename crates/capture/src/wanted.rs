//! The packets of one link type.

use std::path::Path;
use std::time::Duration;

use crate::{CaptureError, Cut, Link, Opened, Record, name_of, open};

/// Reads the packets of one link type.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The link type. Packets of interfaces with other link types are skipped, provided that one interface has this.
    pub link: Link,
    /// What to capture instead if no interface has this link type, with an example.
    pub instead: &'static str,
}

impl Wanted {
    /// Calls `each` with time, bytes and original length of each packet. A file that ends within a packet is read up to there.
    ///
    /// # Errors
    /// The file cannot be read, has no interface with this link type, or a packet of it has no time.
    pub fn read(&self, path: &Path, mut each: impl FnMut(Duration, &[u8], usize)) -> Result<Option<Cut>, CaptureError> {
        let opened = open(path)?;
        let path = name_of(path);
        let mut capture = match opened {
            Opened::Capture(capture) => capture,
            Opened::Other(other) => return Err(CaptureError::new(path, other.why())),
        };
        if !capture.may_add_links() {
            self.check(path, capture.links())?;
        }
        while let Some(record) = capture.next_record()? {
            if record.link == self.link {
                each(time(path, &record)?, record.bytes, record.original_len as usize);
            }
        }
        self.check(path, capture.links())?;
        Ok(capture.cut().cloned())
    }

    fn check(&self, path: &Path, links: &[Link]) -> Result<(), CaptureError> {
        let Some(other) = links.last().filter(|_| !links.contains(&self.link)) else { return Ok(()) };
        let Self { link, instead } = self;
        Err(CaptureError::new(path, format!("its link type is \"{other}\", not \"{link}\": capture {instead}")))
    }
}

fn time(path: &Path, record: &Record<'_>) -> Result<Duration, CaptureError> {
    let timeless = || {
        let number = record.number;
        let what = format!("packet {number} has no time (a Simple Packet block): capture with tcpdump or dumpcap");
        CaptureError::new(path, what)
    };
    record.time.ok_or_else(timeless)
}
