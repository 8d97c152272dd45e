//! Class-based queueing: a tree of classes, each with a part of the link, watched by how long it is idle between packets.
//!
//! A class's estimator takes, when a packet leaves, how much longer or shorter the time since its last one was than the
//! class's rate allows, `idle = since_last - size / rate`, and keeps a mean of it, `avgidle`, with a gain of 2^-n. A class
//! whose mean is below zero has sent too much, it is *over limit*, and by that it is known when it will not be any more:
//! after `size / rate + (2^n - 1) * -avgidle`. No mean is above `max_idle`, so that who was silent sends a bounded burst,
//! and none below `min_idle`, so that who has borrowed for long is not held back for long. Packets are charged to their
//! leaf and to all classes above it.
//!
//! A leaf with packets may send while it is not over limit, or while a class above it that it may borrow from, through
//! classes that all borrow, is not (the *ancestor-only* guideline). Those that may send take turns by weighted round robin,
//! the higher priority first: a quantum of bytes in each round, where a packet that is larger is a debt.
//!
//! Source: S. Floyd and V. Jacobson, "Link-sharing and Resource Management Models for Packet Networks", IEEE/ACM ToN 3(4),
//! 1995; the bound of a burst by `max_idle` from S. Floyd, "Notes on CBQ and Guaranteed Service", 1995. The weighted rounds
//! are in bytes as in Linux's `sch_cbq`. Left out: *formal* link-sharing, which looks at the whole tree, *top-level*
//! link-sharing, its approximation in Linux, and Linux's estimate of when a packet has left, since here the server says it.
//!
//! Promise: a class that does not borrow, and what is below it, sends no more than its rate over time, and after a silence
//! the burst of `max_idle` besides. Not promised: a rate to a leaf where those above it promise more than there is.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::leaves::Leaves;
use crate::{Config, Discipline, Dropped, Packet};

/// Priorities, as of HTB.
const PRIORITIES: usize = 8;
/// The largest n of a gain 2^-n: a mean over so many packets follows nothing.
const MOST_GAIN: u32 = 16;
/// No silence is taken for longer, in nanoseconds: what a mean is to hold is far shorter.
const LONGEST_NS: i64 = 60_000_000_000;
/// Sizes for which bursts are meant (`avpkt` in the examples of `tc`).
const USUAL_PACKET: Bytes = Bytes(1000);

/// One class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CbqClass {
    /// The class above it, by its number, which is lower than its own.
    pub parent: Option<usize>,
    /// Its part of the link.
    pub rate: BitRate,
    /// What it sends in a round. Of a leaf.
    pub quantum: Bytes,
    /// 0 goes first, 7 last. Of a leaf.
    pub priority: u8,
    /// It may send while it is over limit and the class above is not; else it is *bounded*.
    pub borrows: bool,
    /// The most that its mean idle time is.
    pub max_idle: Span,
    /// The least, below zero; `None`: it has no bound.
    pub min_idle: Option<Span>,
}

/// Parameters of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CbqConfig {
    /// Parents before their children. Those without children are leaves.
    pub classes: Vec<CbqClass>,
    /// Of packets whose class is no leaf.
    pub default: usize,
    /// The queue in each leaf.
    pub leaf: Box<Config>,
    /// n of the gain 2^-n of all means.
    pub gain: u32,
}

impl CbqConfig {
    /// Whether there can be such a tree.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let is_leaf = |number| self.classes.iter().all(|class| class.parent != Some(number));
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
        }
        if self.gain > MOST_GAIN {
            return Err("has a gain below 2^-16");
        }
        if !self.leaf.is_for_leaves() {
            return Err("shapes in a leaf of another that shapes");
        }
        if self.default >= self.classes.len() || !is_leaf(self.default) {
            return Err("has a default class that is no leaf");
        }
        self.leaf.check()
    }

    /// The gain of 1/32 that Floyd and Linux use.
    pub const GAIN: u32 = 5;

    /// The mean idle time by which a class of this rate, on a link of that one, sends so many packets of 1000 bytes at once:
    /// `(s / rate - s / link) * (g^-burst - 1)` with g = 1 - 2^-gain, and for one packet of the link at least.
    pub fn max_idle(link: BitRate, rate: BitRate, burst: u32, gain: u32) -> Span {
        /// Bits behind the point.
        const POINT: u32 = 32;
        let (at_link, at_rate) = (link.time_for(USUAL_PACKET), rate.time_for(USUAL_PACKET));
        let whole = 1u128 << gain;
        let power = (0..burst).fold(1u128 << POINT, |power, _| (power * whole / (whole - 1)).min(1 << 64));
        let over = u128::from(at_rate.as_nanos().saturating_sub(at_link.as_nanos()));
        let idle = (over * (power - (1 << POINT))) >> POINT;
        let least = at_link.as_nanos() >> gain;
        Span::from_nanos(u64::try_from(idle).unwrap_or(u64::MAX).clamp(least, LONGEST_NS as u64))
    }
}

#[derive(Clone, Debug)]
struct Class {
    config: CbqClass,
    /// The mean idle time times 2^gain, in nanoseconds.
    idle: i64,
    last: Option<Instant>,
    /// It is over limit until then.
    over_until: Option<Instant>,
    /// Of a leaf: what it may still send in this round.
    deficit: i64,
}

/// A tree of classes with queues at its leaves.
pub struct Cbq<P> {
    config: CbqConfig,
    classes: Vec<Class>,
    leaves: Leaves<P>,
    /// Leaves with packets, the one whose turn it is first.
    rounds: [VecDeque<usize>; PRIORITIES],
}

