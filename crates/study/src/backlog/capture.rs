//! Reads captures: frames on the air with radiotap headers, Ethernet frames on the wire.
//!
//! Frame formats are those of IEEE Std 802.11-2016, clause 9.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::Duration;

use evenair_capture::{CaptureError, Cut, Link, Wanted};
use evenair_packet::{MacAddr, PacketMeta, Port, parse};

use super::radiotap::{RADIOTAP_FLAGS_BAD_FCS, RADIOTAP_FLAGS_HAS_FCS, Radiotap};

/// A frame on the air, as far as it could be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AirFrame {
    /// Time of its record.
    pub(super) at: Duration,
    /// Start of the frame by the monitor's clock (TSFT); [`Self::at`] if a frame of the capture has none.
    pub(super) begins: Duration,
    /// Time for which it occupies the medium: its airtime plus the time that its Duration field reserves; `None` if its rate
    /// is neither DSSS nor OFDM.
    pub(super) busy: Option<Duration>,
    /// Whether it is sent with DSSS.
    pub(super) dsss: bool,
    /// Receiver.
    pub(super) to: MacAddr,
    pub(super) kind: AirKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AirKind {
    Ack,
    BlockAck,
    /// An RTS for a data frame, with its sender.
    Rts(MacAddr),
    Data(Box<Data>),
    /// Another frame that has a sender.
    Other(Sender),
    /// A control frame without a sender: CTS, CF-End.
    Control,
    /// A frame that its receiver could not decode, as far as its header is right.
    Bad {
        sender: Sender,
        retry: bool,
    },
}

/// Sender of a frame, and its sequence number if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) from: MacAddr,
    pub(super) number: Option<Number>,
}

/// Sequence number, and the traffic identifier whose counter it belongs to (one past the last without QoS).
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
    /// Whether it goes from a station to its access point.
    pub(super) up: bool,
    /// Whether it is a retransmission.
    pub(super) retry: bool,
    pub(super) number: Number,
    /// Its packet, or why that cannot be read.
    pub(super) packet: Result<Packet, Why>,
}

/// Why the packet of a data frame cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Encrypted,
    /// The record has fewer bytes than the headers need.
    Cut,
    /// An A-MSDU, or no LLC header.
    Format,
}

/// An IP packet, on the air or on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) meta: PacketMeta,
    /// Hash of its first bytes, to recognize it in the other capture.
    pub(super) start: u64,
}

/// Largest frame on the wire, in bytes, including segments that the interface cuts (TSO).
const LONGEST: usize = 70_000;
/// Number of leading bytes that identify an IP packet: its headers and the bytes after them.
const KNOWN_BY: usize = 80;
/// Masks of the first byte (frame type), of the second byte, and of QoS Control.
const TYPE: u8 = 0x0c;
const DATA: u8 = 0x08;
const ACK: u8 = 0xd4;
const BLOCK_ACK: u8 = 0x94;
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const CF_END: u8 = 0xe4;
const RETRY: u8 = 0x08;
const PROTECTED: u8 = 0x40;
const A_MSDU: u8 = 0x80;
/// From this value on, the Duration/ID field holds no duration.
const NO_DURATION: u16 = 0x8000;
/// Marks a frame without a TSFT.
const NO_TSFT: Duration = Duration::MAX;

/// The content of a capture, and where it is cut off.
type ReadUpTo<T> = Result<(Vec<T>, Option<Cut>), CaptureError>;

/// All frames of an air capture whose first header at least is readable, and where the capture is cut off.
pub(super) fn air(path: &Path) -> ReadUpTo<AirFrame> {
    let mut frames = Vec::new();
    let instead =
        "on a monitor interface with radiotap headers, e.g. `tcpdump -i mon0 -y IEEE802_11_RADIO -w air.pcap`";
    let wanted = Wanted { link: Link::RADIOTAP, instead };
    let cut = wanted.read(path, |at, bytes, original| frames.extend(air_frame(at, bytes, original)))?;
    set_clock(&mut frames);
    Ok((frames, cut))
}

/// Sets the start times by the monitor's clock, or by the record times if a frame has no TSFT or the clock went back.
fn set_clock(frames: &mut [AirFrame]) {
    let Some(first) = frames.first() else { return };
    let (at, begins) = (first.at, first.begins);
    let is_whole = frames.is_sorted_by_key(|frame| frame.begins) && frames.iter().all(|frame| frame.begins != NO_TSFT);
    for frame in frames {
        frame.begins = if is_whole { at + (frame.begins - begins) } else { frame.at };
    }
}

/// All frames of a wire capture, and where it is cut off.
pub(super) fn wire(path: &Path) -> ReadUpTo<(Duration, Packet)> {
    let mut packets = Vec::new();
    let wanted =
        Wanted { link: Link::ETHERNET, instead: "the access point's wire, e.g. `tcpdump -i eth0 -w wire.pcap`" };
    let cut = wanted.read(path, |at, bytes, original| {
        let mut ethernet = bytes.to_vec();
        ethernet.resize(original.clamp(bytes.len(), LONGEST.max(bytes.len())), 0);
        packets.push((at, packet(&ethernet)));
    })?;
    Ok((packets, cut))
}

