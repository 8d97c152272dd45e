//! A shard's lease of the Internet link.

use evenair_manager::{Hop, Lease, LinkShare, Manager, Turn};
use evenair_units::{Instant, Span};

/// A shard's ends of both directions of the link.
#[derive(Debug)]
pub(crate) struct Leases {
    of: [(Hop, LinkShare); 2],
    /// Latest time of the next request.
    asks_at: Option<Instant>,
}

impl Leases {
    /// The ends of so many shards.
    pub(crate) fn of_shards(shards: usize, slack: Span, now: Instant) -> Vec<Self> {
        let shares = || LinkShare::of_shards(shards, slack, now);
        let ends = |(down, up)| Self { of: [(Hop::InternetDown, down), (Hop::InternetUp, up)], asks_at: None };
        shares().into_iter().zip(shares()).map(ends).collect()
    }

    /// Gets the leases that the manager needs and that are available; calls `given` for each.
    pub(crate) fn tend<P: Send + 'static>(
        &mut self,
        now: Instant,
        manager: &mut Manager<P>,
        mut given: impl FnMut(Hop, Lease),
    ) {
        self.asks_at = None;
        for (hop, share) in &mut self.of {
            while let Some(need) = manager.link_need(*hop) {
                match share.turn(now, need) {
                    Turn::Take(lease) => {
                        given(*hop, lease);
                        manager.handle_lease(now, *hop, lease);
                    }
                    Turn::Wait(until) => {
                        self.asks_at = self.asks_at.into_iter().chain([until]).min();
                        break;
                    }
                    Turn::GoOn | Turn::Rest => break,
                }
            }
        }
    }

    /// Latest time of the next call of [`Self::tend`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.asks_at
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use evenair_manager::LinkNeed;

    use super::*;

    /// The state machine is tested in the core; this tests that threads do not interfere.
    #[test]
    fn threads_never_lease_the_same_time() {
        const THREADS: usize = 4;
        let clock = Arc::new(AtomicU64::new(0));
        let shares = LinkShare::of_shards(THREADS, Span::ZERO, Instant::ZERO);
        let threads = shares.into_iter().map(|mut share| {
            let clock = Arc::clone(&clock);
            std::thread::spawn(move || {
                let (mut leases, mut used) = (Vec::new(), Instant::ZERO);
                for _ in 0..20_000 {
                    let now = Instant::from_nanos(clock.fetch_add(20_000, Ordering::AcqRel));
                    if let Turn::Take(lease) = share.turn(now, LinkNeed { weight: 1, used, leased: true }) {
                        leases.push(lease);
                        used = lease.until;
                    }
                }
                leases
            })
        });
        let threads: Vec<_> = threads.collect();
        let mut all: Vec<Lease> = threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect();
        all.sort_unstable_by_key(|lease| lease.from);
        assert!(all.len() > 100, "{}", all.len());
        for pair in all.windows(2) {
            assert!(pair[0].until <= pair[1].from, "{pair:?}");
        }
    }
}
