//! What a packet carries, where that tells something of the network itself: speech, how it is
//! agreed upon, and who has which address.
//!
//! Of a payload only the few numbers are kept that the manager needs; what a telephone says is not among them.
//!
//! Source: RFC 3550 (RTP), RFC 5761 (RTP and RTCP on one port), RFC 7983 (what else shares that port).

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::codec::{CodecError, Reader, Write};
use crate::{Claim, Lease, SipMeta, neighbour, sip};

/// What a packet carries.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Content {
    /// Nothing that is understood.
    #[default]
    Opaque,
    /// Something that has the header of RTP. One packet proves nothing: what follows it must go on where it ends.
    Rtp(RtpMeta),
    /// A message of SIP that says something of a call.
    Sip(Box<SipMeta>),
    /// Its sender says that an address is its own.
    Claim(Claim),
    /// What DHCP tells of a client.
    Lease(Box<Lease>),
}

/// A header of RTP (RFC 3550, 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RtpMeta {
    /// Payload type, 7 bits: a codec, by RFC 3551 or by agreement.
    pub payload_type: u8,
    /// Marker: the first packet after silence.
    pub marker: bool,
    /// Sequence number, modulo 2^16.
    pub sequence: u16,
    /// When the first sample of it was taken, in ticks of the codec's clock, modulo 2^32.
    pub timestamp: u32,
    /// Who speaks: the synchronisation source.
    pub source: u32,
}

/// The fixed header, without the list of contributing sources.
const RTP_HEADER: usize = 12;
const RTP_VERSION: u8 = 2;
/// Where RTCP's packet types, 192 to 223, would be read as a marker and a payload type (RFC 5761, 4).
const LIKE_RTCP: core::ops::RangeInclusive<u8> = 64..=95;

const TAG_RTP: u8 = 1;
const TAG_SIP: u8 = 2;
const TAG_CLAIM: u8 = 3;
const TAG_LEASE: u8 = 4;

impl Content {
    /// What a datagram between these ports carries.
    pub(crate) fn of_datagram(src_port: u16, dst_port: u16, payload: &[u8]) -> Self {
        if SipMeta::may_use(src_port, dst_port) {
            return Self::of_segment(src_port, dst_port, payload);
        }
        if Lease::may_use(src_port, dst_port) {
            return Lease::parse(payload).map_or(Self::Opaque, |lease| Self::Lease(lease.into()));
        }
        RtpMeta::parse(payload).map_or(Self::Opaque, Self::Rtp)
    }

    /// What a segment of TCP between these ports carries.
    pub(crate) fn of_segment(src_port: u16, dst_port: u16, payload: &[u8]) -> Self {
        let sip = SipMeta::may_use(src_port, dst_port).then(|| SipMeta::parse(payload)).flatten();
        sip.map_or(Self::Opaque, |sip| Self::Sip(sip.into()))
    }
}

impl RtpMeta {
    /// The header, where these bytes begin like one of version 2 that announces no more than there is.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let (header, _) = payload.split_first_chunk::<RTP_HEADER>()?;
        let [first, second, ..] = *header;
        let sources = usize::from(first & 0x0f);
        let payload_type = second & 0x7f;
        let fits = first >> 6 == RTP_VERSION && payload.len() >= RTP_HEADER + 4 * sources;
        if !fits || LIKE_RTCP.contains(&payload_type) {
            return None;
        }
        let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        Some(Self {
            payload_type,
            marker: second & 0x80 != 0,
            sequence: u16::from_be_bytes([header[2], header[3]]),
            timestamp: word(4),
            source: word(8),
        })
    }
}

/// Appends what a packet carries.
pub(crate) fn encode(out: &mut Vec<u8>, content: &Content) {
    match content {
        Content::Opaque => out.put_u8(0),
        Content::Rtp(rtp) => {
            out.put_u8(TAG_RTP);
            out.put_u8(rtp.payload_type | u8::from(rtp.marker) << 7);
            out.put_u16(rtp.sequence);
            out.put_u32(rtp.timestamp);
            out.put_u32(rtp.source);
        }
        Content::Sip(sip) => {
            out.put_u8(TAG_SIP);
            sip::encode(out, sip);
        }
        Content::Claim(claim) => {
            out.put_u8(TAG_CLAIM);
            neighbour::put_claim(out, claim);
        }
        Content::Lease(lease) => {
            out.put_u8(TAG_LEASE);
            neighbour::put_lease(out, lease);
        }
    }
}

/// Reads what a packet carries off the front.
pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Content, CodecError> {
    match reader.u8()? {
        TAG_RTP => {
            let second = reader.u8()?;
            Ok(Content::Rtp(RtpMeta {
                payload_type: second & 0x7f,
                marker: second & 0x80 != 0,
                sequence: reader.u16()?,
                timestamp: reader.u32()?,
                source: reader.u32()?,
            }))
        }
        TAG_SIP => sip::decode(reader).map(|sip| Content::Sip(sip.into())),
        TAG_CLAIM => neighbour::read_claim(reader).map(Content::Claim),
        TAG_LEASE => neighbour::read_lease(reader).map(|lease| Content::Lease(lease.into())),
        // One that carries nothing is not written down.
        tag => Err(CodecError::Tag(tag)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3550, 5.1: version 2, marker, payload type 8, the rest by hand.
    const HEADER: [u8; 12] = [0x80, 0x88, 0x12, 0x34, 0, 0, 0x27, 0x10, 0xde, 0xad, 0xbe, 0xef];

    #[test]
    fn a_header_is_read_as_it_is_printed_in_the_standard() {
        let rtp = RtpMeta { payload_type: 8, marker: true, sequence: 0x1234, timestamp: 10_000, source: 0xdead_beef };
        assert_eq!(RtpMeta::parse(&HEADER), Some(rtp));
        assert_eq!(RtpMeta::parse(&HEADER[..11]), None);
    }

    #[test]
    fn what_shares_its_port_is_told_apart() {
        let with = |first, second| {
            let mut bytes = HEADER;
            (bytes[0], bytes[1]) = (first, second);
            RtpMeta::parse(&bytes)
        };
        assert_eq!(with(0x80, 200), None, "a sender report of RTCP");
        assert_eq!(with(0x00, 1), None, "a request of STUN");
        assert_eq!(with(0x16, 0xfe), None, "DTLS");
        assert_eq!(with(0x40, 0), None, "QUIC, a short header");
        assert_eq!(with(0xc0, 0), None, "QUIC, a long header");
        assert_eq!(with(0x81, 0), None, "it says that four bytes more follow");
        assert!(with(0x80, 96).is_some() && with(0x80, 0x80 | 96).is_some());
    }

    #[test]
    fn it_is_written_down_and_read_again() {
        let content = Content::Rtp(RtpMeta::parse(&HEADER).unwrap());
        let mut out = Vec::new();
        encode(&mut out, &content);
        let mut reader = Reader::new(&out);
        assert_eq!(decode(&mut reader), Ok(content));
        assert!(reader.is_empty());
    }
}
