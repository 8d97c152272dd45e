//! The sending half: available data, and the processing of acknowledgments.
//!
//! The stream is a range of positions, not data: `una <= nxt <= limit`, where `limit` is the end of the data that the
//! application has written, and the FIN is at position `limit` once the application has closed. Retransmissions are cut
//! from the holes of the scoreboard, so there is no record per segment.

use std::ops::Range;

use evenair_units::hint::prefetch;
use evenair_units::{Instant, Span};

use super::batch::{self, Batch};
use super::config::{Config, Quirks};
use super::congestion::{AckInfo, Window};
use super::events::{Stats, Timer};
use super::handshake::Agreed;
use super::history::History;
use super::recovery::{Choice, Flight, Piece, Recovery, Sent, Timeout, ago};
use super::rto::RttEstimator;
use super::scoreboard::Scoreboard;
use super::segment::Segment;
use super::tail::Tail;

/// The first position of the stream's data: the SYN is position 0.
const FIRST: u64 = 1;

/// Longest time for which the receiver of a single segment may delay its acknowledgment (RFC 8985, section 7.2).
const ACK_DELAY: Span = Span::from_millis(200);

/// End of the data of an application that never stops.
const ENDLESS: u64 = u64::MAX / 2;

/// State of the sending half. The order is that of [`super::Connection`]: fields that every acknowledgment needs come first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Sender {
    una: u64,
    nxt: u64,
    limit: u64,
    peer: PeerWindow,
    timer: Option<(Instant, Timer)>,
    mss: u32,
    /// Timeouts in a row without progress.
    retries: u32,
    /// Consecutive probes of a closed window.
    probes: u32,
    closing: bool,
    idle_restart: bool,
    /// Timestamps give the round-trip samples.
    stamped: bool,
    /// Only the congestion window ended the last round of sending.
    cwnd_limited: bool,
    probe_due: bool,
    quirks: Quirks,
    pub(super) rtt: RttEstimator,
    last_sent: Instant,
    send_buffer: u64,
    /// The segment being timed: the position after it, and when it was sent (RFC 6298, section 3).
    timed: Option<(u64, Instant)>,
    board: Scoreboard,
    window: Window,
    /// See [`Quirks::sample_every_ack`].
    history: Option<Box<History>>,
    recovery: Recovery,
    /// See [`Config::push_batches`].
    batch: Option<Batch>,
    tail: Tail,
}

/// The other end's advertised window.
#[derive(Clone, Copy, Debug, Default)]
struct PeerWindow {
    /// As last advertised, in bytes.
    size: u64,
    /// First position beyond it.
    edge: u64,
    /// Largest size seen.
    max: u64,
    /// Sequence and acknowledgment number of the segment that advertised it (SND.WL1, SND.WL2).
    from: (u64, u64),
}

/// A piece of the stream to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) seq: u64,
    pub(super) len: u32,
    pub(super) fin: bool,
    pub(super) psh: bool,
}

/// Effects of an acknowledgment on the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// All that the application wrote is newly acknowledged.
    pub(super) drained: bool,
    /// The FIN is acknowledged.
    pub(super) fin_acked: bool,
    /// Fast recovery began.
    pub(super) entered_fast: bool,
}

impl Sender {
    pub(super) fn new(config: &Config) -> Self {
        let mss = u32::from(config.mss);
        Self {
            una: FIRST,
            nxt: FIRST,
            limit: FIRST,
            closing: false,
            mss,
            send_buffer: config.send_buffer.0,
            idle_restart: config.idle_restart,
            stamped: false,
            peer: PeerWindow::default(),
            window: Window::new(config, mss),
            board: Scoreboard::default(),
            recovery: Recovery::new(config, false),
            rtt: RttEstimator::new(config.rto),
            timer: None,
            cwnd_limited: false,
            timed: None,
            quirks: config.quirks,
            history: config.quirks.sample_every_ack.then(Box::default),
            last_sent: Instant::ZERO,
            retries: 0,
            probes: 0,
            probe_due: false,
            tail: Tail::default(),
            batch: config.push_batches.then(Batch::default),
        }
    }

