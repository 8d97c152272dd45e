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

/// The longest lease. A station on one shard waits for another shard's by no more than this.
pub const LEASE: Span = Span::from_millis(1);
/// How long the others wait for the shard whose turn it is.
const PATIENCE: Span = Span::from_micros(200);
/// A shard that is so late to ask again does not count: its thread hangs.
const FORGOTTEN: Span = Span::from_millis(5);
/// Of tags: units in a nanosecond over a weight of one. At weight one they last for nine years of a busy link.
const SCALE: u64 = 64;

/// A stretch of the link's time that is one manager's alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Lease {
    /// Its beginning.
    #[n(0)]
    pub from: Instant,
    /// Its end. The packet that is begun last may reach beyond it, which the next lease, whoever's, comes after.
    #[n(1)]
    pub until: Instant,
}

/// What a manager wants of a direction of the link, and what it has used of its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkNeed {
    /// The weights of what has something waiting; zero: nothing has.
    pub weight: u64,
    /// The link's time is used until then.
    pub used: Instant,
    /// It still goes by a lease.
    pub leased: bool,
}

/// What a shard is to do about the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing: it wants nothing.
    Rest,
    /// Go on with the lease that it has.
    GoOn,
    /// Serve in this one.
    Take(Lease),
    /// Ask again then, or sooner.
    Wait(Instant),
}

/// One shard's end of a shared direction of the link.
#[derive(Debug)]
pub struct LinkShare {
    shared: Arc<Shared>,
    shard: usize,
    /// Lateness up to this is made up.
    slack: Span,
    lease: Option<Held>,
    /// Since when it waits for the shard whose turn it is.
    waits_since: Option<Instant>,
    /// It has used so much beyond a lease whose end could not be moved any more.
    owed: Span,
}

/// The lease that a shard has, with what it is charged by.
#[derive(Clone, Copy, Debug)]
struct Held {
    lease: Lease,
    tag: u64,
    weight: u64,
}

/// What all shards see.
#[derive(Debug)]
struct Shared {
    /// The link's time is leased until then, in nanoseconds.
    leased_until: AtomicU64,
    /// The tag of the lease last begun.
    virtual_time: AtomicU64,
    shards: Vec<Account>,
}

/// What all see of one shard. Written by that one alone. Each on a line of the cache of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Account {
    /// Of what waits there; zero: nothing.
    weight: AtomicU64,
    /// The start tag of its next lease.
    tag: AtomicU64,
    /// When it is to ask again, in nanoseconds.
    asks_at: AtomicU64,
}

impl LinkShare {
    /// The ends of so many shards. Lateness up to `slack` is made up.
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

    /// To be called whenever the manager has been given something, or has had its time; and by the instant that it
    /// says.
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
            // Turns that it did not want are gone.
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
        // From now on the others reckon with it.
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

    /// Whether no turn of another shard comes before this one's.
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

    /// A lease has ended, used until then: what is left of it goes back, what was used beyond it comes off the link's
    /// time.
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
            // Somebody else's lease has begun at its end: too late to give back, and what was used of that is owed.
            self.owed = used.saturating_since(held.lease.until).min(LEASE);
        }
    }
}

impl Drop for LinkShare {
    fn drop(&mut self) {
        // Nobody is to wait for a shard that has gone.
        self.shared.shards[self.shard].weight.store(0, Ordering::Release);
    }
}

/// What a stretch of the link's time adds to a tag.
fn charge(length: Span, weight: u64) -> u64 {
    length.as_nanos().saturating_mul(SCALE) / weight.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    /// A shard with stations that have packets waiting, all of the same time on the link, and what it has sent.
    struct Shard {
        share: LinkShare,
        lease: Option<Lease>,
        used: Instant,
        weight: u64,
        waiting: u64,
        sent: u64,
        asks_at: Instant,
        /// Its thread is held up until then.
        held_up: Instant,
    }

    const SLACK: Span = Span::from_millis(2);

    struct Link {
        shards: Vec<Shard>,
        packet: Span,
        now: Instant,
        /// When each packet was on the link.
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

        /// What a packet loop does with one shard.
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

    /// No two packets were on the link at once, and it was never used before it was there.
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
    fn shares_go_by_the_weight_of_what_waits() {
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
    fn what_a_lease_was_not_needed_for_goes_back() {
        let mut link = Link::new(&[1, 1], Span::from_micros(100));
        // One packet now and then: its shard takes a tenth of a lease at a time.
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
    fn a_shard_that_is_held_up_holds_nobody_up() {
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
