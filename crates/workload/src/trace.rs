//! Traces of real traffic: arrival times and sizes of packets, from a capture or a table.
//!
//! Formats are pcap and pcapng captures (of Ethernet, of bare IP, of Linux's "any" device, of loopback devices) and text, a line for
//! each packet: seconds, bytes of the IP packet and, if wanted, "up" or "down". Each may be gzipped. In a capture only IP packets
//! count, also within VLAN tags, MPLS and PPPoE sessions, each with the size in its header, so that truncated packets are accepted.
//! The payload is not read.

mod ip;
mod seen;

use std::io::{BufRead, ErrorKind, Read};
use std::net::IpAddr;
use std::path::Path;

use evenair_capture::{Capture, Cut, Link, Opened, Record, open};
use evenair_units::Span;

use self::seen::Seen;
use crate::Direction;

/// Maximum number of packets: some ten megabytes of memory.
const MAX_PACKETS: usize = 2_000_000;
/// Maximum number of decompressed bytes read.
const MAX_BYTES: u64 = 4_000_000_000;
/// Longest line of a table, in bytes.
const MAX_LINE: u64 = 1000;
/// What to capture instead of unsupported link types.
const INSTEAD: &str = "on a device that carries IP, e.g. `tcpdump -i eth0 -w trace.pcap`";

/// A packet of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedPacket {
    /// Time since the first selected packet.
    pub at: Span,
    /// Size of the IP packet, in bytes.
    pub ip_len: u32,
}

/// Selects packets of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// In a capture: packets sent (`Up`) or received (`Down`) by this host; all packets without one.
    pub host: Option<IpAddr>,
    /// In a table with directions: packets of this one.
    pub direction: Direction,
}

/// The selected packets of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Packets in the order of time; at least one.
    pub packets: Vec<TracedPacket>,
    /// Where the file is cut off within a packet.
    pub cut: Option<Cut>,
}

/// Collects selected packets.
struct Collector {
    filter: Filter,
    first_ns: Option<i128>,
    packets: Vec<TracedPacket>,
    seen: Seen,
    bytes: u64,
}

/// Reads the selected packets of a file.
///
/// # Errors
/// The file's error, or why none of its packets is selected, as a clause.
pub fn read(path: &Path, filter: Filter) -> Result<Trace, String> {
    let opened = open(path).map_err(|error| error.to_string())?;
    read_opened(path, opened, filter)
}

fn read_opened(path: &Path, opened: Opened, filter: Filter) -> Result<Trace, String> {
    let failed = |what: String| format!("{}: {what}", path.display());
    let mut collector = Collector { filter, first_ns: None, packets: Vec::new(), seen: Seen::default(), bytes: 0 };
    let cut = match opened {
        Opened::Capture(mut capture) => {
            collector.read_capture(&mut capture, &failed)?;
            capture.cut().cloned()
        }
        Opened::Other(mut other) => {
            let why = other.why();
            collector.read_table(&mut other.reader, &why).map_err(failed)?;
            None
        }
    };
    if collector.packets.is_empty() {
        return Err(failed(collector.seen.why_none(filter.host, filter.direction)));
    }
    // Captures of several devices are not quite in order.
    collector.packets.sort_by_key(|packet| packet.at);
    Ok(Trace { packets: collector.packets, cut })
}

impl Collector {
    /// Skips packets of interfaces with unsupported link types, provided that one is supported.
    fn read_capture(&mut self, capture: &mut Capture, failed: &dyn Fn(String) -> String) -> Result<(), String> {
        if !capture.may_add_links() {
            check_links(capture.links()).map_err(failed)?;
        }
        while let Some(record) = capture.next_record().map_err(|error| error.to_string())? {
            self.add_record(&record).map_err(failed)?;
        }
        check_links(capture.links()).map_err(failed)
    }

    fn add_record(&mut self, record: &Record<'_>) -> Result<(), String> {
        self.read_bytes(record.bytes.len() as u64)?;
        self.seen.packets += 1;
        let packet = match ip::ip_packet(record.link, record.bytes, record.original_len) {
            Ok(packet) => packet,
            Err(not_ip) => {
                *self.seen.not_ip.entry(not_ip).or_default() += 1;
                return Ok(());
            }
        };
        let (end, other_end) = match self.filter.direction {
            Direction::Up => (packet.source, packet.destination),
            Direction::Down => (packet.destination, packet.source),
        };
        if let Some(host) = self.filter.host.filter(|&host| host != end) {
            let is_other_direction = host == other_end;
            self.seen.other_direction += u64::from(is_other_direction);
            self.seen.other_hosts += u64::from(!is_other_direction);
            return Ok(());
        }
        let Some(time) = record.time else {
            let number = record.number;
            return Err(format!(
                "packet {number} has no time (a Simple Packet block of pcapng): capture with tcpdump or dumpcap"
            ));
        };
        self.add(time.as_nanos() as i128, packet.len)
    }

