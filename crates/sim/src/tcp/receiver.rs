//! The receiving half: reassembly, acknowledgments, and the advertised window.
//!
//! The application sees a count of in-order bytes; out-of-order data is a set of positions.

use std::ops::Range;

use evenair_units::hint::prefetch;
use evenair_units::{Instant, Span};

use super::config::{AckPolicy, Config, MAX_UNSCALED_WINDOW};
use super::ranges::RangeSet;
use super::segment::{Flags, MAX_SACK_BLOCKS, SackBlocks};

/// State of the receiving half. `next` is the only position acknowledged; everything below it arrived.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Receiver {
    /// Next position expected (RCV.NXT).
    next: u64,
    /// Right edge advertised so far. Never moves left (RFC 9293, section 3.8.6).
    edge: u64,
    /// Bytes in order, not yet read by the application.
    unread: u64,
    ack: AckState,
    held: RangeSet,
    /// This end's own retransmission timeout.
    rto: Span,
    buffer: u64,
    /// When data last arrived in order.
    last_data: Option<Instant>,
    policy: AckPolicy,
    /// Largest window that the header can express with the negotiated scale.
    max_window: u32,
    /// Full segment of the other end, in bytes.
    mss: u32,
    /// Segments still to be acknowledged one by one.
    quick: u32,
    auto_read: bool,
    /// This end answers received data with data.
    interactive: bool,
    /// A FIN was seen.
    has_fin: bool,
    /// Position of the FIN; valid if `has_fin`.
    fin: u64,
    /// A position in each of the blocks that changed last, most recent first (RFC 2018, section 4).
    recent: [Option<u64>; MAX_SACK_BLOCKS],
}

/// The acknowledgment that is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckState {
    None,
    /// Number of segments that wait, and the deadline of their acknowledgment.
    Delayed(u32, Instant),
    Now,
}

/// Result of an arriving segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Bytes newly in order.
    pub(super) in_order: u64,
    /// The FIN is newly in order.
    pub(super) finished: bool,
}

impl Receiver {
    /// Expects position `next` from an end whose full segments carry `mss` bytes. `shift` scales the advertised windows.
    pub(super) fn new(config: &Config, mss: u32, next: u64, shift: u8) -> Self {
        let mut receiver = Self {
            policy: config.ack,
            mss,
            buffer: config.receive_buffer.0,
            auto_read: config.auto_read,
            max_window: (MAX_UNSCALED_WINDOW << shift) as u32, // a shift is 14 at most
            next,
            edge: next,
            unread: 0,
            has_fin: false,
            fin: 0,
            held: RangeSet::default(),
            recent: [None; MAX_SACK_BLOCKS],
            ack: AckState::None,
            quick: config.ack.quick,
            last_data: None,
            rto: config.rto.initial,
            interactive: false,
        };
        receiver.open_window();
        receiver
    }

