//! Switchover of the traffic between the kernel's bridge and this box.
//!
//! Handing the traffic to the bridge takes three steps. First the manager drains its queues and everything it released is
//! sent. Then the lease is released, which lets packets past the box once the last packet of the ring has been sent. When
//! that has been the case for [`GRACE`], longer than a packet takes from the filter's decision to its count, the lease is
//! revoked.

use evenair_sys::hold::Hold;
use evenair_units::{Instant, Span};
use tracing::warn;

/// How long the lease lasts after the loop's last renewal.
pub const HOLD: Span = Span::from_millis(50);
/// How often the loop shows one, at least.
pub const BEAT: Span = Span::from_millis(10);
/// How much of the lease may have passed before a round renews it: a write in each round would take the word's cache line from
/// the processors whose programs read it for each packet.
const RENEW: Span = Span::from_millis(1);
const GRACE: Span = Span::from_millis(5);
const SETTLE_POLL: Span = Span::from_millis(1);

/// Who carries the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The kernel's bridge.
    Bridge,
    /// This box.
    Box,
    /// Each port's packets go to the bridge once everything taken before them has been sent.
    Releasing {
        /// Since when that has been so.
        settled: Option<Instant>,
    },
}

/// The lease, and the present carrier of the traffic.
#[derive(Debug)]
pub struct Switch {
    hold: Hold,
    carrier: Carrier,
    lapses: u64,
    /// The end of the lease, and the start of its uninterrupted validity.
    until: Instant,
    since: Instant,
}

impl Switch {
    /// A switch at which the bridge carries the traffic.
    pub fn new(hold: Hold) -> Self {
        Self { hold, carrier: Carrier::Bridge, lapses: 0, until: Instant::ZERO, since: Instant::ZERO }
    }

    /// Who carries the traffic.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// The fail-open gate.
    pub fn hold(&self) -> &Hold {
        &self.hold
    }

    /// How often the lease expired during a renewal interval, so that packets bypassed the box.
    pub fn lapses(&self) -> u64 {
        self.lapses
    }

    /// Whether the lease has expired, so that the bridge carries the traffic: what the box still has of it is out of date.
    pub fn has_lapsed(&self, now: Instant) -> bool {
        self.carrier != Carrier::Bridge && now > self.until
    }

    /// Whether all that the bridge carried before the lease was acquired has left the machine's receive path: packets taken on
    /// a shorter way do not overtake it any more.
    pub fn is_clear(&self, now: Instant) -> bool {
        self.carrier == Carrier::Bridge || now >= self.since + GRACE
    }

    /// Express packets wait until then.
    fn clear_at(&self, now: Instant) -> Option<Instant> {
        (!self.is_clear(now)).then(|| self.since + GRACE)
    }

    /// From now on the box carries the traffic.
    pub fn take(&mut self, now: Instant) {
        (self.until, self.since) = (now + HOLD, now);
        self.hold.take((now + HOLD).as_nanos());
        self.carrier = Carrier::Box;
    }

    /// The loop is about to do a piece of work that takes up to `longest`, in which it does not renew the lease: the lease
    /// stays in force for so much longer, until [`Self::step`] is called. The bridge takes over so much later if the box hangs
    /// or is stopped in just that piece of work; one that is killed lets go at once, as ever.
    pub fn extend(&mut self, now: Instant, longest: Span) {
        if self.carrier != Carrier::Bridge {
            self.renew(now, now + HOLD + longest);
        }
    }

    fn renew(&mut self, now: Instant, until: Instant) {
        self.until = until;
        if let Some(lapse) = self.hold.beat(now.as_nanos(), until.as_nanos()) {
            self.since = now;
            let lapse = Span::from_nanos(lapse);
            warn!("the loop was late: for {} us packets went past the box", lapse.as_micros());
            self.lapses += 1;
        }
    }

    /// Begins to give the traffic back. To be called when nothing is held and nothing waits to be sent.
    pub fn release(&mut self) {
        if self.carrier == Carrier::Box {
            self.hold.release();
            self.carrier = Carrier::Releasing { settled: None };
        }
    }

    /// To be called in every round of the loop, after it has sent what it could. `settled`: the lease is being released, and
    /// both ports have given back all they took. Returns whether the bridge has just taken over.
    pub fn step(&mut self, now: Instant, settled: bool) -> bool {
        if self.carrier == Carrier::Bridge {
            return false;
        }
        let until = now + HOLD;
        if until < self.until || until >= self.until + RENEW {
            self.renew(now, until);
        }
        let Carrier::Releasing { settled: since } = &mut self.carrier else { return false };
        if !settled {
            *since = None;
            return false;
        }
        if now < *since.get_or_insert(now) + GRACE {
            return false;
        }
        self.hold.lift();
        self.carrier = Carrier::Bridge;
        true
    }

    /// When [`Self::step`] must be called again at the latest.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let beat = match self.carrier {
            Carrier::Bridge => None,
            Carrier::Box => Some(now + BEAT),
            Carrier::Releasing { .. } => Some(now + SETTLE_POLL),
        };
        beat.into_iter().chain(self.clear_at(now)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_renewed_once_a_millisecond_and_an_extended_one_at_once() {
        let hold = match Hold::new(None) {
            Ok(hold) => hold,
            Err(error) => return eprintln!("skipped: {error} (needs root)"),
        };
        let mut switch = Switch::new(hold);
        let at = |us| Instant::ZERO + Span::from_secs(1) + Span::from_micros(us);
        switch.take(at(0));
        let mut until_after = |us| {
            switch.step(at(us), false);
            switch.until
        };
        assert_eq!(until_after(999), at(0) + HOLD, "a write in each round");
        assert_eq!(until_after(1_000), at(1_000) + HOLD);
        assert_eq!(until_after(60_000), at(60_000) + HOLD);
        assert_eq!(switch.lapses(), 1, "from 51 ms on");
        switch.extend(at(60_100), Span::from_secs(1));
        assert!(!switch.has_lapsed(at(1_000_000)));
        switch.step(at(60_200), false);
        assert_eq!(switch.until, at(60_200) + HOLD, "the piece of work is done");
    }
}
