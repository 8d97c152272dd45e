//! Class-based queueing: a tree of classes, each with a share of the link, estimated from its idle time between packets.
//!
//! Source: S. Floyd and V. Jacobson, "Link-sharing and Resource Management Models for Packet Networks", IEEE/ACM ToN 3(4),
//! 1995; for bursts S. Floyd, "Notes on CBQ and Guaranteed Service", 1995. What follows, part by part:
//!
//! - *Estimator* (the paper's appendix on it): when a packet leaves, the difference between the time since the class's last
//!   one and the time that its rate requires, `idle = since_last - size / rate`, enters a mean, `avgidle`, with a gain of
//!   2^-n. A class whose mean is below zero has sent too much: it is *over limit* until another packet would find the mean at
//!   zero, `size / rate + (2^n - 1) * -avgidle` later. The mean is at most `max_idle`, so that an idle class sends a bounded
//!   burst, and at least `min_idle`, so that a class that has borrowed for long does not wait for long. A waiting class may
//!   have to wait for an extra delay ([`CbqClass::extra_delay`], `offtime` in Linux), after which it sends a burst.
//! - *Charging* (link-sharing structure): a packet, its leaf and all classes above it.
//! - *Guidelines* (the sections on formal link-sharing and its approximations): a leaf with packets goes on *unregulated* while
//!   it is not over limit, or while a class above it, through classes that all borrow, is not and may lend. By
//!   [`Sharing::Formal`] that class, at level i, lends if no class at a level below i is unsatisfied: leaves are at level 1, a
//!   class is unsatisfied if it is within its rate and there are packets at it or below it. By [`Sharing::AncestorsOnly`] it
//!   lends always. By [`Sharing::TopLevel`] it lends up to the level *Top-Level*, which is lowered when a packet comes to a
//!   class that is within its rate (to 1) or whose nearest lender is below it (to that one's), and is infinite again when a
//!   class that has sent has no more packets, or cannot go on unregulated. *Bounded* classes do not borrow, and *isolated* ones
//!   lend only to their descendants.
//! - *General scheduler* (weighted round robin with priorities): eligible classes take turns, in the order of priority, by a
//!   quantum of bytes in each round, where a packet that is larger is a debt (as in Linux's `sch_cbq`).
//!
//! Choices that the paper leaves open, and deviations from it:
//! - A packet's departure is the moment at which the server takes it, since a discipline knows no other time.
//! - A class that may not borrow does not make its ancestors unsatisfied, since it could not use unused bandwidth of others.
//! - If no class may send by Top-Level, it is infinite (as in `sch_cbq`), so that the link does not idle while it waits for an
//!   event.
//! - The root is limited to its rate like other classes. ns-2 and Linux let a class send when all are over limit and the link
//!   is free, because there the root's rate is the link's; here it may be a part of it.
//! - The rates of isolated classes are subtracted from their ancestors, which are not charged for them (as in `sch_cbq`).
//!
//! Left out: *exempt* classes (a class with all of the link and the first priority is one), and Linux's estimate of when a
//! packet has left, since here the server signals when it is free.
//!
//! Bound: a class that does not borrow, with its descendants, sends no more than its rate over time, plus the burst of
//! `max_idle` after idle times. With formal sharing no class gets bandwidth that an unsatisfied class below its lender needs.
//! Not guaranteed: the rate of a leaf if the guaranteed rates above it exceed the link.

mod class;
mod config;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use evenair_units::{Bytes, Instant, Span};

use crate::leaves::Leaves;
use crate::{Discipline, Dropped, Packet};
use class::Class;
pub use config::{CbqClass, CbqConfig, Sharing};

/// Number of priorities, as in HTB.
const PRIORITIES: usize = 8;
/// Maximum idle time that counts, in nanoseconds; far longer than any mean.
const LONGEST_NS: i64 = 60_000_000_000;
/// Level above all others.
const INFINITE: usize = usize::MAX;

/// The class at whose rate a leaf would send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lender {
    /// This class: the leaf, or one above it.
    Class(usize),
    /// A class has unused bandwidth, but may not lend now.
    Withheld,
    /// There is no lender: the leaf is regulated.
    Nobody,
}

/// A tree of classes with queues at its leaves.
pub struct Cbq<P> {
    config: CbqConfig,
    classes: Vec<Class>,
    leaves: Leaves<P>,
    /// Leaves with packets, by priority, in the order of their turns.
    rounds: [VecDeque<usize>; PRIORITIES],
    /// The highest level that lends, with [`Sharing::TopLevel`].
    top_level: usize,
}

impl<P> fmt::Debug for Cbq<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cbq").field("classes", &self.classes).field("len", &self.leaves.len()).finish_non_exhaustive()
    }
}