    /// Prefetches what every segment needs.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&raw const self.next);
        prefetch(&raw const self.rto);
        prefetch(&raw const self.quick);
    }

    /// Prefetches what is needed only if out-of-order data is held.
    #[inline]
    pub(super) fn prefetch_more(&self) {
        if !self.held.is_empty() {
            prefetch(&raw const self.recent);
            self.held.prefetch();
        }
    }

    /// Sets this end's own retransmission timeout.
    pub(super) fn set_rto(&mut self, rto: Span) {
        self.rto = rto;
    }

    /// Next position expected.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes in order that the application has not read.
    pub(super) fn unread(&self) -> u64 {
        self.unread
    }

    /// The window to advertise, in bytes.
    pub(super) fn window(&self) -> u64 {
        self.edge - self.next
    }

    /// Deadline of the delayed acknowledgment.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.ack {
            AckState::Delayed(_, at) => Some(at),
            AckState::None | AckState::Now => None,
        }
    }

    /// Whether an acknowledgment must leave now.
    pub(super) fn ack_due(&self) -> bool {
        self.ack == AckState::Now
    }

    /// Requests an acknowledgment now.
    pub(super) fn ack_now(&mut self) {
        self.ack = AckState::Now;
    }

    /// Handles an expired timer of the delayed acknowledgment.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.deadline().is_some_and(|at| at <= now) {
            self.ack = AckState::Now;
            self.interactive = false;
        }
    }

    /// Data was sent: data that answers just received data is the sign of a dialogue, in which the next answers can carry
    /// the acknowledgments (Linux's ping-pong mode, until a delayed acknowledgment finds none).
    pub(super) fn on_data_sent(&mut self, now: Instant) {
        self.interactive |= self.last_data.is_some_and(|at| now.saturating_since(at) < self.policy.delay);
    }

    /// A segment with the acknowledgment was sent.
    pub(super) fn on_ack_sent(&mut self) {
        self.ack = AckState::None;
    }

    /// The application reads up to `bytes`; returns how many there were. May request a window update.
    pub(super) fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.unread);
        self.unread -= taken;
        let before = self.edge;
        self.open_window();
        // The other end may be waiting for an update: if the window was below a segment, or half of it opened.
        let was = before - self.next;
        if self.edge > before && (was < u64::from(self.mss) || self.edge - before >= self.buffer / 2) {
            self.ack_now();
        }
        taken
    }

    /// Handles a segment with data or a FIN (RFC 9293, section 3.10.7.4; RFC 5681, section 4.2).
    pub(super) fn handle(&mut self, now: Instant, data: Range<u64>, flags: Flags) -> Arrival {
        let Flags { fin, psh, .. } = flags;
        let is_last = psh || data.end - data.start < u64::from(self.mss);
        if fin && data.end <= self.edge {
            (self.has_fin, self.fin) = (true, data.end);
        }
        // Only up to the window's edge: a sender that probes or ignores the window gets an answer, no more.
        let (start, end) = (data.start.max(self.next), data.end.min(self.edge));
        let before = self.next;
        if start > self.next && start < end {
            self.held.insert(start..end);
            self.note_recent(start);
            self.ack_now();
        } else if data.start <= self.next && end > self.next {
            self.next = end;
            self.take_in_order(now, is_last);
        } else if !(fin && self.is_at_fin()) {
            // Nothing new: an old segment, or one beyond the window. Linux: the other end is in trouble.
            self.ack_now();
            self.quick = self.quick.max(self.policy.quick);
            self.interactive = false;
        }
        let in_order = self.next - before;
        let finished = self.is_at_fin();
        if finished {
            self.next += 1;
            self.edge = self.edge.max(self.next);
            self.ack_now();
        }
        if !self.auto_read {
            self.unread += in_order;
        }
        self.open_window();
        Arrival { in_order, finished }
    }

    /// Whether everything up to a FIN has arrived.
    fn is_at_fin(&self) -> bool {
        self.has_fin && self.fin == self.next
    }

    /// Takes data at `next`, with `is_last` if none follows for now: joins data held behind it, and decides when to acknowledge.
    fn take_in_order(&mut self, now: Instant, is_last: bool) {
        // Linux: after such a silence the other end's window may have become small.
        if self.last_data.replace(now).is_some_and(|last| now.saturating_since(last) > self.rto) {
            self.quick = self.quick.max(self.policy.quick);
        }
        if !self.held.is_empty() {
            if let Some(first) = self.held.first().filter(|first| first.start <= self.next) {
                self.next = self.next.max(first.end);
            }
            self.held.remove_below(self.next);
            self.ack_now(); // part of a gap is filled
            return;
        }
        let waiting = match self.ack {
            AckState::Now => return,
            AckState::None => 1,
            AckState::Delayed(waiting, _) => waiting + 1,
        };
        let eager = !self.interactive && (self.quick > 0 || (is_last && self.policy.pushed && self.auto_read));
        let at_once = eager || waiting >= self.policy.segments;
        self.quick = self.quick.saturating_sub(1);
        self.ack = match self.ack {
            _ if at_once => AckState::Now,
            AckState::Delayed(_, at) => AckState::Delayed(waiting, at),
            _ => AckState::Delayed(waiting, now + self.policy.delay),
        };
    }

    /// Moves the right edge to what the buffer has room for, in steps of at least a segment or half the buffer, against
    /// silly windows (RFC 1122, section 4.2.3.3).
    fn open_window(&mut self) {
        let room = (self.buffer - self.unread.min(self.buffer)).min(self.max_window.into());
        let edge = self.next + room;
        if edge >= self.edge + u64::from(self.mss).min(self.buffer / 2) {
            self.edge = edge;
        }
    }

    /// Makes the block around `position` the most recent one.
    fn note_recent(&mut self, position: u64) {
        let block = self.held.containing(position).expect("just inserted");
        let others = self.recent.into_iter().flatten().filter(|p| !block.contains(p));
        let mut recent = [None; MAX_SACK_BLOCKS];
        for (slot, p) in recent.iter_mut().zip(std::iter::once(position).chain(others)) {
            *slot = Some(p);
        }
        self.recent = recent;
    }

    /// Whether there are SACK blocks to report.
    pub(super) fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Writes the SACK blocks to report, at most `limit` (RFC 2018, section 4).
    pub(super) fn report(&self, limit: usize, sack: &mut SackBlocks) {
        let blocks = self.recent.iter().flatten().filter_map(|&position| self.held.containing(position));
        blocks.take(limit).for_each(|block| sack.push(self.next, block));
    }
}

