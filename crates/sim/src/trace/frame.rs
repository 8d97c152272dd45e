//! Frames of IEEE 802.11 as bytes, without their FCS.
//!
//! Clause numbers are those of IEEE Std 802.11-2016.

use evenair_medium::AccessCategory;
use evenair_packet::MacAddr;
use evenair_units::Span;

/// Frame Control of control frames (9.2.4.1): type and subtype in the first byte.
const RTS: [u8; 2] = [0xb4, 0];
const CTS: [u8; 2] = [0xc4, 0];
const ACK: [u8; 2] = [0xd4, 0];
const BLOCK_ACK_REQUEST: [u8; 2] = [0x84, 0];
const CF_END: [u8; 2] = [0xe4, 0];
const BLOCK_ACK: [u8; 2] = [0x94, 0];
const DATA: u8 = 0x08;
const QOS_DATA: u8 = 0x88;
/// Second byte of Frame Control.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const RETRY: u8 = 0x08;

/// Protected Frame: the body is encrypted.
const PROTECTED: u8 = 0x40;
/// QoS Control field (9.2.4.5.9): the body is an A-MSDU.
const A_MSDU_PRESENT: u16 = 0x80;
/// BlockAck and BlockAckReq of the compressed variant (9.3.1.7.2, 9.3.1.8.2).
const COMPRESSED: u16 = 0x04;
/// Fragment number of a compressed BlockAck with a bitmap of 256 bits (IEEE Std 802.11ax-2021, table 9-30a).
const BITMAP_OF_256: u16 = 0x04;
/// CCMP header (12.5.3.2): the packet number has six bytes.
const EXTENDED_IV: u8 = 0x20;
/// Size in bytes of CCMP's MIC at the end of the body.
const MIC: usize = 8;

/// A data frame.
pub(super) struct Data<'a> {
    /// Uplink: from a station to the access point.
    pub(super) up: bool,
    /// The Retry bit.
    pub(super) retry: bool,
    pub(super) reserves: Span,
    /// Receiver, transmitter and the third address (9.3.2.1).
    pub(super) addresses: [MacAddr; 3],
    pub(super) sequence: u16,
    /// Category, if the frame has a QoS header.
    pub(super) qos: Option<AccessCategory>,
    /// Packet number in the CCMP header, if the frame is encrypted.
    pub(super) packet_number: Option<u64>,
    /// The body is an A-MSDU, not an MSDU.
    pub(super) a_msdu: bool,
    /// A packet with its LLC header, or the result of [`a_msdu`]. It is in plain text even if the frame is marked as
    /// encrypted.
    pub(super) body: &'a [u8],
}

/// A packet with its LLC header.
#[derive(Debug)]
pub(super) struct Msdu {
    pub(super) source: MacAddr,
    pub(super) destination: MacAddr,
    pub(super) bytes: Vec<u8>,
}

impl Default for Msdu {
    fn default() -> Self {
        let nobody = MacAddr([0; 6]);
        Self { source: nobody, destination: nobody, bytes: Vec::new() }
    }
}

pub(super) fn data(frame: &Data<'_>) -> Vec<u8> {
    let direction = if frame.up { TO_DS } else { FROM_DS };
    let retry = if frame.retry { RETRY } else { 0 };
    let protected = if frame.packet_number.is_some() { PROTECTED } else { 0 };
    let mut out = vec![if frame.qos.is_some() { QOS_DATA } else { DATA }, direction | retry | protected];
    out.extend(duration(frame.reserves));
    frame.addresses.iter().for_each(|address| out.extend(address.0));
    out.extend((frame.sequence << 4).to_le_bytes());
    if let Some(category) = frame.qos {
        let a_msdu = if frame.a_msdu { A_MSDU_PRESENT } else { 0 };
        out.extend((u16::from(user_priority(category)) | a_msdu).to_le_bytes());
    }
    let Some(packet_number) = frame.packet_number else {
        out.extend(frame.body);
        return out;
    };
    let [first, second, rest @ ..] = packet_number.to_le_bytes();
    out.extend([first, second, 0, EXTENDED_IV]);
    out.extend(&rest[..4]);
    out.extend(frame.body);
    out.extend([0; MIC]);
    out
}

/// An A-MSDU: subframes with addresses and lengths, each but the last padded to a multiple of four bytes (9.3.2.2.2).
pub(super) fn a_msdu(msdus: &[Msdu]) -> Vec<u8> {
    let mut out = Vec::new();
    for msdu in msdus {
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(msdu.destination.0);
        out.extend(msdu.source.0);
        out.extend((msdu.bytes.len() as u16).to_be_bytes());
        out.extend(&msdu.bytes);
    }
    out
}

pub(super) fn rts(reserves: Span, receiver: MacAddr, sender: MacAddr) -> Vec<u8> {
    [&RTS[..], &duration(reserves), &receiver.0, &sender.0].concat()
}

