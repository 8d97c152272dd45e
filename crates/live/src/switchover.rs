//! Switchover of the traffic between the kernel's bridge and this box.
//!
//! Handing the traffic to the bridge takes three steps. First the manager drains its queues and everything it released is
//! sent. Then the lease is released, which lets packets past the box once the last packet of the ring has been sent. When
//! that has been the case for [`GRACE`], longer than a packet takes from the filter's decision to its count, the lease is
//! revoked.

use evenair_sys::fail_open::FailOpenGate;
use evenair_units::{Instant, Span};
use tracing::warn;

/// Time for which the lease lasts after the loop's last renewal.
pub const LEASE: Span = Span::from_millis(50);
/// Longest time between two renewals by the loop.
pub const HEARTBEAT: Span = Span::from_millis(10);
/// Part of the lease that may pass before a round renews it: a write in each round would take the cache line of the lease from the
/// processors whose programs read it for each packet.
const RENEW: Span = Span::from_millis(1);
const GRACE: Span = Span::from_millis(5);
const RELEASE_POLL: Span = Span::from_millis(1);

/// The data path: who carries the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// The kernel's bridge.
    Bridge,
    /// This box.
    Box,
    /// Each port's packets go to the bridge once everything taken before them has been sent.
    Releasing {
        /// Since when that has been so.
        drained: Option<Instant>,
    },
}

/// The lease, and the present data path.
#[derive(Debug)]
pub struct Switchover {
    gate: FailOpenGate,
    data_path: DataPath,
    expiries: u64,
    /// The end of the lease, and the start of its uninterrupted validity.
    until: Instant,
    since: Instant,
}

impl Switchover {
    /// The bridge carries the traffic.
    pub fn new(gate: FailOpenGate) -> Self {
        Self { gate, data_path: DataPath::Bridge, expiries: 0, until: Instant::ZERO, since: Instant::ZERO }
    }

    /// Who carries the traffic.
    pub fn data_path(&self) -> DataPath {
        self.data_path
    }

    /// The fail-open gate.
    pub fn gate(&self) -> &FailOpenGate {
        &self.gate
    }

    /// How often the lease expired during a renewal interval, so that packets bypassed the box.
    pub fn expiries(&self) -> u64 {
        self.expiries
    }

    /// Whether the lease has expired, so that the bridge carries the traffic and packets that the box still has are outdated.
    pub fn has_expired(&self, now: Instant) -> bool {
        self.data_path != DataPath::Bridge && now > self.until
    }

    /// Whether all packets that the bridge carried before the lease was acquired have left the machine's receive path, so that packets
    /// taken on a shorter path do not overtake them.
    pub fn is_clear(&self, now: Instant) -> bool {
        self.data_path == DataPath::Bridge || now >= self.since + GRACE
    }

    /// When packets of the AF_XDP path may be taken.
    fn clear_at(&self, now: Instant) -> Option<Instant> {
        (!self.is_clear(now)).then(|| self.since + GRACE)
    }

    /// Acquires the lease: the box carries the traffic from now on.
    pub fn acquire(&mut self, now: Instant) {
        (self.until, self.since) = (now + LEASE, now);
        self.gate.acquire((now + LEASE).as_nanos());
        self.data_path = DataPath::Box;
    }

    /// Extends the lease for work that takes up to `longest` and does not renew it, until [`Self::step`] is called. The bridge takes over
    /// later by that time if the box hangs or is stopped during this work; a killed box loses the lease at once in any case.
    pub fn extend(&mut self, now: Instant, longest: Span) {
        if self.data_path != DataPath::Bridge {
            self.renew(now, now + LEASE + longest);
        }
    }

    fn renew(&mut self, now: Instant, until: Instant) {
        self.until = until;
        if let Some(late_by) = self.gate.renew(now.as_nanos(), until.as_nanos()) {
            self.since = now;
            let late_by = Span::from_nanos(late_by);
            warn!("the loop was late: for {} us packets went past the box", late_by.as_micros());
            self.expiries += 1;
        }
    }

    /// Begins to release the traffic. To be called when no packet is held and none waits to be sent.
    pub fn release(&mut self) {
        if self.data_path == DataPath::Box {
            self.gate.release();
            self.data_path = DataPath::Releasing { drained: None };
        }
    }

    /// To be called in every round of the loop, after sending. `drained`: the lease is being released, and both ports have given back all
    /// that they took. Returns whether the bridge has just taken over.
    pub fn step(&mut self, now: Instant, drained: bool) -> bool {
        if self.data_path == DataPath::Bridge {
            return false;
        }
        let until = now + LEASE;
        if until < self.until || until >= self.until + RENEW {
            self.renew(now, until);
        }
        let DataPath::Releasing { drained: since } = &mut self.data_path else { return false };
        if !drained {
            *since = None;
            return false;
        }
        if now < *since.get_or_insert(now) + GRACE {
            return false;
        }
        self.gate.revoke();
        self.data_path = DataPath::Bridge;
        true
    }

    /// Latest time of the next call of [`Self::step`].
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let renewal = match self.data_path {
            DataPath::Bridge => None,
            DataPath::Box => Some(now + HEARTBEAT),
            DataPath::Releasing { .. } => Some(now + RELEASE_POLL),
        };
        renewal.into_iter().chain(self.clear_at(now)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_renewed_once_a_millisecond_and_an_extended_one_at_once() {
        let gate = match FailOpenGate::new(None) {
            Ok(gate) => gate,
            Err(error) => return eprintln!("skipped: {error} (needs root)"),
        };
        let mut switchover = Switchover::new(gate);
        let at = |us| Instant::ZERO + Span::from_secs(1) + Span::from_micros(us);
        switchover.acquire(at(0));
        let mut until_after = |us| {
            switchover.step(at(us), false);
            switchover.until
        };
        assert_eq!(until_after(999), at(0) + LEASE, "a write in each round");
        assert_eq!(until_after(1_000), at(1_000) + LEASE);
        assert_eq!(until_after(60_000), at(60_000) + LEASE);
        assert_eq!(switchover.expiries(), 1, "from 51 ms on");
        switchover.extend(at(60_100), Span::from_secs(1));
        assert!(!switchover.has_expired(at(1_000_000)));
        switchover.step(at(60_200), false);
        assert_eq!(switchover.until, at(60_200) + LEASE, "the piece of work is done");
    }
}
