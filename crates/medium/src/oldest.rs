//! The oldest frame of each of many queues, and the oldest of all: a tournament tree.
//!
//! The frame at the head of a queue changes with each access; the oldest of all queues is asked for as often. A change costs
//! as many steps as the logarithm of the number of queues, and so does each question.

use alloc::vec::Vec;

/// By queue, the number of its oldest frame.
#[derive(Debug)]
pub(crate) struct Oldest {
    /// Each node has the lesser of the two below it: that at `i` of those at `2 i` and `2 i + 1`. The second half are the
    /// queues.
    nodes: Vec<u64>,
}

/// A queue without frames.
const NONE: u64 = u64::MAX;

impl Oldest {
    pub(crate) fn new() -> Self {
        Self { nodes: alloc::vec![NONE; 2] }
    }

    /// Places for queues.
    fn room(&self) -> usize {
        self.nodes.len() / 2
    }

    /// The oldest frame of a queue is this one; `None`: it has none.
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

    /// The queue that has it; of several, the first.
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
        // Up, to the first subtree to the right that has one, and down in it.
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
        /// Beside a list that is searched.
        #[test]
        fn it_finds_what_a_search_finds(steps in prop::collection::vec((0..40usize, prop::option::of(0..9u64)), 1..200)) {
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
