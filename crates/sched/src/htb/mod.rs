//! Hierarchical token bucket: a tree of classes, each with a guaranteed rate and a ceiling that it may reach with unused
//! bandwidth of others.
//!
//! Each class has two buckets, counted in time: one is filled at its rate, one at its ceiling. With both in credit it is green
//! and sends; with the second alone it is yellow and sends what its parent lends, which is green or may borrow itself;
//! otherwise it is red. Eligible classes of a level take turns by deficit round robin, in the order of priority; leaves that
//! send at their own rate precede all that borrow.
//!
//! Source: M. Devera, "HTB manual and theory", 2002, and Linux `net/sched/sch_htb.c`, which this follows step by step: the
//! pointers of the rounds, when deficits are given, buckets of a minute at most, hysteresis (there a module parameter, formerly
//! on), and the clock (`tick`: kernels before 2.6.22 counted jiffies by default). Left out: offloading, the direct queue (a
//! packet of no class goes to `default`), and its bound on events handled at once.
//!
//! Bound: over a time t a class without borrowing sends no more than rate * t + burst and, if it is backlogged and the rates
//! of all leaves fit the server, no less than rate * t - a few quanta; no class sends more than ceil * t + cburst. Delay
//! inside of a class is not bounded.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;

use evenair_units::{BitRate, Bytes, Instant, Span};
use minicbor::{Decode, Encode};

use crate::leaves::Leaves;
use crate::{Config, Discipline, Dropped, Packet};
use class::Class;
use feed::Feed;

mod class;
mod feed;
mod stretch;
mod tree;

pub use class::Mode;
pub(crate) use stretch::Stretch;

/// Largest burst or quantum: a second at 8 Gb/s.
const MOST_BYTES: Bytes = Bytes(1_000_000_000);
/// Highest ceiling.
const MOST_RATE: BitRate = BitRate::from_mbps(1_000_000);
/// Number of levels of the tree (`TC_HTB_MAXDEPTH`).
pub(crate) const LEVELS: usize = 8;
/// Number of priorities (`TC_HTB_NUMPRIO`).
pub(crate) const PRIORITIES: usize = 8;

/// One class.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct HtbClass {
    /// Number of the class from which it borrows, which is lower than its own.
    #[n(0)]
    pub parent: Option<usize>,
    /// Guaranteed rate.
    #[n(1)]
    pub rate: BitRate,
    /// Maximum rate with borrowing; no less than the rate.
    #[n(2)]
    pub ceil: BitRate,
    /// Bytes that it may send at once at its rate.
    #[n(3)]
    pub burst: Bytes,
    /// Bytes that it may send at once at its ceiling.
    #[n(4)]
    pub cburst: Bytes,
    /// Bytes that it sends in its turn.
    #[n(5)]
    pub quantum: Bytes,
    /// For a leaf: priority, from 0 (highest) to 7.
    #[n(6)]
    pub priority: u8,
}

impl HtbClass {
    /// A root with this rate as ceiling, and the kernel's defaults: a quantum of a tenth of the bytes in a second, from 1000
    /// to 200,000 (`r2q` 10); bursts of 1600 bytes, as `tc` sets with fine timers.
    pub fn new(rate: BitRate) -> Self {
        Self {
            parent: None,
            rate,
            ceil: rate,
            burst: Bytes(1600),
            cburst: Bytes(1600),
            quantum: Bytes((rate.as_bps() / 8 / 10).clamp(1000, 200_000)),
            priority: 0,
        }
    }

    /// The class as a child.
    pub fn under(self, parent: usize) -> Self {
        Self { parent: Some(parent), ..self }
    }

    /// The class with another ceiling.
    pub fn with_ceil(self, ceil: BitRate) -> Self {
        Self { ceil, ..self }
    }
}

/// Parameters of a tree.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct HtbConfig {
    /// Parents precede their children. Classes without children are leaves.
    #[n(0)]
    pub classes: Vec<HtbClass>,
    /// Leaf for packets whose class is no leaf.
    #[n(1)]
    pub default: usize,
    /// The queue in each leaf.
    #[cbor(n(2), decode_with = "crate::config::decode_leaf")]
    pub leaf: Box<Config>,
    /// Whether a class keeps its mode until it owes a burst: fewer changes, less exact. The kernel's default is off.
    #[n(3)]
    pub hysteresis: bool,
    /// Resolution of the clock that fills buckets; zero: exact. With a coarse clock, bursts must cover a tick: `tc` therefore
    /// sets rate * tick + 1600 bytes.
    #[n(4)]
    pub tick: Span,
}

impl HtbConfig {
    /// Whether the tree is valid.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let is_parent = |number| self.classes.iter().any(|class| class.parent == Some(number));
        let mut levels: Vec<usize> = Vec::new();
        for (number, class) in self.classes.iter().enumerate() {
            if class.parent.is_some_and(|parent| parent >= number) {
                return Err("has a class before its parent");
            }
            if usize::from(class.priority) >= PRIORITIES {
                return Err("has a priority above 7");
            }
            if class.rate == BitRate::ZERO || class.quantum == Bytes::ZERO {
                return Err("has a class that would never send");
            }
            if [class.burst, class.cburst, class.quantum].iter().any(|&bytes| bytes > MOST_BYTES) {
                return Err("has a burst or a quantum above 1 GB");
            }
            if class.ceil > MOST_RATE {
                return Err("has a ceiling above 1 Tb/s");
            }
            if class.ceil < class.rate {
                return Err("has a class with a ceiling below its rate");
            }
            let above = class.parent.map_or(LEVELS, |parent| levels[parent]);
            if above <= 1 && is_parent(number) {
                return Err("has a tree deeper than eight levels");
            }
            levels.push(if is_parent(number) { above - 1 } else { 0 });
        }
        if !self.leaf.is_for_leaves() {
            return Err("shapes in a leaf of another that shapes");
        }
        if levels.get(self.default) != Some(&0) {
            return Err("has a default class that is no leaf");
        }
        self.leaf.check()
    }
}