/// Decodes the frame of an air record, which may have fewer bytes than the frame.
fn air_frame(at: Duration, bytes: &[u8], original: usize) -> Option<AirFrame> {
    let radio = Radiotap::read(bytes)?;
    let cut = original.saturating_sub(bytes.len()).min(LONGEST);
    let frame = bytes.get(radio.length..)?;
    let whole = frame.len() + cut;
    let fcs = if radio.flags & RADIOTAP_FLAGS_HAS_FCS != 0 { 4 } else { 0 };
    let frame = &frame[..frame.len().min(whole.checked_sub(fcs)?)];
    let control = *frame.first()?;
    let is_bad = radio.flags & RADIOTAP_FLAGS_BAD_FCS != 0;
    let retry = frame.get(1)? & RETRY != 0;
    let to = mac(frame, 4)?;
    let kind = match control {
        _ if is_bad => AirKind::Bad { sender: sender(frame)?, retry },
        ACK => AirKind::Ack,
        BLOCK_ACK => AirKind::BlockAck,
        RTS => AirKind::Rts(mac(frame, 10)?),
        CTS | CF_END => AirKind::Control,
        _ if control & TYPE == DATA => match data(frame, whole - fcs - frame.len()) {
            Some(data) => AirKind::Data(Box::new(data)),
            None => AirKind::Other(sender(frame)?),
        },
        _ => AirKind::Other(sender(frame)?),
    };
    // Reserved until the end of the exchange; for an undecoded frame only its own airtime.
    let reserved = u16::from_le_bytes(frame.get(2..4)?.try_into().ok()?);
    let reserved = if is_bad || reserved >= NO_DURATION { 0 } else { reserved };
    let airtime = radio.airtime(whole - fcs + 4);
    let busy = airtime.map(|airtime| airtime + Duration::from_micros(reserved.into()));
    Some(AirFrame { at, begins: radio.tsft.unwrap_or(NO_TSFT), busy, dsss: radio.is_dsss(), to, kind })
}

/// The sender, if a frame names one. Management and data frames have a sequence number.
fn sender(frame: &[u8]) -> Option<Sender> {
    let number = match frame[0] & 0x0c {
        0x08 if frame[0] & 0xc0 == 0xc0 => None,
        0x00 | 0x08 => Some(number(frame)?),
        _ => None,
    };
    Some(Sender { from: mac(frame, 10)?, number })
}

/// Sequence numbers of QoS data count per receiver and traffic identifier, all others share a counter (10.3.2.14.2); those of
/// QoS Null are arbitrary.
fn number(frame: &[u8]) -> Option<Number> {
    let sequence = u16::from_le_bytes(frame.get(22..24)?.try_into().ok()?) >> 4;
    let tid = if frame[0] & 0x8c == 0x88 { *frame.get(24)? & 15 } else { NO_TID };
    Some(Number { sequence, tid })
}

/// A data frame with a payload, between a station and its access point; `cut`: number of its bytes that the record lacks.
fn data(frame: &[u8], cut: usize) -> Option<Data> {
    let up = match frame[1] & 3 {
        1 => true,
        2 => false,
        _ => return None,
    };
    // Without payload: Null and QoS Null.
    if frame[0] & 0x40 != 0 {
        return None;
    }
    let number = number(frame)?;
    let retry = frame[1] & RETRY != 0;
    Some(Data { from: mac(frame, 10)?, up, retry, number, packet: content(frame, up, cut) })
}

/// The IP packet in a data frame.
fn content(frame: &[u8], up: bool, cut: usize) -> Result<Packet, Why> {
    let has_qos = frame[0] & 0x80 != 0;
    let header = if has_qos { 26 } else { 24 };
    if frame[1] & PROTECTED != 0 {
        return Err(Why::Encrypted);
    }
    if has_qos && frame.get(24).is_some_and(|qos| qos & A_MSDU != 0) {
        return Err(Why::Format);
    }
    let short = || if cut > 0 { Why::Cut } else { Why::Format };
    let llc = frame.get(header..).filter(|llc| llc.len() >= 8).ok_or_else(short)?;
    if llc[..6] != [0xaa, 0xaa, 3, 0, 0, 0] {
        return Err(Why::Format);
    }
    if cut > 0 && llc.len() - 8 < KNOWN_BY {
        return Err(Why::Cut);
    }
    let address = |at| mac(frame, at).ok_or(Why::Format);
    let (receiver, from, third) = (address(4)?, address(10)?, address(16)?);
    let (destination, source) = if up { (third, from) } else { (receiver, third) };
    let mut ethernet = [&destination.0[..], &source.0, &llc[6..]].concat();
    // Its headers contain its length; its payload is not read.
    ethernet.resize(ethernet.len() + cut, 0);
    Ok(packet(&ethernet))
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
