//! Calls that telephones have agreed upon by SIP and are about to begin.
//!
//! If a session description in a dialog of a station names an address and a port, the first packet of RTP to or from
//! there belongs to a call: the box need not wait to recognise its shape, and its codec is the negotiated one. The
//! end of the dialog ends the call. Both count only for the station whose packets brought the dialog: no station can
//! end the call of another.
//!
//! What is not here: which users may call each other, and calls whose SIP does not cross the box or is encrypted;
//! these are detected by their packets ([`super::shape`]).

use alloc::collections::BTreeMap;
use core::net::{IpAddr, Ipv4Addr};

use evenair_packet::{Encoding, PacketMeta, RtpMeta, SdpStream, SipMeta, SipStep, Transport};
use evenair_units::{Bytes, Instant, Span};

use super::{Codec, Stream};
use crate::ids::StationId;

/// Descriptions, at most; a call has two. Further ones are not remembered, and their calls are detected by their
/// packets.
const MOST: usize = 4096;
/// Idle time after which a description is forgotten: no telephone rings for longer.
const UNUSED: Span = Span::from_secs(180);

/// Where streams of speech are expected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dialogs {
    by_end: BTreeMap<(StationId, IpAddr, u16), Expected>,
}

#[derive(Clone, Copy, Debug)]
struct Expected {
    dialog: u64,
    stream: SdpStream,
    used: Instant,
}

impl Dialogs {
    /// Handles a message to or from a station. True: its dialog has ended.
    pub(crate) fn note(&mut self, now: Instant, station: StationId, sip: &SipMeta) -> bool {
        if sip.step == SipStep::End {
            self.by_end.retain(|(of, ..), expected| (*of, expected.dialog) != (station, sip.call));
            return true;
        }
        for stream in &sip.streams {
            let key = (station, stream.address, stream.port);
            if self.by_end.len() < MOST || self.by_end.contains_key(&key) {
                self.by_end.insert(key, Expected { dialog: sip.call, stream: *stream, used: now });
            }
        }
        false
    }

    /// The stream that a packet of RTP belongs to, and its dialog, if they were negotiated.
    pub(crate) fn expected(
        &mut self,
        now: Instant,
        station: StationId,
        meta: &PacketMeta,
        rtp: &RtpMeta,
    ) -> Option<(Stream, u64)> {
        if self.by_end.is_empty() {
            return None;
        }
        let ip = meta.ip.as_ref()?;
        let Transport::Udp { src_port, dst_port } = ip.transport else { return None };
        // By its receiver, whose description says what it accepts; or by its sender, which receives where it sends from.
        let ends = [(ip.dst, dst_port), (ip.src, src_port)];
        let key = ends
            .map(|(address, port)| (station, address, port))
            .into_iter()
            .find(|key| self.by_end.contains_key(key))?;
        let expected = self.by_end.get_mut(&key)?;
        expected.used = now;
        let SdpStream { encoding, clock_hz, packet_ms, payload_type, .. } = expected.stream;
        let agreed = rtp.payload_type == payload_type && clock_hz > 0;
        let stream = Stream {
            codec: codec(encoding),
            gap: Span::from_millis(packet_ms.into()),
            len: ip.total_len.max(least(ip.src, encoding, packet_ms)),
            clock_hz: agreed.then_some(clock_hz),
        };
        Some((stream, expected.dialog))
    }

    pub(crate) fn expire(&mut self, now: Instant) {
        self.by_end.retain(|_, expected| now.saturating_since(expected.used) < UNUSED);
    }

    /// Forgets a station.
    pub(crate) fn forget(&mut self, station: StationId) {
        let first = (station, IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        while let Some((&key, _)) = self.by_end.range(first..).next().filter(|((of, ..), _)| *of == station) {
            self.by_end.remove(&key);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.by_end.clear();
    }
}

const fn codec(encoding: Encoding) -> Codec {
    match encoding {
        Encoding::G711 | Encoding::G722 => Codec::G711,
        Encoding::G729 => Codec::G729,
        Encoding::Other => Codec::Other,
    }
}

/// Least size of packets of a codec of constant rate: IP, UDP, RTP, speech.
fn least(address: IpAddr, encoding: Encoding, packet_ms: u16) -> Bytes {
    let headers = 20 + if address.is_ipv4() { 20 } else { 40 };
    let bytes_per_ms = match encoding {
        Encoding::G711 | Encoding::G722 => 8,
        Encoding::G729 => 1,
        Encoding::Other => 0,
    };
    Bytes(headers + u64::from(packet_ms) * bytes_per_ms)
}