pub(super) fn cts(reserves: Span, receiver: MacAddr) -> Vec<u8> {
    [&CTS[..], &duration(reserves), &receiver.0].concat()
}

pub(super) fn ack(reserves: Span, receiver: MacAddr) -> Vec<u8> {
    [&ACK[..], &duration(reserves), &receiver.0].concat()
}

/// A broadcast CF-End of the access point (9.3.1.6).
pub(super) fn cf_end(bssid: MacAddr) -> Vec<u8> {
    [&CF_END[..], &duration(Span::ZERO), &MacAddr::BROADCAST.0, &bssid.0].concat()
}

/// A BlockAck or BlockAckReq.
pub(super) struct BlockAck<'a> {
    pub(super) reserves: Span,
    pub(super) receiver: MacAddr,
    pub(super) sender: MacAddr,
    pub(super) category: AccessCategory,
    /// Sequence number of the first MPDU that it covers.
    pub(super) first: u16,
    /// One bit for each MPDU from that one on: whether it was received; empty for a BlockAckReq.
    pub(super) bitmap: &'a [u8],
}

pub(super) fn block_ack(frame: &BlockAck<'_>) -> Vec<u8> {
    let BlockAck { reserves, receiver, sender, category, first, bitmap } = *frame;
    let kind = if bitmap.is_empty() { BLOCK_ACK_REQUEST } else { BLOCK_ACK };
    let control = COMPRESSED | u16::from(user_priority(category)) << 12;
    let size = if bitmap.len() == 32 { BITMAP_OF_256 } else { 0 };
    let mut out = [&kind[..], &duration(reserves), &receiver.0, &sender.0].concat();
    out.extend(control.to_le_bytes());
    out.extend((first << 4 | size).to_le_bytes());
    out.extend(bitmap);
    out
}

/// The Duration field, in microseconds, rounded up; 32767 at most (9.2.4.2).
fn duration(reserves: Span) -> [u8; 2] {
    (reserves.as_nanos().div_ceil(1000).min(32_767) as u16).to_le_bytes()
}

/// The user priority of a category (table 10-1).
const fn user_priority(category: AccessCategory) -> u8 {
    match category {
        AccessCategory::Background => 1,
        AccessCategory::BestEffort => 0,
        AccessCategory::Video => 5,
        AccessCategory::Voice => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVER: MacAddr = MacAddr([1; 6]);
    const SENDER: MacAddr = MacAddr([2; 6]);

    #[test]
    fn block_acks_and_their_requests_have_their_sizes() {
        let frame = |bitmap| {
            let (reserves, category, first) = (Span::from_micros(48), AccessCategory::Voice, 0xabc);
            block_ack(&BlockAck { reserves, receiver: RECEIVER, sender: SENDER, category, first, bitmap })
        };
        let ends = [&[48, 0][..], &[1; 6], &[2; 6], &[0x04, 0x60]].concat();
        assert_eq!(frame(&[]), [&[0x84, 0][..], &ends, &[0xc0, 0xab]].concat());
        assert_eq!(frame(&[7; 8]), [&[0x94, 0][..], &ends, &[0xc0, 0xab], &[7; 8]].concat());
        assert_eq!(frame(&[7; 32]), [&[0x94, 0][..], &ends, &[0xc4, 0xab], &[7; 32]].concat());
    }

    #[test]
    fn subframes_are_padded_but_the_last() {
        let msdu = |bytes: &[u8]| Msdu { source: SENDER, destination: RECEIVER, bytes: bytes.to_vec() };
        let header = |length| [&[1; 6][..], &[2; 6], &[0, length]].concat();
        let expected = [&header(3)[..], &[9; 3], &[0; 3], &header(1), &[8]].concat();
        assert_eq!(a_msdu(&[msdu(&[9; 3]), msdu(&[8])]), expected);
    }

    #[test]
    fn encrypted_frames_have_a_packet_number_and_room_for_the_mic() {
        let frame = |packet_number| {
            data(&Data {
                up: true,
                retry: true,
                reserves: Span::ZERO,
                addresses: [RECEIVER, SENDER, RECEIVER],
                sequence: 0x123,
                qos: Some(AccessCategory::BestEffort),
                packet_number,
                a_msdu: true,
                body: &[9; 5],
            })
        };
        let addresses = [&[0, 0][..], &[1; 6], &[2; 6], &[1; 6], &[0x30, 0x12, 0x80, 0]].concat();
        assert_eq!(frame(None), [&[0x88, 0x09][..], &addresses, &[9; 5]].concat());
        let header = [0x22, 0x11, 0, 0x20, 0x33, 0, 0, 0];
        assert_eq!(frame(Some(0x33_1122)), [&[0x88, 0x49][..], &addresses, &header, &[9; 5], &[0; 8]].concat());
    }
}
