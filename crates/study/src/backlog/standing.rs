//! Whether a node was always backlogged: had its next frame queued when it sent the previous one.
//!
//! After each frame a node draws a back-off, whether it has another frame or not (IEEE Std 802.11-2016, 10.3.4.2). If the
//! next frame is already queued, the number of idle slots between the two is the drawn one, uniformly distributed up to the
//! window. If it comes later, small numbers are missing. So the frequency of the smallest numbers, relative to the expected
//! one, is the proportion of frames that were queued from the beginning.

use std::collections::{BTreeMap, BTreeSet};

use evenair_packet::MacAddr;

use super::idle::Contention;

/// Number of classes of equal width into which slot counts up to the window are divided.
const CLASSES: u64 = 4;
/// Expected proportion of each class under a uniform distribution.
const EXPECTED: f64 = 1.0 / CLASSES as f64;
/// Fewest frames for a result.
const ENOUGH: u64 = 64;
/// A class that lacks less than this proportion is attributed to noise of the clock and to collisions.
const LACKING: f64 = 0.1;
/// Tolerance for chance, in standard deviations.
const CHANCE: f64 = 3.0;

/// Number of a node's frames by idle slots waited, in classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waited {
    classes: [u64; CLASSES as usize],
    /// Frames after more slots than the window.
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

    /// Frames in the first class, relative to the number expected if all frames had been queued in time.
    fn part(&self) -> f64 {
        self.classes[0] as f64 / self.all() as f64 / EXPECTED
    }

    /// Standard deviation of [`Self::part`].
    fn chance(&self) -> f64 {
        ((1.0 - EXPECTED) / EXPECTED / self.all() as f64).sqrt()
    }

    /// Whether the data is consistent with all frames having been queued when the previous one was sent.
    fn is_standing(&self) -> bool {
        let all = self.all();
        let fewest = self.classes.iter().copied().min().unwrap_or(0) as f64 / all as f64 / EXPECTED;
        all >= ENOUGH && fewest > 1.0 - LACKING - CHANCE * self.chance()
    }

    /// Lower bound of the proportion of frames that were queued when the previous one was sent.
    fn least(&self) -> f64 {
        if self.all() < ENOUGH { 0.0 } else { (self.part() - CHANCE * self.chance()).clamp(0.0, 1.0) }
    }
}

/// Proportions of frames that nodes had queued when they sent the previous one.
#[derive(Default)]
pub(super) struct Standing {
    nodes: BTreeMap<MacAddr, Waited>,
    /// Lower bound of the proportion over all apparently always backlogged nodes together, two standard deviations below the
    /// estimate.
    together: f64,
}

impl Standing {
    pub(super) fn of(nodes: BTreeMap<MacAddr, Waited>) -> Self {
        let mut all = Waited::default();
        nodes.values().filter(|waited| waited.is_standing()).for_each(|waited| all.join(waited));
        let together = if all.all() == 0 { 0.0 } else { all.part().min(1.0) - 2.0 * all.chance() };
        Self { nodes, together: together.max(0.0) }
    }

    /// Nodes that seem to be always backlogged.
    pub(super) fn nodes(&self) -> BTreeSet<MacAddr> {
        self.nodes.iter().filter(|(_, waited)| waited.is_standing()).map(|(node, _)| *node).collect()
    }

    pub(super) fn is_standing(&self, node: MacAddr) -> bool {
        self.nodes.get(&node).is_some_and(Waited::is_standing)
    }

    /// Lower bound of the proportion of one node.
    pub(super) fn least(&self, node: MacAddr) -> f64 {
        match self.nodes.get(&node) {
            Some(waited) if waited.is_standing() => self.together,
            Some(waited) => waited.least(),
            None => 0.0,
        }
    }
}
