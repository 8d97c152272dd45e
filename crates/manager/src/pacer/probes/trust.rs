//! Whether the answers to probes tell what the access point's queue has done.
//!
//! They do where a probe waits behind what was released before it, to whichever station. They do not where an access point
//! answers in the station's place (proxy ARP), or keeps a queue for each station or flow, in which a lone packet waits for
//! nobody: then the answer comes at once, whatever is in flight. A box that took it for a completion would fill the access
//! point.
//!
//! Each probe that has found a queue ([`super::speed`]) speaks for one queue, and each that has not speaks against it, while
//! packets wait in the box. If the speed of the medium is underestimated, answers come too soon as well; but then each of
//! them raises the speed, until a queue forms that the next ones find. If none does after so many, probes are not
//! believed, and none are sent for a while.
//!
//! What is not here: what the path takes without queues, which the caller takes off.

use evenair_units::{Instant, Span};

/// A backlog below this says nothing: the answer itself takes nearly as long.
const LEAST_EXPECTED: Span = Span::from_millis(2);
/// A queue that was found counts as much as so many that were not: the speed is raised until one is, and that takes a few
/// probes each time.
const FOR: i32 = 3;
/// So many more against than for, and nothing is believed for a while; and no more for than this are remembered.
const LOSES: i32 = -24;
const MOST: i32 = 12;
/// The first time, and at most, where each is twice as long as the one before.
const PAUSE: (Span, Span) = (Span::from_secs(60), Span::from_secs(3600));

/// What there is to be released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Packets wait in the box.
    Waits,
    /// None do, and the medium is taken for faster than any queue has shown.
    Unproven,
    /// None do.
    Little,
}

/// See the module.
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
    /// The answers are believed.
    pub(crate) fn is_given(&self, now: Instant) -> bool {
        now >= self.not_before
    }

    /// Nothing is believed for a while.
    pub(crate) fn lose(&mut self, now: Instant) {
        *self = Self { score: 0, not_before: now + self.pause, pause: (self.pause * 2).min(PAUSE.1) };
    }

    /// A probe was answered that has found a queue or not, where the estimated backlog was `expected`.
    pub(crate) fn judge(&mut self, now: Instant, expected: Span, found: bool, load: Load) {
        let says_something = match load {
            _ if found => true,
            Load::Waits => expected >= LEAST_EXPECTED,
            // It is probes that have made it wait nowhere.
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
    fn answers_that_never_wait_are_not_believed_for_a_while_and_then_for_longer() {
        let mut trust = Trust::default();
        judge(&mut trust, 0..23, 4, false);
        assert!(trust.is_given(at(23)));
        judge(&mut trust, 23..24, 4, false);
        assert!(!trust.is_given(at(60_000)) && trust.is_given(at(60_023)));
        judge(&mut trust, 61_000..61_024, 4, false);
        assert!(!trust.is_given(at(181_000)) && trust.is_given(at(181_023)));
    }

    #[test]
    fn those_that_mostly_wait_are() {
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
    fn nothing_follows_where_little_is_in_flight_or_nothing_waits() {
        let mut trust = Trust::default();
        judge(&mut trust, 0..100, 1, false);
        (0..100).for_each(|ms| trust.judge(at(ms), Span::from_millis(4), false, Load::Little));
        assert!(trust.is_given(at(100)));
        assert_eq!(trust.score, 0);
        (100..124).for_each(|ms| trust.judge(at(ms), Span::ZERO, false, Load::Unproven));
        assert!(!trust.is_given(at(124)), "but for what probes have brought about");
    }
}
