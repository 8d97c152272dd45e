//! The packets of capture files: pcap and pcapng, one packet in memory at a time.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError};

/// The first bytes of a pcapng file: the type of a section header block.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// A capture that ends within a packet: what was read before it counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: ends within packet {}; the {packets} before it are used", path.display(), packets + 1)]
pub struct Cut {
    path: PathBuf,
    packets: u64,
}

/// A capture that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct CaptureError {
    path: PathBuf,
    what: String,
}

/// Calls `each` with time, bytes and original length of every packet. A file that ends within a packet is read up to there.
pub(super) fn read(
    path: &Path,
    link: DataLink,
    mut each: impl FnMut(Duration, &[u8], usize),
) -> Result<Option<Cut>, CaptureError> {
    let failed = |what: String| CaptureError { path: path.to_owned(), what };
    let mut file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut magic = Vec::new();
    (&mut file).take(4).read_to_end(&mut magic).map_err(|error| failed(error.to_string()))?;
    file.rewind().map_err(|error| failed(error.to_string()))?;
    let mut packets = 0;
    let mut counted = |at: Duration, bytes: &[u8], original: usize| {
        packets += 1;
        each(at, bytes, original);
    };
    let read = if magic == PCAPNG { pcapng(file, link, &mut counted) } else { pcap(file, link, &mut counted) };
    match read {
        Ok(()) => Ok(None),
        Err(Failure::Capture(PcapError::IoError(error))) if error.kind() == ErrorKind::UnexpectedEof && packets > 0 => {
            Ok(Some(Cut { path: path.to_owned(), packets }))
        }
        Err(Failure::Capture(PcapError::IoError(error))) => Err(failed(error.to_string())),
        Err(Failure::Capture(error)) => Err(failed(format!("after packet {packets}: {error}"))),
        Err(Failure::Kind(found)) => Err(failed(format!("its frames are of the kind {found:?}, not {link:?}"))),
        Err(Failure::Resolution) => Err(failed("its times have a resolution that makes no sense".into())),
    }
}

enum Failure {
    Capture(PcapError),
    /// Frames of another kind.
    Kind(DataLink),
    /// Of an interface's times.
    Resolution,
}

impl From<PcapError> for Failure {
    fn from(error: PcapError) -> Self {
        Self::Capture(error)
    }
}

fn pcap(file: File, link: DataLink, each: &mut dyn FnMut(Duration, &[u8], usize)) -> Result<(), Failure> {
    let mut reader = PcapReader::new(file)?;
    let found = reader.header().datalink;
    if found != link {
        return Err(Failure::Kind(found));
    }
    while let Some(packet) = reader.next_packet() {
        let packet = packet?;
        each(packet.timestamp, &packet.data, packet.orig_len as usize);
    }
    Ok(())
}

/// Packets of interfaces of other kinds are left out, as long as there is one of the right kind.
fn pcapng(file: File, link: DataLink, each: &mut dyn FnMut(Duration, &[u8], usize)) -> Result<(), Failure> {
    let mut reader = PcapNgReader::new(file)?;
    let mut interfaces: Vec<(DataLink, Clock)> = Vec::new();
    let (mut other, mut any) = (None, false);
    while let Some(block) = reader.next_block() {
        match block? {
            Block::SectionHeader(_) => interfaces.clear(),
            Block::InterfaceDescription(interface) => {
                let clock = Clock::of(&interface).ok_or(Failure::Resolution)?;
                interfaces.push((interface.linktype, clock));
                if interface.linktype == link {
                    any = true;
                } else {
                    other = Some(interface.linktype);
                }
            }
            Block::EnhancedPacket(packet) => {
                let unknown = PcapError::InvalidInterfaceId(packet.interface_id);
                let (kind, clock) = interfaces.get(packet.interface_id as usize).ok_or(unknown)?;
                if *kind == link {
                    // The crate takes all times for nanoseconds, and gives the number that the file has.
                    each(clock.time(packet.timestamp.as_nanos()), &packet.data, packet.original_len as usize);
                }
            }
            _ => {}
        }
    }
    match other {
        Some(other) if !any => Err(Failure::Kind(other)),
        _ => Ok(()),
    }
}

/// How an interface's times are written: the options if_tsresol and if_tsoffset of the pcapng specification.
struct Clock {
    per_second: u64,
    offset: Duration,
}

impl Clock {
    fn of(interface: &InterfaceDescriptionBlock<'_>) -> Option<Self> {
        let mut clock = Self { per_second: 1_000_000, offset: Duration::ZERO };
        for option in &interface.options {
            match *option {
                InterfaceDescriptionOption::IfTsResol(resolution) => {
                    let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
                    clock.per_second = base.checked_pow(u32::from(resolution & 0x7f))?;
                }
                InterfaceDescriptionOption::IfTsOffset(seconds) => clock.offset = Duration::from_secs(seconds),
                _ => {}
            }
        }
        Some(clock)
    }

    fn time(&self, ticks: u128) -> Duration {
        let per_second = u128::from(self.per_second);
        let seconds = u64::try_from(ticks / per_second).unwrap_or(u64::MAX);
        let ns = (ticks % per_second * 1_000_000_000 / per_second) as u32;
        Duration::from_secs(seconds).saturating_add(Duration::new(0, ns)).saturating_add(self.offset)
    }
}
