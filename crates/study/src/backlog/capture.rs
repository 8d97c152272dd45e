//! Reads captures: frames on the air with radiotap headers, Ethernet frames on the wire.
//!
//! Frame formats are those of IEEE Std 802.11-2016, clause 9, radiotap fields those of radiotap.org.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::Duration;

use evenair_capture::{CaptureError, Cut, Link, Wanted};
use evenair_packet::{MacAddr, PacketMeta, Port, parse};

/// A frame on the air, as far as it could be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AirFrame {
    pub(super) at: Duration,
    /// Receiver.
    pub(super) to: MacAddr,
    pub(super) kind: AirKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AirKind {
    Ack,
    Data(Box<Data>),
    /// Another one that has a sender.
    Other(Sender),
    /// One that its receiver could not decode, if its header is right.
    Bad(Sender),
}

/// Who sent a frame, and its number, where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) from: MacAddr,
    pub(super) number: Option<Number>,
}

/// Sequence number, and the traffic identifier that it counts for (one past the last without QoS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) sequence: u16,
    pub(super) tid: u8,
}

/// The traffic identifier of frames without QoS, which have one counter for all receivers.
pub(super) const NO_TID: u8 = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) from: MacAddr,
    /// From a station to its access point.
    pub(super) up: bool,
    /// It was sent before.
    pub(super) retry: bool,
    pub(super) number: Number,
    pub(super) packet: Packet,
}

/// An IP packet, on the air or on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) meta: PacketMeta,
    /// A hash of its first bytes, by which it is known again.
    pub(super) start: u64,
}

/// Bytes of an IP packet that tell it from others: its headers and what follows them.
const KNOWN_BY: usize = 80;
const RADIOTAP_FLAGS_HAS_FCS: u8 = 0x10;
const RADIOTAP_FLAGS_BAD_FCS: u8 = 0x40;

/// What a capture has, and where it ends early.
type ReadUpTo<T> = Result<(Vec<T>, Option<Cut>), CaptureError>;

/// All frames of a capture on the air that have a sender or are ACKs, and where it ends early.
pub(super) fn air(path: &Path) -> ReadUpTo<AirFrame> {
    let mut frames = Vec::new();
    let instead =
        "on a monitor interface with radiotap headers, e.g. `tcpdump -i mon0 -y IEEE802_11_RADIO -w air.pcap`";
    let wanted = Wanted { link: Link::RADIOTAP, instead };
    let cut = wanted.read(path, |at, bytes| frames.extend(air_frame(at, bytes)))?;
    Ok((frames, cut))
}

/// All frames of a capture on the wire, and where it ends early.
pub(super) fn wire(path: &Path) -> ReadUpTo<(Duration, Packet)> {
    let mut packets = Vec::new();
    let wanted =
        Wanted { link: Link::ETHERNET, instead: "the access point's wire, e.g. `tcpdump -i eth0 -w wire.pcap`" };
    let cut = wanted.read(path, |at, bytes| packets.push((at, packet(bytes))))?;
    Ok((packets, cut))
}

fn air_frame(at: Duration, bytes: &[u8]) -> Option<AirFrame> {
    let (flags, frame) = radiotap(bytes)?;
    let end = if flags & RADIOTAP_FLAGS_HAS_FCS != 0 { frame.len().checked_sub(4)? } else { frame.len() };
    let frame = frame.get(..end)?;
    let to = mac(frame, 4)?;
    let bad = flags & RADIOTAP_FLAGS_BAD_FCS != 0;
    let kind = match frame[0] & 0x0c {
        _ if bad => AirKind::Bad(sender(frame)?),
        0x04 if frame[0] == 0xd4 => AirKind::Ack,
        0x08 => {
            data(frame).map_or_else(|| sender(frame).map(AirKind::Other), |data| Some(AirKind::Data(Box::new(data))))?
        }
        _ => AirKind::Other(sender(frame)?),
    };
    Some(AirFrame { at, to, kind })
}

/// The sender, where a frame names one; the numbers are those of management and data frames.
fn sender(frame: &[u8]) -> Option<Sender> {
    let number = match frame[0] & 0x0c {
        0x08 if frame[0] & 0xc0 == 0xc0 => None,
        0x00 | 0x08 => Some(number(frame)?),
        _ => None,
    };
    Some(Sender { from: mac(frame, 10)?, number })
}

/// Numbers of QoS data count for each receiver and traffic identifier, all others together (10.3.2.14.2); those of QoS Null
/// may be anything.
fn number(frame: &[u8]) -> Option<Number> {
    let sequence = u16::from_le_bytes(frame.get(22..24)?.try_into().ok()?) >> 4;
    let tid = if frame[0] & 0x8c == 0x88 { *frame.get(24)? & 15 } else { NO_TID };
    Some(Number { sequence, tid })
}

/// The flags field, or none, and what follows the header.
fn radiotap(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let length = usize::from(u16::from_le_bytes(bytes.get(2..4)?.try_into().ok()?));
    let present = word(4)?;
    let mut at = 8;
    // Further words of what is present, each announced by the highest bit of the one before.
    while word(at - 4)? & 1 << 31 != 0 {
        at += 4;
    }
    // TSFT is aligned to eight bytes.
    if present & 1 != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    let flags = if present & 2 != 0 { *bytes.get(at)? } else { 0 };
    Some((flags, bytes.get(length..)?))
}

/// A data frame between a station and its access point, with an IP packet in it.
fn data(frame: &[u8]) -> Option<Data> {
    let direction = frame.get(1)? & 3;
    let up = match direction {
        1 => true,
        2 => false,
        _ => return None,
    };
    let has_qos = frame[0] & 0x80 != 0;
    // Without data: Null and QoS Null.
    if frame[0] & 0x40 != 0 {
        return None;
    }
    let header = if has_qos { 26 } else { 24 };
    let llc = frame.get(header..)?;
    if llc.get(..6)? != [0xaa, 0xaa, 3, 0, 0, 0] {
        return None;
    }
    let (receiver, from, third) = (mac(frame, 4)?, mac(frame, 10)?, mac(frame, 16)?);
    let (destination, source) = if up { (third, from) } else { (receiver, third) };
    let ethernet = [&destination.0[..], &source.0, &llc[6..]].concat();
    let retry = frame[1] & 0x08 != 0;
    Some(Data { from, up, retry, number: number(frame)?, packet: packet(&ethernet) })
}

fn packet(ethernet: &[u8]) -> Packet {
    let ip = ethernet.get(14..).unwrap_or_default();
    let mut start = DefaultHasher::new();
    ip[..ip.len().min(KNOWN_BY)].hash(&mut start);
    Packet { meta: parse(Port::Wire, ethernet), start: start.finish() }
}

fn mac(frame: &[u8], at: usize) -> Option<MacAddr> {
    Some(MacAddr(frame.get(at..at + 6)?.try_into().ok()?))
}
