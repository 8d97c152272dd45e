//! Detection of voice streams by the content and timing of their packets.
//!
//! A telephone sends a small packet every 10 to 60 ms while its user speaks. Its packets carry the header of RTP (RFC
//! 3550), encrypted or not (SRTP, RFC 3711), so that calls are found on any port: one source identifier, consecutive
//! sequence numbers, a sample clock that keeps up with the time. Other packets count as voice if they are marked as
//! such (DSCP 46, EF, or 44, VA: RFC 3246, RFC 5865) and come at such a pace. A steady pace alone is not enough,
//! since games and sensors have it, too.
//!
//! What is not here: speech inside of a tunnel, unless the tunnel's packets are marked; video, whose packets are
//! large.

use evenair_packet::RtpMeta;
use evenair_units::{Bytes, Instant, Span};

use super::report::Codec;

/// Largest packet of speech: 60 ms of 64 kb/s, with headers of IPv6.
pub(crate) const LARGEST: Bytes = Bytes(560);
/// Time between packets of speech.
const GAPS: core::ops::RangeInclusive<Span> = Span::from_millis(8)..=Span::from_millis(65);
/// Time between packets above which there was a pause in speaking (silence suppression), which is not evaluated.
const PAUSE: Span = Span::from_millis(200);
/// Gaps that are evaluated: for packets marked as voice, and for packets with the header of RTP. By chance the numbers
/// of two packets are consecutive once in ten thousand times.
const GAPS_MARKED: u32 = 3;
const GAPS_RTP: u32 = 6;
/// Time after a larger packet, which shows that a stream is no voice, until the stream may be voice again.
const LARGE_MEMORY: Span = Span::from_secs(10);
/// Sequence numbers that may be skipped, as lost.
const MOST_SKIPPED: u16 = 16;
/// Clock rates of codecs, in ticks a second (RFC 3551, table 4; RFC 7587 for Opus).
const CLOCKS_HZ: [u32; 9] = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 90_000];
/// Tolerance of a measured clock rate, in hundredths: few gaps, each with its jitter, are measured.
const CLOCK_TOLERANCE: u64 = 40;
/// Static payload types (RFC 3551, table 4).
const PCMU: u8 = 0;
const PCMA: u8 = 8;
const G722: u8 = 9;
const G729: u8 = 18;
/// First dynamic payload type, whose meaning the two ends negotiate.
const FIRST_DYNAMIC: u8 = 96;

/// Measurements of one direction of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    last: Option<Instant>,
    large_at: Option<Instant>,
    gaps: u32,
    marked: u32,
    sum: Span,
    smallest: Bytes,
    largest: Bytes,
    run: Run,
}

/// Consecutive packets of RTP.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    last: Option<RtpMeta>,
    gaps: u32,
    /// Ticks of the codec's clock, and packets, since the run began.
    ticks: u64,
    numbers: u64,
}

/// A stream of voice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) codec: Codec,
    /// Time between packets.
    pub(crate) gap: Span,
    /// IP-level length of its largest packet.
    pub(crate) len: Bytes,
    /// Clock rate of its codec in ticks a second, if it is RTP.
    pub(crate) clock_hz: Option<u32>,
}

/// The evaluated properties of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// IP-level length, and the part that is not speech.
    pub(crate) len: Bytes,
    pub(crate) headers: Bytes,
    /// Whether its code point marks it as voice.
    pub(crate) says_voice: bool,
    pub(crate) rtp: Option<RtpMeta>,
}

impl Shape {
    /// Notes a packet. Returns the stream, once one is detected.
    pub(crate) fn note(&mut self, now: Instant, sample: &Sample) -> Option<Stream> {
        let len = sample.len;
        if len > LARGEST {
            *self = Self { large_at: Some(now), ..Self::default() };
            return None;
        }
        if self.large_at.is_some_and(|at| now.saturating_since(at) < LARGE_MEMORY) {
            return None;
        }
        self.large_at = None;
        if sample.rtp.is_none() && self.run.gaps > 0 {
            // Reports (RTCP) and path tests (STUN) share the port.
            return None;
        }
        let goes_on = sample.rtp.is_some_and(|rtp| self.run.note(rtp));
        let Some(last) = self.last.replace(now) else {
            (self.smallest, self.largest) = (len, len);
            return None;
        };
        let gap = now.saturating_since(last);
        if gap > PAUSE || (sample.rtp.is_some() && !goes_on) {
            // Packets before a pause say nothing about the pace.
            self.begin_anew(len);
            return None;
        }
        (self.smallest, self.largest) = (self.smallest.min(len), self.largest.max(len));
        self.gaps += 1;
        self.marked += u32::from(sample.says_voice);
        self.sum += gap;
        let marked = self.marked == self.gaps;
        if self.gaps < GAPS_RTP && !(marked && self.gaps >= GAPS_MARKED) {
            return None;
        }
        let stream = self.stream(sample.headers, marked);
        self.begin_anew(len);
        stream
    }

