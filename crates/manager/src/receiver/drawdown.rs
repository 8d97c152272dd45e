//! The standing backlog of an upload, from before the box was inserted, is drawn down by the windows that leave with its ACKs.
//!
//! An upload's window turns into ACKs that wait here once they are released at the pace of its share, and a window that
//! has grown behind a bloated access point waits for seconds. A congestion signal does not help soon: the news of a loss
//! goes around by the receiver, and waits behind the very ACKs that it is to make fewer. The window field of the ACK that
//! leaves now reaches the sender at once. So the right edge of what the sender may send (RFC 9293, 3.8.6: acknowledgment
//! plus window) moves by a quarter of what each ACK acknowledges, and each is charged for that quarter; of four ACKs in a row
//! the last one leaves for all. The medium carries as much DATA as ever, shares stay as they are, ACKs leave four times as
//! fast as they come, and the backlog goes in a third of the time in which the upload's share would carry it.
//!
//! Then the edge moves as acknowledgments do, a little faster while the queue is short, until the sender no longer uses it:
//! its congestion control has had signals meanwhile, which come back soon now. What stands later is left to these signals.
//!
//! Only the first such ACK takes back what the receiver had offered: the edge goes to what the sender has sent, since
//! that is less than what it may send ("shrinking the window", which a sender has to bear, RFC 9293, 3.8.6.2.1).
//!
//! The scale of the window field (RFC 7323, 2.2) is known only where the handshake was seen. Else it is the
//! least by which the window has room for what was outstanding, until the sender proves it larger: by data behind the edge
//! that echo the timestamp of an ACK that left with that edge. Too small a scale only draws down less.
//!
//! What is not here: connections whose handshake was not seen and that have no timestamps, and other protocols than TCP,
//! whose windows cannot be read.

use evenair_packet::TcpMeta;
use evenair_units::Span;

use crate::tcp::{after, forward};

/// The backlog of an upload stands when its ACKs have waited for so long, and no longer once they wait less than this:
/// then they have waited their turns, and more.
const STANDS: Span = Span::from_millis(1_500);
const SHORT: Span = Span::from_millis(60);
/// While a backlog is drawn down, the window moves on by one in so many bytes acknowledged, and of so many ACKs in a row
/// the last one leaves for all: the medium carries as much DATA for each ACK as ever.
pub(crate) const OF_FOUR: u32 = 4;
/// No window is lowered below so many segments: a loss is still noticed by duplicate ACKs, and receivers acknowledge
/// every second segment.
const LEAST_SEGMENTS: u64 = 8;
/// Fewer do not stand: where many stations share a slow medium, a few segments wait long for their turns.
const STANDING_SEGMENTS: u64 = 3 * LEAST_SEGMENTS;
/// The window grows by this part of what is acknowledged while the queue is short: slower than the congestion window is cut,
/// which is as large as ever, and would take the backlog back.
const GROWTH: u64 = 32;
/// Segments that an ACK stands for at most: those of all that leave as one while a backlog is drawn down.
const MOST_SEGMENTS: u64 = 2 * OF_FOUR as u64;
/// A sender does not use its window that has room for twice what is seen outstanding and for so many segments, which may
/// be on their way to the box.
const UNSEEN_SEGMENTS: u64 = 32;
/// Of so few outstanding the window is not what limits them.
const FEW_SEGMENTS: u64 = 2;
/// Largest scale (RFC 7323, 2.3).
const MAX_SCALE: u8 = 14;

/// An ACK of an upload that leaves after it has waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving<'a> {
    pub(crate) tcp: &'a TcpMeta,
    pub(crate) waited: Span,
    /// The sequence number behind the furthest byte that the station was seen to have sent.
    pub(crate) sent: u32,
    /// Bytes in one of its segments.
    pub(crate) segment: u64,
    /// The scale of the windows, where the handshake told, and what it is at least.
    pub(crate) scale: Option<u8>,
    pub(crate) least_scale: u8,
    /// The box was inserted only lately.
    pub(crate) may_begin: bool,
}

/// How an ACK leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lowered {
    /// Its window field.
    pub(crate) window: u16,
    /// The sender may send so much less new data for it than it acknowledges, in bytes.
    pub(crate) kept_back: u64,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The backlog stands, and goes.
    Drains,
    /// It has gone, and the window grows.
    Grows,
    /// The sender does not use its window, and ACKs leave as they come.
    Over,
}

