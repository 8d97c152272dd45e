//! The queues at the leaves of a tree of classes, and their totals.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::Bytes;

use crate::{Config, Discipline, Dropped, Packet};

/// The queue of a leaf.
pub(crate) type Queue<P> = Box<dyn Discipline<P> + Send>;

pub(crate) struct Leaves<P> {
    /// Queues by class; `None` for inner classes.
    queues: Vec<Option<Queue<P>>>,
    len: usize,
    bytes: Bytes,
    drops: VecDeque<Dropped<P>>,
}

impl<P: Packet + Send + 'static> Leaves<P> {
    /// Empty queues of one kind at the leaves among `classes` classes.
    pub(crate) fn new(classes: usize, is_leaf: impl Fn(usize) -> bool, config: &Config, seed: u64) -> Self {
        let queue = |class| is_leaf(class).then(|| config.build(seed));
        Self { queues: (0..classes).map(queue).collect(), len: 0, bytes: Bytes::ZERO, drops: VecDeque::new() }
    }
}

impl<P> Leaves<P> {
    pub(crate) fn is_leaf(&self, class: usize) -> bool {
        self.queues.get(class).is_some_and(Option::is_some)
    }

    /// The queue of a leaf.
    pub(crate) fn get(&self, leaf: usize) -> &Queue<P> {
        self.queues[leaf].as_ref().expect("only leaves are asked")
    }

    /// Changes a leaf's queue, and updates the totals.
    pub(crate) fn with<R>(&mut self, leaf: usize, change: impl FnOnce(&mut Queue<P>) -> R) -> R {
        let queue = self.queues[leaf].as_mut().expect("only leaves are asked");
        let before = (queue.len(), queue.bytes());
        let result = change(queue);
        self.len = self.len + queue.len() - before.0;
        self.bytes = self.bytes + queue.bytes() - before.1;
        while let Some(dropped) = queue.poll_drop() {
            self.drops.push_back(dropped);
        }
        result
    }

    pub(crate) fn poll_drop(&mut self) -> Option<Dropped<P>> {
        self.drops.pop_front()
    }

    /// Takes all packets out.
    pub(crate) fn take_all(&mut self) -> Vec<P> {
        (self.len, self.bytes) = (0, Bytes::ZERO);
        self.queues.iter_mut().flatten().flat_map(|queue| queue.take_all()).collect()
    }

    /// Number of packets in all queues.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Total size of these packets.
    pub(crate) const fn bytes(&self) -> Bytes {
        self.bytes
    }
}
