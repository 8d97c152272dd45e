//! The next event of each node, and the earliest of all: a tournament tree.
//!
//! Each leaf holds the instant of one node, each inner node of the tree the earlier of its two children. Updating costs
//! logarithmic time in the number of nodes, the earliest instant constant time. A node's instant changes with every
//! frame that it senses, so an event queue would fill with stale entries.

use alloc::vec::Vec;

use evenair_units::Instant;

/// No event: later than all instants.
const NEVER: Instant = Instant::MAX;

#[derive(Debug, Default)]
pub(super) struct Timers {
    /// The tree from its root at 1, with leaf `i` at `leaves + i`.
    tree: Vec<Instant>,
    leaves: usize,
    nodes: usize,
}

impl Timers {
    /// Adds a node without an event.
    pub(super) fn add(&mut self) {
        if self.nodes == self.leaves {
            let leaves = (2 * self.leaves).max(4);
            let mut tree = alloc::vec![NEVER; 2 * leaves];
            tree[leaves..leaves + self.leaves].copy_from_slice(&self.tree[self.leaves..]);
            for place in (1..leaves).rev() {
                tree[place] = tree[2 * place].min(tree[2 * place + 1]);
            }
            (self.tree, self.leaves) = (tree, leaves);
        }
        self.nodes += 1;
    }

    /// Sets the instant of the next event at `node`.
    pub(super) fn set(&mut self, node: u32, due: Option<Instant>) {
        let mut place = self.leaves + node as usize;
        self.tree[place] = due.unwrap_or(NEVER);
        while place > 1 {
            place /= 2;
            let earlier = self.tree[2 * place].min(self.tree[2 * place + 1]);
            if self.tree[place] == earlier {
                return;
            }
            self.tree[place] = earlier;
        }
    }

    /// The earliest instant.
    pub(super) fn next(&self) -> Option<Instant> {
        self.tree.get(1).copied().filter(|&due| due != NEVER)
    }

    /// The nodes with an event at `at`, the earliest instant, in ascending order.
    pub(super) fn due(&self, at: Instant, nodes: &mut Vec<u32>) {
        self.collect(1, at, nodes);
    }

    fn collect(&self, place: usize, at: Instant, nodes: &mut Vec<u32>) {
        if self.tree[place] != at {
            return;
        }
        if place >= self.leaves {
            nodes.push((place - self.leaves) as u32);
            return;
        }
        self.collect(2 * place, at, nodes);
        self.collect(2 * place + 1, at, nodes);
    }
}

#[cfg(test)]
mod tests {
    use evenair_units::Streams;

    use super::*;

    #[test]
    fn the_earliest_timer_is_that_of_a_linear_search() {
        let mut rng = Streams::new(1).stream("timers");
        let mut timers = Timers::default();
        let mut plain: Vec<Option<Instant>> = Vec::new();
        assert_eq!(timers.next(), None);
        for step in 0..5_000 {
            if step % 100 == 0 {
                timers.add();
                plain.push(None);
            }
            let node = rng.below(plain.len() as u64) as usize;
            let due = (rng.below(4) > 0).then(|| Instant::from_nanos(rng.below(50)));
            timers.set(node as u32, due);
            plain[node] = due;
            let next = plain.iter().flatten().min().copied();
            assert_eq!(timers.next(), next);
            let Some(next) = next else { continue };
            let mut nodes = Vec::new();
            timers.due(next, &mut nodes);
            let expected = (0..plain.len()).filter(|&node| plain[node] == Some(next));
            assert!(nodes.iter().map(|&node| node as usize).eq(expected));
        }
    }
}
