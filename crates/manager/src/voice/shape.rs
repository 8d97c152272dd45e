//! Who speaks: streams of voice, told by their shape.
//!
//! A telephone sends a small packet every 10 to 60 ms, as long as somebody speaks. A stream is taken for voice when a run of
//! its packets is small and evenly spaced, or sooner where its packets say so themselves (DSCP 46, EF, or 44, VA: RFC 3246,
//! RFC 5865). So calls are found on any port and behind encryption (SRTP, WireGuard-like tunnels of one call). What looks the
//! same, is the same to the medium: a game that sends 30 small packets a second counts as a call.
//!
//! What is not here: RTP's own header and SIP, which would tell more of calls in clear text.

use evenair_units::{Bytes, Instant, Span};

/// No packet of speech is larger: 60 ms of 64 kb/s, with headers of IPv6.
pub(crate) const LARGEST: Bytes = Bytes(560);
/// Packets of speech are so far apart.
const GAPS: core::ops::RangeInclusive<Span> = Span::from_millis(8)..=Span::from_millis(65);
/// A longer gap is a pause in speaking (silence suppression), and says nothing.
const PAUSE: Span = Span::from_millis(200);
/// So many gaps are looked at: half a second at the usual 20 ms.
const GAPS_SEEN: u32 = 25;
/// So many where packets say themselves that they are voice.
const GAPS_MARKED: u32 = 3;
/// Gaps of a network's own making deviate; a sender's mean deviation is at most this part of the gap.
const DEVIATION_PART: u64 = 2;
/// A larger packet shows that a stream is none of voice; after so long without it may be one again.
const LARGE_MEMORY: Span = Span::from_secs(10);

/// Codec of a stream, as far as its rate tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Codec {
    /// 64 kb/s in packets of one size: G.711, or G.722, which looks the same.
    G711,
    /// 8 kb/s in packets of one size: G.729.
    G729,
    /// Anything else, such as Opus, whose packets vary.
    Other,
}

/// What is known of one direction of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    last: Option<Instant>,
    large_at: Option<Instant>,
    gaps: u32,
    marked: u32,
    sum: Span,
    deviation: Span,
    smallest: Bytes,
    largest: Bytes,
}

/// A stream of voice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) codec: Codec,
    /// Time between packets.
    pub(crate) gap: Span,
    /// IP-level length of its largest packet.
    pub(crate) len: Bytes,
}

impl Shape {
    /// Takes note of a packet; `says_voice`: its DSCP says so. The stream, when there is one to be told of.
    pub(crate) fn note(&mut self, now: Instant, len: Bytes, headers: Bytes, says_voice: bool) -> Option<Stream> {
        if len > LARGEST {
            *self = Self { large_at: Some(now), ..Self::default() };
            return None;
        }
        if self.large_at.is_some_and(|at| now.saturating_since(at) < LARGE_MEMORY) {
            return None;
        }
        self.large_at = None;
        let Some(last) = self.last.replace(now) else {
            (self.smallest, self.largest) = (len, len);
            return None;
        };
        let gap = now.saturating_since(last);
        if gap > PAUSE {
            return None;
        }
        (self.smallest, self.largest) = (self.smallest.min(len), self.largest.max(len));
        let mean = self.mean().unwrap_or(gap);
        self.gaps += 1;
        self.marked += u32::from(says_voice);
        self.sum += gap;
        self.deviation += Span::from_nanos(gap.as_nanos().abs_diff(mean.as_nanos()));
        let needed = if self.marked == self.gaps { GAPS_MARKED } else { GAPS_SEEN };
        if self.gaps < needed {
            return None;
        }
        let stream = self.stream(headers, self.marked == self.gaps);
        let (last, length) = (self.last, len);
        *self = Self { last, smallest: length, largest: length, ..Self::default() };
        stream
    }

    fn mean(&self) -> Option<Span> {
        (self.gaps > 0).then(|| self.sum / u64::from(self.gaps))
    }

    fn stream(&self, headers: Bytes, marked: bool) -> Option<Stream> {
        let gap = self.mean()?;
        let even = self.deviation / u64::from(self.gaps) * DEVIATION_PART <= gap;
        if !GAPS.contains(&gap) || !(even || marked) {
            return None;
        }
        // In bits per second, of what RTP carries.
        let speech = self.largest.0.saturating_sub(headers.0) * 8 * 1_000_000_000 / gap.as_nanos().max(1);
        let near = |rate: u64| self.smallest == self.largest && speech.abs_diff(rate) * 10 <= rate * 2;
        let codec = match () {
            () if near(64_000) => Codec::G711,
            () if near(8_000) => Codec::G729,
            () => Codec::Other,
        };
        Some(Stream { codec, gap, len: self.largest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IPv4, UDP, RTP.
    const HEADERS: Bytes = Bytes(40);

    /// After how many packets it is told that a stream with these gaps and lengths is voice.
    fn found(gaps_us: &[u64], lens: &[u64], marked: bool) -> Option<(usize, Stream)> {
        let (mut shape, mut now) = (Shape::default(), Instant::ZERO);
        (0..500).find_map(|n| {
            now += Span::from_micros(gaps_us[n % gaps_us.len()]);
            Some((n + 1, shape.note(now, Bytes(lens[n % lens.len()]), HEADERS, marked)?))
        })
    }

    fn codec(gaps_us: &[u64], lens: &[u64]) -> Option<Codec> {
        found(gaps_us, lens, false).map(|(_, stream)| stream.codec)
    }

    #[test]
    fn codecs_are_told_by_their_rates() {
        assert_eq!(codec(&[20_000], &[200]), Some(Codec::G711));
        assert_eq!(codec(&[30_000], &[280]), Some(Codec::G711));
        assert_eq!(codec(&[20_000], &[60]), Some(Codec::G729));
        assert_eq!(codec(&[20_000], &[80, 110, 95, 140]), Some(Codec::Other));
        let (packets, stream) = found(&[20_000], &[200], false).unwrap();
        assert_eq!((packets, stream.gap, stream.len), (26, Span::from_millis(20), Bytes(200)));
    }

    #[test]
    fn jitter_does_not_hide_a_call_and_pauses_do_not_count() {
        assert_eq!(codec(&[12_000, 28_000, 17_000, 23_000], &[200]), Some(Codec::G711));
        assert_eq!(codec(&[20_000, 20_000, 20_000, 20_000, 1_500_000], &[200]), Some(Codec::G711));
    }

    #[test]
    fn marks_are_believed_sooner() {
        assert_eq!(found(&[20_000], &[200], true).map(|(packets, _)| packets), Some(4));
        assert_eq!(found(&[2_000], &[200], true), None, "500 packets a second are no call, whatever they say");
    }

    #[test]
    fn bulk_and_bursts_are_no_calls() {
        assert_eq!(codec(&[1_000], &[80]), None, "acknowledgments of an upload over QUIC");
        assert_eq!(codec(&[20_000], &[1400]), None);
        assert_eq!(codec(&[20_000, 20_000, 20_000, 20_000, 20_000, 20_000, 20_000], &[200, 200, 200, 200, 1200]), None);
        assert_eq!(codec(&[1_000, 1_000, 1_000, 77_000], &[200]), None, "four at once, then a pause");
        assert_eq!(codec(&[500_000], &[200]), None);
    }
}
