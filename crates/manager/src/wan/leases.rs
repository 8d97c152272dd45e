//! How several managers share one direction of the Internet link: by leases of its time.
//!
//! Each manager runs on a thread of its own and sees only its own queues. Fixed equal parts of the link would waste
//! what a manager does not use. Therefore the managers lease the link's time in turn: a manager with packets to send
//! leases up to a millisecond ([`LEASE`]), serves at the full rate as if the link were its own, and returns the time
//! that it did not need. No two leases overlap, so all managers together never exceed the configured rate.
//!
//! The order of leases is start-time fair queueing over the shards, weighted by the number of stations of each shard
//! that have packets waiting now. That is max-min fair over the stations, on whichever shard they are. A single
//! active shard gets lease after lease and all of the link. If the shard whose turn it is does not take its lease,
//! because its thread was delayed, the others wait a little and then overtake it; it has its turn when it is back.
//!
//! The private state of a shard is in [`LinkShare`]; the shared state is in atomics, so that no thread waits for a
//! lock held by a delayed one. Driven by one thread it is a state machine like the others, and is tested as one.
//!
//! What is not here: shares of classes (a shard counts for the weights at the top of its tree, which would count a
//! class on two shards twice).
//!
//! Source of the order: Goyal, Vin, Cheng, IEEE/ACM ToN 5(5), 1997.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use evenair_units::{Instant, Span};
use minicbor::{Decode, Encode};

/// Longest lease. A station on one shard waits for another shard's lease for no longer than this.
const LEASE: Span = Span::from_millis(1);
/// Time that others wait for the shard whose turn it is.
const PATIENCE: Span = Span::from_micros(200);
/// Lateness of a shard's next request after which the shard does not count: its thread hangs.
const FORGOTTEN: Span = Span::from_millis(5);
/// Units of a tag in a nanosecond at weight one, where tags last for nine years of a busy link.
const SCALE: u64 = 64;

/// An interval of the link's time for one manager alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Lease {
    /// Its beginning.
    #[n(0)]
    pub from: Instant,
    /// Its end. The last packet may extend beyond it, after which the next lease of any manager begins.
    #[n(1)]
    pub until: Instant,
}

/// What a manager needs of a direction of the link, and what it has used of its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkNeed {
    /// Sum of the weights with packets waiting; zero: none wait.
    pub weight: u64,
    /// Instant up to which the link's time is used.
    pub used: Instant,
    /// Whether it still has a lease.
    pub leased: bool,
}

/// What a shard has to do about the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing: it needs nothing.
    Rest,
    /// Go on with its lease.
    GoOn,
    /// Serve with this lease.
    Take(Lease),
    /// Ask again at this instant, or sooner.
    Wait(Instant),
}

/// One shard's end of a shared direction of the link.
#[derive(Debug)]
pub struct LinkShare {
    shared: Arc<Shared>,
    shard: usize,
    /// Lateness that is made up, at most.
    slack: Span,
    lease: Option<Held>,
    /// Since when it has waited for the shard whose turn it is.
    waits_since: Option<Instant>,
    /// Time used beyond a lease whose end could no longer be moved.
    owed: Span,
}

/// The lease of a shard, with the tag and weight of its charge.
#[derive(Clone, Copy, Debug)]
struct Held {
    lease: Lease,
    tag: u64,
    weight: u64,
}

/// State shared by all shards.
#[derive(Debug)]
struct Shared {
    /// Instant up to which the link's time is leased, in nanoseconds.
    leased_until: AtomicU64,
    /// The tag of the lease that began last.
    virtual_time: AtomicU64,
    shards: Vec<Account>,
}

/// State of one shard, which all read and it alone writes. Each has a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Account {
    /// Weight of its waiting packets; zero: none.
    weight: AtomicU64,
    /// The start tag of its next lease.
    tag: AtomicU64,
    /// When it will ask again, in nanoseconds.
    asks_at: AtomicU64,
}