/// Of one upload.
#[derive(Clone, Debug)]
pub(crate) struct Drawdown {
    scale: u8,
    is_known: bool,
    /// Sequence number behind what had been sent, as far as was seen, before the first window by this scale arrived, and
    /// how far the right edge has moved from there.
    base: u32,
    advanced: u32,
    /// Of the ACK that left last: its acknowledgment, and its window field as it came and as it left.
    ack: u32,
    came: u16,
    left: u16,
    /// Bytes that duplicate ACKs have reported ahead of the cumulative one.
    ahead: u64,
    /// Timestamp of the first ACK that left with an edge by this scale.
    since: Option<u32>,
    stage: Stage,
    /// All packets were asked about in this stretch of time.
    pub(super) session: u32,
}

impl Drawdown {
    /// Draws down, from this ACK on, if the backlog that it belongs to stands.
    pub(crate) fn begin(ack: &Leaving<'_>, session: u32) -> Option<Self> {
        let Leaving { tcp, waited, sent, segment, scale, least_scale, may_begin } = *ack;
        let outstanding = forward(tcp.ack, sent);
        let stands = may_begin && waited > STANDS && outstanding > STANDING_SEGMENTS * segment;
        let is_known = scale.is_some();
        if !stands || !tcp.is_pure_ack() || tcp.window == 0 || !is_known && tcp.timestamps.is_none() {
            return None;
        }
        let scale = scale.unwrap_or(least_scale).min(MAX_SCALE);
        let mut drawdown = Self {
            scale,
            is_known,
            base: sent,
            advanced: 0,
            ack: tcp.ack,
            came: tcp.window,
            left: tcp.window,
            ahead: 0,
            since: None,
            stage: Stage::Drains,
            session,
        };
        drawdown.make_room_for(tcp.window, outstanding, sent);
        Some(drawdown)
    }

    /// How an ACK leaves; `None`: as it came.
    pub(crate) fn lower(&mut self, ack: &Leaving<'_>) -> Option<Lowered> {
        let Leaving { tcp, waited, sent, segment, may_begin, .. } = *ack;
        if may_begin && waited > STANDS {
            // The scale may have been taken for too small until now.
            self.stage = Stage::Drains;
        } else if self.stage == Stage::Over {
            return None;
        }
        let acked = forward(self.ack, tcp.ack);
        if acked == 0 {
            return Some(self.alike(tcp, segment));
        }
        let outstanding = forward(tcp.ack, sent);
        self.make_room_for(tcp.window, outstanding, sent);
        if waited <= SHORT {
            self.stage = Stage::Grows;
        }
        let arrived = acked.saturating_sub(core::mem::take(&mut self.ahead));
        // An ACK that fills a hole acknowledges much that crossed long ago, and releases no more than another one.
        let usual = arrived.min(MOST_SEGMENTS * segment);
        let advance = match self.stage {
            Stage::Drains => usual / u64::from(OF_FOUR),
            Stage::Grows | Stage::Over if waited <= SHORT => usual + usual / GROWTH,
            Stage::Grows | Stage::Over => usual,
        };
        let before = self.edge();
        let least = tcp.ack.wrapping_add((LEAST_SEGMENTS * segment) as u32);
        self.advanced = self.advanced.wrapping_add(advance as u32);
        if after(least, self.edge()) {
            (self.advanced, self.stage) = (least.wrapping_sub(self.base), Stage::Grows);
        }
        let room = forward(tcp.ack, self.edge());
        let is_unused = room > outstanding * 2 + UNSEEN_SEGMENTS * segment || outstanding < FEW_SEGMENTS * segment;
        let offers_less = room >= u64::from(tcp.window) << self.scale;
        if tcp.window == 0 {
            return None;
        }
        if self.stage == Stage::Grows && (is_unused || offers_less) {
            self.stage = Stage::Over;
            return None;
        }
        let window = u16::try_from(room.div_ceil(1 << self.scale)).unwrap_or(u16::MAX).min(tcp.window);
        (self.ack, self.came, self.left) = (tcp.ack, tcp.window, window);
        self.since = self.since.or(tcp.timestamps.map(|stamps| stamps.value));
        Some(Lowered { window, kept_back: arrived.saturating_sub(forward(before, self.edge())) })
    }

