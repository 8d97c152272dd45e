//! The virtual server: when the next packet may be released, for controllers that set a service rate (see `standing`
//! for the controller that follows completions).
//!
//! The medium is the real server. The virtual one takes as long for each packet as the medium would at the service
//! rate, so that the queue forms in front of it and not in the access point. Traffic that is not held (UDP,
//! broadcasts) uses the medium too; its cost becomes a debt, which longer waits after held packets pay off.

use evenair_units::{Instant, Span};

/// Most debt paid with a packet, in multiples of its own wait: held traffic keeps a tenth of the medium under any flood
/// of other traffic, and goes on measuring the medium.
const DEBT_PER_WAIT: u64 = 9;
/// Largest debt; more is forgiven. The medium cannot have carried more than its time, so a larger debt would only punish
/// held traffic for packets that the access point has dropped.
const DEBT_LIMIT: Span = Span::from_millis(100);

/// Shortest idleness that counts as a pause. If the queue has moved from the box into the access point, packets come at
/// the pace of the medium, with gaps of a few frames between them; exactly then the service rate has to be judged. A
/// user's pauses are longer.
const PAUSE: Span = Span::from_millis(50);

#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Instant until which it is busy with its last release.
    free_at: Instant,
    /// Lateness that is made up, at most.
    slack: Span,
    debt: Span,
    /// Account since the last [`Self::take_account`].
    account: Account,
    accounted_until: Instant,
}

/// What the server did in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Account {
    /// Length of the interval.
    pub(crate) elapsed: Span,
    /// Pauses in which it was neither busy nor had a packet.
    pub(crate) idle: Span,
    /// Time spent on paying for traffic that is not held.
    pub(crate) paid: Span,
}

impl Server {
    pub(crate) const fn new(slack: Span, now: Instant) -> Self {
        let account = Account { elapsed: Span::ZERO, idle: Span::ZERO, paid: Span::ZERO };
        Self { free_at: now, slack, debt: Span::ZERO, account, accounted_until: now }
    }

    pub(crate) const fn set_slack(&mut self, slack: Span) {
        self.slack = slack;
    }

    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// The first packet of a busy period has come. Returns whether the service of the last one had ended.
    pub(crate) fn wake(&mut self, now: Instant) -> bool {
        if now < self.free_at {
            return false;
        }
        self.account.idle += self.idle(now);
        self.debt = self.debt.saturating_sub(now.saturating_since(self.free_at));
        // An idle server has not been late: there is nothing to make up.
        self.free_at = now;
        true
    }

    /// Releases a packet now, which takes the server `wait`.
    pub(crate) fn release(&mut self, now: Instant, wait: Span) {
        let pay = self.debt.min(wait * DEBT_PER_WAIT);
        self.debt -= pay;
        self.account.paid += pay;
        self.free_at = self.free_at.max(now.saturating_sub(self.slack)).saturating_add(wait).saturating_add(pay);
    }

    /// Charges traffic that is not held with `cost` of the medium.
    pub(crate) fn bypass(&mut self, cost: Span) {
        self.debt = (self.debt + cost).min(DEBT_LIMIT);
    }

    /// The account since the last call; `waiting`: packets are held.
    pub(crate) fn take_account(&mut self, now: Instant, waiting: bool) -> Account {
        let mut account = core::mem::take(&mut self.account);
        account.elapsed = now.saturating_since(self.accounted_until);
        if !waiting {
            account.idle += self.idle(now);
        }
        self.accounted_until = now;
        account
    }

    /// The part of the present pause that is not accounted yet.
    fn idle(&self, now: Instant) -> Span {
        let pause = now.saturating_since(self.free_at);
        if pause < PAUSE { Span::ZERO } else { now.saturating_since(self.free_at.max(self.accounted_until)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Span = Span::from_millis(1);

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    #[test]
    fn lateness_is_made_up_to_the_slack_and_idleness_is_not() {
        let mut server = Server::new(Span::from_millis(2), at(0));
        assert!(server.wake(at(0)));
        server.release(at(0), WAIT);
        server.release(at(1500), WAIT); // half a millisecond late
        assert_eq!(server.free_at(), at(2000));
        server.release(at(9000), WAIT); // seven milliseconds late
        assert_eq!(server.free_at(), at(8000));
        assert!(server.wake(at(50_000)));
        server.release(at(50_000), WAIT);
        assert_eq!(server.free_at(), at(51_000));
        assert!(!server.wake(at(50_500)), "still in service");
    }

    #[test]
    fn debt_is_paid_by_waits_and_by_idleness_and_never_starves() {
        let mut server = Server::new(Span::ZERO, at(0));
        server.bypass(Span::from_secs(5));
        server.release(at(0), WAIT);
        assert_eq!(server.free_at(), at(10_000), "nine tenths to the debt");
        assert!(server.wake(at(80_000)), "70 ms idle; of 100 ms of debt, 21 are left");
        server.release(at(80_000), Span::from_millis(7));
        assert_eq!(server.free_at(), at(80_000 + 28_000));
        server.release(at(108_000), WAIT);
        assert_eq!(server.free_at(), at(109_000));
    }

    #[test]
    fn pauses_are_accounted_once_and_gaps_are_not() {
        let mut server = Server::new(Span::ZERO, at(0));
        let idle = |account: Account| (account.elapsed.as_micros(), account.idle.as_micros());
        assert_eq!(idle(server.take_account(at(100_000), false)), (100_000, 100_000));
        assert!(server.wake(at(140_000)));
        server.release(at(140_000), WAIT);
        assert!(server.wake(at(151_000)), "a gap of 10 ms");
        server.release(at(151_000), WAIT);
        assert_eq!(idle(server.take_account(at(252_000), false)), (152_000, 40_000 + 100_000));
        assert!(server.wake(at(252_000)));
        server.release(at(252_000), WAIT);
        assert_eq!(idle(server.take_account(at(400_000), true)), (148_000, 0));
    }
}
