//! Start-time fair queueing with queues, flat (every queue a child of the root) or hierarchical.
//!
//! Fair over any interval, for any variation of the server's rate: for two children of one node that are backlogged throughout,
//! `|W_i/phi_i - W_j/phi_j| <= l_i/phi_i + l_j/phi_j` with their largest lengths l (theorem 1 of the source in `tags`). Work
//! conserving. The order inside a queue is never changed. Each operation takes O(depth * log n).
//!
//! Lengths have the unit of the server's time, and are determined when the item is served. There is no limit and no dropping
//! here: the owner may remove heads and tails. There are no rates either: the owner may pause a node, and serve one out of
//! turn.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::NodeId;
use crate::tags::{Ahead, Tags};

/// A tree of shares with queues of `T` at its leaves.
#[derive(Clone, Debug)]
pub struct Hsfq<T> {
    tags: Tags,
    /// Queues by node; those of inner nodes are empty and take no memory.
    queues: Vec<VecDeque<T>>,
    len: usize,
}

impl<T> Default for Hsfq<T> {
    fn default() -> Self {
        Self { tags: Tags::new(), queues: Vec::new(), len: 0 }
    }
}

impl<T> Hsfq<T> {
    /// A tree with only a root.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a child to `parent`. It is a queue until it gets children.
    ///
    /// # Panics
    /// If the weight is zero, or `parent` is a queue that holds something.
    pub fn add(&mut self, parent: NodeId, weight: u64) -> NodeId {
        let id = self.tags.add(parent, weight);
        if self.queues.len() <= id.index() {
            self.queues.resize_with(id.index() + 1, VecDeque::new);
        }
        id
    }

    /// Removes a node that is empty and has no children. Its identifier may be reused.
    ///
    /// # Panics
    /// If it is the root, holds something, or has children.
    pub fn remove(&mut self, node: NodeId) {
        self.tags.remove(node);
        self.queues[node.index()] = VecDeque::new();
    }

