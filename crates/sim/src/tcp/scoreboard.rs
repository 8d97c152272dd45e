//! The scoreboard: data that the receiver has, data presumed lost, and retransmitted data (RFC 6675).
//!
//! The RFC's per-byte questions become two edges, because both answers are monotone: every byte below a lost byte that is
//! not SACKed is lost as well (`lost_edge`), and holes are retransmitted from the lowest up (`high_rxt`). With the SACKed
//! bytes below each edge counted incrementally, the pipe is four additions. A timeout is the case in which everything is
//! lost, and go-back-N without SACK the case in which nothing is ever SACKed.
//!
//! RACK (RFC 8985) adds a third question: was a retransmission lost again? It was if a segment sent later has arrived. So
//! retransmitted segments are kept in the order of sending, each with the end of the stream at that time, which orders it among
//! first transmissions as well. This order replaces the RFC's times, since no packet overtakes another (the RFC's reordering
//! window is for paths with reordering). With RACK, marks belong to segments and not to a recovery: they last until the segment
//! has arrived.

use std::collections::VecDeque;
use std::ops::Range;

use evenair_units::Instant;
use evenair_units::hint::prefetch;

use super::ranges::RangeSet;

/// Number of discontiguous SACKed blocks above a byte that show it to be lost; more than `DUP_THRESH - 1` segments of
/// SACKed bytes do so, too (RFC 6675, section 2).
pub(super) const DUP_THRESH: u32 = 3;

/// Scoreboard of one sender.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Scoreboard {
    /// Bytes below that are not SACKed are lost. Never below `una`.
    lost_edge: u64,
    /// Bytes below that are not SACKed were retransmitted in this recovery (HighRxt). Never below `una`.
    high_rxt: u64,
    sacked_below_lost: u64,
    sacked_below_rxt: u64,
    sacked: RangeSet,
    /// RACK only; boxed, since most connections have none most of the time.
    resent: Option<Box<Resent>>,
}

/// Retransmitted segments.
#[derive(Clone, Debug, Default)]
struct Resent {
    /// Retransmitted and lost again.
    lost: RangeSet,
    /// Retransmitted and not known to have arrived or to be lost, in the order of sending.
    under_way: VecDeque<Again>,
}

/// A retransmitted segment.
#[derive(Clone, Copy, Debug)]
struct Again {
    start: u64,
    end: u64,
    /// End of the stream sent by then.
    nxt: u64,
    at: Instant,
}