impl LinkShare {
    /// The ends of so many shards. `slack`: lateness that is made up, at most.
    pub fn of_shards(shards: usize, slack: Span, now: Instant) -> Vec<Self> {
        let shared = Arc::new(Shared {
            leased_until: AtomicU64::new(now.as_nanos()),
            virtual_time: AtomicU64::new(0),
            shards: (0..shards).map(|_| Account::default()).collect(),
        });
        let end = |shard| Self {
            shared: Arc::clone(&shared),
            shard,
            slack,
            lease: None,
            waits_since: None,
            owed: Span::ZERO,
        };
        (0..shards).map(end).collect()
    }

    /// To be called whenever the manager got an input, or time has passed for it; and no later than at the instant that
    /// it returns.
    pub fn turn(&mut self, now: Instant, need: LinkNeed) -> Turn {
        if let Some(held) = self.lease {
            let used = need.used.max(now.saturating_sub(self.slack));
            if need.weight > 0 && need.leased && used < held.lease.until {
                return Turn::GoOn;
            }
            self.lease = None;
            self.settle(held, need.used);
        }
        let account = &self.shared.shards[self.shard];
        if need.weight == 0 {
            account.weight.store(0, Ordering::Release);
            self.waits_since = None;
            return Turn::Rest;
        }
        if account.weight.load(Ordering::Relaxed) == 0 {
            // Unused turns are lost.
            account.tag.fetch_max(self.shared.virtual_time.load(Ordering::Acquire), Ordering::AcqRel);
        }
        let turn = self.ask(now, need.weight);
        let asks_at = match turn {
            Turn::Take(lease) => lease.until,
            Turn::Wait(until) => until,
            Turn::GoOn | Turn::Rest => now,
        };
        let account = &self.shared.shards[self.shard];
        account.asks_at.store(asks_at.as_nanos(), Ordering::Relaxed);
        // From now on the others take it into account.
        account.weight.store(need.weight, Ordering::Release);
        turn
    }