    fn begin_anew(&mut self, len: Bytes) {
        let run = Run { last: self.run.last, ..Run::default() };
        *self = Self { last: self.last, smallest: len, largest: len, run, ..Self::default() };
    }

    fn stream(&self, headers: Bytes, marked: bool) -> Option<Stream> {
        let gap = self.sum / u64::from(self.gaps.max(1));
        let clock_hz = self.run.clock_hz(self.gaps, self.sum);
        if !GAPS.contains(&gap) || !(clock_hz.is_some() || marked) {
            return None;
        }
        // Bits per second of RTP's payload.
        let speech = self.largest.0.saturating_sub(headers.0) * 8 * 1_000_000_000 / gap.as_nanos().max(1);
        let near = |rate: u64| self.smallest == self.largest && speech.abs_diff(rate) * 10 <= rate * 2;
        let codec = match self.run.last.map(|rtp| rtp.payload_type) {
            Some(PCMU | PCMA | G722) => Codec::G711,
            Some(G729) => Codec::G729,
            _ if near(64_000) => Codec::G711,
            _ if near(8_000) => Codec::G729,
            _ => Codec::Other,
        };
        Some(Stream { codec, gap, len: self.largest, clock_hz })
    }
}

impl Run {
    /// Whether a packet continues the run.
    fn note(&mut self, rtp: RtpMeta) -> bool {
        let Some(last) = self.last.replace(rtp) else { return false };
        let skipped = rtp.sequence.wrapping_sub(last.sequence);
        let ticks = rtp.timestamp.wrapping_sub(last.timestamp);
        let goes_on = rtp.source == last.source
            && rtp.payload_type == last.payload_type
            && (1..=MOST_SKIPPED).contains(&skipped)
            && (1..=u32::MAX / 2).contains(&ticks);
        *self = if goes_on {
            Self {
                last: self.last,
                gaps: self.gaps + 1,
                ticks: self.ticks + u64::from(ticks),
                numbers: self.numbers + u64::from(skipped),
            }
        } else {
            Self { last: self.last, ..Self::default() }
        };
        goes_on
    }

    /// Its codec's clock rate, if all of so many gaps are in one run of RTP whose ticks kept up with the time.
    fn clock_hz(&self, gaps: u32, took: Span) -> Option<u32> {
        if self.gaps < gaps.max(GAPS_MARKED) || took == Span::ZERO {
            return None;
        }
        let seen = u64::try_from(u128::from(self.ticks) * 1_000_000_000 / u128::from(took.as_nanos())).ok()?;
        let nearest = |fits: &dyn Fn(u64) -> bool| {
            let clocks = CLOCKS_HZ.iter().copied().filter(|&clock| fits(u64::from(clock)));
            clocks.min_by_key(|&clock| seen.abs_diff(u64::from(clock)))
        };
        // A packet is a whole number of frames of 2.5 ms, by the right clock.
        let step = self.ticks / self.numbers.max(1);
        let nearest = nearest(&|clock| (step * 400).is_multiple_of(clock)).or_else(|| nearest(&|_| true))?;
        let fixed = self.last.filter(|rtp| rtp.payload_type < FIRST_DYNAMIC && clock_of(rtp.payload_type) > 0);
        let clock = fixed.map_or(nearest, |rtp| clock_of(rtp.payload_type));
        (seen.abs_diff(u64::from(clock)) * 100 <= u64::from(clock) * CLOCK_TOLERANCE).then_some(clock)
    }
}

