//! Call quality, as far as the box can measure it: losses before the box, drops in the box, jitter of the packets
//! that leave it, their wait in the box and their probable wait in the access point.
//!
//! Gaps in RTP sequence numbers are losses on the way to the box: toward a station on the wire, from a station in the
//! WLAN. Jitter is that of RFC 3550, section 6.4.1, in integers as in its appendix A.8, with the clock of the box:
//! toward a station when packets leave, so that their wait in the box is included.
//!
//! What is not here: effects behind the box toward the station except for the wait in the access point, and the
//! network of the other end. The reporting code computes the rating (E-model) from these numbers.
//!
//! Source: RFC 3550, sections 6.4.1, A.1, A.3, A.8.

use evenair_packet::RtpMeta;
use evenair_units::{Instant, Span};

use super::report::SpeechReport;

/// Sequence numbers may skip this many as lost, or go back by this many as late; anything else is a new beginning (RFC
/// 3550, A.1: MAX_DROPOUT, MAX_MISORDER).
const MOST_LOST: u16 = 3000;
const MOST_LATE: u16 = 100;
/// Difference of the transit times of two packets above which the sender has another clock.
const CLOCK_JUMP: Span = Span::from_secs(10);
/// Fixed-point unit of the jitter (RFC 3550, A.8).
const PARTS: u64 = 16;

/// One direction of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Speech {
    numbers: Numbers,
    jitter: Jitter,
    clock_hz: Option<u32>,
    gap: Span,
    came: u64,
    left: u64,
    /// Packets in the box when it began.
    held_then: u64,
    dropped: u64,
    waited: Span,
    waited_most: Span,
    hop: Span,
}

/// Which packets arrived (RFC 3550, A.1 and A.3).
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    source: Option<u32>,
    first: u64,
    highest: u64,
    received: u64,
    /// Lost packets of earlier runs.
    lost_before: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Jitter {
    last: Option<(Instant, u32)>,
    /// The jitter, in parts of a nanosecond.
    parts: u64,
    known: bool,
}

impl Speech {
    /// Begins a stream of this shape, of which the box holds so many packets.
    pub(crate) fn begin(clock_hz: Option<u32>, gap: Span, held: u64) -> Self {
        Self { clock_hz, gap, held_then: held, ..Self::default() }
    }

    /// Notes a packet that has come to the box, which held so many before it.
    pub(crate) fn come(&mut self, now: Instant, rtp: Option<&RtpMeta>, held: u64, leaves_evenly: bool) {
        self.reckon(held);
        self.came += 1;
        if let Some(rtp) = rtp {
            self.numbers.note(rtp);
            if leaves_evenly {
                self.jitter.note(now, rtp.timestamp, self.clock_hz);
            }
        }
    }

    /// Notes a packet that has left the box, which holds so many now.
    pub(crate) fn leave(&mut self, waited: Span, held: u64) {
        self.left += 1;
        self.waited += waited;
        self.waited_most = self.waited_most.max(waited);
        self.reckon(held);
    }

    /// Notes a packet that goes to the access point; `hop`: the backlog there.
    pub(crate) fn go(&mut self, now: Instant, timestamp: Option<u32>, hop: Span) {
        self.hop += hop;
        if let Some(timestamp) = timestamp {
            self.jitter.note(now, timestamp, self.clock_hz);
        }
    }

    /// Packets that came, and neither left nor are held, were dropped.
    fn reckon(&mut self, held: u64) {
        self.dropped = self.dropped.max((self.held_then + self.came).saturating_sub(self.left + held));
    }

    pub(crate) fn report(&self, toward_station: bool) -> SpeechReport {
        let left = self.left.max(1);
        SpeechReport {
            packets: self.came,
            lost: self.numbers.source.map(|_| self.numbers.lost()),
            dropped: self.dropped,
            jitter: self.jitter.known.then(|| Span::from_nanos(self.jitter.parts / PARTS)),
            waited_mean: self.waited / left,
            waited_most: self.waited_most,
            hop_mean: toward_station.then(|| self.hop / left),
            gap: self.gap,
        }
    }
}

impl Numbers {
    fn note(&mut self, rtp: &RtpMeta) {
        // Numbers that never wrap; far from zero, so that late packets have one, too.
        const ORIGIN: u64 = 1 << 32;
        let ahead = rtp.sequence.wrapping_sub(self.highest as u16);
        let behind = ahead.wrapping_neg();
        if self.source != Some(rtp.source) || (ahead >= MOST_LOST && behind > MOST_LATE) {
            self.lost_before = self.lost();
            self.source = Some(rtp.source);
            self.first = ORIGIN + u64::from(rtp.sequence);
            (self.highest, self.received) = (self.first, 1);
            return;
        }
        self.received += 1;
        if ahead < MOST_LOST {
            self.highest += u64::from(ahead);
        } else {
            self.first = self.first.min(self.highest - u64::from(behind));
        }
    }

