//! Which segments Linux pushes. It hands several segments that may leave at once to segmentation as one packet, and sets PSH at
//! the end of each packet of more than one, so that a receiver that joins segments does not wait for more. A single segment is
//! not pushed: its acknowledgment is not urgent.
//!
//! By the behaviour of Linux 6.x; no RFC asks for it.

use evenair_units::Instant;

use super::congestion::Window;
use super::rto::RttEstimator;

/// The largest packet that is handed to segmentation, in bytes.
const LARGEST_PACKET: u64 = 65_536;

/// The batch that is being filled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Batch {
    /// When its first segment left, and the number of segments so far.
    last: Option<(Instant, u64)>,
}

impl Batch {
    /// Adds a segment of new data, with `more` to follow at once; a batch has at most `largest` segments. Returns whether
    /// the segment is the last of a batch of several.
    pub(super) fn ends(&mut self, now: Instant, more: bool, largest: u64) -> bool {
        let before = self.last.filter(|&(at, _)| at == now).map_or(0, |(_, segments)| segments);
        let segments = before + 1;
        let is_full = segments >= largest;
        self.last = Some((now, segments)).filter(|_| more && !is_full);
        segments > 1 && (!more || is_full)
    }
}

/// Segments of the largest packet: what the pacing rate sends in a millisecond, more on a short path, and at least two
/// (`tcp_tso_autosize`).
pub(super) fn largest(window: &Window, rtt: &RttEstimator, mss: u64) -> u64 {
    let Some((srtt, min)) = rtt.srtt().zip(rtt.min()) else { return u64::MAX };
    let per_ms = u128::from(window.cwnd()) * 1_000_000 / u128::from(srtt.as_nanos().max(1));
    // Pacing rate: twice the window per round trip in slow start, 1.2 times after it.
    let tenths = if window.cwnd() < window.ssthresh() / 2 { 20 } else { 12 };
    let paced = (per_ms * tenths / 10).min(u128::from(LARGEST_PACKET)) as u64;
    let on_short_path = LARGEST_PACKET >> (min.as_micros() >> 9).min(63);
    ((paced + on_short_path).min(LARGEST_PACKET) / mss).max(2)
}

#[cfg(test)]
mod tests {
    use evenair_units::Span;

    use super::*;

    #[test]
    fn the_last_segment_of_a_batch_is_pushed_and_a_single_one_is_not() {
        let (mut batch, now) = (Batch::default(), Instant::ZERO);
        assert!(!batch.ends(now, false, 9), "alone");
        let later = now + Span::from_millis(1);
        let pushed: Vec<bool> = (0..5).map(|n| batch.ends(later, n < 4, 2)).collect();
        assert_eq!(pushed, [false, true, false, true, false], "two by two, and one alone");
        let later = later + Span::from_millis(1);
        assert_eq!([true, true, false].map(|more| batch.ends(later, more, 9)), [false, false, true]);
    }
}