/// Clock rate of a static payload type in ticks a second; zero for others, and for video.
const fn clock_of(payload_type: u8) -> u32 {
    match payload_type {
        6 => 16_000,
        10 | 11 => 44_100,
        16 => 11_025,
        17 => 22_050,
        0..=18 => 8_000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IPv4, UDP, RTP.
    const HEADERS: Bytes = Bytes(40);

    /// Packets of one speaker.
    #[derive(Clone, Copy)]
    struct Speaker {
        payload_type: u8,
        clock_hz: u64,
        marked: bool,
    }

    const PLAIN: Speaker = Speaker { payload_type: 0, clock_hz: 8_000, marked: false };
    const MARKED: Speaker = Speaker { clock_hz: 0, marked: true, ..PLAIN };
    const MUTE: Speaker = Speaker { clock_hz: 0, ..PLAIN };

    /// Number of packets after which a stream with these gaps and lengths is detected as voice. One with a stopped clock
    /// is no RTP.
    fn found(gaps_us: &[u64], lens: &[u64], speaker: Speaker) -> Option<(usize, Stream)> {
        let (mut shape, mut now) = (Shape::default(), Instant::ZERO);
        (0..500).find_map(|n| {
            now += Span::from_micros(gaps_us[n % gaps_us.len()]);
            let said = Span::from_micros(gaps_us.iter().sum::<u64>() / gaps_us.len() as u64 * n as u64);
            let rtp = RtpMeta {
                payload_type: speaker.payload_type,
                marker: false,
                sequence: (65_533 + n) as u16,
                timestamp: (said.as_nanos() * speaker.clock_hz / 1_000_000_000) as u32,
                source: 7,
            };
            let rtp = (speaker.clock_hz > 0).then_some(rtp);
            let sample = Sample { len: Bytes(lens[n % lens.len()]), headers: HEADERS, says_voice: speaker.marked, rtp };
            Some((n + 1, shape.note(now, &sample)?))
        })
    }

    fn codec(gaps_us: &[u64], lens: &[u64], speaker: Speaker) -> Option<Codec> {
        found(gaps_us, lens, speaker).map(|(_, stream)| stream.codec)
    }

    #[test]
    fn codecs_are_detected_by_payload_type_or_rate() {
        let agreed = Speaker { payload_type: 96, ..PLAIN };
        assert_eq!(codec(&[20_000], &[200], PLAIN), Some(Codec::G711));
        assert_eq!(codec(&[30_000], &[280], agreed), Some(Codec::G711));
        assert_eq!(codec(&[20_000], &[60], Speaker { payload_type: 18, ..PLAIN }), Some(Codec::G729));
        assert_eq!(codec(&[20_000], &[60], agreed), Some(Codec::G729));
        assert_eq!(codec(&[20_000], &[80, 110, 95, 140], agreed), Some(Codec::Other));
        let (packets, stream) = found(&[20_000], &[200], PLAIN).unwrap();
        assert_eq!((packets, stream.gap, stream.len), (7, Span::from_millis(20), Bytes(200)));
        assert_eq!(stream.clock_hz, Some(8_000));
    }

    #[test]
    fn clocks_are_detected_by_their_ticks() {
        for clock_hz in [8_000, 16_000, 32_000, 48_000] {
            let (_, stream) =
                found(&[18_000, 22_000], &[120], Speaker { payload_type: 111, clock_hz, marked: false }).unwrap();
            assert_eq!(stream.clock_hz, Some(clock_hz as u32));
        }
        let counter = Speaker { payload_type: 111, clock_hz: 1_000, marked: false };
        assert_eq!(codec(&[20_000], &[120], counter), None, "a game that counts milliseconds");
        let video = Speaker { payload_type: 26, clock_hz: 1_000_000, marked: false };
        assert_eq!(codec(&[20_000], &[120], video), None);
    }

    #[test]
    fn jitter_does_not_hide_a_call_and_pauses_do_not_count() {
        assert_eq!(codec(&[12_000, 28_000, 17_000, 23_000], &[200], PLAIN), Some(Codec::G711));
        let mut gaps = [20_000; 9];
        gaps[8] = 1_500_000;
        assert_eq!(found(&gaps, &[200], MARKED).map(|(packets, _)| packets), Some(4));
    }

    #[test]
    fn marked_streams_are_detected_sooner() {
        assert_eq!(found(&[20_000], &[200], MARKED).map(|(packets, _)| packets), Some(4));
        assert_eq!(found(&[2_000], &[200], MARKED), None, "500 packets a second are no call, whatever they say");
    }

    #[test]
    fn a_steady_pace_alone_is_no_call() {
        for len in [60, 100, 200, 214] {
            assert_eq!(codec(&[20_000], &[len], MUTE), None, "a game, a sensor, a tunnel");
        }
    }

    #[test]
    fn numbers_that_are_not_consecutive_are_no_call() {
        let (mut shape, mut now) = (Shape::default(), Instant::ZERO);
        for n in 0..500u32 {
            now += Span::from_millis(20);
            // Random bytes of the right version, as encrypted packets have them.
            let chance = n.wrapping_mul(2_654_435_761);
            let rtp = RtpMeta {
                payload_type: (chance >> 8) as u8 & 0x3f,
                marker: false,
                sequence: (chance >> 16) as u16,
                timestamp: chance.rotate_left(7),
                source: chance.rotate_left(19),
            };
            let sample = Sample { len: Bytes(200), headers: HEADERS, says_voice: false, rtp: Some(rtp) };
            assert_eq!(shape.note(now, &sample), None);
        }
    }

    #[test]
    fn bulk_and_bursts_are_no_calls() {
        assert_eq!(codec(&[1_000], &[80], PLAIN), None, "a thousand packets a second");
        assert_eq!(codec(&[20_000], &[1400], PLAIN), None);
        assert_eq!(codec(&[20_000; 7], &[200, 200, 200, 200, 1200], PLAIN), None);
        assert_eq!(codec(&[500_000], &[200], PLAIN), None);
    }
}