    /// Ends the handshake; `syn_retries` is the number of retransmissions of the SYN.
    pub(super) fn on_established(&mut self, config: &Config, agreed: &Agreed, syn_retries: u32) {
        let (mss, sack) = (agreed.payload(), agreed.sack);
        self.mss = mss;
        self.stamped = agreed.timestamps;
        self.window = Window::new(config, mss);
        self.recovery = Recovery::new(config, sack);
        self.board.clear_marks(FIRST);
        self.rtt.on_established(syn_retries > 0);
        if syn_retries > 1 {
            // RFC 5681 asks for it after one retransmission; with an initial timeout of 1 s, RFC 6928 (section 2) and Linux
            // wait for the second, since after the first the path may merely be long.
            self.window.start_with_one_segment();
        }
    }

    /// Prefetches what the state prefetched by `prefetch` points to.
    #[inline]
    pub(super) fn prefetch_more(&self) {
        self.board.prefetch_more();
        self.history.iter().for_each(|history| prefetch(&raw const **history));
    }

    /// Prefetches what a segment needs: one with data, or one that acknowledges data.
    #[inline]
    pub(super) fn prefetch(&self, is_data: bool) {
        prefetch(self);
        prefetch(&raw const self.timer);
        if !is_data {
            self.rtt.prefetch();
            prefetch(&raw const self.last_sent);
            self.board.prefetch();
            self.window.prefetch();
            self.recovery.prefetch();
        }
    }

    /// The application wrote `bytes` more.
    pub(super) fn write(&mut self, bytes: u64) {
        self.limit = self.limit.saturating_add(bytes).min(ENDLESS);
    }

    /// The application never runs out of data.
    pub(super) fn write_endlessly(&mut self) {
        self.limit = ENDLESS;
    }