    /// Parent of a node; `None` for the root.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.tags.parent(node)
    }

    /// Whether a node has children.
    pub fn has_children(&self, node: NodeId) -> bool {
        self.tags.has_children(node)
    }

    /// A node's weight.
    pub fn weight(&self, node: NodeId) -> u64 {
        self.tags.weight(node)
    }

    /// Total weight of the root's children with something to serve, for the weighting of other trees that share the server.
    pub fn ready_weight(&self) -> u64 {
        self.tags.ready_weight(NodeId::ROOT)
    }

    /// Changes a node's weight, from the next item served.
    ///
    /// # Panics
    /// If the weight is zero.
    pub fn set_weight(&mut self, node: NodeId, weight: u64) {
        self.tags.set_weight(node, weight);
    }

    /// Appends to a queue.
    ///
    /// # Panics
    /// If the node has children, or is the root.
    pub fn enqueue(&mut self, leaf: NodeId, item: T) {
        assert!(leaf != NodeId::ROOT && !self.tags.has_children(leaf), "only leaves are queues");
        self.len += 1;
        self.queues[leaf.index()].push_back(item);
        if self.queues[leaf.index()].len() == 1 {
            self.tags.activate(leaf);
        }
    }

    /// The queue to serve next, and its head.
    pub fn peek(&self) -> Option<(NodeId, &T)> {
        let leaf = self.tags.next()?;
        self.queues[leaf.index()].front().map(|head| (leaf, head))
    }

    /// Queues that will be served soon, in approximate order, until `see` returns false. Only for prefetching.
    pub fn soon(&self, mut see: impl FnMut(NodeId) -> bool) {
        self.tags.soon(NodeId::ROOT, &mut see);
    }

    /// Takes the next head into service; `length` returns its length. The previous service has ended.
    pub fn dequeue(&mut self, length: impl FnOnce(&T) -> u64) -> Option<(NodeId, T)> {
        let leaf = self.tags.next()?;
        let queue = &mut self.queues[leaf.index()];
        let head = queue.pop_front().expect("a queue whose turn it is holds something");
        let more = !queue.is_empty();
        self.len -= 1;
        self.tags.serve(leaf, length(&head), more);
        Some((leaf, head))
    }

    /// Takes the head of a queue into service out of turn. Its length is charged as usual, to the queue and all nodes above
    /// it: later turns are delayed, so that long-term shares do not change.
    pub fn dequeue_ahead(&mut self, leaf: NodeId, length: impl FnOnce(&T) -> u64) -> Option<T> {
        let queue = &mut self.queues[leaf.index()];
        let head = queue.pop_front()?;
        let more = !queue.is_empty();
        self.len -= 1;
        self.tags.serve_ahead(leaf, length(&head), more);
        Some(head)
    }

    /// The queue to serve next among those below `node`; `None` if nothing there may be served.
    pub fn peek_below(&self, node: NodeId) -> Option<NodeId> {
        (self.tags.is_ready(node) && !self.tags.is_paused(node)).then(|| self.tags.next_below(node))
    }

    /// Takes the next head among the queues below `node` into service, even if it is not the turn of `node`. Its length is
    /// charged as usual, but `node` and those above it get ahead by at most `most`: a node served ahead for long does not
    /// wait for as long afterwards.
    pub fn dequeue_below(&mut self, node: NodeId, most: u64, length: impl FnOnce(&T) -> u64) -> Option<(NodeId, T)> {
        let leaf = self.peek_below(node)?;
        let queue = &mut self.queues[leaf.index()];
        let head = queue.pop_front().expect("a queue whose turn it is holds something");
        let more = !queue.is_empty();
        self.len -= 1;
        self.tags.serve_below(Ahead { node, most }, leaf, length(&head), more);
        Some((leaf, head))
    }

    /// Serves nothing below a node until [`Self::resume`]; its siblings get its turns.
    ///
    /// # Panics
    /// If it is the root.
    pub fn pause(&mut self, node: NodeId) {
        self.tags.pause(node);
    }

    /// Serves a paused node again; the turns that it missed are lost.
    pub fn resume(&mut self, node: NodeId) {
        self.tags.resume(node);
    }

    /// Whether a node, or one above it, is paused.
    pub fn is_paused(&self, node: NodeId) -> bool {
        self.tags.is_paused(node)
    }

    /// Charges a node, and none above it, for a length that was not served: its next turn comes later.
    pub fn charge(&mut self, node: NodeId, length: u64) {
        self.tags.charge(node, length);
    }

    /// How far a node's service and charges are ahead of its turns, as a length.
    pub fn lead(&self, node: NodeId) -> u64 {
        self.tags.lead(node)
    }

    /// The item last dequeued has left the server, and none follows it now. [`Self::dequeue`] implies it.
    pub fn end_service(&mut self) {
        self.tags.end_service();
    }

    /// The newest item of a queue.
    pub fn newest_mut(&mut self, leaf: NodeId) -> Option<&mut T> {
        self.queues[leaf.index()].back_mut()
    }

    /// Removes the head of a queue, unserved and uncharged.
    pub fn drop_head(&mut self, leaf: NodeId) -> Option<T> {
        let queue = &mut self.queues[leaf.index()];
        let head = queue.pop_front()?;
        self.len -= 1;
        if queue.is_empty() {
            self.tags.deactivate(leaf);
        }
        Some(head)
    }

    /// Removes the items of a queue for which `wanted` holds, in order, unserved and uncharged. Checks all items.
    pub fn take(&mut self, leaf: NodeId, mut wanted: impl FnMut(&T) -> bool) -> VecDeque<T> {
        let queue = core::mem::take(&mut self.queues[leaf.index()]);
        let was_backlogged = !queue.is_empty();
        let (taken, left): (VecDeque<T>, VecDeque<T>) = queue.into_iter().partition(|item| wanted(item));
        self.len -= taken.len();
        if was_backlogged && left.is_empty() {
            self.tags.deactivate(leaf);
        }
        self.queues[leaf.index()] = left;
        taken
    }

    /// Items of a queue, head first.
    pub fn queue(&self, leaf: NodeId) -> &VecDeque<T> {
        &self.queues[leaf.index()]
    }

    /// Number of items in all queues.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no item is held.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}
