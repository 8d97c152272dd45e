//! SIP, the signalling of calls, and the media descriptions (SDP) that it carries.
//!
//! Of a message only this is kept: its dialog (a hash of its Call-ID), whether it offers, answers or ends a call, and the
//! audio streams of its description: where they are received, their codec, and the speech per packet. Parsing is bounded
//! in bytes, lines and streams, allocates nothing but the few streams, and fails only by finding nothing. Each segment or
//! datagram is parsed separately: of a message that TCP split in two only the first part counts.
//!
//! Not here: further validation of messages, authentication, SIP over TLS, which is unreadable, and multipart bodies.
//!
//! Source: RFC 3261 (SIP), RFC 8866 (SDP, formerly RFC 4566), RFC 3264 (offer and answer), RFC 3551 (payload types).

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use core::str;

use minicbor::{Decode, Decoder, Encode, decode};

/// The port of SIP without TLS (RFC 3261, 18.2.1).
const PORT: u16 = 5060;
/// Maximum number of bytes parsed of a message: it fits into a few Ethernet frames.
const MOST_BYTES: usize = 9000;
const MOST_LINES: usize = 400;
/// Maximum number of streams of one description; a call has one or two.
const MOST_STREAMS: usize = 4;
/// Default speech per packet, ms (RFC 3551, 4.2), and its maximum.
const USUAL_PACKET_MS: u16 = 20;
const LONGEST_PACKET_MS: u16 = 200;

/// A SIP message about a call.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SipMeta {
    /// The dialog: its Call-ID in 64 bits (FNV-1a).
    #[n(0)]
    pub call: u64,
    /// Its effect on the call.
    #[n(1)]
    pub step: SipStep,
    /// Audio streams that it describes, four at most.
    #[cbor(n(2), decode_with = "decode_streams")]
    pub streams: Vec<SdpStream>,
}

/// Effect of a message on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum SipStep {
    /// Requests a call, or other streams in it: INVITE, UPDATE, and ACK with a description.
    #[n(0)]
    Offer,
    /// Answers such a request, with a description.
    #[n(1)]
    Answer,
    /// Ends a call: BYE, CANCEL, or the rejection of an INVITE.
    #[n(2)]
    End,
}

/// An audio stream as described by SDP: the packets to this address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SdpStream {
    /// Address of the receiver.
    #[n(0)]
    pub address: IpAddr,
    /// Port of the receiver, not zero.
    #[n(1)]
    pub port: u16,
    /// First, and so preferred, payload type.
    #[n(2)]
    pub payload_type: u8,
    /// Its codec.
    #[n(3)]
    pub encoding: Encoding,
    /// Clock rate of the codec, in Hz.
    #[n(4)]
    pub clock_hz: u32,
    /// Speech per packet, in milliseconds.
    #[n(5)]
    pub packet_ms: u16,
}

/// Codecs that are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Encoding {
    /// ITU-T G.711, either law.
    #[n(0)]
    G711,
    /// ITU-T G.722.
    #[n(1)]
    G722,
    /// ITU-T G.729.
    #[n(2)]
    G729,
    /// Any other, such as Opus.
    #[n(3)]
    Other,
}

/// The address of a stream before any is given.
const UNSPECIFIED: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The address of the session or of a stream, if given.
type Connection = Option<IpAddr>;

impl SipMeta {
    /// Whether packets between these ports may be SIP.
    pub(crate) const fn may_use(src_port: u16, dst_port: u16) -> bool {
        src_port == PORT || dst_port == PORT
    }

    /// Parses the message at the beginning of these bytes, if it is about a call.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut lines = Lines::new(payload);
        let start = lines.next()?;
        let (mut call, mut sequenced) = (None, None);
        for line in lines.by_ref() {
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = header(line) else { continue };
            if name.eq_ignore_ascii_case(b"call-id") || name.eq_ignore_ascii_case(b"i") {
                call = Some(hash(value));
            } else if name.eq_ignore_ascii_case(b"cseq") {
                sequenced = value.split(|byte| *byte == b' ').next_back();
            }
        }
        let call = call?;
        let streams = describe(lines);
        let step = step(start, sequenced, !streams.is_empty())?;
        Some(Self { call, step, streams })
    }
}