    fn ask(&mut self, now: Instant, weight: u64) -> Turn {
        loop {
            let leased_until = self.shared.leased_until.load(Ordering::Acquire);
            let free_at = Instant::from_nanos(leased_until);
            if now < free_at {
                self.waits_since = None;
                return Turn::Wait(free_at);
            }
            if !self.is_next(now) {
                let patience_ends = *self.waits_since.get_or_insert(now) + PATIENCE;
                if now < patience_ends {
                    return Turn::Wait(patience_ends);
                }
            }
            let from = free_at.max(now.saturating_sub(self.slack)).saturating_add(self.owed);
            let until = from.saturating_add(LEASE);
            let taken = self.shared.leased_until.compare_exchange(
                leased_until,
                until.as_nanos(),
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            if taken.is_ok() {
                (self.owed, self.waits_since) = (Span::ZERO, None);
                return Turn::Take(self.begin(Lease { from, until }, weight));
            }
        }
    }

    /// Whether no other shard's turn precedes this one's.
    fn is_next(&self, now: Instant) -> bool {
        let own = self.shared.shards[self.shard].tag.load(Ordering::Relaxed);
        let forgotten = now.saturating_sub(FORGOTTEN).as_nanos();
        let others = self.shared.shards.iter().enumerate().filter(|(shard, _)| *shard != self.shard);
        others.into_iter().all(|(shard, other)| {
            let counts = other.weight.load(Ordering::Acquire) > 0 && other.asks_at.load(Ordering::Relaxed) >= forgotten;
            !counts || (own, self.shard) < (other.tag.load(Ordering::Acquire), shard)
        })
    }

    fn begin(&mut self, lease: Lease, weight: u64) -> Lease {
        let account = &self.shared.shards[self.shard];
        let tag = account.tag.load(Ordering::Relaxed);
        self.shared.virtual_time.fetch_max(tag, Ordering::AcqRel);
        account.tag.store(tag.saturating_add(charge(LEASE, weight)), Ordering::Release);
        self.lease = Some(Held { lease, tag, weight });
        lease
    }

    /// Ends a lease that was used until `used`: returns the rest of it, or notes the excess as owed.
    fn settle(&mut self, held: Held, used: Instant) {
        let used = used.max(held.lease.from);
        let length = charge(used.saturating_since(held.lease.from), held.weight);
        self.shared.shards[self.shard].tag.store(held.tag.saturating_add(length), Ordering::Release);
        let moved = self.shared.leased_until.compare_exchange(
            held.lease.until.as_nanos(),
            used.as_nanos(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if moved.is_err() {
            // Another lease has begun at its end: it is too late to give back, and the excess is owed.
            self.owed = used.saturating_since(held.lease.until).min(LEASE);
        }
    }
}

impl Drop for LinkShare {
    fn drop(&mut self) {
        // No shard must wait for one that is gone.
        self.shared.shards[self.shard].weight.store(0, Ordering::Release);
    }
}

/// What an interval of the link's time adds to a tag.
fn charge(length: Span, weight: u64) -> u64 {
    length.as_nanos().saturating_mul(SCALE) / weight.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    /// A shard with stations that have packets waiting, each of the same time on the link, and what it has sent.
    struct Shard {
        share: LinkShare,
        lease: Option<Lease>,
        used: Instant,
        weight: u64,
        waiting: u64,
        sent: u64,
        asks_at: Instant,
        /// Its thread is blocked until then.
        held_up: Instant,
    }

    const SLACK: Span = Span::from_millis(2);

    struct Link {
        shards: Vec<Shard>,
        packet: Span,
        now: Instant,
        /// When each packet was on the link: from, to.
        served: Vec<(Instant, Instant)>,
    }

    impl Link {
        fn new(weights: &[u64], packet: Span) -> Self {
            let shares = LinkShare::of_shards(weights.len(), SLACK, at(0));
            let shard = |(share, &weight)| Shard {
                share,
                lease: None,
                used: at(0),
                weight,
                waiting: u64::MAX,
                sent: 0,
                asks_at: at(0),
                held_up: at(0),
            };
            Self {
                shards: shares.into_iter().zip(weights).map(shard).collect(),
                packet,
                now: at(0),
                served: Vec::new(),
            }
        }

        /// One round of a packet loop with one shard.
        fn step(&mut self, n: usize) {
            let (now, packet) = (self.now, self.packet);
            let shard = &mut self.shards[n];
            loop {
                while let Some(lease) = shard.lease {
                    let start = shard.used.max(now.saturating_sub(SLACK));
                    if shard.waiting == 0 || start >= lease.until || shard.used > now {
                        break;
                    }
                    shard.used = start + packet;
                    self.served.push((start, shard.used));
                    shard.waiting -= 1;
                    shard.sent += 1;
                }
                let weight = if shard.waiting > 0 { shard.weight } else { 0 };
                let need = LinkNeed { weight, used: shard.used, leased: shard.lease.is_some() };
                match shard.share.turn(now, need) {
                    Turn::Take(lease) => (shard.lease, shard.used) = (Some(lease), lease.from),
                    Turn::GoOn => break shard.asks_at = shard.used,
                    Turn::Wait(until) => {
                        shard.lease = None;
                        break shard.asks_at = until;
                    }
                    Turn::Rest => {
                        shard.lease = None;
                        break shard.asks_at = Instant::MAX;
                    }
                }
            }
        }

        fn run(&mut self, until: Instant) {
            while self.now < until {
                for n in 0..self.shards.len() {
                    if self.shards[n].asks_at <= self.now && self.shards[n].held_up <= self.now {
                        self.step(n);
                    }
                }
                let due = |shard: &Shard| shard.asks_at.max(shard.held_up);
                let next = self.shards.iter().map(due).min().unwrap_or(Instant::MAX);
                self.now = next.max(self.now + Span::from_micros(1)).min(until);
            }
        }

        fn sent(&mut self) -> Vec<u64> {
            self.shards.iter_mut().map(|shard| core::mem::take(&mut shard.sent)).collect()
        }
    }

    /// Asserts that no two packets were on the link at once, and that it was never used ahead of time.
    fn assert_exclusive(link: &mut Link) {
        link.served.sort_unstable();
        for pair in link.served.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{pair:?}");
        }
    }

    /// Jain's index in thousandths.
    fn jain(values: &[u64]) -> u64 {
        let (sum, squares): (u64, u64) = (values.iter().sum(), values.iter().map(|v| v * v).sum());
        sum * sum * 1000 / (values.len() as u64 * squares)
    }

    #[test]
    fn equal_shards_share_equally_and_one_alone_has_all() {
        let mut link = Link::new(&[1, 1, 1], Span::from_micros(120));
        link.run(at(1_000_000));
        let sent = link.sent();
        assert!(jain(&sent) >= 990, "{sent:?}");
        assert!(sent.iter().sum::<u64>() >= 8_300, "of 8333: {sent:?}");
        (link.shards[0].waiting, link.shards[2].waiting) = (0, 0);
        link.run(at(2_000_000));
        let sent = link.sent();
        assert!(sent[1] >= 8_300 && sent[0] + sent[2] == 0, "{sent:?}");
        link.shards[2].waiting = u64::MAX;
        link.shards[2].asks_at = link.now;
        link.run(at(3_000_000));
        let sent = link.sent();
        assert!(jain(&sent[1..]) >= 990, "who comes back has no turns to make up: {sent:?}");
        assert_exclusive(&mut link);
    }

    #[test]
    fn shares_follow_the_weight_of_waiting_packets() {
        let mut link = Link::new(&[1, 4], Span::from_micros(240));
        link.run(at(2_000_000));
        let sent = link.sent();
        assert!((3_900..4_100).contains(&(sent[1] * 1000 / sent[0])), "{sent:?}");
        link.shards[1].weight = 1;
        link.run(at(4_000_000));
        let sent = link.sent();
        assert!(jain(&sent) >= 990, "{sent:?}");
        assert_exclusive(&mut link);
    }

    #[test]
    fn the_unused_rest_of_a_lease_is_returned() {
        let mut link = Link::new(&[1, 1], Span::from_micros(100));
        // One packet now and then: its shard uses a tenth of a lease at a time.
        link.shards[0].waiting = 0;
        for ms in 0..500 {
            link.shards[0].waiting = 1;
            link.shards[0].asks_at = link.now;
            link.run(at(2_000 * (ms + 1)));
        }
        let sent = link.sent();
        assert_eq!(sent[0], 500, "{sent:?}");
        assert!(sent[1] >= 9_450, "of 9500: {sent:?}");
        assert_exclusive(&mut link);
    }

    #[test]
    fn packets_longer_than_a_lease_are_paid_for() {
        let mut link = Link::new(&[1, 1], Span::from_millis(12));
        link.run(at(12_000_000));
        let sent = link.sent();
        assert!(jain(&sent) >= 990 && (990..=1001).contains(&sent.iter().sum::<u64>()), "{sent:?}");
        assert_exclusive(&mut link);
    }

    #[test]
    fn a_blocked_shard_blocks_no_other() {
        let mut link = Link::new(&[1, 1], Span::from_micros(120));
        link.run(at(100_000));
        link.sent();
        link.shards[0].held_up = at(600_000);
        link.run(at(600_000));
        let sent = link.sent();
        assert!(sent[1] * 120 >= 485_000, "nearly half a second of the link: {sent:?}");
        link.run(at(700_000));
        let after = link.sent();
        assert!(after[0] > after[1], "it has turns to make up: {after:?}");
        assert_exclusive(&mut link);
    }
}