#[cfg(test)]
mod tests {
    use evenair_units::Bytes;

    use super::*;

    const MSS: u64 = 1000;
    const FIN: Flags = Flags { syn: false, ack: true, fin: true, rst: false, psh: false };

    fn receiver(config: &Config) -> Receiver {
        Receiver::new(config, MSS as u32, 0, 7)
    }

    fn segment(n: u64) -> Range<u64> {
        n * MSS..(n + 1) * MSS
    }

    #[test]
    fn every_second_segment_is_acknowledged_or_the_timer_does_it() {
        let mut rx = receiver(&Config::rfc());
        let t0 = Instant::ZERO;
        assert_eq!(rx.handle(t0, segment(0), Flags::default()).in_order, MSS);
        assert!(!rx.ack_due());
        assert_eq!(rx.deadline(), Some(t0 + Span::from_millis(200)));
        rx.handle(t0 + Span::from_millis(10), segment(1), Flags::default());
        assert!(rx.ack_due());
        rx.on_ack_sent();
        rx.handle(t0, segment(2), Flags::default());
        rx.handle_timeout(t0 + Span::from_millis(199));
        assert!(!rx.ack_due());
        rx.handle_timeout(t0 + Span::from_millis(200));
        assert!(rx.ack_due());
    }

    #[test]
    fn quick_acks_come_first() {
        let mut config = Config::rfc();
        config.ack.quick = 3;
        let mut rx = receiver(&config);
        let due: Vec<bool> = (0..7)
            .map(|n| {
                rx.handle(Instant::ZERO, segment(n), Flags::default());
                let due = rx.ack_due();
                if due {
                    rx.on_ack_sent();
                }
                due
            })
            .collect();
        assert_eq!(due, [true, true, true, false, true, false, true]);
    }

    #[test]
    fn linux_acknowledges_pushed_and_short_segments_at_once() {
        let psh = Flags { psh: true, ..Flags::default() };
        let t = Instant::ZERO;
        for (pushed, expected) in [(false, [false, true, false]), (true, [true, false, true])] {
            let mut config = Config::rfc();
            config.ack.pushed = pushed;
            let mut rx = receiver(&config);
            let mut due = |data, flags| {
                rx.handle(t, data, flags);
                let due = rx.ack_due();
                if due {
                    rx.on_ack_sent();
                }
                due
            };
            let short = 2 * MSS..2 * MSS + 1;
            assert_eq!([due(segment(0), psh), due(segment(1), Flags::default()), due(short, psh)], expected);
        }
    }

