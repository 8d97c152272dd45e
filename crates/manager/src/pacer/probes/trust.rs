//! Whether replies to probes show the state of the access point's queue.
//!
//! They do if a probe waits behind earlier releases, to whichever station. They do not if an access point answers in the station's place
//! (proxy ARP), or keeps a queue for each station or flow, in which a lone packet does not wait: then the reply comes at once, whatever is
//! in flight. A box that took it for a completion would fill the access point.
//!
//! Each probe that has found a queue ([`super::speed`]) counts for trust, and each that has not counts against it, while packets wait in
//! the box. If the speed of the medium is underestimated, replies come too soon as well; but then each of them raises the speed, until a
//! queue forms that the next ones find. If none does after so many, probes are not trusted, and none are sent for a while.
//!
//! What is not here: the lag of the path, which the caller subtracts.

use evenair_units::{Instant, Span};

/// Least estimated backlog at which a reply counts: with less the reply itself takes nearly as long.
const LEAST_EXPECTED: Span = Span::from_millis(2);
/// Score of a probe that has found a queue; one that has not scores -1. The speed is raised until a queue is found, which takes a few
/// probes each time.
const FOR: i32 = 3;
/// Score at which trust is lost; highest score.
const LOSES: i32 = -24;
const MOST: i32 = 12;
/// Time without trust: the first time, and at most; doubled each time.
const PAUSE: (Span, Span) = (Span::from_secs(60), Span::from_secs(3600));

/// The load while a probe was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Packets wait in the box.
    Waits,
    /// No packets wait, and the speed is above what any queue has confirmed.
    Unproven,
    /// No packets wait.
    Little,
}

/// The trust in replies; see the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trust {
    score: i32,
    not_before: Instant,
    pause: Span,
}

impl Default for Trust {
    fn default() -> Self {
        Self { score: 0, not_before: Instant::ZERO, pause: PAUSE.0 }
    }
}

impl Trust {
    /// Whether replies are trusted.
    pub(crate) fn is_given(&self, now: Instant) -> bool {
        now >= self.not_before
    }

    /// Stops trusting replies for a while.
    pub(crate) fn lose(&mut self, now: Instant) {
        *self = Self { score: 0, not_before: now + self.pause, pause: (self.pause * 2).min(PAUSE.1) };
    }

    /// Counts a reply that has `found` a queue or not, with an estimated backlog of `expected`.
    pub(crate) fn judge(&mut self, now: Instant, expected: Span, found: bool, load: Load) {
        let says_something = match load {
            _ if found => true,
            Load::Waits => expected >= LEAST_EXPECTED,
            // Probes themselves have raised the speed until nothing waits.
            Load::Unproven => true,
            Load::Little => false,
        };
        if !says_something || !self.is_given(now) {
            return;
        }
        self.score = (self.score + if found { FOR } else { -1 }).min(MOST);
        if self.score <= LOSES {
            self.lose(now);
        } else if self.score == MOST {
            self.pause = PAUSE.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn judge(trust: &mut Trust, times: core::ops::Range<u64>, expected_ms: u64, found: bool) {
        let expected = Span::from_millis(expected_ms);
        times.for_each(|ms| trust.judge(at(ms), expected, found, Load::Waits));
    }

    #[test]
    fn replies_that_never_wait_lose_trust_for_longer_each_time() {
        let mut trust = Trust::default();
        judge(&mut trust, 0..23, 4, false);
        assert!(trust.is_given(at(23)));
        judge(&mut trust, 23..24, 4, false);
        assert!(!trust.is_given(at(60_000)) && trust.is_given(at(60_023)));
        judge(&mut trust, 61_000..61_024, 4, false);
        assert!(!trust.is_given(at(181_000)) && trust.is_given(at(181_023)));
    }

    #[test]
    fn replies_that_mostly_wait_keep_trust() {
        let mut trust = Trust::default();
        for round in 0..100 {
            judge(&mut trust, round * 10..round * 10 + 7, 4, false);
            judge(&mut trust, round * 10 + 7..round * 10 + 10, 4, true);
        }
        judge(&mut trust, 1_000..1_035, 4, false);
        assert!(trust.is_given(at(1_035)), "what is wrong for a while is corrected");
        judge(&mut trust, 1_035..1_036, 4, false);
        assert!(!trust.is_given(at(1_036)));
    }

    #[test]
    fn replies_do_not_count_with_little_in_flight_or_nothing_waiting() {
        let mut trust = Trust::default();
        judge(&mut trust, 0..100, 1, false);
        (0..100).for_each(|ms| trust.judge(at(ms), Span::from_millis(4), false, Load::Little));
        assert!(trust.is_given(at(100)));
        assert_eq!(trust.score, 0);
        (100..124).for_each(|ms| trust.judge(at(ms), Span::ZERO, false, Load::Unproven));
        assert!(!trust.is_given(at(124)), "but for what probes have brought about");
    }
}
