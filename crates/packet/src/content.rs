//! Payloads that matter to the network itself: speech, its signalling, and address assignments.
//!
//! Only the few numbers that the manager needs are kept of a payload; speech itself is not among them.
//!
//! Source: RFC 3550 (RTP), RFC 5761 (RTP and RTCP on one port), RFC 7983 (other protocols on that port).

use alloc::boxed::Box;

use minicbor::{Decode, Decoder, Encode, decode};

use crate::{Claim, Lease, Membership, SipMeta};

/// Content of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Default, Encode, Decode)]
#[cbor(flat)]
pub enum Content {
    /// Not recognised.
    #[default]
    #[n(0)]
    Opaque,
    /// A payload with an RTP header. One packet proves nothing: the next ones must continue its sequence.
    #[n(1)]
    Rtp(#[n(0)] RtpMeta),
    /// A SIP message about a call.
    #[n(2)]
    Sip(#[n(0)] Box<SipMeta>),
    /// The sender's claim of an address.
    #[n(3)]
    Claim(#[n(0)] Claim),
    /// A DHCP message about a client.
    #[n(4)]
    Lease(#[n(0)] Box<Lease>),
    /// A group membership message.
    #[n(5)]
    Membership(#[n(0)] Box<Membership>),
}

/// A header of RTP (RFC 3550, 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Encode, Decode)]
pub struct RtpMeta {
    /// Payload type, 7 bits: a codec, by RFC 3551 or by agreement.
    #[cbor(n(0), decode_with = "decode_payload_type")]
    pub payload_type: u8,
    /// Marker: the first packet after silence.
    #[n(1)]
    pub marker: bool,
    /// Sequence number, modulo 2^16.
    #[n(2)]
    pub sequence: u16,
    /// Sampling instant of the first sample, in ticks of the codec's clock, modulo 2^32.
    #[n(3)]
    pub timestamp: u32,
    /// Synchronisation source: the sender of the stream.
    #[n(4)]
    pub source: u32,
}

/// Length of the fixed header, without the list of contributing sources, bytes.
const RTP_HEADER: usize = 12;
const RTP_VERSION: u8 = 2;
/// Payload types as which RTCP's packet types, 192 to 223, would be read (RFC 5761, 4).
const LIKE_RTCP: core::ops::RangeInclusive<u8> = 64..=95;

impl Content {
    /// Whether it is not recognised.
    pub(crate) const fn is_opaque(&self) -> bool {
        matches!(self, Self::Opaque)
    }

    /// Content of a datagram between these ports.
    pub(crate) fn of_datagram(src_port: u16, dst_port: u16, payload: &[u8]) -> Self {
        if SipMeta::may_use(src_port, dst_port) {
            return Self::of_segment(src_port, dst_port, payload);
        }
        if Lease::may_use(src_port, dst_port) {
            return Lease::parse(payload).map_or(Self::Opaque, |lease| Self::Lease(lease.into()));
        }
        RtpMeta::parse(payload).map_or(Self::Opaque, Self::Rtp)
    }

    /// Content of a TCP segment between these ports.
    pub(crate) fn of_segment(src_port: u16, dst_port: u16, payload: &[u8]) -> Self {
        let sip = SipMeta::may_use(src_port, dst_port).then(|| SipMeta::parse(payload)).flatten();
        sip.map_or(Self::Opaque, |sip| Self::Sip(sip.into()))
    }
}

impl RtpMeta {
    /// Parses the header, if these bytes begin with one of version 2 and are no shorter than it announces.
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

/// Decodes a payload type, which has 7 bits.
fn decode_payload_type<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<u8, decode::Error> {
    let at = d.position();
    let payload_type = d.u8()?;
    if payload_type < 0x80 { Ok(payload_type) } else { Err(decode::Error::message("no payload type").at(at)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3550, 5.1: version 2, marker, payload type 8, the rest by hand.
    const HEADER: [u8; 12] = [0x80, 0x88, 0x12, 0x34, 0, 0, 0x27, 0x10, 0xde, 0xad, 0xbe, 0xef];

    #[test]
    fn the_header_of_the_standard_is_parsed() {
        let rtp = RtpMeta { payload_type: 8, marker: true, sequence: 0x1234, timestamp: 10_000, source: 0xdead_beef };
        assert_eq!(RtpMeta::parse(&HEADER), Some(rtp));
        assert_eq!(RtpMeta::parse(&HEADER[..11]), None);
    }

    #[test]
    fn other_protocols_on_its_port_are_distinguished() {
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
}
