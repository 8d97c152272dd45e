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
    /// Its beginning by the monitor's clock (TSFT); [`Self::at`] where a frame of the capture has none.
    pub(super) begins: Duration,
    /// How long it keeps the medium busy, by its rate, with what its Duration field reserves; `None` where the rate is none of
    /// DSSS or OFDM.
    pub(super) busy: Option<Duration>,
    /// It is sent with DSSS.
    pub(super) dsss: bool,
    /// Receiver.
    pub(super) to: MacAddr,
    pub(super) kind: AirKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AirKind {
    Ack,
    BlockAck,
    /// The request for a data frame, by its sender.
    Rts(MacAddr),
    Data(Box<Data>),
    /// Another one that has a sender.
    Other(Sender),
    /// Another control frame: CTS, CF-End.
    Control,
    /// One that its receiver could not decode, if its header is right.
    Bad {
        sender: Sender,
        retry: bool,
    },
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
    /// What it carries, or why that cannot be read.
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
    /// A hash of its first bytes, by which it is known again.
    pub(super) start: u64,
}

/// The longest frame of a wire, with segments that the port cuts.
const LONGEST: usize = 70_000;
/// Bytes of an IP packet that tell it from others: its headers and what follows them.
const KNOWN_BY: usize = 80;
/// Frame types by the first byte, and bits of the second and of QoS Control.
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
/// From this value on, what is in the place of the duration is none.
const NO_DURATION: u16 = 0x8000;
/// A frame without a time of the monitor's clock.
const NO_TSFT: Duration = Duration::MAX;

/// What a capture has, and where it ends early.
type ReadUpTo<T> = Result<(Vec<T>, Option<Cut>), CaptureError>;

/// All frames of a capture on the air of which at least the first header could be read, and where it ends early.
pub(super) fn air(path: &Path) -> ReadUpTo<AirFrame> {
    let mut frames = Vec::new();
    let instead =
        "on a monitor interface with radiotap headers, e.g. `tcpdump -i mon0 -y IEEE802_11_RADIO -w air.pcap`";
    let wanted = Wanted { link: Link::RADIOTAP, instead };
    let cut = wanted.read(path, |at, bytes, original| frames.extend(air_frame(at, bytes, original)))?;
    set_clock(&mut frames);
    Ok((frames, cut))
}

/// Puts the monitor's clock beside that of the records, or the records' in its place where a frame has none or it went back.
fn set_clock(frames: &mut [AirFrame]) {
    let Some(first) = frames.first() else { return };
    let (at, begins) = (first.at, first.begins);
    let is_whole = frames.is_sorted_by_key(|frame| frame.begins) && frames.iter().all(|frame| frame.begins != NO_TSFT);
    for frame in frames {
        frame.begins = if is_whole { at + (frame.begins - begins) } else { frame.at };
    }
}

/// All frames of a capture on the wire, and where it ends early.
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

/// A frame on the air of a record, which may have fewer bytes than were on the air.
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
    // Until the end of the exchange; of one that was not decoded only itself.
    let reserved = u16::from_le_bytes(frame.get(2..4)?.try_into().ok()?);
    let reserved = if is_bad || reserved >= NO_DURATION { 0 } else { reserved };
    let airtime = radio.airtime(whole - fcs + 4);
    let busy = airtime.map(|airtime| airtime + Duration::from_micros(reserved.into()));
    Some(AirFrame { at, begins: radio.tsft.unwrap_or(NO_TSFT), busy, dsss: radio.is_dsss(), to, kind })
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

/// A data frame with data, between a station and its access point; `cut`: so many of its bytes are not in its record.
fn data(frame: &[u8], cut: usize) -> Option<Data> {
    let up = match frame[1] & 3 {
        1 => true,
        2 => false,
        _ => return None,
    };
    // Without data: Null and QoS Null.
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
    // Its headers say how long it is; its payload is not looked at.
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
