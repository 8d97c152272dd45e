//! The congestion window (RFC 5681): slow start here, the other algorithms one file each.
//!
//! Windows are in bytes. Recovery (`recovery`) decides when a loss is a congestion event and sets the window during loss
//! recovery; this module reduces the window and increases it again.

mod cubic;
mod hystart;
mod linux;
mod reno;

use evenair_units::hint::prefetch;
use evenair_units::{Instant, Span};

use self::cubic::Cubic;
use self::hystart::HyStart;
use self::linux::LinuxCubic;
use self::reno::Reno;
use super::config::{Algorithm, Config, Growth};

/// Properties of an acknowledgment that the window depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckInfo {
    pub(super) now: Instant,
    /// Bytes newly acknowledged.
    pub(super) acked: u64,
    /// Bytes newly reported as received, by acknowledgment or SACK.
    pub(super) delivered: u64,
    /// The new cumulative acknowledgment.
    pub(super) una: u64,
    /// The next position to be sent for the first time.
    pub(super) nxt: u64,
    /// Round-trip sample of this ACK.
    pub(super) rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub(super) srtt: Option<Span>,
    /// The smallest sample so far.
    pub(super) min_rtt: Option<Span>,
    /// The window limited the sender.
    pub(super) limited: bool,
    /// A duplicate as defined by the recovery algorithm in use (RFC 5681, section 2; RFC 6675, section 2).
    pub(super) duplicate: bool,
}

/// The congestion window and the algorithm that moves it.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Window {
    cwnd: u64,
    ssthresh: u64,
    /// Payload of a full segment.
    mss: u64,
    /// Initial window in bytes, also used after an idle time.
    initial: u64,
    growth: Growth,
    algorithm: Avoidance,
    hystart: Option<HyStart>,
}

#[derive(Clone, Debug)]
enum Avoidance {
    Reno(Reno),
    Cubic(Cubic),
    Linux(LinuxCubic),
}

impl Window {
    /// The window of a connection whose full segments carry `mss` bytes.
    pub(super) fn new(config: &Config, mss: u32) -> Self {
        let mss = u64::from(mss);
        let (algorithm, hystart) = match config.algorithm {
            Algorithm::Reno => (Avoidance::Reno(Reno::new(config.growth)), None),
            Algorithm::Cubic { fast_convergence, hystart } => {
                (Avoidance::Cubic(Cubic::new(fast_convergence)), hystart.then(HyStart::default))
            }
            Algorithm::LinuxCubic { hystart } => (Avoidance::Linux(LinuxCubic::new(hystart)), None),
        };
        let initial = u64::from(config.initial_window) * mss;
        // RFC 5681, section 3.1: the threshold starts arbitrarily high.
        Self { cwnd: initial, ssthresh: u64::MAX, mss, initial, growth: config.growth, algorithm, hystart }
    }

    /// Prefetches what every acknowledgment updates.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&raw const self.cwnd);
        prefetch(&raw const self.algorithm);
        prefetch(&raw const self.hystart);
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(super) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// Sets the window to `cwnd`, at least a segment, on behalf of recovery.
    pub(super) fn set(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(self.mss);
    }