    #[test]
    fn acknowledgments_are_piggybacked_in_a_dialogue() {
        let mut config = Config::rfc();
        (config.ack.pushed, config.ack.quick) = (true, 16);
        let mut rx = receiver(&config);
        rx.handle(Instant::ZERO, 0..10, Flags::default());
        assert!(rx.ack_due());
        rx.on_data_sent(Instant::ZERO + Span::from_millis(1));
        rx.on_ack_sent();
        rx.handle(Instant::ZERO + Span::from_millis(2), 10..20, Flags::default());
        assert!(!rx.ack_due(), "an answer may come");
        rx.handle_timeout(Instant::ZERO + Span::from_millis(202));
        rx.on_ack_sent();
        rx.handle(Instant::ZERO + Span::from_millis(203), 20..30, Flags::default());
        assert!(rx.ack_due(), "none did");
    }

    #[test]
    fn out_of_order_data_and_filled_gaps_are_acknowledged_at_once() {
        let mut rx = receiver(&Config::rfc());
        let t = Instant::ZERO;
        let blocks = |rx: &mut Receiver, n| {
            rx.handle(t, segment(n), Flags::default());
            assert!(rx.ack_due(), "segment {n}");
            rx.on_ack_sent();
            let mut sack = SackBlocks::NONE;
            rx.report(3, &mut sack);
            sack.iter(rx.next()).map(|b| (b.start / MSS, b.end / MSS)).collect::<Vec<_>>()
        };
        assert_eq!(blocks(&mut rx, 2), [(2, 3)]);
        assert_eq!(blocks(&mut rx, 4), [(4, 5), (2, 3)]);
        assert_eq!(blocks(&mut rx, 6), [(6, 7), (4, 5), (2, 3)]);
        assert_eq!(blocks(&mut rx, 8), [(8, 9), (6, 7), (4, 5)], "three at most");
        assert_eq!(blocks(&mut rx, 3), [(2, 5), (8, 9), (6, 7)], "joined");
        assert_eq!(blocks(&mut rx, 3), [(2, 5), (8, 9), (6, 7)], "a duplicate");
        assert_eq!(blocks(&mut rx, 0), [(2, 5), (8, 9), (6, 7)]);
        assert_eq!(blocks(&mut rx, 1), [(8, 9), (6, 7)], "gap filled");
        assert_eq!(rx.next(), 5 * MSS);
    }

    #[test]
    fn the_window_closes_as_data_waits_and_opens_in_large_steps() {
        let config = Config { auto_read: false, receive_buffer: Bytes(4 * MSS), ..Config::rfc() };
        let mut rx = receiver(&config);
        for n in 0..4 {
            assert_eq!(rx.window(), (4 - n) * MSS);
            rx.handle(Instant::ZERO, segment(n), Flags::default());
        }
        assert_eq!((rx.window(), rx.unread()), (0, 4 * MSS));
        rx.on_ack_sent();
        // Beyond the window: acknowledged, but not taken.
        assert_eq!(rx.handle(Instant::ZERO, segment(4), Flags::default()), Arrival::default());
        assert!(rx.ack_due());
        rx.on_ack_sent();
        assert_eq!(rx.read(MSS - 1), MSS - 1);
        assert!(!rx.ack_due() && rx.window() == 0, "not worth a segment yet");
        rx.read(1);
        assert!(rx.ack_due() && rx.window() == MSS);
    }

    #[test]
    fn a_fin_counts_when_all_before_it_is_there() {
        let mut rx = receiver(&Config::rfc());
        let t = Instant::ZERO;
        assert_eq!(rx.handle(t, segment(1), FIN), Arrival::default());
        assert_eq!(rx.handle(t, segment(0), Flags::default()), Arrival { in_order: 2 * MSS, finished: true });
        assert_eq!(rx.next(), 2 * MSS + 1);
        assert_eq!(rx.handle(t, segment(1), FIN), Arrival::default(), "the FIN again");
        assert!(rx.ack_due());
    }
}