    /// The application writes no more. Data of an endless one that is not sent yet is dropped.
    pub(super) fn close(&mut self) {
        if self.limit == ENDLESS {
            self.limit = self.nxt;
        }
        self.closing = true;
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    pub(super) fn una(&self) -> u64 {
        self.una
    }

    pub(super) fn nxt(&self) -> u64 {
        self.nxt
    }

    pub(super) fn mss(&self) -> u32 {
        self.mss
    }

    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    /// Bytes estimated to be in flight.
    pub(super) fn pipe(&self) -> u64 {
        self.board.pipe(self.una, self.nxt)
    }

    pub(super) fn timer(&self) -> Option<(Instant, Timer)> {
        self.timer
    }

    fn flight(&self) -> Flight {
        Flight { una: self.una, nxt: self.nxt, mss: self.mss }
    }

    /// Handles the acknowledgment in `segment` and its window of `size` bytes; `stamp_rtt` is the sample that its
    /// timestamps would give.
    pub(super) fn handle_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        size: u64,
        stamp_rtt: Option<Span>,
    ) -> Progress {
        if segment.ack < self.una || segment.ack > self.nxt {
            return Progress::default(); // old, or for what was never sent (RFC 9293, section 3.10.7.4)
        }
        let outstanding = self.nxt > self.una;
        let same_window = self.peer.size == size;
        self.peer.update(segment, size);
        if segment.ack == self.nxt && !outstanding && segment.sack.is_empty() {
            // An end that only receives gets this with every segment and has nothing else to do.
            debug_assert!(self.recovery.is_open(), "nothing is outstanding, and so nothing is repaired");
            let fin_acked = self.closing && self.una > self.limit;
            return Progress { fin_acked, ..Progress::default() };
        }
        let sacked = self.record_sack(segment);
        let acked = segment.ack - self.una;
        let (mut known, mut rtt) = (0, None);
        if acked > 0 {
            self.una = segment.ack;
            if self.recovery.is_rack() {
                self.tail.on_acked(self.una);
            }
            known = self.board.advance(self.una);
            rtt = self.sample(now, stamp_rtt);
            (self.retries, self.probes) = (0, 0);
        } else if sacked > 0 {
            self.sample_sack(now);
        }
        let duplicate = if self.recovery.uses_sack() {
            sacked > 0
        } else {
            acked == 0 && outstanding && segment.seq_len() == 0 && same_window
        };

        let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min());
        let (una, nxt, limited) = (self.una, self.nxt, self.cwnd_limited);
        let delivered = acked - known + sacked;
        let ack = AckInfo { now, acked, delivered, una, nxt, rtt, srtt, min_rtt, limited, duplicate };
        let flight = self.flight();
        let outcome = self.recovery.on_ack(&ack, flight, &mut self.board, &mut self.window);
        if self.recovery.is_rack() && self.tail.take_answer(una, !self.recovery.is_open(), now, stamp_rtt) {
            self.recovery.on_tail_repaired(&mut self.window);
        }
        if self.quirks.forgets_back_off && acked > 0 && outcome.restart_timer {
            self.rtt.forget_back_off();
        }
        if una == nxt {
            if acked > 0 {
                self.timer = None; // RFC 6298, rule 5.2
            }
        } else if outcome.restart_timer {
            self.timer = Some(self.loss_timer(now, now + self.rtt.rto())); // rule 5.3
        }
        self.arm_reordering(now);
        Progress {
            drained: acked > 0 && una >= self.limit && una - acked < self.limit,
            fin_acked: self.closing && una > self.limit,
            entered_fast: outcome.entered_fast,
        }
    }

    /// Records the SACK blocks of a segment; returns how many bytes are SACKed for the first time.
    fn record_sack(&mut self, segment: &Segment) -> u64 {
        if segment.sack.is_empty() || !self.recovery.uses_sack() {
            return 0;
        }
        let valid = segment.sack.iter(segment.ack).filter(|block| block.end <= self.nxt);
        valid.map(|block| self.board.record(block)).sum()
    }

    /// The round-trip sample of a new acknowledgment (RFC 7323, section 4.1, or RFC 6298, section 3, with Karn's rule).
    fn sample(&mut self, now: Instant, stamp_rtt: Option<Span>) -> Option<Span> {
        let by_history = self.history.as_mut().and_then(|history| history.on_acked(self.una, now));
        let rtt = match self.timed {
            _ if self.stamped => stamp_rtt?,
            _ if self.history.is_some() => by_history?,
            Some((end, sent)) if self.una >= end => {
                self.timed = None;
                now - sent
            }
            _ => return None,
        };
        self.rtt.on_sample(rtt, self.una, self.nxt);
        Some(rtt)
    }

    /// The sample of a SACK block for data sent last and only once, if the times of sending are known: in a long recovery
    /// there is no other (Linux).
    fn sample_sack(&mut self, now: Instant) {
        let high = self.board.high_sacked().filter(|&high| high > self.board.high_rxt());
        let Some(at) = high.and_then(|high| self.tail.sent_at(high)) else { return };
        self.rtt.on_sample(now.saturating_since(at), self.una, self.nxt);
        // Segments sent before the first hole was retransmitted show nothing about that retransmission, which may still arrive.
        let again = self.board.sent_again_at(self.una);
        if again.is_some_and(|again| at < again) && self.timer.is_some_and(|(_, timer)| timer == Timer::Retransmit) {
            self.timer = Some((now + self.rtt.rto(), Timer::Retransmit));
        }
    }

    /// Handles an expired retransmission or probe timer. Returns the number of consecutive expiries, if it expired.
    pub(super) fn handle_timeout(&mut self, now: Instant, stats: &mut Stats) -> Option<u32> {
        let (_, timer) = self.timer.filter(|&(at, _)| at <= now)?;
        self.timer = None;
        let flight = self.flight();
        match timer {
            Timer::Probe => {
                self.probes += 1;
                self.probe_due = true;
                return None;
            }
            Timer::Tail => {
                self.tail.ask();
                return None;
            }
            Timer::Reordering => {
                let begins = self.recovery.on_reordering_timeout(now, flight, &mut self.board, &mut self.window);
                stats.fast_recoveries += u64::from(begins);
                self.timer = Some((now + self.rtt.rto(), Timer::Retransmit));
                return None;
            }
            _ => {}
        }
        self.retries += 1;
        self.timed = None;
        self.history.iter_mut().for_each(|history| history.clear());
        self.tail.forget();
        let before = ago(now, self.rtt.newest());
        let timeout = Timeout { now, before, end: self.tail.end_sent_by(before).unwrap_or(self.una) };
        self.recovery.on_timeout(timeout, flight, &mut self.board, &mut self.window);
        self.rtt.on_timeout();
        Some(self.retries)
    }

    /// The next piece to send, with at most `room` bytes of payload.
    pub(super) fn next_chunk(&mut self, now: Instant, room: u32, stats: &mut Stats) -> Option<Chunk> {
        if self.una == self.nxt && self.nxt >= self.limit && !self.closing {
            // An end that only receives is polled after every segment.
            self.cwnd_limited = false;
            return None;
        }
        let flight = self.flight();
        if let Some(probe) = self.tail_probe(now, room) {
            return Some(self.emit(now, probe, room, stats));
        }
        match self.recovery.choose(flight, &self.board, &self.window) {
            Choice::Again(range) => return Some(self.emit(now, Piece { range, kind: Sent::Again }, room, stats)),
            Choice::Wait => {
                self.cwnd_limited = true;
                return None;
            }
            Choice::NewData => {}
        }
        if let Some(range) = self.new_data(now, room) {
            return Some(self.emit(now, Piece { range, kind: Sent::New }, room, stats));
        }
        let exhausted = self.nxt >= self.limit;
        let piece = self.recovery.choose_instead(flight, &self.board, &self.window, exhausted)?;
        Some(self.emit(now, piece, room, stats))
    }

    /// New data that may be sent now. Records what prevents sending if there is none.
    fn new_data(&mut self, now: Instant, room: u32) -> Option<Range<u64>> {
        self.cwnd_limited = false;
        let waiting = self.limit.saturating_sub(self.nxt);
        let fin = self.closing && self.nxt <= self.limit;
        if waiting == 0 && !fin {
            return None;
        }
        let full = u64::from(room.min(self.mss)).min(waiting);
        let offered = self.peer.edge.saturating_sub(self.nxt);
        let probing = std::mem::take(&mut self.probe_due);
        let mut len = full;
        if full > offered {
            // A partial segment only if it is half of the largest window, or if no timer would ever allow more (RFC 1122,
            // section 4.2.3.4).
            let worthwhile = offered > 0 && (probing || offered >= self.peer.max / 2);
            if !worthwhile {
                self.probe_due = probing;
                self.arm_probe(now);
                return None;
            }
            len = offered;
        }
        if self.nxt + len > self.una + self.send_buffer {
            return None;
        }
        if self.idle_restart && self.una == self.nxt && now.saturating_since(self.last_sent) > self.rtt.rto() {
            self.window.on_idle();
        }
        if !self.fits_cwnd(len) {
            self.cwnd_limited = true;
            return None;
        }
        Some(self.nxt..self.nxt + len + u64::from(fin && len == waiting))
    }

    /// The timer while data is outstanding: the retransmission timer at `rto_at`, or before that a tail probe if there is
    /// no sign of loss (RFC 8985, section 7.2).
    fn loss_timer(&self, now: Instant, rto_at: Instant) -> (Instant, Timer) {
        let quiet = self.recovery.is_rack() && self.recovery.is_open() && self.board.sacked() == 0;
        match self.rtt.srtt().filter(|_| quiet && !self.tail.is_probed()) {
            Some(srtt) => {
                // The receiver of a single segment may delay its acknowledgment.
                let is_single = self.nxt - self.una <= u64::from(self.mss);
                let patience = srtt * 2 + if is_single { ACK_DELAY } else { Span::ZERO };
                ((now + patience).min(rto_at), Timer::Tail)
            }
            None => (rto_at, Timer::Retransmit),
        }
    }

    /// Arms the reordering timer: holes below few SACKed segments may still be filled (RFC 8985, section 6.2, step 4).
    fn arm_reordering(&mut self, now: Instant) {
        let is_waiting = self.recovery.is_rack() && self.recovery.is_open() && self.board.sacked() > 0;
        if is_waiting && self.timer.is_none_or(|(_, timer)| timer != Timer::Reordering) {
            let moment = self.rtt.min().unwrap_or(Span::ZERO) / 4;
            self.timer = Some((now + moment, Timer::Reordering));
        }
    }

    /// A tail probe, if one is due: new data, or the last segment again (RFC 8985, section 7.3). The congestion window does
    /// not apply.
    fn tail_probe(&mut self, now: Instant, room: u32) -> Option<Piece> {
        if !self.recovery.is_rack() || !self.tail.take_due() || self.una == self.nxt {
            return None;
        }
        let len = u64::from(room.min(self.mss));
        let new = len.min(self.limit.saturating_sub(self.nxt));
        let probe = if new > 0 && self.nxt + new <= self.edge() {
            Piece { range: self.nxt..self.nxt + new, kind: Sent::New }
        } else {
            Piece { range: self.una.max(self.nxt - len.min(self.nxt))..self.nxt, kind: Sent::Rescue }
        };
        self.tail.on_probed(self.nxt.max(probe.range.end), probe.kind == Sent::Rescue, now);
        Some(probe)
    }

    /// Arms the timer that probes a closed window (RFC 9293, section 3.8.6.1).
    fn arm_probe(&mut self, now: Instant) {
        if self.una == self.nxt && self.timer.is_none() {
            let wait = self.rtt.rto_after(self.probes);
            self.timer = Some((now + wait, Timer::Probe));
        }
    }

    /// Whether a probe without data is to be sent, which the other end answers with its window.
    pub(super) fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_due)
    }

    /// Sends the beginning of `piece`.
    fn emit(&mut self, now: Instant, piece: Piece, room: u32, stats: &mut Stats) -> Chunk {
        let Piece { range, kind } = piece;
        let seq = range.start;
        let payload = range.end.min(self.limit) - seq.min(self.limit);
        let len = payload.min(u64::from(room.min(self.mss)));
        let fin = self.closing && seq + len == self.limit && range.end > self.limit;
        let end = seq + len + u64::from(fin);
        if kind == Sent::New {
            self.nxt = end;
            if self.recovery.is_rack() {
                self.tail.on_sent(end, now);
            }
            self.history.iter_mut().for_each(|history| history.on_sent(end, now));
            if !self.stamped && self.timed.is_none() {
                self.timed = Some((end, now));
            }
        } else {
            stats.retransmissions += 1;
            self.timed = None; // Karn: the next acknowledgment may be for this segment
            self.history.iter_mut().for_each(|history| history.on_sent_again(seq..end));
        }
        self.recovery.on_sent(now, Piece { range: seq..end, kind }, self.nxt, &mut self.board);
        self.last_sent = now;
        // RFC 9293, section 3.9.1.2: at the end of what was written; PSH has no meaning without data.
        let psh = len > 0 && (seq + len == self.limit || (kind == Sent::New && self.ends_batch(now, room)));
        // Linux: the timer restarts whenever the first segment outstanding is retransmitted.
        let is_head_again = kind == Sent::Again && seq == self.una && self.recovery.is_rack();
        if is_head_again || self.timer.is_none_or(|(_, timer)| timer != Timer::Retransmit) {
            // RFC 6298, rule 5.1; a tail probe comes no later than the timeout of the first segment outstanding.
            let rto = self.rtt.rto();
            let head = if self.recovery.is_rack() { self.tail.head_sent_at() } else { None };
            let head = head.filter(|&at| kind == Sent::New && at + rto > now);
            let from = head.filter(|_| !self.tail.is_probed()).unwrap_or(now);
            self.timer = Some(self.loss_timer(now, from + rto));
        }
        Chunk { seq, len: len as u32, fin, psh }
    }

    /// Whether this new data is the last of several segments that leave together.
    fn ends_batch(&mut self, now: Instant, room: u32) -> bool {
        if self.batch.is_none() {
            return false;
        }
        let more = self.has_room_for(u64::from(room.min(self.mss)).min(self.limit - self.nxt));
        let largest = batch::largest(&self.window, &self.rtt, u64::from(self.mss));
        self.batch.as_mut().is_some_and(|batch| batch.ends(now, more, largest))
    }

    /// Whether all windows have room for `len` more bytes, if any.
    fn has_room_for(&self, len: u64) -> bool {
        len > 0 && self.nxt + len <= self.edge() && self.fits_cwnd(len)
    }

    /// The first position that the advertised window or the send buffer does not allow.
    fn edge(&self) -> u64 {
        self.peer.edge.min(self.una + self.send_buffer)
    }

    /// Whether the congestion window has room for `len` more bytes.
    fn fits_cwnd(&self, len: u64) -> bool {
        self.pipe() + len <= self.window.cwnd() + self.recovery.allowance(self.mss)
    }
}

impl PeerWindow {
    /// Takes the window of a segment unless it is older than the one that gave the present window (RFC 9293, section
    /// 3.10.7.4).
    fn update(&mut self, segment: &Segment, size: u64) {
        if (segment.seq, segment.ack) >= self.from {
            *self = Self { size, edge: segment.ack + size, max: self.max.max(size), from: (segment.seq, segment.ack) };
        }
    }
}