    /// The right edge of what the sender may send.
    const fn edge(&self) -> u32 {
        self.base.wrapping_add(self.advanced)
    }

    /// New data of the station: they were sent before the first lowered window arrived, or prove the scale to be larger. What is
    /// sent again may be behind the edge.
    pub(crate) fn note_new_data(&mut self, tcp: &TcpMeta) {
        let end = tcp.seq_end();
        if self.stage == Stage::Over || !after(end, self.edge()) {
            return;
        }
        let echo = tcp.timestamps.map(|stamps| stamps.echo);
        let is_reply = !self.is_known && self.since.zip(echo).is_some_and(|(since, echo)| after(echo, since));
        if !is_reply {
            // With the scale known, the sender goes beyond no edge.
            let seen = if self.is_known { end.wrapping_sub(self.advanced) } else { end };
            self.base = if after(seen, self.base) { seen } else { self.base };
        } else if after(end, self.edge().wrapping_add(1 << self.scale)) && self.scale < MAX_SCALE {
            let room = forward(self.ack, end);
            self.restart(self.scale + 1, end);
            while self.scale < MAX_SCALE && u64::from(self.left) << self.scale < room {
                self.scale += 1;
            }
        }
    }

    /// Another scale, with so much sent by now.
    const fn restart(&mut self, scale: u8, sent: u32) {
        (self.scale, self.since, self.base, self.advanced) = (scale, None, sent, 0);
    }

    /// The backlog stands, and goes.
    pub(super) fn drains(&self) -> bool {
        self.stage == Stage::Drains
    }

    /// What the scale is at least.
    pub(super) const fn least_scale(&self) -> u8 {
        self.scale
    }

    /// The window was not smaller than what was outstanding.
    fn make_room_for(&mut self, window: u16, outstanding: u64, sent: u32) {
        while !self.is_known && self.scale < MAX_SCALE && u64::from(window) << self.scale < outstanding {
            self.restart(self.scale + 1, sent);
        }
    }

