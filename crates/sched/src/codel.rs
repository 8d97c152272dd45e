//! CoDel: when the owner of a queue should signal congestion to a sender.
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

/// Settings of [`Codel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct CodelConfig {
    /// A queue whose packets wait no longer than this is no standing one. RFC 8289, 4.3: 5 ms, 5 to 10 % of the
    /// interval.
    #[n(0)]
    pub target: Span,
    /// The longest usual round-trip time: how long a queue may exceed the target before a congestion signal. RFC 8289, 4.2: 100
    /// ms.
    #[n(1)]
    pub interval: Span,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codel {
    /// Since the first packet above the target, plus an interval: from then on the queue is a standing one.
    stands_from: Option<Instant>,
    signalling: bool,
    /// When the next signal is due, while signalling; else when it would have been.
    next: Instant,
    /// Signals since signalling began, and what that count began with.
    count: u32,
    count_at_start: u32,
}

/// What is to happen to the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is served.
    Serve,
    /// Signal congestion to its sender: by dropping it, after which the next head is judged, or by a mark, with which it is
    /// served.
    Signal,
}

impl CodelConfig {
    /// The values that RFC 8289 recommends for the Internet.
    pub const RFC: Self = Self { target: Span::from_millis(5), interval: Span::from_millis(100) };
}

impl Codel {
    /// Signals since the queue became a standing one, which have not ended that; none where it is not.
    pub const fn signals(&self) -> u32 {
        if self.signalling { self.count.saturating_sub(self.count_at_start) + 1 } else { 0 }
    }

    /// The head of the queue, which has waited for `sojourn`, is about to leave. `short`: the queue holds so little
    /// that it is no standing one, however long that takes: one packet of full size (RFC 8289, 4.4), or more where the
    /// owner says so.
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
        // Shortly after the last time it goes on about where it was: that rate of signals was nearly enough.
        let since_start = self.count - self.count_at_start;
        let recent = now.saturating_since(self.next) < config.interval * 16;
        self.count = if recent && since_start > 1 { since_start } else { 1 };
        self.count_at_start = self.count;
        self.next = now.saturating_add(spacing(config.interval, self.count));
        Verdict::Signal
    }

    /// Whether no packet that left in the last interval waited less than the target.
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

    /// Instants, in µs, of the signals of a queue that is served once in each millisecond from `from` ms on, by the
    /// sojourn of each head in ms.
    fn signals(codel: &mut Codel, from: u64, until: u64, sojourn: impl Fn(u64) -> u64) -> Vec<u64> {
        (from..until)
            .filter(|&ms| {
                let verdict = codel.judge(at(ms * 1_000), Span::from_millis(sojourn(ms)), false, &CONFIG);
                verdict == Verdict::Signal
            })
            .collect()
    }

    #[test]
    fn a_queue_that_stands_is_signalled_after_an_interval_and_then_ever_sooner() {
        let got = signals(&mut Codel::default(), 0, 500, |_| 20);
        // 100 ms, then 100/sqrt(n) after each other: 100, 200, 270.7, 328.4, 378.4, 423.1, 463.9 ms.
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
    fn a_burst_is_not() {
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
    fn it_stops_at_the_first_good_packet_and_goes_on_where_it_was_if_soon_again() {
        let mut codel = Codel::default();
        // Eight signals until 501 ms, then one packet that waited little.
        assert_eq!(signals(&mut codel, 0, 520, |_| 20).len(), 8);
        assert_eq!(signals(&mut codel, 520, 521, |_| 1), []);
        let again = signals(&mut codel, 521, 700, |_| 20);
        // Seven more than the one that it began with: 100/sqrt(7) = 37.8 ms, 100/sqrt(8) = 35.4 ms.
        assert_eq!(again, [621, 659, 695]);
        // Long after, it begins anew.
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
