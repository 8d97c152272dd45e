//! Reads captures: frames on the air with radiotap headers, Ethernet frames on the wire.
//!
//! Frame formats are those of IEEE Std 802.11-2016, clause 9, radiotap fields those of radiotap.org.

use std::path::Path;
use std::time::Duration;

use evenair_packet::{MacAddr, PacketMeta, Port, parse};
use pcap_file::DataLink;

use super::file::read;
use super::{CaptureError, Cut};

/// DATA or ACK on the air, as far as it could be decoded.
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
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) from: MacAddr,
    /// From a station to its access point.
    pub(super) up: bool,
    /// Sequence number, and the category that it counts for.
    pub(super) number: (u16, u8),
    pub(super) packet: Packet,
}

/// An IP packet, on the air or on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) meta: PacketMeta,
    /// Its first bytes, by which it is known again.
    pub(super) start: Vec<u8>,
}

/// Bytes of an IP packet that tell it from others: its headers and what follows them.
const KNOWN_BY: usize = 80;
const RADIOTAP_FLAGS_HAS_FCS: u8 = 0x10;
const RADIOTAP_FLAGS_BAD_FCS: u8 = 0x40;

/// All frames of a capture on the air that were received whole, and where it ends early.
pub(super) fn air(path: &Path) -> Result<(Vec<AirFrame>, Option<Cut>), CaptureError> {
    let mut frames = Vec::new();
    let cut = read(path, DataLink::IEEE802_11_RADIOTAP, |at, bytes| frames.extend(air_frame(at, bytes)))?;
    Ok((frames, cut))
}

/// All frames of a capture on the wire, and where it ends early.
pub(super) fn wire(path: &Path) -> Result<(Vec<(Duration, Packet)>, Option<Cut>), CaptureError> {
    let mut packets = Vec::new();
    let cut = read(path, DataLink::ETHERNET, |at, bytes| packets.push((at, packet(bytes))))?;
    Ok((packets, cut))
}

fn air_frame(at: Duration, bytes: &[u8]) -> Option<AirFrame> {
    let (flags, frame) = radiotap(bytes)?;
    if flags & RADIOTAP_FLAGS_BAD_FCS != 0 {
        return None;
    }
    let end = if flags & RADIOTAP_FLAGS_HAS_FCS != 0 { frame.len().checked_sub(4)? } else { frame.len() };
    let frame = frame.get(..end)?;
    let to = mac(frame, 4)?;
    let kind = match frame[0] & 0x0c {
        0x04 if frame[0] == 0xd4 => AirKind::Ack,
        0x08 => AirKind::Data(Box::new(data(frame)?)),
        _ => return None,
    };
    Some(AirFrame { at, to, kind })
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
    let sequence = u16::from_le_bytes(frame.get(22..24)?.try_into().ok()?) >> 4;
    let (header, category) = if has_qos { (26, *frame.get(24)? & 15) } else { (24, u8::MAX) };
    let llc = frame.get(header..)?;
    if llc.get(..6)? != [0xaa, 0xaa, 3, 0, 0, 0] {
        return None;
    }
    let (receiver, from, third) = (mac(frame, 4)?, mac(frame, 10)?, mac(frame, 16)?);
    let (destination, source) = if up { (third, from) } else { (receiver, third) };
    let ethernet = [&destination.0[..], &source.0, &llc[6..]].concat();
    Some(Data { from, up, number: (sequence, category), packet: packet(&ethernet) })
}

fn packet(ethernet: &[u8]) -> Packet {
    let ip = ethernet.get(14..).unwrap_or_default();
    Packet { meta: parse(Port::Wire, ethernet), start: ip[..ip.len().min(KNOWN_BY)].to_vec() }
}

fn mac(frame: &[u8], at: usize) -> Option<MacAddr> {
    Some(MacAddr(frame.get(at..at + 6)?.try_into().ok()?))
}
