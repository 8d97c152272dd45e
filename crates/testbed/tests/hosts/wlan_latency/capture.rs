//! Captures of TCP headers on interfaces of a running testbed by dumpcap (Wireshark) in their namespaces: independent of the box, with
//! the kernel's timestamps.

use std::fs::File;
use std::net::SocketAddrV4;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use etherparse::{LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpSlice, TransportSlice};
use evenair_capture::{Link, Wanted};
use evenair_sys::netns::Netns;
use evenair_sys::process::{signal, tie};

/// Bytes kept of a frame: Ethernet (14), IPv4 (20) and the longest TCP header (60), and two more.
const SNAP_LENGTH: u32 = 96;
/// Size of the kernel's capture buffer in MiB: over a second of the fastest mix, with the kernel's overhead per frame.
const BUFFER_MIB: u32 = 32;
/// Timeout for dumpcap to start, and for it to write its file when it is stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether dumpcap is installed.
pub fn is_possible() -> bool {
    Command::new("dumpcap").arg("--version").output().is_ok()
}

/// A running capture.
#[derive(Debug)]
pub struct Dumpcap {
    child: Child,
    file: PathBuf,
    messages: PathBuf,
}

impl Dumpcap {
    /// Starts a capture on an interface of a namespace into `NAME.pcapng` of a directory. The process is tied to the calling thread.
    pub fn start(namespace: &Netns, interface: &str, directory: &Path, name: &str) -> Result<Self> {
        let (file, messages) =
            (directory.join(name).with_extension("pcapng"), directory.join(name).with_extension("txt"));
        // Captured packets wait in the buffer while the run needs the processor.
        let nice = format!("-n 19 dumpcap -i {interface} -f tcp -s {SNAP_LENGTH} -B {BUFFER_MIB} -w");
        let mut command = Command::new("nice");
        command.args(nice.split(' '));
        command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&messages)?);
        let child = tie(&mut command, Some(namespace.as_fd())).spawn().context("dumpcap does not start")?;
        Ok(Self { child, file, messages })
    }

    /// Waits until the capture has started.
    pub fn await_start(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !self.said()?.contains("File: ") {
            if self.child.try_wait()?.is_some() || Instant::now() > deadline {
                bail!("dumpcap does not capture: {}", self.said()?);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Stops the capture; returns its file, and the number of packets that it lost.
    pub fn stop(mut self) -> Result<(PathBuf, u64)> {
        signal(self.child.id(), libc::SIGINT)?;
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "dumpcap does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
        let said = self.said()?;
        let lost = lost(&said).with_context(|| format!("dumpcap does not say what it has lost: {said}"))?;
        Ok((self.file.clone(), lost))
    }

    fn said(&self) -> Result<String> {
        Ok(std::fs::read_to_string(&self.messages)?)
    }
}

impl Drop for Dumpcap {
    fn drop(&mut self) {
        // Errors here mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Number of dropped packets, from "Packets received/dropped on interface 'ap0': 100/2 (pcap:2/dumpcap:0/flushed:0/ps_ifdrop:0) (98.0%)".
fn lost(said: &str) -> Option<u64> {
    let (_, counts) = said.split_once("Packets received/dropped on interface")?;
    let (_, counts) = counts.split_once(": ")?;
    counts.split_whitespace().next()?.split_once('/')?.1.parse().ok()
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When the kernel saw it, since the beginning of 1970, UTC.
    pub at: Duration,
    pub from: SocketAddrV4,
    pub to: SocketAddrV4,
    /// Identification of its IPv4 packet. Linux increments it within a connection, so that it distinguishes transmissions of the same
    /// DATA.
    pub id: u16,
    /// Sequence number of its first byte.
    pub seq: u32,
    /// Bytes of DATA.
    pub len: u32,
    /// Acknowledgment number, if it has one.
    pub ack: Option<u32>,
    /// It begins or ends a connection (SYN, FIN, RST).
    pub is_control: bool,
    /// Sequence numbers at the starts and behind the ends of SACK blocks (RFC 2018).
    pub sack: [Option<(u32, u32)>; 4],
    /// Timestamp and echo (RFC 7323).
    pub stamps: Option<(u32, u32)>,
}

impl Segment {
    /// Parses an Ethernet frame with IPv4, of which at least the headers were captured.
    pub fn of(at: Duration, frame: &[u8]) -> Option<Self> {
        let packet = LaxSlicedPacket::from_ethernet(frame).ok()?;
        let (Some(LaxNetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (&packet.net, &packet.transport) else {
            return None;
        };
        let ip = ip.header();
        let headers = ip.slice().len() + tcp.header_slice().len();
        let (sack, stamps) = options(tcp);
        Some(Self {
            at,
            from: SocketAddrV4::new(ip.source_addr(), tcp.source_port()),
            to: SocketAddrV4::new(ip.destination_addr(), tcp.destination_port()),
            id: ip.identification(),
            seq: tcp.sequence_number(),
            len: u32::from(ip.total_len()).saturating_sub(headers as u32),
            ack: tcp.ack().then(|| tcp.acknowledgment_number()),
            is_control: tcp.syn() || tcp.fin() || tcp.rst(),
            sack,
            stamps,
        })
    }
}

type Options = ([Option<(u32, u32)>; 4], Option<(u32, u32)>);

/// SACK blocks and timestamps.
fn options(tcp: &TcpSlice<'_>) -> Options {
    let (mut sack, mut stamps) = ([None; 4], None);
    for option in tcp.options_iterator().map_while(Result::ok) {
        match option {
            TcpOptionElement::SelectiveAcknowledgement(first, [second, third, fourth]) => {
                sack = [Some(first), second, third, fourth];
            }
            TcpOptionElement::Timestamp(value, echo) => stamps = Some((value, echo)),
            _ => {}
        }
    }
    (sack, stamps)
}

/// Calls `each` with the TCP segments of a capture, in order.
pub fn read(file: &Path, mut each: impl FnMut(&Segment)) -> Result<()> {
    let wanted = Wanted { link: Link::ETHERNET, instead: "an Ethernet interface" };
    let cut = wanted.read(file, |at, frame, _| Segment::of(at, frame).iter().for_each(&mut each))?;
    ensure!(cut.is_none(), "{} ends within a packet", file.display());
    Ok(())
}

#[test]
fn the_number_of_lost_packets_is_parsed_from_dumpcaps_output() {
    let said = "Packets captured: 98\nPackets received/dropped on interface 'ap0': 98/2 (pcap:2/dumpcap:0/flushed:0/ps_ifdrop:0) (98.0%)\n";
    assert_eq!(lost(said), Some(2));
    assert_eq!(lost("Capturing on 'ap0'\n"), None);
}