/// A tree of classes with queues at its leaves.
pub struct Htb<P> {
    config: HtbConfig,
    classes: Vec<Class>,
    leaves: Leaves<P>,
    /// Green classes with packets, by level and priority.
    rows: [[Feed; PRIORITIES]; LEVELS],
    /// Classes whose mode will change, by level.
    waiting: [BTreeSet<(Instant, usize)>; LEVELS],
    /// Stretches by class, of leaves whose packets are charged other than their size; empty if there are none.
    stretches: Vec<Stretch>,
}

impl<P> fmt::Debug for Htb<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Htb").field("classes", &self.classes).field("len", &self.leaves.len()).finish_non_exhaustive()
    }
}

impl<P: Packet + Send + 'static> Htb<P> {
    /// An empty tree. `seed` is for leaves that hash.
    ///
    /// # Panics
    /// If the configuration does not pass [`Config::check`].
    pub fn new(config: HtbConfig, seed: u64) -> Self {
        config.check().expect("a tree that can be");
        let mut classes: Vec<Class> = Vec::new();
        let is_parent = |number| config.classes.iter().any(|class| class.parent == Some(number));
        for (number, class) in config.classes.iter().enumerate() {
            let above = class.parent.map_or(LEVELS, |parent| classes[parent].level);
            classes.push(Class::new(class, if is_parent(number) { above - 1 } else { 0 }));
        }
        Self {
            leaves: Leaves::new(classes.len(), |class| classes[class].level == 0, &config.leaf, seed),
            classes,
            rows: Default::default(),
            waiting: Default::default(),
            stretches: Vec::new(),
            config,
        }
    }

    /// Time of the clock.
    fn clock(&self, now: Instant) -> Instant {
        match self.config.tick.as_nanos() {
            0 => now,
            tick => Instant::from_nanos(now.as_nanos() / tick * tick),
        }
    }

    /// Mode of a class, as of its last update.
    pub fn mode(&self, class: usize) -> Mode {
        self.classes[class].mode
    }

    /// Number of packets in a leaf.
    ///
    /// # Panics
    /// If the class is no leaf.
    pub fn leaf_len(&self, leaf: usize) -> usize {
        self.leaves.get(leaf).len()
    }

    /// The leaf of a packet.
    pub(crate) fn classify(&self, packet: &P) -> usize {
        let class = packet.class() as usize;
        if self.classes.get(class).is_some_and(|class| class.level == 0) { class } else { self.config.default }
    }

    /// Serves the classes of one priority that are green at a level.
    fn serve_row(&mut self, now: Instant, level: usize, priority: usize) -> Option<P> {
        let mut skipped = 0;
        let clock = self.clock(now);
        loop {
            let leaf = self.turn(level, priority)?;
            if self.leaves.get(leaf).is_empty() {
                self.deactivate(leaf);
                continue;
            }
            if self.skips_turn(clock, leaf, level) {
                skipped += 1;
                self.pass_turn(leaf, level, priority);
                if skipped > self.most_skips() {
                    return None;
                }
                continue;
            }
            let Some(packet) = self.leaves.with(leaf, |queue| queue.poll_packet(now)) else { continue };
            let size = self.charged(leaf, packet.cost());
            self.probe(clock, leaf);
            let class = &mut self.classes[leaf];
            class.sent_from = level;
            class.deficit[level] -= i64::try_from(size.0).unwrap_or(i64::MAX / 2);
            if class.deficit[level] < 0 {
                class.deficit[level] += class.quantum;
                self.pass_turn(leaf, level, priority);
            }
            if self.leaves.get(leaf).is_empty() {
                self.deactivate(leaf);
            }
            self.charge(clock, leaf, level, size);
            return Some(packet);
        }
    }
}

impl<P: Packet + Send + 'static> Discipline<P> for Htb<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        let class = self.classify(&packet);
        self.leaves.with(class, |queue| queue.handle_packet(now, packet));
        if self.classes[class].active == 0 && !self.leaves.get(class).is_empty() {
            self.activate(class);
        }
    }

    fn poll_packet(&mut self, now: Instant) -> Option<P> {
        if self.leaves.len() == 0 {
            return None;
        }
        let clock = self.clock(now);
        for level in 0..LEVELS {
            self.change_modes(clock, level);
            for priority in 0..PRIORITIES {
                if !self.rows[level][priority].is_empty()
                    && let Some(packet) = self.serve_row(now, level, priority)
                {
                    return Some(packet);
                }
            }
        }
        None
    }

    fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.leaves.poll_drop()
    }

    fn poll_deadline(&self, now: Instant) -> Option<Instant> {
        let next = self.waiting.iter().filter_map(|waiting| waiting.first()).map(|&(at, _)| at);
        let next = next.chain(self.next_end_of_hold(self.clock(now))).min();
        let next = next.map(|at| if self.clock(at) < at { self.clock(at) + self.config.tick } else { at });
        next.filter(|_| self.leaves.len() > 0).map(|at| at.max(now + Span::from_nanos(1)))
    }

    fn take_all(&mut self) -> Vec<P> {
        for class in 0..self.classes.len() {
            if self.leaves.is_leaf(class) && self.classes[class].active != 0 {
                self.deactivate(class);
            }
        }
        self.leaves.take_all()
    }

    fn len(&self) -> usize {
        self.leaves.len()
    }

    fn bytes(&self) -> Bytes {
        self.leaves.bytes()
    }
}
