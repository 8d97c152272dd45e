//! Loss recovery: detection, retransmissions, and the window during recovery.
//!
//! There are three phases. *Open*: no known loss. *Fast*: duplicate acknowledgments have indicated a loss, which is being
//! repaired (RFC 5681, section 3.2; RFC 6582; RFC 6675). *Loss*: the timer expired, and everything not SACKed is
//! retransmitted from the lowest byte in slow start (RFC 5681, section 3.1; RFC 6675, section 5.1). Fast and Loss end when
//! all data that was outstanding at their beginning (`recover`) is acknowledged.
//!
//! With RACK-TLP, as in Linux, loss and retransmission are properties of a segment (see `scoreboard`): a recovery that ends
//! with lost segments above `recover` is followed at once by another one, which retransmits nothing that is in flight. If
//! retransmissions got lost, it begins in Loss.

use std::ops::Range;

use evenair_units::hint::prefetch;
use evenair_units::{Instant, Span};

use super::config::{Config, LossRecovery};
use super::congestion::{AckInfo, Window};
use super::prr::Prr;
use super::scoreboard::{DUP_THRESH, Scoreboard};

/// The sequence space outstanding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Lowest position not acknowledged.
    pub(super) una: u64,
    /// Next position to be sent for the first time.
    pub(super) nxt: u64,
    /// Payload of a full segment.
    pub(super) mss: u32,
}

impl Flight {
    /// FlightSize (RFC 5681, section 2).
    pub(super) fn size(&self) -> u64 {
        self.nxt - self.una
    }
}

/// The information of an acknowledgment for fast recovery.
#[derive(Clone, Copy, Debug)]
struct AckSummary {
    /// Bytes newly reported as received.
    delivered: u64,
    /// Bytes newly acknowledged.
    acked: u64,
    /// A retransmission after this instant cannot have been acknowledged yet.
    late: Instant,
}

/// Age of the segments outstanding when the timer expires (RFC 8985, section 6.3): a segment that has been in flight for
/// less than the latest round-trip time may still arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeout {
    pub(super) now: Instant,
    /// Segments sent at this time or before are overdue.
    pub(super) before: Instant,
    /// Positions below were sent for the first time at `before` or earlier.
    pub(super) end: u64,
}

/// Effects of an acknowledgment on the timer and the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The retransmission timer starts anew.
    pub(super) restart_timer: bool,
    /// Fast recovery began.
    pub(super) entered_fast: bool,
}

/// What to send next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Retransmit the beginning of this hole.
    Again(Range<u64>),
    /// A hole is to be retransmitted, but the window is full.
    Wait,
    /// No hole: new data, if there is any.
    NewData,
}

/// A piece of the stream to be sent, and why.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) range: Range<u64>,
    pub(super) kind: Sent,
}

/// Why a segment was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// First transmission.
    New,
    /// Retransmission of a hole, from the lowest up.
    Again,
    /// Retransmission of the end of the flight: counts neither in the pipe nor in HighRxt (NextSeg, rule 4).
    Rescue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Fast,
    Loss,
}

/// State of loss recovery.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Recovery {
    /// Positions below were outstanding when the last recovery began (`recover`, `RecoveryPoint`).
    recover: u64,
    kind: LossRecovery,
    limited_transmit: bool,
    phase: Phase,
    /// The first hole is retransmitted regardless of the window.
    forced: bool,
    duplicates: u32,
    /// A partial acknowledgment restarted the timer (NewReno, or the impatient variant with SACK).
    partial_seen: bool,
    /// See [`Quirks::impatient_recovery`](super::config::Quirks::impatient_recovery).
    impatient: bool,
    /// The rescue retransmission of this recovery has been used (RFC 6675, section 4, NextSeg, rule 4).
    rescued: bool,
    /// FlightSize before limited transmit increased it.
    flight_before_duplicates: u64,
    prr: Option<Prr>,
    /// The lowest outstanding position at the last timeout.
    timed_out_at: Option<u64>,
    /// Window, threshold and time before a timeout that may prove spurious.
    doubtful: Option<(u64, u64, Instant)>,
}