impl Scoreboard {
    /// Prefetches what every acknowledgment needs.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(self);
        prefetch(&raw const self.resent);
    }

    /// Prefetches what that state points to.
    #[inline]
    pub(super) fn prefetch_more(&self) {
        self.sacked.prefetch();
        self.resent.iter().for_each(|resent| prefetch(&raw const **resent));
    }

    /// The highest SACKed position, exclusive.
    pub(super) fn high_sacked(&self) -> Option<u64> {
        self.sacked.end()
    }

    pub(super) fn high_rxt(&self) -> u64 {
        self.high_rxt
    }

    /// Records a SACK block; returns the number of newly SACKed bytes.
    pub(super) fn record(&mut self, block: Range<u64>) -> u64 {
        self.sacked_below_lost += self.news_below(self.lost_edge, &block);
        self.sacked_below_rxt += self.news_below(self.high_rxt, &block);
        if let Some(resent) = self.resent.as_mut().filter(|resent| !resent.lost.is_empty()) {
            resent.lost.remove(block.clone());
        }
        self.sacked.insert(block)
    }

    fn news_below(&self, edge: u64, block: &Range<u64>) -> u64 {
        if block.start >= edge {
            return 0;
        }
        let below = block.start..block.end.min(edge);
        let held = self.sacked.covered(below.clone());
        below.end - below.start - held
    }

    /// Advances the cumulative acknowledgment to `una`; returns how many bytes below it had been SACKed before.
    pub(super) fn advance(&mut self, una: u64) -> u64 {
        self.resent.iter_mut().for_each(|resent| _ = resent.lost.remove_below(una));
        let removed = self.sacked.remove_below(una);
        for (edge, below) in
            [(&mut self.lost_edge, &mut self.sacked_below_lost), (&mut self.high_rxt, &mut self.sacked_below_rxt)]
        {
            if *edge > una {
                *below -= removed;
            } else {
                (*edge, *below) = (una, 0);
            }
        }
        removed
    }

    /// Clears the marks of lost and retransmitted data: recovery begins or ends.
    pub(super) fn clear_marks(&mut self, una: u64) {
        (self.lost_edge, self.sacked_below_lost) = (una, 0);
        (self.high_rxt, self.sacked_below_rxt) = (una, 0);
        if let Some(resent) = &mut self.resent {
            resent.under_way.clear();
            resent.lost.clear();
        }
    }

    /// Clears the marks of lost data; those of retransmitted data stay. RACK only.
    pub(super) fn unmark_lost(&mut self, una: u64) {
        (self.lost_edge, self.sacked_below_lost) = (una, 0);
        self.resent.iter_mut().for_each(|resent| resent.lost.clear());
    }

    /// Marks for a timeout: everything sent up to `nxt` and not SACKed is lost, and nothing is retransmitted yet.
    pub(super) fn mark_all_lost(&mut self, una: u64, nxt: u64) {
        self.clear_marks(una);
        (self.lost_edge, self.sacked_below_lost) = (nxt, self.sacked.total());
    }

    /// Marks for a timeout with RACK (RFC 8985, section 6.3): lost are the segment up to `head_end`, first transmissions
    /// below `old`, and retransmissions at `before` or earlier.
    pub(super) fn mark_lost_by_age(&mut self, una: u64, head_end: u64, old: u64, before: Instant) {
        let Resent { lost, under_way } = &mut **self.resent.get_or_insert_default();
        under_way.retain(|again| again.at > before && again.start > una);
        insert_missing(lost, &self.sacked, una..self.high_rxt);
        under_way.iter().for_each(|again| lost.remove(again.start..again.end));
        self.mark_lost_below(head_end.max(old));
    }

    /// Advances the lost edge to what the SACKed blocks show.
    pub(super) fn mark_lost(&mut self, mss: u32) {
        self.mark_lost_below(self.shown_lost(mss));
    }

    /// RACK, section 6.2, steps 2 to 5: a segment is lost if one sent after it has arrived. `nxt` is the end of the stream
    /// sent. The arrival of a segment retransmitted after `late` shows nothing: it came earlier than any round trip allows,
    /// so it may be the first transmission that arrived (step 2). Returns whether a retransmission is lost again.
    pub(super) fn mark_lost_by_order(&mut self, una: u64, nxt: u64, late: Instant) -> bool {
        let high = self.high_sacked().unwrap_or(una);
        let sacked = &self.sacked;
        let mut edge = sacked.iter_down().next().map_or(0, |block| block.start);
        let mut is_lost_again = false;
        if let Some(resent) = &mut self.resent {
            let Resent { lost, under_way } = &mut **resent;
            let arrived = |again: &Again| sacked.gap(again.start.max(una), again.end).is_none();
            let mut at = under_way.partition_point(|again| again.at <= late);
            // Lost: retransmissions before the last one that arrived, or before a first transmission that did.
            let known = under_way.range(..at).rposition(arrived).map_or(0, |last| last + 1);
            while at < under_way.len() {
                if arrived(&under_way[at]) {
                    under_way.remove(at);
                } else {
                    at += 1;
                }
            }
            let known = known.max(under_way.partition_point(|again| again.nxt < high));
            for again in under_way.drain(..known) {
                let is_lost = insert_missing(lost, sacked, again.start.max(una)..again.end);
                is_lost_again |= is_lost;
                if !is_lost {
                    edge = edge.max(again.nxt.min(nxt));
                }
            }
        }
        self.mark_lost_below(edge);
        is_lost_again
    }

    /// Whether the first segment outstanding is lost, retransmitted or not: if any is, it is.
    pub(super) fn has_lost(&self, una: u64) -> bool {
        self.lost_edge > una
    }

    fn mark_lost_below(&mut self, edge: u64) {
        if edge > self.lost_edge {
            self.sacked_below_lost += self.sacked.covered(self.lost_edge..edge);
            self.lost_edge = edge;
        }
    }

    /// IsLost (RFC 6675, section 4): whether the SACKed data above the byte at `position` shows it to be lost.
    pub(super) fn is_lost(&self, position: u64, mss: u32) -> bool {
        position < self.shown_lost(mss)
    }

    /// The position below which every byte has `DUP_THRESH` blocks, or more than `DUP_THRESH - 1` segments of bytes, SACKed
    /// above it. Examines at most `DUP_THRESH` blocks.
    fn shown_lost(&self, mss: u32) -> u64 {
        let enough = u64::from(DUP_THRESH - 1) * u64::from(mss);
        let mut bytes = 0;
        for (n, block) in (1..).zip(self.sacked.iter_down()) {
            bytes += block.end - block.start;
            if n == DUP_THRESH || bytes > enough {
                return block.start;
            }
        }
        0
    }

    /// Records a retransmitted segment for RACK, with the stream sent up to `nxt`.
    pub(super) fn watch(&mut self, now: Instant, segment: Range<u64>, nxt: u64) {
        let Resent { lost, under_way } = &mut **self.resent.get_or_insert_default();
        lost.remove(segment.clone());
        under_way.push_back(Again { start: segment.start, end: segment.end, nxt, at: now });
    }

    /// When the segment at `position` was last retransmitted, if that transmission is still in flight.
    pub(super) fn sent_again_at(&self, position: u64) -> Option<Instant> {
        let mut resent = self.resent.iter().flat_map(|resent| &resent.under_way);
        let of_it = resent.find(|again| (again.start..again.end).contains(&position));
        of_it.map(|again| again.at)
    }

    /// Records that a hole was retransmitted up to `end`.
    pub(super) fn on_retransmitted(&mut self, end: u64) {
        if end > self.high_rxt {
            self.sacked_below_rxt += self.sacked.covered(self.high_rxt..end);
            self.high_rxt = end;
        }
    }

    /// The lowest lost bytes not yet retransmitted (NextSeg, rule 1), or lost again.
    pub(super) fn next_lost(&self) -> Option<Range<u64>> {
        if let Some(lost) = self.resent.as_ref().and_then(|resent| resent.lost.first()) {
            return Some(lost);
        }
        self.sacked.gap(self.high_rxt, self.lost_edge)
    }

    /// The lowest bytes not yet retransmitted below the highest SACKed one, lost or not (NextSeg, rule 3).
    pub(super) fn next_hole(&self) -> Option<Range<u64>> {
        self.sacked.gap(self.high_rxt, self.sacked.end()?)
    }

    /// The bytes from `position` on that are not SACKed, up to `nxt`.
    pub(super) fn hole_at(&self, position: u64, nxt: u64) -> Option<Range<u64>> {
        self.sacked.gap(position, nxt)
    }

    /// Bytes estimated to be in flight (SetPipe, RFC 6675, section 4): those neither SACKed nor lost, plus retransmitted
    /// ones.
    pub(super) fn pipe(&self, una: u64, nxt: u64) -> u64 {
        let first_time = nxt - self.lost_edge.max(una) - (self.sacked.total() - self.sacked_below_lost);
        let again = self.high_rxt.max(una) - una - self.sacked_below_rxt;
        first_time + again - self.resent.as_ref().map_or(0, |resent| resent.lost.total())
    }

    /// Bytes SACKed.
    pub(super) fn sacked(&self) -> u64 {
        self.sacked.total()
    }
}

