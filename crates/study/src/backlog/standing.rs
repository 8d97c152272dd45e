//! Whether a node mostly had its next frame when it sent the one before.
//!
//! After each frame a node draws a back-off, whether it has another one or not (IEEE Std 802.11-2016, 10.3.4.2). Where the
//! next one is there in time, the idle slots from one to the next are as many as were drawn: each number up to the window as
//! often as another. Where it comes later, small numbers are missing. So how often the smallest ones occur, beside what
//! they would, is the part of the frames that were there from the beginning.

use std::collections::{BTreeMap, BTreeSet};

use evenair_packet::MacAddr;

use super::idle::Contention;

/// Classes of equal width into which the numbers up to the window are counted.
const CLASSES: u64 = 4;
/// The part of all that each class has where each number is drawn as often as another.
const EXPECTED: f64 = 1.0 / CLASSES as f64;
/// Fewer frames say nothing.
const ENOUGH: u64 = 64;
/// A class that lacks less than this is taken for noise of the clock and of collisions.
const LACKING: f64 = 0.1;
/// Standard deviations that chance is allowed.
const CHANCE: f64 = 3.0;

/// How many frames of a node came after so many idle slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waited {
    classes: [u64; CLASSES as usize],
    /// After more than the window.
    later: u64,
}

impl Waited {
    pub(super) fn add(&mut self, slots: u64, contention: &Contention) {
        let class = slots * CLASSES / (contention.window + 1);
        match self.classes.get_mut(class as usize) {
            Some(count) => *count += 1,
            None => self.later += 1,
        }
    }

    fn all(&self) -> u64 {
        self.classes.iter().sum::<u64>() + self.later
    }

    fn join(&mut self, other: &Self) {
        self.later += other.later;
        self.classes.iter_mut().zip(other.classes).for_each(|(class, other)| *class += other);
    }

    /// How many frames the first class has of those that it would have if all had been there.
    fn part(&self) -> f64 {
        self.classes[0] as f64 / self.all() as f64 / EXPECTED
    }

    /// Standard deviation of that.
    fn chance(&self) -> f64 {
        ((1.0 - EXPECTED) / EXPECTED / self.all() as f64).sqrt()
    }

    /// Nothing speaks against that all frames were there when the one before was sent.
    fn is_standing(&self) -> bool {
        let all = self.all();
        let fewest = self.classes.iter().copied().min().unwrap_or(0) as f64 / all as f64 / EXPECTED;
        all >= ENOUGH && fewest > 1.0 - LACKING - CHANCE * self.chance()
    }

    /// The part of the frames that were there when the one before was sent, at least.
    fn least(&self) -> f64 {
        if self.all() < ENOUGH { 0.0 } else { (self.part() - CHANCE * self.chance()).clamp(0.0, 1.0) }
    }
}

/// Which part of their frames nodes had when they sent the one before.
#[derive(Default)]
pub(super) struct Standing {
    nodes: BTreeMap<MacAddr, Waited>,
    /// The least part of all of those together that look as if they had each frame: they have two standard deviations of it.
    together: f64,
}

impl Standing {
    pub(super) fn of(nodes: BTreeMap<MacAddr, Waited>) -> Self {
        let mut all = Waited::default();
        nodes.values().filter(|waited| waited.is_standing()).for_each(|waited| all.join(waited));
        let together = if all.all() == 0 { 0.0 } else { all.part().min(1.0) - 2.0 * all.chance() };
        Self { nodes, together: together.max(0.0) }
    }

    /// Nodes that look as if they had each frame.
    pub(super) fn nodes(&self) -> BTreeSet<MacAddr> {
        self.nodes.iter().filter(|(_, waited)| waited.is_standing()).map(|(node, _)| *node).collect()
    }

    pub(super) fn is_standing(&self, node: MacAddr) -> bool {
        self.nodes.get(&node).is_some_and(Waited::is_standing)
    }

    /// The least part of one.
    pub(super) fn least(&self, node: MacAddr) -> f64 {
        match self.nodes.get(&node) {
            Some(waited) if waited.is_standing() => self.together,
            Some(waited) => waited.least(),
            None => 0.0,
        }
    }
}