    /// An ACK that acknowledges what the one before did. Those that came alike leave alike (RFC 5681, 2), and an update of the
    /// window stays one. Linux takes no smaller window from it than it has: what the sender sends meanwhile proves nothing, and is charged for.
    fn alike(&mut self, tcp: &TcpMeta, segment: u64) -> Lowered {
        if tcp.sacked_to.is_some() {
            self.ahead += segment;
        }
        self.since = None;
        if tcp.window != self.came && tcp.window > 0 {
            self.left = if self.left < tcp.window { self.left + 1 } else { tcp.window };
            let edge = tcp.ack.wrapping_add(u32::from(self.left) << self.scale);
            if after(edge, self.edge()) {
                self.advanced = edge.wrapping_sub(self.base);
            }
        }
        self.came = tcp.window;
        Lowered { window: self.left.min(tcp.window), kept_back: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::tests::segment;
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;
    use evenair_packet::Timestamps;
    use proptest::prelude::*;

    const SEGMENT: u64 = 1_448;
    const LONG: Span = Span::from_secs(2);

    fn ack(ack: u32, window: u16, stamp: u32) -> TcpMeta {
        TcpMeta { window, timestamps: Some(Timestamps { value: stamp, echo: 0 }), ..segment(1, ack, 0) }
    }

    fn data(seq: u32, echo: u32) -> TcpMeta {
        TcpMeta { timestamps: Some(Timestamps { value: 0, echo }), ..segment(seq, 1, SEGMENT) }
    }

    fn leaving(tcp: &TcpMeta, waited: Span, sent: u32, scale: Option<u8>) -> Leaving<'_> {
        Leaving { tcp, waited, sent, segment: SEGMENT, scale, least_scale: 0, may_begin: true }
    }

    /// A backlog of 1,000,000 bytes behind an acknowledgment of 1,000, with this scale known.
    fn standing(window: u16, scale: Option<u8>) -> Option<Drawdown> {
        let first = ack(1_000, window, 1);
        let mut drawdown = Drawdown::begin(&leaving(&first, LONG, 1_001_000, scale), 1)?;
        drawdown.lower(&leaving(&first, LONG, 1_001_000, scale));
        Some(drawdown)
    }

    #[test]
    fn while_a_backlog_stands_the_edge_moves_by_a_quarter_of_what_is_acknowledged() {
        let mut drawdown = standing(60_000, Some(7)).expect("it stands");
        for step in 1..=50_u32 {
            let tcp = ack(1_000 + step * 8_000, 60_000, 1 + step);
            let lowered = drawdown.lower(&leaving(&tcp, LONG, 1_001_000, Some(7))).expect("it stands");
            let room = u64::from(lowered.window) << 7;
            let expected = u64::from(1_000_000 - step * 8_000 + step * 2_000);
            assert!((expected..expected + 128).contains(&room), "{room} bytes at step {step}, not {expected}");
            assert_eq!(lowered.kept_back, 6_000);
        }
    }

    #[test]
    fn behind_a_short_queue_the_window_grows_until_it_is_not_used() {
        let mut drawdown = standing(60_000, Some(7)).expect("it stands");
        let mut at = |step: u32, waited| {
            // As much is outstanding all the time.
            let tcp = ack(1_000 + step * 8_000, 60_000, 1 + step);
            drawdown.lower(&leaving(&tcp, waited, 1_001_000 + step * 8_000, Some(7)))
        };
        let first = at(1, Span::from_millis(50)).expect("the sender uses its window");
        assert_eq!(at(2, Span::from_millis(500)), Some(Lowered { kept_back: 0, ..first }), "more waits");
        let grown = at(3, Span::from_millis(50)).expect("it grows");
        assert_eq!((u32::from(grown.window - first.window), grown.kept_back), (250_u32.div_ceil(128), 0));
        let last = (4..6_000).find(|&step| at(step, Span::from_millis(10)).is_none());
        assert!(last.is_some_and(|step| step > 1_000), "ends at {last:?}, once it has room for twice as much");
        assert!(at(6_001, Span::from_millis(500)).is_none());
        assert!(at(6_002, LONG).is_some(), "it stands again");
    }

    #[test]
    fn few_segments_and_short_waits_do_not_stand() {
        let first = ack(1_000, 60_000, 1);
        let begins = |waited, sent| Drawdown::begin(&leaving(&first, waited, sent, Some(7)), 1).is_some();
        assert!(begins(LONG, 101_000) && !begins(LONG, 1_000 + 24 * SEGMENT as u32));
        assert!(!begins(STANDS, 1_001_000));
    }

    #[test]
    fn without_scale_and_timestamps_nothing_is_lowered() {
        let without = TcpMeta { timestamps: None, ..ack(1_000, 60_000, 1) };
        assert!(Drawdown::begin(&leaving(&without, LONG, 1_001_000, None), 1).is_none());
        assert!(standing(60_000, None).is_some() && standing(0, None).is_none());
    }

    #[test]
    fn only_new_data_in_reply_to_a_lowered_window_prove_a_larger_scale() {
        let mut drawdown = standing(60_000, None).expect("it stands");
        assert_eq!(drawdown.scale, 5, "60,000 << 4 has no room for what is outstanding");
        let second = ack(3_000, 60_000, 7);
        drawdown.lower(&leaving(&second, LONG, 1_001_000, None)).expect("it stands");
        drawdown.note_new_data(&data(1_500_000, 7));
        assert_eq!(drawdown.scale, 5, "sent before the lowered window arrived");
        assert_eq!(drawdown.edge(), 1_501_448 + 500, "which shows how much had been sent");
        drawdown.note_new_data(&data(1_500_000, 8));
        assert_eq!(drawdown.scale, 5, "within the edge");
        drawdown.note_new_data(&data(1_600_000, 8));
        assert_eq!((drawdown.scale, drawdown.since), (6, None), "behind it");
    }

    #[test]
    fn acks_that_came_alike_leave_alike() {
        let mut drawdown = standing(60_000, Some(7)).expect("it stands");
        let second = ack(9_000, 60_000, 7);
        let lowered = drawdown.lower(&leaving(&second, LONG, 1_001_000, Some(7))).expect("it stands");
        let again = drawdown.lower(&leaving(&second, LONG, 1_001_000, Some(7)));
        assert_eq!(again, Some(Lowered { kept_back: 0, ..lowered }));
        let update = ack(9_000, 60_001, 7);
        let updated = drawdown.lower(&leaving(&update, LONG, 1_001_000, Some(7))).expect("it stands");
        assert_eq!(updated.window, lowered.window + 1, "an update of the window is no duplicate");
    }

    /// An upload as the box sees it: a sender that obeys windows, its station's queue, and ACKs that wait in the box.
    struct Upload {
        scale: u8,
        cwnd: u32,
        window: u16,
        acked: u32,
        next: u32,
        edge: u32,
        stamp: u32,
        station: VecDeque<TcpMeta>,
        acks: VecDeque<(u32, TcpMeta)>,
        sent: u32,
        unacked: u32,
    }

    impl Upload {
        fn new(scale: u8, window: u16, cwnd: u32) -> Self {
            let (station, acks) = (VecDeque::new(), VecDeque::new());
            let edge = u32::from(window) << scale;
            let mut upload =
                Self { scale, cwnd, window, acked: 0, next: 0, edge, stamp: 0, station, acks, sent: 0, unacked: 0 };
            upload.send();
            upload
        }

        fn send(&mut self) {
            let segment = SEGMENT as u32;
            while self.next + segment <= self.edge.min(self.acked + self.cwnd) {
                self.station.push_back(data(self.next, self.stamp));
                self.next += segment;
            }
        }

        /// The medium carries a segment, and the server acknowledges every second.
        fn carry(&mut self, at: u32, drawdown: Option<&mut Drawdown>) {
            let Some(segment) = self.station.pop_front() else { return };
            drawdown.into_iter().for_each(|drawdown| drawdown.note_new_data(&segment));
            self.sent = segment.seq_end();
            self.unacked += 1;
            if self.unacked == 2 {
                self.unacked = 0;
                self.acks.push_back((at, ack(self.sent, self.window, at)));
            }
        }

        /// An ACK arrives with this window.
        fn hear(&mut self, tcp: &TcpMeta, window: u16) {
            (self.acked, self.stamp) = (tcp.ack, tcp.timestamps.map_or(0, |stamps| stamps.value));
            self.edge = tcp.ack + (u32::from(window) << self.scale);
            self.send();
        }
    }

    proptest! {
        /// Whatever the scale, it is never taken for larger than it is, no window has room for less than the least, and the
        /// backlog goes.
        #[test]
        fn the_backlog_goes_and_no_sender_starves(
            scale in 0u8..=14,
            window in 20_000u16..,
            cwnd in 500_000u32..8_000_000,
        ) {
            let mut upload = Upload::new(scale, window, cwnd);
            let mut drawdown: Option<Drawdown> = None;
            let mut waits = Vec::new();
            for at in 1..30_000_u32 {
                upload.carry(at, drawdown.as_mut());
                // ACKs leave as fast as the medium carries what they release, from when a half of the window has come on.
                if at < cwnd / SEGMENT as u32 / 2 || at % 2 == 1 {
                    continue;
                }
                let mut left = 0;
                while left < 2 * SEGMENT && let Some((came, tcp)) = upload.acks.pop_front() {
                    let waited = Span::from_millis(1) * u64::from(at - came);
                    waits.push(waited);
                    let leaving = leaving(&tcp, waited, upload.sent, None);
                    drawdown = drawdown.or_else(|| Drawdown::begin(&leaving, 1));
                    let lowered = drawdown.as_mut().and_then(|drawdown| drawdown.lower(&leaving));
                    prop_assert!(drawdown.as_ref().is_none_or(|drawdown| drawdown.scale <= scale));
                    let window = lowered.map_or(tcp.window, |lowered| lowered.window);
                    let room = u64::from(window) << scale;
                    prop_assert!(room >= (LEAST_SEGMENTS * SEGMENT).min(u64::from(tcp.window) << scale));
                    left += 2 * SEGMENT - lowered.map_or(0, |lowered| lowered.kept_back.min(2 * SEGMENT));
                    upload.hear(&tcp, window);
                }
            }
            // Its sender knows of no congestion here, so that it comes back in the end.
            let stood = waits.iter().position(|&waited| waited > STANDS);
            let gone = stood.is_none_or(|stood| waits[stood..].iter().any(|&waited| waited <= SHORT));
            prop_assert!(gone, "{:?} at the least", waits.iter().min());
        }
    }
}
