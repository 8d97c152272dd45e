//! CoDel: when a queue should signal congestion to a sender.
//!
//! A good queue absorbs a burst and empties; a bad one persists. The sojourn times of departing packets distinguish them:
//! if none in a whole interval waited less than the target, the queue is a standing one, and one packet is dropped (or
//! marked, RFC 3168). While it persists the next signals follow at intervals of interval/sqrt(n), which reduces linearly
//! the rate of a sender whose throughput is proportional to 1/sqrt(p); they stop at the first packet that waited less.
//!
//! This is the control law alone, without a queue: the owner of a queue passes each head to [`Codel::judge`] and executes
//! the decision. Settings, state and the owner's counters are separate, so that a thousand queues share one setting.
//!
//! Source: Nichols, Jacobson, McGregor, Iyengar, RFC 8289 (2018), the pseudocode of its section 5; count as in its section
//! 5.5, with the memory of Linux (`include/net/codel_impl.h`). There are two differences. The owner passes a flag for
//! packets that must not be dropped, instead of a limit in bytes. And each signal advances the time of the next one, while
//! in the RFC it stays if the next head is a good one, which is unknown here until that head is passed.
//!
//! Not here: the queue, flows, the choice between dropping and marking.

use evenair_units::{Instant, Span};
use minicbor::{Decode, Encode};

/// Parameters of [`Codel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct CodelConfig {
    /// Acceptable sojourn time: a queue whose packets wait no longer is not a standing queue. RFC 8289, 4.3: 5 ms, 5 to 10 %
    /// of the interval.
    #[n(0)]
    pub target: Span,
    /// The longest usual round-trip time: how long a queue may exceed the target before a congestion signal. RFC 8289, 4.2:
    /// 100 ms.
    #[n(1)]
    pub interval: Span,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codel {
    /// An interval after the first packet above the target: from then on the queue is a standing one.
    stands_from: Option<Instant>,
    signalling: bool,
    /// Time of the next signal while signalling; otherwise when it would have been due.
    next: Instant,
    /// Signals since signalling began, and the initial value of that count.
    count: u32,
    count_at_start: u32,
}

/// Decision about the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Serve it.
    Serve,
    /// Signal congestion to its sender: drop it, and judge the next head, or mark it and serve it.
    Signal,
}

impl CodelConfig {
    /// The values that RFC 8289 recommends for the Internet.
    pub const RFC: Self = Self { target: Span::from_millis(5), interval: Span::from_millis(100) };
}

impl Codel {
    /// Signals since the queue became a standing one; zero if it is none.
    pub const fn signals(&self) -> u32 {
        if self.signalling { self.count.saturating_sub(self.count_at_start) + 1 } else { 0 }
    }

    /// Judges the head of the queue, which has waited for `sojourn` and is about to leave. `short`: the queue holds so little
    /// that it is no standing queue whatever the sojourn time: one packet of full size (RFC 8289, 4.4), or more if the owner
    /// says so.
    pub fn judge(&mut self, now: Instant, sojourn: Span, short: bool, config: &CodelConfig) -> Verdict {
        let stands = self.stands(now, sojourn, short, config);
        if self.signalling {
            self.signalling = stands;
            if !stands || now < self.next {
                return Verdict::Serve;
            }
            self.count = self.count.saturating_add(1);
            self.next = self.next.saturating_add(spacing(config.interval, self.count));
            return Verdict::Signal;
        }
        if !stands {
            return Verdict::Serve;
        }
        self.signalling = true;
        // Soon after the last standing queue it resumes near the last rate of signals, which was nearly enough.
        let since_start = self.count - self.count_at_start;
        let recent = now.saturating_since(self.next) < config.interval * 16;
        self.count = if recent && since_start > 1 { since_start } else { 1 };
        self.count_at_start = self.count;
        self.next = now.saturating_add(spacing(config.interval, self.count));
        Verdict::Signal
    }

