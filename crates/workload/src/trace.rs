//! Traces of real traffic: arrival times and sizes of packets, from a capture or a table.
//!
//! Formats are pcap and pcapng captures (of Ethernet, of bare IP, or of Linux's "any" device) and text, a line for each packet:
//! seconds, bytes of the IP packet and, if wanted, "up" or "down". Of a capture only the IP packets count, each with the size
//! in its header, so that truncated packets are accepted. The payload is not read.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::net::IpAddr;
use std::path::Path;

use evenair_units::Span;
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::Direction;

/// The most packets: some ten megabytes of memory.
const MAX_PACKETS: usize = 2_000_000;
/// The largest file.
const MAX_FILE_BYTES: u64 = 4_000_000_000;

/// A packet of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedPacket {
    /// After the first packet that counts.
    pub at: Span,
    /// Bytes of the IP packet.
    pub ip_len: u32,
}

/// Which packets of a trace count.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// Of a capture, those that this host sent (`Up`) or got (`Down`); all without one.
    pub host: Option<IpAddr>,
    /// Of a table that says so, those of this direction.
    pub direction: Direction,
}

/// Collects packets that count.
struct Collector {
    filter: Filter,
    first_ns: Option<i128>,
    packets: Vec<TracedPacket>,
}

/// The packets of a file, in the order of time.
///
/// # Errors
/// What is wrong with the file, or that none of its packets counts, as a clause.
pub fn read(path: &Path, filter: Filter) -> Result<Vec<TracedPacket>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(|error| failed(&error))?;
    let size = file.metadata().map_err(|error| failed(&error))?.len();
    if size > MAX_FILE_BYTES {
        return Err(failed(&format!("more than {MAX_FILE_BYTES} bytes")));
    }
    let mut magic = Vec::new();
    (&mut file).take(4).read_to_end(&mut magic).map_err(|error| failed(&error))?;
    file.rewind().map_err(|error| failed(&error))?;
    let mut collector = Collector { filter, first_ns: None, packets: Vec::new() };
    let input = BufReader::new(file);
    let read = match magic.as_slice() {
        [0x0a, 0x0d, 0x0d, 0x0a] => collector.read_pcapng(input),
        [0xa1, 0xb2, 0xc3, 0xd4 | 0x4d] | [0xa1, 0xb2, 0x3c, 0x4d] => collector.read_pcap(input),
        [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => collector.read_pcap(input),
        _ => collector.read_table(input),
    };
    read.map_err(|error| failed(&error))?;
    if collector.packets.is_empty() {
        return Err(failed(&"none of its packets counts"));
    }
    // Captures of several devices are not quite in order.
    collector.packets.sort_by_key(|packet| packet.at);
    Ok(collector.packets)
}

impl Collector {
    fn read_pcap(&mut self, input: impl Read) -> Result<(), String> {
        let mut reader = PcapReader::new(input).map_err(|error| error.to_string())?;
        let link = reader.header().datalink;
        while let Some(packet) = reader.next_packet() {
            let packet = packet.map_err(|error| error.to_string())?;
            self.add_frame(packet.timestamp.as_nanos() as i128, link, &packet.data)?;
        }
        Ok(())
    }

