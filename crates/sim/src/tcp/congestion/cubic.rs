//! CUBIC (RFC 9438). Windows are segments and times seconds here, as in the RFC.
//!
//! Floats are only added, multiplied, divided and compared, and passed to `libm::cbrt`, so that the results are identical
//! on every machine.

use evenair_units::{Instant, Span};

use super::AckInfo;

/// Steepness of the curve in segments per second cubed (section 5).
pub(super) const C: f64 = 0.4;

/// Factor of the window at loss (section 4.6; Linux has 717/1024).
pub(super) const BETA: f64 = 0.7;

/// Growth in segments per round trip of a Reno flow with the same share (section 4.3).
pub(super) const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State of CUBIC.
#[derive(Clone, Debug)]
pub(super) struct Cubic {
    fast_convergence: bool,
    /// Window of the plateau of the curve.
    w_max: f64,
    /// Window just before its last reduction.
    cwnd_prior: f64,
    /// The next congestion avoidance starts a new curve at its first window: after a timeout (section 4.8) or a slow start
    /// that ended without loss (section 4.10).
    fresh: bool,
    epoch: Option<Epoch>,
    /// Time of the last ACK, in or outside of an epoch.
    last_ack: Instant,
}

/// One stage of congestion avoidance.
#[derive(Clone, Debug)]
struct Epoch {
    start: Instant,
    /// Time that the curve takes to reach `w_max`.
    k: f64,
    /// Reno's window (section 4.3).
    w_est: f64,
    /// Fraction of a byte of growth not yet applied.
    credit: f64,
}

impl Cubic {
    pub(super) fn new(fast_convergence: bool) -> Self {
        let last_ack = Instant::ZERO;
        Self { fast_convergence, w_max: 0.0, cwnd_prior: 0.0, fresh: true, epoch: None, last_ack }
    }

    /// Excludes the time up to `now`: the application, not the window, limited the sender (section 5.8).
    pub(super) fn skip_to(&mut self, now: Instant) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += now.saturating_since(self.last_ack);
        }
        self.last_ack = now;
    }

    /// Window growth for an ACK, in bytes.
    pub(super) fn step(&mut self, ack: &AckInfo, cwnd: u64, mss: u64) -> u64 {
        let AckInfo { now, srtt, .. } = *ack;
        let (window, acked) = (cwnd as f64 / mss as f64, ack.acked as f64 / mss as f64);
        self.last_ack = now;
        if self.epoch.is_none() {
            self.begin(now, window);
        }
        let (w_max, cwnd_prior) = (self.w_max, self.cwnd_prior);
        let epoch = self.epoch.as_mut().expect("begun above");

        let curve = |t: f64| {
            let x = t - epoch.k;
            C * x * x * x + w_max
        };
        let t = now.saturating_since(epoch.start).as_secs_f64();
        // Section 4.2: the point of the curve one round trip from now, not below the window and at most half above it.
        let target = curve(t + srtt.unwrap_or(Span::ZERO).as_secs_f64()).clamp(window, 1.5 * window);
        let friendly = curve(t) < epoch.w_est;

        // Section 4.3: above the window before the loss, grow like Reno itself.
        let alpha = if epoch.w_est < cwnd_prior { ALPHA } else { 1.0 };
        epoch.w_est += alpha * acked / window;
        let growth = if friendly {
            (epoch.w_est - window - epoch.credit / mss as f64).max(0.0)
        } else {
            (target - window) / window * acked // sections 4.4 and 4.5
        };
        epoch.credit += growth * mss as f64;
        let whole = epoch.credit as u64;
        epoch.credit -= whole as f64;
        whole
    }

    fn begin(&mut self, now: Instant, window: f64) {
        if self.fresh || self.w_max < window {
            self.w_max = window;
        }
        self.fresh = false;
        let k = libm::cbrt((self.w_max - window) / C);
        self.epoch = Some(Epoch { start: now, k, w_est: window, credit: 0.0 });
    }

    /// Handles loss; returns the new threshold in bytes (section 4.6).
    pub(super) fn on_congestion(&mut self, cwnd: u64, flight: u64, mss: u64) -> u64 {
        let window = cwnd as f64 / mss as f64;
        // Section 4.7: a window that did not recover to its last maximum releases bandwidth to others.
        let gives_way = self.fast_convergence && window < self.w_max;
        self.w_max = if gives_way { window * (1.0 + BETA) / 2.0 } else { window };
        self.cwnd_prior = window;
        self.fresh = false;
        self.epoch = None;
        (flight as f64 * BETA) as u64
    }

    /// Handles an expired retransmission timer (section 4.8).
    pub(super) fn on_timeout(&mut self) {
        self.fresh = true;
        self.epoch = None;
    }

    /// Handles the end of slow start without loss, at `cwnd` bytes (section 4.10).
    pub(super) fn on_slow_start_left(&mut self) {
        self.fresh = true;
        self.epoch = None;
    }
}