    /// `why_no_capture`: for a file that is no text either.
    fn read_table(&mut self, input: &mut dyn BufRead, why_no_capture: &str) -> Result<(), String> {
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            match (&mut *input).take(MAX_LINE).read_line(&mut line) {
                Ok(0) if number == 1 => return Err(why_no_capture.into()),
                Ok(0) => break,
                Ok(len) => self.read_bytes(len as u64)?,
                Err(error) if error.kind() == ErrorKind::InvalidData && number == 1 => {
                    return Err(format!("{why_no_capture}, and it is no text"));
                }
                Err(error) => return Err(format!("line {number}: {error}")),
            }
            if line.len() as u64 == MAX_LINE {
                return Err(format!("line {number}: it has {MAX_LINE} bytes or more; SECONDS, BYTES is expected"));
            }
            self.add_line(&line)
                .ok_or_else(|| format!("line {number}: \"{}\" is not SECONDS, BYTES", line.trim().escape_debug()))??;
        }
        Ok(())
    }

    /// Parses a line; `None` if malformed.
    fn add_line(&mut self, line: &str) -> Option<Result<(), String>> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Some(Ok(()));
        }
        let mut fields = line.split(',').map(str::trim);
        let time = fields.next()?.parse::<f64>().ok().filter(|s| (-1e9..1e9).contains(s))?;
        let size = fields.next()?.parse::<u32>().ok().filter(|&n| (1..=65_535).contains(&n))?;
        let direction = match fields.next() {
            None => None,
            Some("up") => Some(Direction::Up),
            Some("down") => Some(Direction::Down),
            Some(_) => return None,
        };
        self.seen.packets += 1;
        if direction.is_some_and(|direction| direction != self.filter.direction) {
            self.seen.other_direction += 1;
            return Some(Ok(()));
        }
        Some(self.add((time * 1e9) as i128, size))
    }

    fn read_bytes(&mut self, bytes: u64) -> Result<(), String> {
        self.bytes += bytes;
        if self.bytes > MAX_BYTES { Err(format!("more than {MAX_BYTES} bytes")) } else { Ok(()) }
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

fn check_links(links: &[Link]) -> Result<(), String> {
    match links.last() {
        Some(other) if !links.iter().any(|&link| ip::is_read(link)) => {
            Err(format!("its link type is \"{other}\", of which no IP packets are read: capture {INSTEAD}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use pcap_file::pcap::{PcapPacket, PcapWriter};

    use super::*;

    /// A truncated Ethernet frame: only the IPv4 header was captured.
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
            read(file.path(), Filter { host, direction }).map(|trace| trace.packets)
        };
        let packet = |us, ip_len| TracedPacket { at: Span::from_micros(us), ip_len };
        assert_eq!(read(None, Direction::Up), Ok(vec![packet(0, 1500), packet(400, 52), packet(2000, 40)]));
        assert_eq!(read(Some("10.0.0.1"), Direction::Up), Ok(vec![packet(0, 1500), packet(2000, 40)]));
        assert_eq!(read(Some("10.0.0.1"), Direction::Down), Ok(vec![packet(0, 52)]));
        let error = read(Some("10.0.0.3"), Direction::Down).unwrap_err();
        let why = "none of its 4 packets counts: 1 are not IP (1 EtherType 0xffff), 3 are neither from nor to 10.0.0.3";
        assert!(error.ends_with(why), "{error}");
    }

    #[test]
    fn a_table_is_read_by_direction() {
        let file = written(b"# a comment\n0.5, 100, up\n0.7,200,down\n\n1.5,300\n");
        let read = |direction| read(file.path(), Filter { host: None, direction }).map(|trace| trace.packets);
        let packet = |ms, ip_len| TracedPacket { at: Span::from_millis(ms), ip_len };
        assert_eq!(read(Direction::Up), Ok(vec![packet(0, 100), packet(1000, 300)]));
        assert_eq!(read(Direction::Down), Ok(vec![packet(0, 200), packet(800, 300)]));
    }

    #[test]
    fn other_files_are_refused_without_panics() {
        let filter = Filter { host: None, direction: Direction::Up };
        for bad in [
            "",
            "\n# nothing\n",
            "\u{fffd}",
            "many, bytes\n",
            "1.0\n",
            "1.0, 0\n",
            "1.0, 70000\n",
            "1.0, 5, sideways\n",
            "nan, 5\n",
        ] {
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