impl<P: Packet + Send + 'static> Cbq<P> {
    /// An empty tree. `seed` is for leaves that hash.
    ///
    /// # Panics
    /// If the tree is invalid (see [`Config::check`](crate::Config::check)).
    pub fn new(config: CbqConfig, seed: u64) -> Self {
        if let Err(what) = config.check() {
            panic!("a queue discipline {what}");
        }
        let levels = config.levels();
        let class = |(number, &class): (usize, &CbqClass)| {
            Class::new(class, config.lent_by(number), levels[number], config.gain)
        };
        Self {
            classes: config.classes.iter().enumerate().map(class).collect(),
            leaves: Leaves::new(config.classes.len(), |number| config.is_leaf(number), &config.leaf, seed),
            rounds: Default::default(),
            top_level: INFINITE,
            config,
        }
    }

    /// A leaf, and the classes above it from which it may borrow.
    fn chain(&self, leaf: usize) -> impl Iterator<Item = usize> {
        let above = |&number: &usize| self.classes[number].config.parent.filter(|_| self.may_borrow(number));
        core::iter::successors(Some(leaf), above)
    }

    fn may_borrow(&self, number: usize) -> bool {
        let config = &self.classes[number].config;
        config.borrows && !config.isolated
    }

    /// When a leaf may send, at its own rate or by borrowing, if no class prevents it.
    fn may_send_from(&self, leaf: usize) -> Instant {
        self.chain(leaf).map(|number| self.classes[number].within_from()).min().unwrap_or(Instant::ZERO)
    }

    fn backlogged(&self) -> impl Iterator<Item = usize> {
        self.rounds.iter().flatten().copied().filter(|&leaf| !self.leaves.get(leaf).is_empty())
    }

    /// The highest level that lends now.
    fn lends_up_to(&self, now: Instant) -> usize {
        match self.config.sharing {
            Sharing::AncestorsOnly => INFINITE,
            Sharing::TopLevel => self.top_level,
            Sharing::Formal => {
                // The lowest level with an unsatisfied class: classes above it do not lend.
                let within = |&number: &usize| !self.classes[number].is_over(now);
                let lowest = |leaf| self.chain(leaf).find(within).map(|number| self.classes[number].level);
                self.backlogged().filter_map(lowest).min().unwrap_or(INFINITE)
            }
        }
    }

    fn lender(&self, now: Instant, leaf: usize, up_to: usize) -> Lender {
        match self.chain(leaf).find(|&number| !self.classes[number].is_over(now)) {
            Some(number) if number == leaf || self.classes[number].level <= up_to => Lender::Class(number),
            Some(_) => Lender::Withheld,
            None => Lender::Nobody,
        }
    }

    /// Serves the leaves of one priority.
    fn serve_round(&mut self, now: Instant, priority: usize, up_to: usize) -> Option<P> {
        let mut passed_over = 0;
        while passed_over < self.rounds[priority].len() {
            let leaf = self.rounds[priority][0];
            if self.leaves.get(leaf).is_empty() {
                self.rounds[priority].pop_front();
                continue;
            }
            let Lender::Class(lender) = self.lender(now, leaf, up_to) else {
                if self.may_send_from(leaf) > now {
                    self.classes[leaf].regulate();
                }
                passed_over += 1;
                self.rounds[priority].rotate_left(1);
                continue;
            };
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
            self.charge(now, leaf, packet.cost());
            self.note_departure(now, leaf, lender);
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
        while let Some(number) = at {
            let class = &mut self.classes[number];
            class.update(now, size, self.config.gain);
            at = class.config.parent.filter(|_| !class.config.isolated);
        }
    }

    /// A packet has arrived at a leaf: lowers Top-Level to the nearest class that is within its rate.
    fn note_arrival(&mut self, now: Instant, leaf: usize) {
        let nearest = self.chain(leaf).find(|&number| !self.classes[number].is_over(now));
        if let Some(level) = nearest.map(|number| self.classes[number].level) {
            self.top_level = self.top_level.min(level);
        }
    }

    /// A leaf has sent a packet at the rate of `lender`: if Top-Level permits that, sets it to the level of the leaf's next
    /// lender, or to infinity if there is none.
    fn note_departure(&mut self, now: Instant, leaf: usize, lender: usize) {
        if self.top_level < self.classes[lender].level {
            return;
        }
        let goes_on =
            if self.leaves.get(leaf).is_empty() { Lender::Nobody } else { self.lender(now, leaf, self.top_level) };
        self.top_level = match goes_on {
            Lender::Class(number) => self.classes[number].level,
            Lender::Withheld | Lender::Nobody => INFINITE,
        };
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
        self.note_arrival(now, class);
    }

    fn poll_packet(&mut self, now: Instant) -> Option<P> {
        if self.leaves.len() == 0 {
            return None;
        }
        let up_to = self.lends_up_to(now);
        let served =
            |this: &mut Self, up_to| (0..PRIORITIES).find_map(|priority| this.serve_round(now, priority, up_to));
        if let Some(packet) = served(self, up_to) {
            return Some(packet);
        }
        let withheld = self.config.sharing == Sharing::TopLevel && up_to != INFINITE;
        self.top_level = INFINITE;
        if withheld { served(self, INFINITE) } else { None }
    }

    fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.leaves.poll_drop()
    }

    fn poll_deadline(&self, now: Instant) -> Option<Instant> {
        // A class that prevents borrowing has packets and may send.
        let next = self.backlogged().map(|leaf| self.may_send_from(leaf)).min();
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
