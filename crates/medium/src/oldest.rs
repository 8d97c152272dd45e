//! The oldest frame of each of many queues, and the oldest of all: a tournament tree.
//!
//! The frame at the head of a queue changes with each access, and the oldest of all queues is queried as often. Updates and
//! queries take logarithmic time in the number of queues.

use alloc::vec::Vec;

/// The number of the oldest frame of each queue.
#[derive(Debug)]
pub(crate) struct Oldest {
    /// Binary heap layout: node `i` is the minimum of its children `2 i` and `2 i + 1`. The second half are the queues.
    nodes: Vec<u64>,
}

/// Marks a queue without frames.
const NONE: u64 = u64::MAX;

impl Oldest {
    pub(crate) fn new() -> Self {
        Self { nodes: alloc::vec![NONE; 2] }
    }

    /// Number of queues that fit.
    fn room(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Sets the oldest frame of a queue; `None` if the queue is empty.
    pub(crate) fn set(&mut self, queue: usize, oldest: Option<u64>) {
        if queue >= self.room() {
            self.grow(queue + 1);
        }
        let mut node = self.room() + queue;
        self.nodes[node] = oldest.unwrap_or(NONE);
        while node > 1 {
            let least = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            if core::mem::replace(&mut self.nodes[node], least) == least {
                break;
            }
        }
    }

    fn grow(&mut self, queues: usize) {
        let before = self.nodes.split_off(self.room());
        let room = queues.next_power_of_two();
        self.nodes = alloc::vec![NONE; 2 * room];
        self.nodes[room..room + before.len()].copy_from_slice(&before);
        for node in (1..room).rev() {
            self.nodes[node] = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
        }
    }

    /// The oldest frame of all queues.
    pub(crate) fn least(&self) -> Option<u64> {
        Some(self.nodes[1]).filter(|&oldest| oldest < NONE)
    }

    /// The queue with the oldest frame; of several, the first.
    pub(crate) fn first(&self) -> Option<usize> {
        let least = self.least()?;
        let mut node = 1;
        while node < self.room() {
            node = 2 * node + usize::from(self.nodes[2 * node] != least);
        }
        Some(node - self.room())
    }

    /// The first queue from `from` on that has a frame.
    pub(crate) fn next_from(&self, from: usize) -> Option<usize> {
        let room = self.room();
        if from >= room {
            return None;
        }
        let mut node = room + from;
        // Up to the first subtree to the right with a frame, then down in it.
        while self.nodes[node] == NONE {
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < room {
            node = 2 * node + usize::from(self.nodes[2 * node] == NONE);
        }
        Some(node - room)
    }

    /// The oldest frame of all queues but this one.
    pub(crate) fn least_beside(&self, queue: usize) -> Option<u64> {
        let (mut node, mut least) = (self.room() + queue, NONE);
        while node > 1 {
            least = least.min(self.nodes[node ^ 1]);
            node /= 2;
        }
        Some(least).filter(|&oldest| oldest < NONE)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Comparison with a linear search.
        #[test]
        fn it_agrees_with_a_linear_search(steps in prop::collection::vec((0..40usize, prop::option::of(0..9u64)), 1..200)) {
            let mut oldest = Oldest::new();
            let mut all: Vec<Option<u64>> = alloc::vec![None; 40];
            for (queue, value) in steps {
                oldest.set(queue, value);
                all[queue] = value;
                let least = all.iter().flatten().min().copied();
                prop_assert_eq!(oldest.least(), least);
                prop_assert_eq!(oldest.first(), least.and_then(|least| all.iter().position(|&one| one == Some(least))));
                let next = |from: usize| (from..all.len()).find(|&other| all[other].is_some());
                prop_assert_eq!(oldest.next_from(queue), next(queue));
                prop_assert_eq!(oldest.next_from(queue + 1), next(queue + 1));
                let others = all.iter().enumerate().filter(|&(other, _)| other != queue);
                prop_assert_eq!(oldest.least_beside(queue), others.filter_map(|(_, one)| *one).min());
            }
        }
    }
}
