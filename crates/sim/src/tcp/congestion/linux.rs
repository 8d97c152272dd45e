//! CUBIC as in Linux, where that differs from RFC 9438, and its exit from slow start.
//!
//! The curve, its constants and fast convergence are the RFC's. The differences, from the behaviour of Linux 6.x:
//!
//! - The target is the point of the curve one *smallest* round-trip time from now. The RFC's smoothed time contains the
//!   queueing delay; with seconds of it a window would run ahead of the curve by as much.
//! - At loss the window itself is multiplied by 0.7, not the data outstanding.
//! - Before the first loss, and after a timeout, which resets all state, a window grows by at least a twentieth per round
//!   trip.
//! - The estimate of Reno's window always grows at the rate of the RFC's section 4.3.
//!
//! HyStart (Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55, 2011) ends slow start for good at a window of 16
//! segments or more if, within a round trip, either a train of closely spaced ACKs lasts for half of the smallest round-trip time, or the
//! smallest of the first eight samples exceeds the smallest ever by an eighth (at least 4 ms, at most 16 ms). A timeout starts it anew.

use evenair_units::{Instant, Span};

use super::AckInfo;
use super::cubic::{ALPHA, BETA, C};

/// Minimum and maximum growth of a window per acknowledged segment, in segments: a twentieth before the first loss, and a
/// half.
const LEAST_BEFORE_LOSS: f64 = 0.05;
const MOST: f64 = 0.5;

/// Smallest window at which HyStart acts, in segments.
const LOW_WINDOW: u64 = 16;
/// Maximum gap between the ACKs of one train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// Number of samples of a round that are evaluated.
const SAMPLES: u32 = 8;
const LEAST_RISE: Span = Span::from_millis(4);
const MOST_RISE: Span = Span::from_millis(16);

/// State of CUBIC and of HyStart.
#[derive(Clone, Debug)]
pub(super) struct LinuxCubic {
    /// Window of the plateau of the curve, in segments; 0 before a loss.
    w_max: f64,
    epoch: Option<Epoch>,
    /// Time of the last ACK, in or outside of an epoch.
    last_ack: Instant,
    /// `None` if HyStart is off or has ended slow start.
    round: Option<Round>,
    hystart: bool,
}

/// One stage of congestion avoidance, in segments and seconds.
#[derive(Clone, Debug)]
struct Epoch {
    start: Instant,
    /// Window of the plateau of the curve.
    origin: f64,
    /// Time that the curve takes to reach `origin`.
    k: f64,
    /// Reno's window.
    reno: f64,
    /// Fraction of a byte of growth not yet applied.
    credit: f64,
}

/// A round trip of slow start.
#[derive(Clone, Debug, Default)]
struct Round {
    /// End of the round: the position whose acknowledgment ends it.
    end: u64,
    start: Instant,
    /// Last ACK of the train that began with the round.
    train: Instant,
    min: Option<Span>,
    samples: u32,
}

impl LinuxCubic {
    pub(super) fn new(hystart: bool) -> Self {
        let round = hystart.then(Round::default);
        Self { w_max: 0.0, epoch: None, last_ack: Instant::ZERO, round, hystart }
    }

    /// Excludes the time up to `now`: the application, not the window, limited the sender.
    pub(super) fn skip_to(&mut self, now: Instant) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += now.saturating_since(self.last_ack);
        }
        self.last_ack = now;
    }

    /// Handles an ACK in slow start at a window of `segments`; returns whether slow start ends.
    pub(super) fn leaves_slow_start(&mut self, ack: &AckInfo, segments: u64) -> bool {
        let Some(round) = &mut self.round else { return false };
        if ack.una > round.end {
            *round = Round { end: ack.nxt, start: ack.now, train: ack.now, ..Round::default() };
        }
        let (Some(rtt), Some(min)) = (ack.rtt, ack.min_rtt) else { return false };
        let is_enough = segments >= LOW_WINDOW && round.is_enough(ack.now, rtt, min);
        if is_enough {
            self.round = None;
        }
        is_enough
    }

    /// Window growth in bytes for an ACK that counts for `acked` bytes.
    pub(super) fn step(&mut self, ack: &AckInfo, cwnd: u64, mss: u64, acked: u64) -> u64 {
        let (window, acked) = (cwnd as f64 / mss as f64, acked as f64 / mss as f64);
        self.last_ack = ack.now;
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| {
            let origin = w_max.max(window);
            Epoch { start: ack.now, origin, k: libm::cbrt((origin - window) / C), reno: window, credit: 0.0 }
        });
        let ahead = ack.min_rtt.unwrap_or(Span::ZERO).as_secs_f64();
        let x = ack.now.saturating_since(epoch.start).as_secs_f64() + ahead - epoch.k;
        let curve = C * x * x * x + epoch.origin;
        epoch.reno += ALPHA * acked / window;

        let least = if w_max == 0.0 { LEAST_BEFORE_LOSS } else { 0.0 };
        let rate = ((curve.max(epoch.reno) - window) / window).clamp(least, MOST);
        epoch.credit += rate * acked * mss as f64;
        let whole = epoch.credit as u64;
        epoch.credit -= whole as f64;
        whole
    }

    /// Handles loss; returns the new threshold in bytes.
    pub(super) fn on_congestion(&mut self, cwnd: u64, mss: u64) -> u64 {
        let window = cwnd as f64 / mss as f64;
        // RFC 9438, section 4.7.
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.epoch = None;
        (cwnd as f64 * BETA) as u64
    }

    /// Handles an expired retransmission timer: all state is reset.
    pub(super) fn on_timeout(&mut self) {
        *self = Self { last_ack: self.last_ack, ..Self::new(self.hystart) };
    }
}

impl Round {
    fn is_enough(&mut self, now: Instant, rtt: Span, min: Span) -> bool {
        if now.saturating_since(self.train) <= TRAIN_GAP {
            self.train = now;
            if now.saturating_since(self.start) > min / 2 {
                return true;
            }
        }
        if self.samples < SAMPLES {
            self.samples += 1;
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
            return false;
        }
        let rise = (min / 8).clamp(LEAST_RISE, MOST_RISE);
        self.min.is_some_and(|round| round.min(rtt) > min + rise)
    }
}
