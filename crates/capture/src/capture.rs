//! A capture file of either format.

use std::path::{Path, PathBuf};

use crate::error::Broken;
use crate::input::Input;
use crate::packet::Packet;
use crate::pcap::Pcap;
use crate::pcapng::Pcapng;
use crate::{CaptureError, Cut, Link, Record};

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A capture that is read packet by packet.
pub struct Capture {
    path: PathBuf,
    input: Input,
    format: Format,
    packets: u64,
    cut: Option<Cut>,
}

impl Capture {
    pub(crate) fn of_pcap(path: &Path, input: Input, pcap: Pcap) -> Self {
        Self { path: path.to_owned(), input, format: Format::Pcap(pcap), packets: 0, cut: None }
    }

    pub(crate) fn of_pcapng(path: &Path, input: Input, pcapng: Pcapng) -> Self {
        Self { path: path.to_owned(), input, format: Format::Pcapng(pcapng), packets: 0, cut: None }
    }

    /// The next packet; `None` at the end, also where the file ends within a packet ([`Self::cut`] is set then).
    ///
    /// # Errors
    /// Malformed bytes, with the number of the packet. A file that ends within its first packet is such an error, too.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        if self.cut.is_some() {
            return Ok(None);
        }
        let next = match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.input),
            Format::Pcapng(pcapng) => pcapng.next(&mut self.input),
        };
        match next {
            Ok(Some(packet)) => {
                self.packets += 1;
                let Packet { time, link, bytes, original_len, fcs_len } = packet;
                let bytes = &self.input.record()[bytes];
                Ok(Some(Record { number: self.packets, time, link, bytes, original_len, fcs_len }))
            }
            Ok(None) => Ok(None),
            Err(Broken::Cut) if self.packets > 0 => {
                self.cut = Some(Cut { path: self.path.clone(), packets: self.packets });
                Ok(None)
            }
            Err(broken) => Err(self.error(broken)),
        }
    }

    fn error(&self, broken: Broken) -> CaptureError {
        let what = match broken {
            Broken::Cut => return CaptureError::new(&self.path, "ends within its first packet"),
            Broken::Format(what) => what,
            Broken::Io(error) => error.to_string(),
        };
        CaptureError::new(&self.path, format!("at packet {}: {what}", self.packets + 1))
    }

    /// Where the file ends within a packet, if it does. Known after the last packet.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// Link types of all interfaces, each once. For pcapng, only of those described before the last packet that was read.
    pub fn links(&self) -> &[Link] {
        match &self.format {
            Format::Pcap(pcap) => std::slice::from_ref(&pcap.link),
            Format::Pcapng(pcapng) => pcapng.links(),
        }
    }

    /// Whether interfaces may follow that [`Self::links`] does not yet have.
    pub fn may_add_links(&self) -> bool {
        matches!(self.format, Format::Pcapng(_))
    }
}