    fn read_pcapng(&mut self, input: impl Read) -> Result<(), String> {
        let mut reader = PcapNgReader::new(input).map_err(|error| error.to_string())?;
        let mut links = Vec::new();
        while let Some(block) = reader.next_block() {
            match block.map_err(|error| error.to_string())? {
                Block::SectionHeader(_) => links.clear(),
                Block::InterfaceDescription(interface) => links.push(interface.linktype),
                Block::EnhancedPacket(packet) => {
                    let link = links.get(packet.interface_id as usize).ok_or("a packet of an unknown interface")?;
                    self.add_frame(packet.timestamp.as_nanos() as i128, *link, &packet.data)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_table(&mut self, input: impl BufRead) -> Result<(), String> {
        for (number, line) in input.lines().enumerate() {
            let line = line.map_err(|error| error.to_string())?;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || format!("line {}: \"{}\" is not SECONDS, BYTES", number + 1, line.escape_debug());
            let mut fields = line.split(',').map(str::trim);
            let time = fields.next().and_then(|field| field.parse::<f64>().ok()).filter(|s| (-1e9..1e9).contains(s));
            let size = fields.next().and_then(|field| field.parse::<u32>().ok()).filter(|&n| (1..=65_535).contains(&n));
            let (Some(time), Some(size)) = (time, size) else { return Err(wrong()) };
            let direction = match fields.next() {
                None => None,
                Some("up") => Some(Direction::Up),
                Some("down") => Some(Direction::Down),
                Some(_) => return Err(wrong()),
            };
            if direction.is_none_or(|direction| direction == self.filter.direction) {
                self.add((time * 1e9) as i128, size)?;
            }
        }
        Ok(())
    }

    fn add_frame(&mut self, at_ns: i128, link: DataLink, frame: &[u8]) -> Result<(), String> {
        let packet = match link {
            DataLink::ETHERNET => ethernet_payload(frame),
            DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => Some(frame),
            // Linux's cooked capture: the protocol is in the last two of 16 bytes.
            DataLink::LINUX_SLL => frame.get(16..),
            other => {
                return Err(format!(
                    "its link type {other:?} is not one of Ethernet, bare IP and Linux's cooked capture"
                ));
            }
        };
        let Some((source, destination, size)) = packet.and_then(ip_header) else { return Ok(()) };
        let end = match self.filter.direction {
            Direction::Up => source,
            Direction::Down => destination,
        };
        if self.filter.host.is_none_or(|host| host == end) { self.add(at_ns, size) } else { Ok(()) }
    }

    fn add(&mut self, at_ns: i128, ip_len: u32) -> Result<(), String> {
        if self.packets.len() == MAX_PACKETS {
            return Err(format!("more than {MAX_PACKETS} packets"));
        }
        let first = *self.first_ns.get_or_insert(at_ns);
        let at = u64::try_from((at_ns - first).max(0)).map_err(|_| "its times are too far apart")?;
        self.packets.push(TracedPacket { at: Span::from_nanos(at), ip_len });
        Ok(())
    }
}

/// What an Ethernet frame carries, if that is IP; VLAN tags are passed over.
fn ethernet_payload(frame: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    loop {
        match frame.get(at..at + 2)? {
            [0x81, 0x00] | [0x88, 0xa8] => at += 4,
            [0x08, 0x00] | [0x86, 0xdd] => return frame.get(at + 2..),
            _ => return None,
        }
    }
}

/// Source, destination and size of an IP packet with at least a whole header.
fn ip_header(packet: &[u8]) -> Option<(IpAddr, IpAddr, u32)> {
    let number = |at: usize| Some(u32::from(u16::from_be_bytes(*packet.get(at..at + 2)?.first_chunk()?)));
    match packet.first()? >> 4 {
        4 => {
            let address = |at: usize| Some(IpAddr::from(*packet.get(at..at + 4)?.first_chunk::<4>()?));
            // A segment that the device was to cut has no length in it.
            let size = number(2).filter(|&size| size > 0).unwrap_or(packet.len() as u32);
            Some((address(12)?, address(16)?, size))
        }
        6 => {
            let address = |at: usize| Some(IpAddr::from(*packet.get(at..at + 16)?.first_chunk::<16>()?));
            Some((address(8)?, address(24)?, 40 + number(4)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use pcap_file::pcap::{PcapPacket, PcapWriter};

    use super::*;

    /// An Ethernet frame with an IPv4 header only, as a capture that was cut short has it.
    fn frame(source: [u8; 4], destination: [u8; 4], size: u16) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45, 0]);
        frame.extend(size.to_be_bytes());
        frame.extend([0; 8]);
        frame.extend(source);
        frame.extend(destination);
        frame
    }

    fn written(content: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(content).expect("written");
        file
    }

    fn capture() -> Vec<u8> {
        let (station, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let mut writer = PcapWriter::new(Vec::new()).expect("a header");
        let mut add = |us: u64, frame: Vec<u8>| {
            let packet = PcapPacket::new(Duration::from_micros(1_000_000_000_000 + us), frame.len() as u32, &frame);
            writer.write_packet(&packet).expect("written");
        };
        add(0, vec![0xff; 60]);
        add(500, frame(station, server, 1500));
        add(900, frame(server, station, 52));
        add(2_500, frame(station, server, 40));
        writer.into_writer()
    }

    #[test]
    fn a_capture_is_read_by_host_and_direction() {
        let file = written(&capture());
        let read = |host: Option<&str>, direction| {
            let host = host.map(|host| host.parse().expect("an address"));
            read(file.path(), Filter { host, direction })
        };
        let packet = |us, ip_len| TracedPacket { at: Span::from_micros(us), ip_len };
        assert_eq!(read(None, Direction::Up), Ok(vec![packet(0, 1500), packet(400, 52), packet(2000, 40)]));
        assert_eq!(read(Some("10.0.0.1"), Direction::Up), Ok(vec![packet(0, 1500), packet(2000, 40)]));
        assert_eq!(read(Some("10.0.0.1"), Direction::Down), Ok(vec![packet(0, 52)]));
        assert!(read(Some("10.0.0.3"), Direction::Down).is_err_and(|error| error.contains("none of its packets")));
    }

    #[test]
    fn a_table_is_read_by_direction() {
        let file = written(b"# a comment\n0.5, 100, up\n0.7,200,down\n\n1.5,300\n");
        let read = |direction| read(file.path(), Filter { host: None, direction });
        let packet = |ms, ip_len| TracedPacket { at: Span::from_millis(ms), ip_len };
        assert_eq!(read(Direction::Up), Ok(vec![packet(0, 100), packet(1000, 300)]));
        assert_eq!(read(Direction::Down), Ok(vec![packet(0, 200), packet(800, 300)]));
    }

    #[test]
    fn what_is_no_trace_is_refused_and_never_a_panic() {
        let filter = Filter { host: None, direction: Direction::Up };
        for bad in ["", "many, bytes\n", "1.0\n", "1.0, 0\n", "1.0, 70000\n", "1.0, 5, sideways\n", "nan, 5\n"] {
            assert!(read(written(bad.as_bytes()).path(), filter).is_err(), "{bad:?}");
        }
        assert!(read(Path::new("nowhere"), filter).is_err());
        let whole = capture();
        for end in 0..whole.len() {
            let _ = read(written(&whole[..end]).path(), filter);
        }
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 0x55;
            let _ = read(written(&broken).path(), filter);
        }
    }
}
