//! Sparse-flow priority: queues that use little of the medium are served first.
//!
//! A page request, a call or the answer of a name server is a single packet now and then. In its turn it would wait
//! for a round of all stations, and within its station for the bulk transfer beside it. So a queue that was empty,
//! and has recently used less airtime than its credit, is served at once (the "new flows" of FQ-CoDel, RFC 8290, 4.2;
//! here by airtime and across stations).
//!
//! A packet served this way is charged like any other, to the connection, its station and all levels above, whose
//! next turns come later by that. No station gets more than its share over time, however many connections it opens,
//! since a station that is ahead of its share by [`LEAD`] waits in turn. Only the order within some tens of
//! milliseconds changes.
//!
//! What is not here: the queues, the tags (see `queues`, `evenair_sched`).

use evenair_units::{Instant, Span};

/// Medium time that a connection may use after idleness before it counts as bulk: ten packets of full size at 11 Mb/s,
/// the usual initial window (RFC 6928).
const BURST: Span = Span::from_millis(20);
/// Largest part of time at which credit is restored, as a divisor; else it is half of an equal share of the queues in
/// use. Connections that use less are sparse; bulk transfers are not, even if their queues run empty now and then.
const MOST_PART: u64 = 8;

/// Medium time by which a station may be ahead of its turns for its sparse queues to have priority; by which a direction
/// or class may.
pub(crate) const LEAD: Span = Span::from_millis(30);
pub(crate) const LEAD_ABOVE: Span = Span::from_millis(100);

/// Recent use of the medium by a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    used: Span,
    at: Instant,
}

impl Credit {
    /// Full credit of an unused queue.
    pub(crate) const FULL: Self = Self { used: Span::ZERO, at: Instant::ZERO };

    /// Restores credit up to now; `in_use`: number of queues in use.
    pub(crate) fn refill(&mut self, now: Instant, in_use: usize) {
        let part = MOST_PART.max(2 * in_use as u64);
        self.used = self.used.saturating_sub(now.saturating_since(self.at) / part);
        self.at = self.at.max(now);
    }

    /// Uses credit. The debt is at most a burst: a bulk transfer that ends is soon forgotten, but not one whose queue is
    /// empty for a moment.
    pub(crate) fn spend(&mut self, airtime: Span) {
        self.used = (self.used + airtime).min(BURST * 2);
    }

    pub(crate) fn is_left(self) -> bool {
        self.used < BURST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// Whether a queue that uses 2 ms of the medium in every `period` ms keeps some credit.
    fn stays_sparse(period: u64, in_use: usize) -> bool {
        let mut credit = Credit::FULL;
        (0..1_000).all(|k| {
            credit.refill(at(k * period), in_use);
            let is_sparse = credit.is_left();
            credit.spend(Span::from_millis(2));
            is_sparse
        })
    }

    #[test]
    fn a_queue_is_sparse_up_to_half_of_a_share() {
        assert!(stays_sparse(16, 1) && !stays_sparse(14, 1));
        assert!(stays_sparse(40, 10) && !stays_sparse(38, 10));
    }

    #[test]
    fn a_burst_is_sparse_and_a_pause_makes_it_so_again() {
        let mut credit = Credit::FULL;
        let burst = |credit: &mut Credit| {
            let mut packets = 0;
            while credit.is_left() {
                credit.spend(Span::from_millis(2));
                packets += 1;
            }
            packets
        };
        assert_eq!(burst(&mut credit), 10);
        credit.refill(at(100), 1);
        assert_eq!(burst(&mut credit), 7, "12.5 ms have come back");
        credit.refill(at(10_000), 1);
        assert_eq!(burst(&mut credit), 10, "no more than a burst however long the pause");
    }
}