    /// Undoes a congestion event that turned out to be spurious.
    pub(super) fn restore(&mut self, cwnd: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), ssthresh);
    }

    /// Starts with one segment, since the SYN had to be retransmitted repeatedly (RFC 5681, section 3.1).
    pub(super) fn start_with_one_segment(&mut self) {
        self.initial = self.mss;
        self.cwnd = self.mss;
    }

    /// Handles new acknowledged data outside of fast recovery.
    pub(super) fn on_ack(&mut self, ack: &AckInfo) {
        if !ack.limited {
            match &mut self.algorithm {
                Avoidance::Cubic(cubic) => cubic.skip_to(ack.now),
                Avoidance::Linux(cubic) => cubic.skip_to(ack.now),
                Avoidance::Reno(_) => {}
            }
            return; // an unused window does not grow (RFC 7661, section 4)
        }
        if self.cwnd < self.ssthresh {
            self.slow_start(ack);
        } else {
            self.cwnd += self.avoidance(ack);
        }
    }

    /// RFC 5681, section 3.1, equation 2.
    fn slow_start(&mut self, ack: &AckInfo) {
        let mut step = match self.growth {
            Growth::PerAck => ack.acked.min(self.mss),
            Growth::Bytes { limit } => ack.acked.min(self.mss.saturating_mul(u64::from(limit))),
            Growth::Delivered => ack.delivered,
        };
        if let Avoidance::Linux(cubic) = &mut self.algorithm
            && cubic.leaves_slow_start(ack, self.cwnd / self.mss)
        {
            self.ssthresh = self.cwnd;
            self.cwnd += self.avoidance(ack);
            return;
        }
        if let Some(hystart) = &mut self.hystart {
            step = hystart.slow_start_step(ack, step.min(hystart::LIMIT * self.mss));
            if hystart.is_over() {
                self.leave_first_slow_start();
            }
        }
        // An ACK for many segments must not jump far over the threshold.
        self.cwnd = self.cwnd.saturating_add(step).min(self.ssthresh.max(self.cwnd + self.mss.min(step)));
    }

    fn leave_first_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
        self.hystart = None;
        if let Avoidance::Cubic(cubic) = &mut self.algorithm {
            cubic.on_slow_start_left();
        }
    }

    fn avoidance(&mut self, ack: &AckInfo) -> u64 {
        let acked = if self.growth == Growth::Delivered { ack.delivered } else { ack.acked };
        match &mut self.algorithm {
            Avoidance::Reno(reno) => reno.step(self.cwnd, self.mss, acked),
            Avoidance::Linux(cubic) => cubic.step(ack, self.cwnd, self.mss, acked),
            Avoidance::Cubic(cubic) => cubic.step(ack, self.cwnd, self.mss),
        }
    }

    /// Handles a loss found by acknowledgments with `flight` bytes outstanding: lowers the threshold. Recovery sets the
    /// window.
    pub(super) fn on_congestion(&mut self, flight: u64) {
        self.hystart = None; // RFC 9406 is for the first slow start
        let floor = 2 * self.mss;
        self.ssthresh = match &mut self.algorithm {
            Avoidance::Reno(reno) => reno.on_congestion(flight),
            Avoidance::Cubic(cubic) => cubic.on_congestion(self.cwnd, flight, self.mss),
            Avoidance::Linux(cubic) => cubic.on_congestion(self.cwnd, self.mss),
        }
        .max(floor);
    }

    /// Handles an expired retransmission timer; `first` unless it has expired before for the same data: then the threshold
    /// stays (RFC 5681, section 3.1).
    pub(super) fn on_timeout(&mut self, flight: u64, first: bool) {
        if first {
            self.on_congestion(flight);
        }
        match &mut self.algorithm {
            Avoidance::Cubic(cubic) => cubic.on_timeout(),
            Avoidance::Linux(cubic) => cubic.on_timeout(),
            Avoidance::Reno(_) => {}
        }
        self.cwnd = self.mss; // the loss window, RFC 5681, section 3.1
    }

    /// Handles an idle time longer than the timeout (RFC 5681, section 4.1).
    pub(super) fn on_idle(&mut self) {
        self.cwnd = self.cwnd.min(self.initial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// A window that is always used up: ACKs of `per_ack` segments for all of it, one round trip of 100 ms at a time.
    struct Fed {
        window: Window,
        now: Instant,
        una: u64,
    }

    impl Fed {
        fn new(config: &Config) -> Self {
            Self { window: Window::new(config, MSS as u32), now: Instant::ZERO, una: 0 }
        }

        fn round(&mut self, per_ack: u64) {
            let rtt = Some(Span::from_millis(100));
            let acks = self.window.cwnd() / MSS / per_ack;
            let nxt = self.una + self.window.cwnd();
            for _ in 0..acks {
                self.now += Span::from_millis(100) / acks;
                self.una += per_ack * MSS;
                let acked = per_ack * MSS;
                let (delivered, srtt, min_rtt) = (acked, rtt, rtt);
                let ack = AckInfo {
                    now: self.now,
                    acked,
                    delivered,
                    una: self.una,
                    nxt,
                    rtt,
                    srtt,
                    min_rtt,
                    limited: true,
                    duplicate: false,
                };
                self.window.on_ack(&ack);
            }
        }

        fn segments(&self) -> f64 {
            self.window.cwnd() as f64 / MSS as f64
        }
    }

    fn config(growth: Growth) -> Config {
        Config { growth, initial_window: 8, ..Config::rfc() }
    }

    #[test]
    fn slow_start_grows_as_each_growth_rule_says() {
        let after_three = |growth, per_ack| {
            let mut fed = Fed::new(&config(growth));
            (0..3).for_each(|_| fed.round(per_ack));
            fed.segments()
        };
        assert_eq!(after_three(Growth::PerAck, 1), 64.0);
        assert_eq!(after_three(Growth::PerAck, 2), 27.0, "8, 12, 18, 27");
        assert_eq!(after_three(Growth::Bytes { limit: 2 }, 2), 64.0);
        assert_eq!(after_three(Growth::Bytes { limit: 2 }, 4), 26.0, "8, 12, 18, 26: two, three and four ACKs");
    }

    #[test]
    fn reno_adds_a_segment_a_round_trip_and_half_of_it_with_delayed_acks_counted_alike() {
        let after_a_hundred = |growth, per_ack| {
            let mut fed = Fed::new(&config(growth));
            fed.window.on_congestion(200 * MSS);
            fed.window.set(100 * MSS);
            (0..100).for_each(|_| fed.round(per_ack));
            fed.segments()
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 2.0, "{a} is not near {b}");
        near(after_a_hundred(Growth::PerAck, 1), 200.0);
        near(after_a_hundred(Growth::PerAck, 2), 150.0);
        near(after_a_hundred(Growth::Bytes { limit: 2 }, 2), 200.0);
    }

    #[test]
    fn loss_halves_and_a_timeout_leaves_one_segment() {
        let mut window = Window::new(&config(Growth::PerAck), MSS as u32);
        window.on_congestion(40 * MSS);
        assert_eq!(window.ssthresh(), 20 * MSS);
        window.on_timeout(3 * MSS, true);
        assert_eq!((window.cwnd(), window.ssthresh()), (MSS, 2 * MSS), "at least two segments");
        window.on_timeout(30 * MSS, false);
        assert_eq!(window.ssthresh(), 2 * MSS, "a second timeout of the same data changes nothing");
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut window = Window::new(&config(Growth::PerAck), MSS as u32);
        let before = window.cwnd();
        let now = Instant::ZERO;
        window.on_ack(&AckInfo {
            now,
            acked: MSS,
            una: MSS,
            nxt: 2 * MSS,
            delivered: MSS,
            rtt: None,
            srtt: None,
            min_rtt: None,
            limited: false,
            duplicate: false,
        });
        assert_eq!(window.cwnd(), before);
    }

    /// The closed form of RFC 9438, section 4.2, in segments and seconds.
    fn closed_form(t: f64, w_max: f64, start: f64) -> f64 {
        let k = ((w_max - start) / 0.4).cbrt();
        0.4 * (t - k).powi(3) + w_max
    }

    #[test]
    fn cubic_follows_the_closed_form_through_plateau_and_probing() {
        let mut fed = Fed::new(&Config {
            algorithm: Algorithm::Cubic { fast_convergence: true, hystart: false },
            ..config(Growth::Bytes { limit: u32::MAX })
        });
        fed.window.set(1000 * MSS);
        fed.window.on_congestion(1000 * MSS);
        assert_eq!(fed.window.ssthresh(), 700 * MSS, "beta is 0.7");
        fed.window.set(700 * MSS);
        // K = cbrt(300 / 0.4) = 9.09 s; follow it for 14 s, far above the TCP-friendly region.
        for round in 1..=140 {
            fed.round(1);
            let t = f64::from(round) * 0.1;
            let expected = closed_form(t, 1000.0, 700.0);
            let error = (fed.segments() - expected).abs() / expected;
            assert!(error < 0.01, "at {t} s: {} segments, {expected} by the closed form", fed.segments());
        }
    }

    #[test]
    fn cubic_converges_fast_if_it_did_not_reach_its_last_window() {
        for (fast_convergence, plateau) in [(true, 800.0 * 0.85), (false, 800.0)] {
            let algorithm = Algorithm::Cubic { fast_convergence, hystart: false };
            let mut fed = Fed::new(&Config { algorithm, ..config(Growth::Bytes { limit: u32::MAX }) });
            for segments in [1000, 800] {
                fed.window.set(segments * MSS);
                fed.window.on_congestion(segments * MSS);
            }
            fed.window.set(560 * MSS);
            let k = ((plateau - 560.0) / 0.4f64).cbrt();
            (0..(k * 10.0) as u32).for_each(|_| fed.round(1));
            assert!((fed.segments() - plateau).abs() < 2.0, "{}, flat at {plateau}", fed.segments());
        }
    }

    #[test]
    fn cubic_is_friendly_to_reno_on_a_short_small_path() {
        let mut fed = Fed::new(&Config {
            algorithm: Algorithm::Cubic { fast_convergence: true, hystart: false },
            ..config(Growth::Bytes { limit: u32::MAX })
        });
        fed.window.set(20 * MSS);
        fed.window.on_congestion(20 * MSS);
        fed.window.set(14 * MSS);
        // alpha = 3 (1 - 0.7) / (1 + 0.7) = 0.529 segments per round trip: 6 segments take 11.3 round trips.
        (0..10).for_each(|_| fed.round(1));
        assert!((fed.segments() - (14.0 + 5.29)).abs() < 0.4, "{}", fed.segments());
    }

    #[test]
    fn linux_grows_by_a_twentieth_a_round_trip_before_its_first_loss_and_follows_the_curve_after_it() {
        let linux = Config { algorithm: Algorithm::LinuxCubic { hystart: false }, ..config(Growth::Delivered) };
        let mut fed = Fed::new(&linux);
        fed.window.set(1000 * MSS);
        fed.window.ssthresh = 1000 * MSS;
        (0..5).for_each(|_| fed.round(1));
        // 0.4 t^3 is far below that within half a second.
        assert!((fed.segments() / 1000.0 - 1.05f64.powi(5)).abs() < 0.01, "{}", fed.segments());
        fed.window.set(1000 * MSS);
        fed.window.on_congestion(0);
        assert_eq!(fed.window.ssthresh(), 700 * MSS, "of the window, not of what is outstanding");
        fed.window.set(700 * MSS);
        for round in 1..=140 {
            fed.round(1);
            let t = f64::from(round) * 0.1;
            let expected = closed_form(t, 1000.0, 700.0);
            let error = (fed.segments() - expected).abs() / expected;
            assert!(error < 0.01, "at {t} s: {} segments, {expected} by the closed form", fed.segments());
        }
    }

    #[test]
    fn linux_leaves_slow_start_when_delay_rises_or_acks_come_in_a_train() {
        let exit = |rtt: fn(u64) -> u64, gap_us: u64| {
            let linux = Config { algorithm: Algorithm::LinuxCubic { hystart: true }, ..config(Growth::Delivered) };
            let mut window = Window::new(&linux, MSS as u32);
            let (mut now, mut una, mut min) = (Instant::ZERO, 0, Span::MAX);
            for round in 0..8 {
                let nxt = una + window.cwnd();
                while una < nxt && window.ssthresh() == u64::MAX {
                    una += MSS;
                    now += Span::from_micros(gap_us);
                    let rtt = Span::from_millis(rtt(round));
                    min = min.min(rtt);
                    let (rtt, min_rtt) = (Some(rtt), Some(min));
                    let ack = AckInfo {
                        now,
                        acked: MSS,
                        delivered: MSS,
                        una,
                        nxt,
                        rtt,
                        srtt: rtt,
                        min_rtt,
                        limited: true,
                        duplicate: false,
                    };
                    window.on_ack(&ack);
                }
                now += Span::from_millis(50);
            }
            (window.ssthresh() != u64::MAX).then(|| window.cwnd() / MSS)
        };
        assert_eq!(exit(|_| 100, 3_000), None, "neither");
        // In the third round trip, at windows from 32 on: after eight samples the ninth ACK leaves slow start.
        assert_eq!(exit(|round| if round < 2 { 100 } else { 114 }, 3_000), Some(32 + 8));
        // 50 ms of ACKs 1 ms apart: in the round trip that begins with 64.
        assert_eq!(exit(|_| 100, 1_000).map(|cwnd| cwnd / 10), Some((64 + 51) / 10));
    }
}