/// Marks the missing parts of `again`, a retransmission, as lost. Returns whether there are any.
fn insert_missing(lost: &mut RangeSet, sacked: &RangeSet, again: Range<u64>) -> bool {
    let mut from = again.start;
    while let Some(hole) = sacked.gap(from, again.end) {
        from = hole.end;
        lost.insert(hole);
    }
    from > again.start
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MSS: u32 = 10;

    #[test]
    fn lost_by_blocks_or_by_bytes() {
        let mut board = Scoreboard::default();
        board.clear_marks(0);
        // Two single segments above are not enough; a third one is.
        board.record(20..30);
        board.record(40..50);
        assert!(!board.is_lost(0, MSS));
        board.record(60..70);
        assert!(board.is_lost(0, MSS) && !board.is_lost(30, MSS));
        // More than two segments' worth in one block is enough as well.
        let mut board = Scoreboard::default();
        board.record(20..40);
        assert!(!board.is_lost(0, MSS));
        board.record(40..41);
        assert!(board.is_lost(0, MSS));
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Segments 0, 20 and 40 of 100 bytes sent are lost, and retransmitted at 100, 110 and 120 ms.
    fn three_sent_again() -> Scoreboard {
        let mut board = Scoreboard::default();
        [10..20, 30..40, 50..100].into_iter().for_each(|block| _ = board.record(block));
        assert!(!board.mark_lost_by_order(0, 100, at(100)));
        for (segment, ms) in [(0..10, 100), (20..30, 110), (40..50, 120)] {
            assert_eq!(board.next_lost(), Some(segment.clone()));
            board.watch(at(ms), segment.clone(), 100);
            board.on_retransmitted(segment.end);
        }
        assert_eq!((board.next_lost(), board.pipe(0, 100)), (None, 30));
        board
    }

    #[test]
    fn a_retransmission_before_a_segment_that_arrived_is_lost_again() {
        let mut board = three_sent_again();
        board.record(40..50);
        assert!(board.mark_lost_by_order(0, 100, at(130)));
        assert_eq!((board.next_lost(), board.pipe(0, 100)), (Some(0..10), 0));
        board.watch(at(140), 0..10, 100);
        assert_eq!((board.next_lost(), board.pipe(0, 100)), (Some(20..30), 10));
    }

    #[test]
    fn an_arrival_too_soon_after_a_retransmission_shows_no_loss() {
        let mut board = three_sent_again();
        board.record(40..50);
        // An acknowledgment of a segment sent after 119 ms would be faster than any round trip.
        assert!(!board.mark_lost_by_order(0, 100, at(119)));
        assert_eq!((board.next_lost(), board.pipe(0, 100)), (None, 20));
        // Nor later on.
        assert!(!board.mark_lost_by_order(0, 100, at(200)));
        board.record(20..30);
        assert!(board.mark_lost_by_order(0, 100, at(200)));
        assert_eq!(board.next_lost(), Some(0..10));
    }

    #[test]
    fn a_timeout_marks_the_first_segment_and_overdue_ones_lost() {
        let mut board = three_sent_again();
        // First transmissions by 115 ms: up to 60, which is SACKed; retransmissions: two of three.
        board.mark_lost_by_age(0, 10, 60, at(115));
        assert_eq!((board.next_lost(), board.pipe(0, 100)), (Some(0..10), 10));
        board.watch(at(300), 0..10, 100);
        assert_eq!(board.next_lost(), Some(20..30));
        board.watch(at(300), 20..30, 100);
        assert_eq!((board.next_lost(), board.pipe(0, 100)), (None, 30));
        // The first segment outstanding, however recent.
        board.mark_lost_by_age(0, 10, 0, at(115));
        assert_eq!((board.next_lost(), board.pipe(0, 100)), (Some(0..10), 20));
    }

    /// The RFC's definitions, byte by byte.
    #[derive(Default)]
    struct Oracle {
        sacked: Vec<bool>,
        lost: Vec<bool>,
        again: Vec<bool>,
    }

    impl Oracle {
        fn pipe(&self, una: u64, nxt: u64) -> u64 {
            let count = |at: usize| u64::from(!self.lost[at]) + u64::from(self.again[at]);
            (una as usize..nxt as usize).filter(|&at| !self.sacked[at]).map(count).sum()
        }

        fn is_lost(&self, at: usize) -> bool {
            let above = &self.sacked[at + 1..];
            let starts = (0..above.len()).filter(|&i| above[i] && (i == 0 || !above[i - 1])).count();
            // A block that began at or below `at` cannot be: `at` itself is not SACKed.
            let bytes = above.iter().filter(|&&held| held).count();
            starts >= 3 || bytes > 2 * MSS as usize
        }
    }

    proptest! {
        #[test]
        fn pipe_and_holes_agree_with_the_definitions_byte_by_byte(
            steps in prop::collection::vec((0..8u8, 0..20u64, 1..4u64), 1..60),
        ) {
            const NXT: u64 = 200;
            let size = NXT as usize;
            let mut oracle = Oracle { sacked: vec![false; size], lost: vec![false; size], again: vec![false; size] };
            let mut board = Scoreboard::default();
            let mut una = 0;
            for (what, at, len) in steps {
                match what {
                    0 => {
                        // Like a receiver: acknowledge up to the next hole.
                        let to = board.hole_at(una + at, NXT).map_or(NXT, |hole| hole.start);
                        una = to;
                        board.advance(una);
                    }
                    1..=3 => {
                        let block = (at * 10).max(una + 1)..(at * 10 + len * 10).min(NXT);
                        if !block.is_empty() {
                            oracle.sacked[block.start as usize..block.end as usize].fill(true);
                            board.record(block);
                        }
                    }
                    4 => {
                        board.mark_lost(MSS);
                        for p in una as usize..size {
                            oracle.lost[p] |= !oracle.sacked[p] && oracle.is_lost(p);
                        }
                    }
                    5 => {
                        board.mark_all_lost(una, NXT);
                        oracle.lost.fill(true);
                        oracle.again.fill(false);
                    }
                    _ => {
                        let from = board.high_rxt().max(una) as usize;
                        let hole = (from..size).find(|&p| !oracle.sacked[p] && oracle.lost[p]);
                        let ours = board.next_lost();
                        prop_assert_eq!(ours.clone().map(|r| r.start), hole.map(|p| p as u64));
                        if let Some(hole) = ours {
                            let end = hole.end.min(hole.start + u64::from(MSS));
                            board.on_retransmitted(end);
                            oracle.again[una as usize..end as usize].fill(true);
                        }
                    }
                }
                prop_assert_eq!(board.pipe(una, NXT), oracle.pipe(una, NXT));
            }
        }
    }
}