    fn lost(&self) -> u64 {
        let expected = if self.source.is_some() { self.highest - self.first + 1 } else { 0 };
        // Some may have come twice.
        self.lost_before + expected.saturating_sub(self.received)
    }
}

impl Jitter {
    /// RFC 3550, A.8: adds a sixteenth of each difference between the time that passed for packets and for their
    /// samples.
    fn note(&mut self, now: Instant, timestamp: u32, clock_hz: Option<u32>) {
        let Some(clock_hz) = clock_hz else { return };
        let Some((then, before)) = self.last.replace((now, timestamp)) else { return };
        let ticks = i128::from(timestamp.wrapping_sub(before) as i32);
        let said = ticks * 1_000_000_000 / i128::from(clock_hz);
        let passed = i128::from(now.saturating_since(then).as_nanos());
        let Ok(difference) = u64::try_from((passed - said).abs()) else { return };
        if difference >= CLOCK_JUMP.as_nanos() {
            return;
        }
        self.known = true;
        self.parts = self.parts + difference - (self.parts + PARTS / 2) / PARTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rtp(sequence: u16, timestamp: u32) -> RtpMeta {
        RtpMeta { payload_type: 0, marker: false, sequence, timestamp, source: 9 }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn lost(sequences: &[u16]) -> u64 {
        let mut numbers = Numbers::default();
        sequences.iter().for_each(|&sequence| numbers.note(&rtp(sequence, 0)));
        numbers.lost()
    }

    #[test]
    fn missing_numbers_are_losses() {
        assert_eq!(lost(&[]), 0);
        assert_eq!(lost(&[65_534, 65_535, 0, 1]), 0, "they wrap");
        assert_eq!(lost(&[65_534, 1]), 2);
        assert_eq!(lost(&[10, 12, 11, 13]), 0, "it was late");
        assert_eq!(lost(&[10, 9, 11]), 0, "the first one was overtaken");
        assert_eq!(lost(&[10, 11, 11, 12]), 0, "one came twice");
        assert_eq!(lost(&[10, 12, 40_000, 40_001, 40_003]), 2, "a new beginning keeps what was lost");
    }

    #[test]
    fn jitter_is_that_of_the_standard() {
        // The same by RFC 3550's formula in floating point: J += (|D| - J) / 16.
        let arrivals = [0, 20, 45, 60, 95, 100, 120, 141, 160, 230, 231, 232, 240];
        let (mut speech, mut expected, mut last) = (Speech::begin(Some(8_000), Span::from_millis(20), 0), 0.0, 0);
        for (n, &ms) in arrivals.iter().enumerate() {
            speech.come(at(ms), Some(&rtp(n as u16, 4_294_967_000u32.wrapping_add(160 * n as u32))), 0, true);
            if n > 0 {
                let difference = ((ms - last) as f64 - 20.0).abs();
                expected += (difference - expected) / 16.0;
            }
            last = ms;
        }
        let jitter = speech.report(false).jitter.unwrap().as_nanos() as f64 / 1e6;
        assert!((jitter - expected).abs() < 1e-3 && expected > 4.0, "{jitter} {expected}");
    }

    #[test]
    fn a_pause_is_no_jitter() {
        let mut speech = Speech::begin(Some(8_000), Span::from_millis(20), 0);
        for (n, ms) in [0, 20, 40, 3_040, 3_060].into_iter().enumerate() {
            speech.come(at(ms), Some(&rtp(n as u16, 8 * ms as u32)), 0, true);
        }
        assert_eq!(speech.report(false).jitter, Some(Span::ZERO));
    }

    #[test]
    fn packets_that_neither_left_nor_are_held_were_dropped() {
        // One was held before the call was detected, and leaves then.
        let mut speech = Speech::begin(None, Span::from_millis(20), 1);
        speech.come(at(0), None, 1, false);
        speech.leave(Span::from_millis(7), 1);
        speech.come(at(20), None, 1, false);
        assert_eq!(speech.report(true).dropped, 0);
        // One of the two leaves, and nothing is held any more.
        speech.leave(Span::from_millis(3), 0);
        let report = speech.report(true);
        assert_eq!((report.packets, report.dropped, report.lost), (2, 1, None));
        assert_eq!((report.waited_mean, report.waited_most), (Span::from_millis(5), Span::from_millis(7)));
    }
}
