//! Schemes that count consecutive ACKs: two failures, ARF, AARF. One state machine with three sets of constants.

/// Consecutive missing ACKs that lower the rate; further ones lower it again after as many.
const FAILURES: u32 = 2;
/// Consecutive ACKs that raise the rate, in ARF and initially in AARF (both sources).
const SUCCESSES: u32 = 10;
/// Consecutive ACKs that raise the rate in firmware that lowers it after two failures. The source says only that the
/// rate rises more slowly than it falls. With five the total of saturated stations falls below 1 Mb/s at 15 stations,
/// as published; with four it does so at more stations, with six at fewer.
const SUCCESSES_OF_FIRMWARE: u32 = 5;
/// Attempts after which an ACK raises the rate in ARF and AARF, even if other attempts failed meanwhile: their timer,
/// counted in attempts as M. Lacage and others do.
const TIMER_ATTEMPTS: u32 = 15;

#[derive(Debug)]
pub(super) struct Fallback {
    rules: Rules,
    index: usize,
    top: usize,
    successes: u32,
    failures: u32,
    /// Attempts since the rate changed.
    attempts: u32,
    /// Consecutive ACKs that raise the rate now.
    needed: u32,
    /// Attempts after which an ACK raises the rate now.
    timer: u32,
    /// Whether the next attempt is the first since the rate was raised.
    probing: bool,
}

/// The scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rules {
    TwoFailures,
    Arf,
    Aarf { most: u32 },
}

impl Fallback {
    pub(super) fn two_failures(top: usize) -> Self {
        Self::new(Rules::TwoFailures, top)
    }

    pub(super) fn arf(top: usize) -> Self {
        Self::new(Rules::Arf, top)
    }

    pub(super) fn aarf(top: usize, most: u32) -> Self {
        Self::new(Rules::Aarf { most }, top)
    }

    fn new(rules: Rules, top: usize) -> Self {
        Self {
            rules,
            index: top,
            top,
            successes: 0,
            failures: 0,
            attempts: 0,
            needed: if rules == Rules::TwoFailures { SUCCESSES_OF_FIRMWARE } else { SUCCESSES },
            timer: TIMER_ATTEMPTS,
            probing: false,
        }
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    pub(super) fn handle_outcome(&mut self, acknowledged: bool) {
        self.attempts += 1;
        let probing = core::mem::take(&mut self.probing);
        if acknowledged {
            self.succeed();
        } else {
            self.fail(probing);
        }
    }

    fn succeed(&mut self) {
        self.failures = 0;
        self.successes += 1;
        let timer_ran_out = self.rules != Rules::TwoFailures && self.attempts >= self.timer;
        if self.index < self.top && (self.successes >= self.needed || timer_ran_out) {
            self.change(self.index + 1);
            self.probing = self.rules != Rules::TwoFailures;
        }
    }

    fn fail(&mut self, probing: bool) {
        self.successes = 0;
        self.failures += 1;
        if probing {
            if let Rules::Aarf { most } = self.rules {
                self.needed = (2 * self.needed).min(most);
                self.timer = (2 * self.timer).min(TIMER_ATTEMPTS.max(most));
            }
        } else if self.failures < FAILURES {
            return;
        } else if let Rules::Aarf { .. } = self.rules {
            (self.needed, self.timer) = (SUCCESSES, TIMER_ATTEMPTS);
        }
        self.change(self.index.saturating_sub(1));
    }

    fn change(&mut self, index: usize) {
        self.index = index;
        (self.successes, self.failures, self.attempts) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds outcomes, `+` an ACK, `-` none. Returns the final index of the rate.
    fn feed(fallback: &mut Fallback, outcomes: &str) -> usize {
        outcomes.bytes().for_each(|outcome| fallback.handle_outcome(outcome == b'+'));
        fallback.index()
    }

    #[test]
    fn two_missing_in_a_row_go_down_and_five_received_go_up() {
        let mut f = Fallback::two_failures(3);
        assert_eq!(feed(&mut f, "-+-+-+"), 3);
        assert_eq!(feed(&mut f, "--"), 2);
        assert_eq!(feed(&mut f, "-"), 2);
        assert_eq!(feed(&mut f, "-"), 1);
        assert_eq!(feed(&mut f, "--------"), 0);
        assert_eq!(feed(&mut f, "++++-++++"), 0, "four in a row are not five");
        assert_eq!(feed(&mut f, "+"), 1);
        assert_eq!(feed(&mut f, "-"), 1, "it has no probe that drops at once");
        assert_eq!(feed(&mut f, "+++++"), 2);
    }

    #[test]
    fn arf_drops_a_failed_probe_at_once_and_has_a_timer() {
        let mut f = Fallback::arf(3);
        assert_eq!(feed(&mut f, "----"), 1);
        assert_eq!(feed(&mut f, "++++++++++"), 2);
        assert_eq!(feed(&mut f, "-"), 1, "the probe failed");
        assert_eq!(feed(&mut f, "++++++++++"), 2);
        assert_eq!(feed(&mut f, "+-"), 2, "the probe was received");
        assert_eq!(feed(&mut f, "-"), 1);
        // Never ten in a row, but fifteen attempts.
        assert_eq!(feed(&mut f, "++++-++++-+++-"), 1);
        assert_eq!(feed(&mut f, "+"), 2);
    }

    #[test]
    fn aarf_waits_twice_as_long_after_each_failed_probe() {
        let mut f = Fallback::aarf(1, 50);
        assert_eq!(feed(&mut f, "--"), 0);
        for needed in [10, 20, 40, 50, 50] {
            assert_eq!(feed(&mut f, &"+".repeat(needed - 1)), 0, "{needed}");
            assert_eq!(feed(&mut f, "+"), 1, "{needed}");
            assert_eq!(feed(&mut f, "-"), 0, "{needed}");
        }
        assert_eq!(feed(&mut f, &"+".repeat(50)), 1);
        assert_eq!(feed(&mut f, "+--"), 0, "two failures that are no probe");
        assert_eq!(feed(&mut f, &"+".repeat(10)), 1, "and it takes ten again");
    }
}
