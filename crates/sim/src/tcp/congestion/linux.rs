//! CUBIC as in Linux, where that differs from RFC 9438, and its exit from slow start.
//!
//! The curve, its constants and fast convergence are the RFC's. The differences, from the behaviour of Linux 6.x:
//!
//! - The curve is followed to where it is one *smallest* round-trip time from now. The RFC's smoothed time contains the
//!   queue, and where that lasts for seconds a window would run ahead of the curve by as much.
//! - At loss the window itself is multiplied by 0.7, not what is outstanding.
//! - Before the first loss, and after a timeout, which forgets the past, a window grows by a twentieth each round trip at
//!   least.
//! - The estimate of Reno's window grows at the one rate of the RFC's section 4.3 throughout.
//!
//! HyStart (Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55, 2011) ends slow start for good
//! at a window of 16 segments or more, where of each round trip either the ACKs have come closely one behind the other
//! for half of the smallest round-trip time, or the smallest of the first eight samples and the present one exceeds the smallest ever by an
//! eighth (4 ms at least, 16 ms at most). A timeout lets it begin anew.

use evenair_units::{Instant, Span};

use super::AckInfo;
use super::cubic::{ALPHA, BETA, C};

/// Least and most growth of a window for each of its segments that is acknowledged: a twentieth before the first loss,
/// and a half.
const LEAST_BEFORE_LOSS: f64 = 0.05;
const MOST: f64 = 0.5;

/// HyStart looks at windows from here on, in segments.
const LOW_WINDOW: u64 = 16;
/// ACKs no further apart are of one train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// Samples of a round that are looked at.
const SAMPLES: u32 = 8;
const LEAST_RISE: Span = Span::from_millis(4);
const MOST_RISE: Span = Span::from_millis(16);

/// State of CUBIC and of HyStart.
#[derive(Clone, Debug)]
pub(super) struct LinuxCubic {
    /// Window around which the curve is flat, in segments; 0 before a loss.
    w_max: f64,
    epoch: Option<Epoch>,
    /// Time of the last ACK seen in or outside of an epoch.
    last_ack: Instant,
    /// `None` where HyStart is off or has ended slow start.
    round: Option<Round>,
    hystart: bool,
}

/// One stage of congestion avoidance, in segments and seconds.
#[derive(Clone, Debug)]
struct Epoch {
    start: Instant,
    /// Where the curve is flat.
    origin: f64,
    /// Time the curve takes to there.
    k: f64,
    /// Reno's window.
    reno: f64,
    /// Growth not yet worth a byte.
    credit: f64,
}

/// A round trip of slow start.
#[derive(Clone, Debug, Default)]
struct Round {
    /// It ends when this position is acknowledged.
    end: u64,
    start: Instant,
    /// The last ACK of the train that began with the round.
    train: Instant,
    min: Option<Span>,
    samples: u32,
}

impl LinuxCubic {
    pub(super) fn new(hystart: bool) -> Self {
        let round = hystart.then(Round::default);
        Self { w_max: 0.0, epoch: None, last_ack: Instant::ZERO, round, hystart }
    }

    /// The time up to `now` does not count: the application, not the window, held the sender back.
    pub(super) fn skip_to(&mut self, now: Instant) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += now.saturating_since(self.last_ack);
        }
        self.last_ack = now;
    }

    /// An ACK in slow start at a window of `segments`: whether that is enough.
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

    /// How many bytes the window grows for an ACK that is worth `acked` bytes.
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

    /// Loss: the new threshold in bytes.
    pub(super) fn on_congestion(&mut self, cwnd: u64, mss: u64) -> u64 {
        let window = cwnd as f64 / mss as f64;
        // RFC 9438, section 4.7.
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.epoch = None;
        (cwnd as f64 * BETA) as u64
    }

    /// The timer ran out: all is forgotten.
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