impl Recovery {
    /// `sack`: both ends support it. Without it, the SACK kinds fall back to NewReno.
    pub(super) fn new(config: &Config, sack: bool) -> Self {
        let kind = match config.recovery {
            LossRecovery::Sack | LossRecovery::SackPrr | LossRecovery::Rack if !sack => LossRecovery::NewReno,
            kind => kind,
        };
        Self {
            kind,
            limited_transmit: config.limited_transmit,
            phase: Phase::Open,
            recover: 0,
            duplicates: 0,
            flight_before_duplicates: 0,
            forced: false,
            partial_seen: false,
            impatient: config.quirks.impatient_recovery,
            rescued: false,
            prr: None,
            timed_out_at: None,
            doubtful: None,
        }
    }

    /// Prefetches what every acknowledgment needs.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(self);
        prefetch(&raw const self.prr);
    }

    /// Whether SACK blocks are used.
    pub(super) fn uses_sack(&self) -> bool {
        matches!(self.kind, LossRecovery::Sack | LossRecovery::SackPrr | LossRecovery::Rack)
    }

    /// Whether RACK-TLP is in use (RFC 8985).
    pub(super) fn is_rack(&self) -> bool {
        self.kind == LossRecovery::Rack
    }

    /// Whether no loss is being repaired.
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// The reordering window has passed (RFC 8985, section 6.3): the holes below SACKed data are lost. Returns whether fast
    /// recovery began.
    pub(super) fn on_reordering_timeout(
        &mut self,
        now: Instant,
        flight: Flight,
        board: &mut Scoreboard,
        window: &mut Window,
    ) -> bool {
        let begins = self.is_open() && board.sacked() > 0;
        if begins {
            // Linux: as if an ACK had acknowledged one segment.
            let summary = AckSummary { delivered: u64::from(flight.mss), acked: 0, late: now };
            self.enter_fast(summary, flight, board, window);
        }
        begins
    }

    /// Handles a loss that a tail probe repaired (RFC 8985, section 7.4.2): the window is reduced as for any other loss.
    pub(super) fn on_tail_repaired(&mut self, window: &mut Window) {
        window.on_congestion(window.cwnd());
        window.set(window.ssthresh());
    }

    /// Handles an acknowledgment that `board` and `flight` already include.
    pub(super) fn on_ack(
        &mut self,
        ack: &AckInfo,
        flight: Flight,
        board: &mut Scoreboard,
        window: &mut Window,
    ) -> Outcome {
        let mut outcome = Outcome { restart_timer: ack.acked > 0, entered_fast: false };
        let late = ago(ack.now, ack.min_rtt);
        let summary = AckSummary { delivered: ack.delivered, acked: ack.acked, late };
        let mut begins = false;
        match self.phase {
            Phase::Open => {
                if ack.acked > 0 {
                    self.duplicates = 0;
                    window.on_ack(ack);
                }
                begins = ack.duplicate && !self.is_rack() && self.is_loss(flight, board);
            }
            Phase::Fast if flight.una >= self.recover || (ack.acked > 0 && self.kind == LossRecovery::Reno) => {
                self.leave_fast(flight, board, window);
            }
            Phase::Fast if self.uses_sack() => {
                if self.impatient && ack.acked > 0 {
                    outcome.restart_timer = !std::mem::replace(&mut self.partial_seen, true);
                }
                self.continue_with_sack(summary, flight, board, window);
            }
            Phase::Fast if ack.acked > 0 => outcome.restart_timer = self.partial_ack(ack.acked, flight, window),
            Phase::Fast if ack.duplicate => window.set(window.cwnd() + u64::from(flight.mss)),
            Phase::Fast => {}
            Phase::Loss => {
                if self.take_back_timeout(ack, flight, board, window) {
                    return outcome;
                }
                begins = self.is_rack() && board.mark_lost_by_order(flight.una, flight.nxt, summary.late);
                if ack.acked > 0 {
                    window.on_ack(&AckInfo { limited: true, ..*ack });
                }
                if flight.una >= self.recover {
                    self.phase = Phase::Open;
                    self.forget_marks(flight, board);
                }
            }
        }
        if begins || (self.is_rack() && self.is_open() && shows_loss(flight, board)) {
            self.enter_fast(summary, flight, board, window);
            outcome = Outcome { restart_timer: true, entered_fast: true };
        }
        outcome
    }

    /// Clears the scoreboard's marks at the beginning or end of a recovery; with RACK they belong to the segments and stay.
    fn forget_marks(&self, flight: Flight, board: &mut Scoreboard) {
        if !self.is_rack() {
            board.clear_marks(flight.una);
        }
    }

    /// Counts a duplicate; returns whether it indicates a loss.
    fn is_loss(&mut self, flight: Flight, board: &Scoreboard) -> bool {
        self.duplicates += 1;
        if self.duplicates == 1 {
            self.flight_before_duplicates = flight.size();
        }
        if self.uses_sack() {
            // RFC 6675, section 5, steps 1 and 2.
            self.duplicates >= DUP_THRESH || board.is_lost(flight.una, flight.mss)
        } else {
            // RFC 6582, section 3.2, step 2: ignore duplicates caused by go-back-N retransmissions.
            self.duplicates == DUP_THRESH && flight.una > self.recover
        }
    }

    /// RFC 5681, section 3.2, steps 2 and 3; RFC 6675, section 5, step 4; RFC 6937, section 3.
    fn enter_fast(&mut self, summary: AckSummary, flight: Flight, board: &mut Scoreboard, window: &mut Window) {
        let outstanding = self.in_network(flight, board, window);
        // Segments sent by limited transmit do not count.
        let before = if self.is_rack() { u64::MAX } else { self.flight_before_duplicates };
        window.on_congestion(outstanding.min(before));
        self.phase = Phase::Fast;
        self.recover = flight.nxt;
        // With RACK the first hole may be in flight again; if it is not, PRR does not hold it back.
        self.forced = !self.is_rack();
        self.partial_seen = false;
        self.rescued = false;
        self.forget_marks(flight, board);
        match self.kind {
            LossRecovery::Reno | LossRecovery::NewReno => {
                window.set(window.ssthresh() + u64::from(DUP_THRESH * flight.mss));
            }
            LossRecovery::Sack => {
                window.set(window.ssthresh());
                board.mark_lost(flight.mss);
            }
            LossRecovery::SackPrr | LossRecovery::Rack => {
                self.prr = Some(Prr::new(outstanding));
                self.continue_with_sack(summary, flight, board, window);
            }
        }
    }

    fn continue_with_sack(&mut self, summary: AckSummary, flight: Flight, board: &mut Scoreboard, window: &mut Window) {
        let before = board.pipe(flight.una, flight.nxt);
        let is_rack = self.is_rack();
        if is_rack {
            board.mark_lost_by_order(flight.una, flight.nxt, summary.late);
        } else {
            board.mark_lost(flight.mss);
        }
        if let Some(prr) = &mut self.prr {
            let pipe = board.pipe(flight.una, flight.nxt);
            // RFC 9937: the window grows by more than the delivered data only if the ACK is cumulative and shows no new loss.
            let is_safe = !is_rack || (summary.acked > 0 && pipe == before);
            let mss = u64::from(flight.mss);
            let extra = if is_safe { mss } else { 0 };
            let send = prr.on_ack(summary.delivered, pipe, window.ssthresh(), extra);
            // RFC 9937 and Linux: the first segment is sent regardless of the window.
            let forced = if is_rack && prr.is_first() { mss } else { 0 };
            window.set(pipe + send.max(forced));
        }
    }

    /// Handles a partial acknowledgment (RFC 6582, section 3.2, step 3); returns whether the timer restarts (the
    /// "impatient" variant: at the first one only).
    fn partial_ack(&mut self, acked: u64, flight: Flight, window: &mut Window) -> bool {
        let mss = u64::from(flight.mss);
        let deflated = window.cwnd().saturating_sub(acked);
        window.set(deflated + if acked >= mss { mss } else { 0 });
        self.forced = true;
        !std::mem::replace(&mut self.partial_seen, true)
    }

    /// Ends fast recovery: everything is repaired (or, with Reno, the first hole is).
    fn leave_fast(&mut self, flight: Flight, board: &mut Scoreboard, window: &mut Window) {
        // RFC 6582, section 3.2, step 3, option 2, as in common stacks: with option 1, a sender that is limited by the
        // other end's window would slow-start again.
        window.set(window.ssthresh());
        self.phase = Phase::Open;
        self.duplicates = 0;
        self.forced = false;
        self.prr = None;
        self.forget_marks(flight, board);
    }

    /// Handles the first progress after a timeout: if the timestamps show that it acknowledges the original transmission,
    /// the timeout was spurious, and the window is restored (the Eifel algorithm, RFC 3522 and 4015, as in Linux: state of
    /// CUBIC and HyStart stays reset).
    fn take_back_timeout(
        &mut self,
        ack: &AckInfo,
        flight: Flight,
        board: &mut Scoreboard,
        window: &mut Window,
    ) -> bool {
        if ack.acked == 0 {
            return false;
        }
        let Some((cwnd, ssthresh, at)) = self.doubtful.take() else { return false };
        let is_spurious = ack.rtt.is_some_and(|rtt| rtt > ack.now.saturating_since(at));
        if is_spurious {
            window.restore(cwnd, ssthresh);
            self.phase = Phase::Open;
            board.unmark_lost(flight.una);
        }
        is_spurious
    }

    /// Handles an expired retransmission timer.
    pub(super) fn on_timeout(&mut self, timeout: Timeout, flight: Flight, board: &mut Scoreboard, window: &mut Window) {
        if self.is_rack() {
            // A second timeout for the same data cannot be spurious.
            let is_first = self.timed_out_at != Some(flight.una);
            self.doubtful = is_first.then(|| (window.cwnd(), window.ssthresh(), timeout.now));
        }
        let outstanding = self.in_network(flight, board, window);
        // Linux: the window was already reduced for the loss that fast recovery is repairing.
        let is_paid = self.is_rack() && self.phase == Phase::Fast;
        window.on_timeout(outstanding, !is_paid && self.timed_out_at != Some(flight.una));
        self.timed_out_at = Some(flight.una);
        self.phase = Phase::Loss;
        self.recover = flight.nxt; // RFC 6582, section 3.2, step 4
        self.duplicates = 0;
        self.forced = false;
        self.prr = None;
        if self.is_rack() {
            let head_end = (flight.una + u64::from(flight.mss)).min(flight.nxt);
            board.mark_lost_by_age(flight.una, head_end, timeout.end, timeout.before);
            window.set(board.pipe(flight.una, flight.nxt) + u64::from(flight.mss));
        } else {
            board.mark_all_lost(flight.una, flight.nxt);
        }
    }

    /// Base of the threshold and of PRR's proportion: FlightSize less the data known to have left the network. Right after
    /// a recovery, FlightSize can be two windows, most of it SACKed; half of it would be no reduction.
    fn in_network(&self, flight: Flight, board: &Scoreboard, window: &Window) -> u64 {
        match self.phase {
            _ if self.is_rack() => window.cwnd(),
            Phase::Open => flight.size().min(window.cwnd()),
            Phase::Fast => board.pipe(flight.una, flight.nxt).min(window.ssthresh()),
            Phase::Loss => board.pipe(flight.una, flight.nxt),
        }
    }

    /// How far new data may exceed the window (RFC 3042); with SACK, the pipe shrinks instead.
    pub(super) fn allowance(&self, mss: u32) -> u64 {
        let limited = self.limited_transmit && self.phase == Phase::Open && !self.uses_sack();
        if limited { u64::from(self.duplicates.min(2)) * u64::from(mss) } else { 0 }
    }

    /// Chooses what to send first.
    pub(super) fn choose(&self, flight: Flight, board: &Scoreboard, window: &Window) -> Choice {
        let hole = match self.phase {
            _ if self.forced => return board.hole_at(flight.una, flight.nxt).map_or(Choice::NewData, Choice::Again),
            Phase::Open => return Choice::NewData,
            Phase::Fast | Phase::Loss => board.next_lost(), // NextSeg, rule 1
        };
        match hole {
            None => Choice::NewData,
            Some(hole) if fits(&hole, flight, board, window) => Choice::Again(hole),
            Some(_) => Choice::Wait,
        }
    }

    /// Chooses what to send if new data cannot be sent: holes that are not lost yet (NextSeg, rule 3), or the end of the
    /// flight (rule 4). The latter only if the stream is `exhausted`: by the RFC's wording, a sender whose peer's window is
    /// full would repeat a segment in vain in each recovery.
    pub(super) fn choose_instead(
        &mut self,
        flight: Flight,
        board: &Scoreboard,
        window: &Window,
        exhausted: bool,
    ) -> Option<Piece> {
        if self.phase != Phase::Fast || !self.uses_sack() || self.is_rack() {
            return None;
        }
        if let Some(hole) = board.next_hole() {
            return fits(&hole, flight, board, window).then_some(Piece { range: hole, kind: Sent::Again });
        }
        // The end of the flight may be lost without later data to show it.
        let silent = board.high_sacked().unwrap_or(flight.una).max(board.high_rxt())..flight.nxt;
        let rescue = silent.end.saturating_sub(u64::from(flight.mss)).max(silent.start)..silent.end;
        if !exhausted || self.rescued || rescue.is_empty() || !fits(&rescue, flight, board, window) {
            return None;
        }
        self.rescued = true;
        Some(Piece { range: rescue, kind: Sent::Rescue })
    }

    /// Records that a piece of the stream was sent, with the stream sent up to `nxt`.
    pub(super) fn on_sent(&mut self, now: Instant, piece: Piece, nxt: u64, board: &mut Scoreboard) {
        let Piece { range, kind } = piece;
        let (end, len) = (range.end, range.end - range.start);
        if kind == Sent::Again {
            self.forced = false;
            if self.is_rack() {
                board.watch(now, range, nxt);
            }
            // Without SACK, fast recovery counts by inflating the window, not by the pipe.
            if self.phase == Phase::Loss || self.uses_sack() {
                board.on_retransmitted(end);
            }
        }
        if let Some(prr) = &mut self.prr {
            prr.on_sent(len);
        }
    }
}

/// The instant `span` before `now`, not before the start of time.
pub(super) fn ago(now: Instant, span: Option<Span>) -> Instant {
    Instant::ZERO + now.saturating_since(Instant::ZERO + span.unwrap_or(Span::ZERO))
}

/// With RACK: whether something is lost, or so much is SACKed that the reordering window no longer applies (RFC 8985,
/// section 6.2, step 4).
fn shows_loss(flight: Flight, board: &Scoreboard) -> bool {
    board.has_lost(flight.una) || board.sacked() >= u64::from(DUP_THRESH) * u64::from(flight.mss)
}

/// Whether the window has room for a segment of the hole (RFC 6675, section 5, step C).
fn fits(hole: &Range<u64>, flight: Flight, board: &Scoreboard, window: &Window) -> bool {
    let len = (hole.end - hole.start).min(u64::from(flight.mss));
    board.pipe(flight.una, flight.nxt) + len <= window.cwnd()
}