    /// Whether the queue is a standing one: no packet that left in the last interval waited less than the target.
    fn stands(&mut self, now: Instant, sojourn: Span, short: bool, config: &CodelConfig) -> bool {
        if sojourn < config.target || short {
            self.stands_from = None;
            return false;
        }
        match self.stands_from {
            Some(from) => now >= from,
            None => {
                self.stands_from = Some(now.saturating_add(config.interval));
                false
            }
        }
    }
}

/// interval / sqrt(count), to the nanosecond: the root of interval^2 / count.
pub(crate) fn spacing(interval: Span, count: u32) -> Span {
    let interval = u128::from(interval.as_nanos());
    let spacing = (interval * interval / u128::from(count.max(1))).isqrt();
    Span::from_nanos(u64::try_from(spacing).expect("no more than the interval"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const CONFIG: CodelConfig = CodelConfig::RFC;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    /// Times, in µs, of signals to a queue that is served each millisecond from `from` ms on, by the sojourn time of each
    /// head in ms.
    fn signals(codel: &mut Codel, from: u64, until: u64, sojourn: impl Fn(u64) -> u64) -> Vec<u64> {
        (from..until)
            .filter(|&ms| {
                let verdict = codel.judge(at(ms * 1_000), Span::from_millis(sojourn(ms)), false, &CONFIG);
                verdict == Verdict::Signal
            })
            .collect()
    }

    #[test]
    fn a_standing_queue_is_signalled_after_an_interval_and_then_ever_sooner() {
        let got = signals(&mut Codel::default(), 0, 500, |_| 20);
        // After 100 ms, then 100/sqrt(n) after each other: 100, 200, 270.7, 328.4, 378.4, 423.1, 463.9 ms.
        assert_eq!(got, [100, 200, 271, 329, 379, 424, 464]);
    }

    #[test]
    fn signals_are_counted_while_they_go_on() {
        let mut codel = Codel::default();
        assert_eq!(codel.signals(), 0);
        signals(&mut codel, 0, 470, |_| 20);
        assert_eq!(codel.signals(), 7);
        signals(&mut codel, 470, 471, |_| 1);
        assert_eq!(codel.signals(), 0);
    }

    #[test]
    fn a_burst_is_not_signalled() {
        // It empties once in each interval, for one packet.
        let got = signals(&mut Codel::default(), 0, 2_000, |ms| if ms % 100 == 99 { 4 } else { 50 });
        assert_eq!(got, []);
        // The canary: with slightly fewer signals there is a standing queue.
        let got = signals(&mut Codel::default(), 0, 2_000, |ms| if ms % 110 == 109 { 4 } else { 50 });
        assert!(!got.is_empty());
    }

    #[test]
    fn a_short_queue_is_never_signalled_however_slow() {
        let mut codel = Codel::default();
        for ms in 0..1_000 {
            let verdict = codel.judge(at(ms * 1_000), Span::from_secs(1), true, &CONFIG);
            assert_eq!(verdict, Verdict::Serve);
        }
    }

    #[test]
    fn signalling_stops_at_a_good_packet_and_resumes_its_rate_soon_after() {
        let mut codel = Codel::default();
        // Eight signals until 501 ms, then one packet below the target.
        assert_eq!(signals(&mut codel, 0, 520, |_| 20).len(), 8);
        assert_eq!(signals(&mut codel, 520, 521, |_| 1), []);
        let again = signals(&mut codel, 521, 700, |_| 20);
        // Seven more signals than at its start: 100/sqrt(7) = 37.8 ms, 100/sqrt(8) = 35.4 ms.
        assert_eq!(again, [621, 659, 695]);
        // Long after, it restarts.
        assert_eq!(signals(&mut codel, 700, 701, |_| 1), []);
        assert_eq!(signals(&mut codel, 5_000, 5_250, |_| 20), [5_100, 5_200]);
    }

    #[test]
    fn the_spacing_is_the_quotient_by_the_root() {
        for count in [1_u32, 2, 3, 10, 1_000, 1_000_000, u32::MAX] {
            let exact = 1e8 / f64::from(count).sqrt();
            let ours = spacing(Span::from_millis(100), count).as_nanos() as f64;
            assert!((ours - exact).abs() <= 1.0, "{count}: {ours} for {exact}");
        }
    }
}