/// Effect of a message, from its first line, the method of its CSeq, and whether it has streams.
fn step(start: &[u8], sequenced: Option<&[u8]>, describes: bool) -> Option<SipStep> {
    let mut words = start.split(|byte| *byte == b' ');
    let first = words.next()?;
    if first != b"SIP/2.0" {
        return match first {
            _ if !start.ends_with(b" SIP/2.0") => None,
            b"INVITE" => Some(SipStep::Offer),
            b"UPDATE" | b"ACK" | b"PRACK" if describes => Some(SipStep::Offer),
            b"BYE" | b"CANCEL" => Some(SipStep::End),
            _ => None,
        };
    }
    let status: u16 = number(words.next()?)?;
    match (status, sequenced) {
        (100..=299, _) if describes => Some(SipStep::Answer),
        (300..=699, Some(b"INVITE")) => Some(SipStep::End),
        _ => None,
    }
}

/// The audio streams of a description.
fn describe(mut lines: Lines<'_>) -> Vec<SdpStream> {
    let mut streams: Vec<SdpStream> = Vec::new();
    if lines.next() != Some(b"v=0") {
        return streams;
    }
    let (mut session, mut current): (Connection, Option<SdpStream>) = (None, None);
    // Before the first stream, and in streams of other kinds, only the session's address counts.
    let mut in_media = false;
    for line in lines {
        match line {
            [b'm', b'=', media @ ..] => {
                keep(&mut streams, current.take());
                in_media = true;
                current = stream(media, session.unwrap_or(UNSPECIFIED));
            }
            [b'c', b'=', connection @ ..] => match (&mut current, address(connection)) {
                (Some(stream), Some(address)) => stream.address = address,
                (None, address) if !in_media => session = address,
                _ => {}
            },
            [b'a', b'=', attribute @ ..] => {
                if let Some(stream) = &mut current {
                    describe_further(stream, attribute);
                }
            }
            _ => {}
        }
    }
    keep(&mut streams, current);
    streams
}

fn keep(streams: &mut Vec<SdpStream>, stream: Option<SdpStream>) {
    let known = stream.filter(|stream| !stream.address.is_unspecified() && !stream.address.is_multicast());
    if streams.len() < MOST_STREAMS {
        streams.extend(known);
    }
}

/// `audio 49170 RTP/AVP 0 8 97`: a port of zero refuses the stream.
fn stream(media: &[u8], address: IpAddr) -> Option<SdpStream> {
    let mut words = media.split(|byte| *byte == b' ');
    let (kind, port, protocol, format) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let port = number(port.split(|byte| *byte == b'/').next()?)?;
    let is_rtp = protocol.windows(3).any(|part| part == b"RTP");
    let payload_type = u8::try_from(number(format)?).ok().filter(|kind| *kind < 128)?;
    let (encoding, clock_hz) = match payload_type {
        0 | 8 => (Encoding::G711, 8_000),
        9 => (Encoding::G722, 8_000),
        18 => (Encoding::G729, 8_000),
        _ => (Encoding::Other, 0),
    };
    let stream = SdpStream { address, port, payload_type, encoding, clock_hz, packet_ms: USUAL_PACKET_MS };
    (kind == b"audio" && is_rtp && port != 0).then_some(stream)
}

/// Parses attributes of a stream: `rtpmap:97 opus/48000/2`, `ptime:30`.
fn describe_further(stream: &mut SdpStream, attribute: &[u8]) {
    let Some((name, value)) = split_at_first(attribute, b':') else { return };
    match name {
        b"ptime" => {
            let packet_ms = number(value).filter(|ms| (1..=LONGEST_PACKET_MS).contains(ms));
            stream.packet_ms = packet_ms.unwrap_or(stream.packet_ms);
        }
        b"rtpmap" => {
            let Some((kind, mapped)) = split_at_first(value, b' ') else { return };
            if number(kind) != Some(stream.payload_type.into()) {
                return;
            }
            let mut parts = mapped.split(|byte| *byte == b'/');
            let name = parts.next().unwrap_or_default();
            let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
            stream.encoding = match () {
                () if is(b"PCMU") || is(b"PCMA") => Encoding::G711,
                () if is(b"G722") => Encoding::G722,
                () if is(b"G729") || is(b"G729A") => Encoding::G729,
                () => Encoding::Other,
            };
            let clock = parts.next().and_then(|clock| str::from_utf8(clock).ok()?.parse().ok());
            stream.clock_hz = clock.filter(|clock| (1_000..=192_000).contains(clock)).unwrap_or(stream.clock_hz);
        }
        _ => {}
    }
}