impl<P> fmt::Debug for Cbq<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cbq").field("classes", &self.classes).field("len", &self.leaves.len()).finish_non_exhaustive()
    }
}

fn as_ns(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX).min(LONGEST_NS)
}

impl Class {
    /// It has sent a packet: its mean follows, and with it when it may send again.
    fn update(&mut self, now: Instant, size: Bytes, gain: u32) {
        let takes = as_ns(self.config.rate.time_for(size));
        let since = self.last.map_or(takes, |last| as_ns(now.saturating_since(last)));
        self.last = Some(now);
        self.idle += since - takes - (self.idle >> gain);
        let most = as_ns(self.config.max_idle) << gain;
        let least = self.config.min_idle.map_or(i64::MIN, |least| -(as_ns(least) << gain));
        self.idle = self.idle.min(most).max(least);
        self.over_until = (self.idle < 0).then(|| {
            let owed = -self.idle - (-self.idle >> gain) + takes;
            now.saturating_add(Span::from_nanos(owed.unsigned_abs()))
        });
    }
}

impl<P: Packet + Send + 'static> Cbq<P> {
    /// An empty tree. `seed` is for leaves that hash.
    ///
    /// # Panics
    /// If there is no such tree, as [`Config::check`] tells.
    pub fn new(config: CbqConfig, seed: u64) -> Self {
        if let Err(what) = config.check() {
            panic!("a queue discipline {what}");
        }
        let is_leaf = |number| config.classes.iter().all(|class| class.parent != Some(number));
        let class = |&class: &CbqClass| Class {
            config: class,
            idle: as_ns(class.max_idle) << config.gain,
            last: None,
            over_until: None,
            deficit: 0,
        };
        Self {
            classes: config.classes.iter().map(class).collect(),
            leaves: Leaves::new(config.classes.len(), is_leaf, &config.leaf, seed),
            rounds: Default::default(),
            config,
        }
    }

    /// From when on a leaf may send, by itself or by what it borrows.
    fn may_send_from(&self, leaf: usize) -> Instant {
        let mut class = &self.classes[leaf];
        let mut from = class.over_until.unwrap_or(Instant::ZERO);
        while let Some(parent) = class.config.parent.filter(|_| class.config.borrows) {
            class = &self.classes[parent];
            from = from.min(class.over_until.unwrap_or(Instant::ZERO));
        }
        from
    }

    /// Tries the leaves of one priority.
    fn serve_round(&mut self, now: Instant, priority: usize) -> Option<P> {
        let mut passed_over = 0;
        while passed_over < self.rounds[priority].len() {
            let leaf = self.rounds[priority][0];
            if self.leaves.get(leaf).is_empty() {
                self.rounds[priority].pop_front();
                continue;
            }
            if self.may_send_from(leaf) > now {
                passed_over += 1;
                self.rounds[priority].rotate_left(1);
                continue;
            }
            passed_over = 0;
            let class = &mut self.classes[leaf];
            if class.deficit <= 0 {
                class.deficit += i64::try_from(class.config.quantum.0).unwrap_or(i64::MAX / 2);
            }
            if class.deficit <= 0 {
                self.rounds[priority].rotate_left(1);
                continue;
            }
            let Some(packet) = self.leaves.with(leaf, |queue| queue.poll_packet(now)) else { continue };
            self.charge(now, leaf, packet.size());
            if self.leaves.get(leaf).is_empty() {
                self.rounds[priority].pop_front();
            } else if self.classes[leaf].deficit <= 0 {
                self.rounds[priority].rotate_left(1);
            }
            return Some(packet);
        }
        None
    }

    fn charge(&mut self, now: Instant, leaf: usize, size: Bytes) {
        self.classes[leaf].deficit -= i64::try_from(size.0).unwrap_or(i64::MAX / 2);
        let mut at = Some(leaf);
        while let Some(class) = at {
            self.classes[class].update(now, size, self.config.gain);
            at = self.classes[class].config.parent;
        }
    }
}

impl<P: Packet + Send + 'static> Discipline<P> for Cbq<P> {
    fn handle_packet(&mut self, now: Instant, packet: P) {
        let class = packet.class() as usize;
        let class = if self.leaves.is_leaf(class) { class } else { self.config.default };
        self.leaves.with(class, |queue| queue.handle_packet(now, packet));
        let round = &mut self.rounds[usize::from(self.classes[class].config.priority)];
        if !round.contains(&class) {
            round.push_back(class);
        }
    }

    fn poll_packet(&mut self, now: Instant) -> Option<P> {
        (0..PRIORITIES).find_map(|priority| self.serve_round(now, priority))
    }

    fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.leaves.poll_drop()
    }

    fn poll_deadline(&self, now: Instant) -> Option<Instant> {
        let with_packets = self.rounds.iter().flatten().filter(|&&leaf| !self.leaves.get(leaf).is_empty());
        let next = with_packets.map(|&leaf| self.may_send_from(leaf)).min();
        next.map(|at| at.max(now + Span::from_nanos(1)))
    }

    fn take_all(&mut self) -> Vec<P> {
        self.rounds.iter_mut().for_each(VecDeque::clear);
        self.leaves.take_all()
    }

    fn len(&self) -> usize {
        self.leaves.len()
    }

    fn bytes(&self) -> Bytes {
        self.leaves.bytes()
    }
}