/// Parses `IN IP4 192.0.2.1`; for a group, a range follows a slash.
fn address(connection: &[u8]) -> Connection {
    let text = str::from_utf8(connection).ok()?;
    let mut words = text.split(' ');
    let (net, family, address) = (words.next()?, words.next()?, words.next()?);
    let address: IpAddr = address.split('/').next()?.parse().ok()?;
    let fits = net == "IN" && if address.is_ipv4() { family == "IP4" } else { family == "IP6" };
    fits.then_some(address)
}

/// Name and value of a header, trimmed.
fn header(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, value) = split_at_first(line, b':')?;
    Some((name.trim_ascii(), value.trim_ascii()))
}

fn split_at_first(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == separator)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

fn number(digits: &[u8]) -> Option<u16> {
    let is_plain = digits.iter().all(u8::is_ascii_digit);
    str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok()
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Lines without their terminators, up to the maximum.
struct Lines<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { rest: &bytes[..bytes.len().min(MOST_BYTES)], left: MOST_LINES }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = split_at_first(self.rest, b'\n').unwrap_or((self.rest, &[]));
        self.rest = rest;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// Decodes the streams of a description.
fn decode_streams<'b, C>(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Vec<SdpStream>, decode::Error> {
    let at = d.position();
    let streams: Vec<SdpStream> = d.decode_with(ctx)?;
    if streams.len() <= MOST_STREAMS { Ok(streams) } else { Err(decode::Error::message("too many streams").at(at)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec;

    /// RFC 3261, 24.2, F1, with the description of RFC 8866, 5, shortened.
    const INVITE: &str = "INVITE sip:bob@biloxi.com SIP/2.0\r\n\
        Via: SIP/2.0/UDP pc33.atlanta.com;branch=z9hG4bKnashds8\r\n\
        Max-Forwards: 70\r\nTo: Bob <sip:bob@biloxi.com>\r\n\
        From: Alice <sip:alice@atlanta.com>;tag=1928301774\r\n\
        Call-ID: a84b4c76e66710\r\nCSeq: 314159 INVITE\r\n\
        Contact: <sip:alice@pc33.atlanta.com>\r\nContent-Type: application/sdp\r\nContent-Length: 142\r\n\r\n\
        v=0\r\no=alice 2890844526 2890844526 IN IP4 192.0.2.101\r\ns=-\r\nc=IN IP4 192.0.2.101\r\nt=0 0\r\n\
        m=audio 49172 RTP/AVP 0 8 97\r\na=rtpmap:97 iLBC/8000\r\na=ptime:30\r\n\
        m=video 51372 RTP/AVP 31\r\na=ptime:99\r\n";

    fn call() -> u64 {
        hash(b"a84b4c76e66710")
    }

    fn parse(text: &str) -> Option<SipMeta> {
        SipMeta::parse(text.as_bytes())
    }

    #[test]
    fn an_offer_has_the_receiver_of_its_streams() {
        let stream = SdpStream {
            address: IpAddr::from([192, 0, 2, 101]),
            port: 49_172,
            payload_type: 0,
            encoding: Encoding::G711,
            clock_hz: 8_000,
            packet_ms: 30,
        };
        let expected = SipMeta { call: call(), step: SipStep::Offer, streams: vec![stream] };
        assert_eq!(parse(INVITE), Some(expected.clone()));
        // Short names of headers, and Unix line ends.
        let short = INVITE.replace("Call-ID:", "i :").replace("\r\n", "\n");
        assert_eq!(parse(&short), Some(expected));
    }

    #[test]
    fn an_answer_has_its_own_codec_and_address() {
        let answer = "SIP/2.0 200 OK\r\nCall-ID: a84b4c76e66710\r\nCSeq: 314159 INVITE\r\n\r\n\
            v=0\r\nc=IN IP4 10.0.0.1\r\nm=audio 4000 UDP/TLS/RTP/SAVPF 111 0\r\nc=IN IP6 2001:db8::7\r\n\
            a=rtpmap:0 PCMU/8000\r\na=rtpmap:111 opus/48000/2\r\na=sendrecv\r\n";
        let sip = parse(answer).expect("it describes a stream");
        assert_eq!((sip.step, sip.call, sip.streams.len()), (SipStep::Answer, call(), 1));
        let stream = sip.streams[0];
        assert_eq!(stream.address, "2001:db8::7".parse::<IpAddr>().unwrap());
        assert_eq!((stream.payload_type, stream.encoding, stream.clock_hz), (111, Encoding::Other, 48_000));
    }

    #[test]
    fn the_end_is_signalled_by_either_side_and_by_a_refusal() {
        let message = |start: &str, method: &str| {
            parse(&format!("{start}\r\nCall-ID: a84b4c76e66710\r\nCSeq: 1 {method}\r\n\r\n")).map(|sip| sip.step)
        };
        assert_eq!(message("BYE sip:alice@192.0.2.4 SIP/2.0", "BYE"), Some(SipStep::End));
        assert_eq!(message("CANCEL sip:bob@biloxi.com SIP/2.0", "CANCEL"), Some(SipStep::End));
        assert_eq!(message("SIP/2.0 486 Busy Here", "INVITE"), Some(SipStep::End));
        for (start, method) in [
            ("SIP/2.0 200 OK", "BYE"),
            ("SIP/2.0 180 Ringing", "INVITE"),
            ("SIP/2.0 404 Not Found", "OPTIONS"),
            ("REGISTER sip:registrar.biloxi.com SIP/2.0", "REGISTER"),
            ("ACK sip:bob@biloxi.com SIP/2.0", "ACK"),
            ("BYE sip:alice@192.0.2.4 HTTP/1.1", "BYE"),
            ("SIP/2.0 99999 No", "INVITE"),
        ] {
            assert_eq!(message(start, method), None, "{start}");
        }
    }

    #[test]
    fn descriptions_without_known_audio_have_no_streams() {
        let with = |body: &str| {
            let head = INVITE.split("v=0").next().unwrap();
            parse(&format!("{head}{body}")).expect("it is an INVITE all the same").streams.len()
        };
        for body in [
            "",
            "v=1\r\nc=IN IP4 192.0.2.1\r\nm=audio 4000 RTP/AVP 0\r\n",
            "v=0\r\nm=audio 4000 RTP/AVP 0\r\n",
            "v=0\r\nc=IN IP4 0.0.0.0\r\nm=audio 4000 RTP/AVP 0\r\n",
            "v=0\r\nc=IN IP4 224.2.1.1/127\r\nm=audio 4000 RTP/AVP 0\r\n",
            "v=0\r\nc=IN IP6 192.0.2.1\r\nm=audio 4000 RTP/AVP 0\r\n",
            "v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 0 RTP/AVP 0\r\n",
            "v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 70000 RTP/AVP 0\r\n",
            "v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio +400 RTP/AVP 0\r\n",
            "v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 4000 RTP/AVP 300\r\n",
            "v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 4000 udptl t38\r\n",
            "v=0\r\nc=IN IP4 192.0.2.1\r\nm=image 4000 RTP/AVP 0\r\n",
        ] {
            assert_eq!(with(body), 0, "{body}");
        }
        assert_eq!(with("v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 4000/2 RTP/AVP 0\r\n"), 1);
    }

    #[test]
    fn bytes_lines_and_streams_are_bounded() {
        let mut many = String::from(INVITE);
        (0..100).for_each(|_| many.push_str("m=audio 4000 RTP/AVP 0\r\n"));
        assert_eq!(parse(&many).unwrap().streams.len(), MOST_STREAMS);
        let late = format!("INVITE sip:b@c SIP/2.0\r\n{}Call-ID: x\r\n\r\n", "X: y\r\n".repeat(MOST_LINES));
        assert_eq!(parse(&late), None);
        assert_eq!(parse(&"\r\n".repeat(10_000)), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn messages_round_trip_and_truncated_ones_are_survived() {
        let sip = parse(INVITE).unwrap();
        let mut out = Vec::new();
        minicbor::encode(&sip, &mut out).expect("a vector takes any bytes");
        assert_eq!(decode::<SipMeta>(&out).expect("as written"), sip);
        for cut in 0..out.len() {
            assert!(decode::<SipMeta>(&out[..cut]).is_err());
        }
        // Truncated or changed anywhere, as by TCP segmentation or an attacker.
        let bytes = INVITE.as_bytes();
        for at in 0..bytes.len() {
            let _ = SipMeta::parse(&bytes[..at]);
            for value in [0, b'\n', b' ', b':', b'=', 0xff] {
                let mut changed = bytes.to_vec();
                changed[at] = value;
                let _ = SipMeta::parse(&changed);
            }
        }
    }
}
