//! Start-time fair queueing with queues, flat (every queue a child of the root) or hierarchical.
//!
//! Fair over any interval, for any variation of the server's rate: for two children of one node that are backlogged throughout,
//! `|W_i/phi_i - W_j/phi_j| <= l_i/phi_i + l_j/phi_j` with their largest lengths l (theorem 1 of the source in `tags`). Work
//! conserving. The order inside a queue is never changed. Each operation takes O(depth * log n).
//!
//! Lengths have the unit of the server's time, and are requested when the item is served. There is no limit and no dropping
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
    /// By node; inner nodes have empty ones, which take no memory.
    queues: Vec<VecDeque<T>>,
    len: usize,
}

impl<T> Default for Hsfq<T> {
    fn default() -> Self {
        Self { tags: Tags::new(), queues: Vec::new(), len: 0 }
    }
}

impl<T> Hsfq<T> {
    /// Only a root.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a child to `parent`. It is a queue until it gets children itself.
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

    /// Removes a node that is empty and has no children. Its identifier may be given to another one.
    ///
    /// # Panics
    /// If it is the root, holds something, or has children.
    pub fn remove(&mut self, node: NodeId) {
        self.tags.remove(node);
        self.queues[node.index()] = VecDeque::new();
    }

    /// The node above; `None` for the root.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.tags.parent(node)
    }

    /// Whether anything is below it.
    pub fn has_children(&self, node: NodeId) -> bool {
        self.tags.has_children(node)
    }

    /// A node's weight.
    pub fn weight(&self, node: NodeId) -> u64 {
        self.tags.weight(node)
    }

    /// The weights of the root's children that have something to serve, together: what another tree would have to be weighed
    /// with that shares a server with this one.
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

    /// The queue whose turn it is, and its head.
    pub fn peek(&self) -> Option<(NodeId, &T)> {
        let leaf = self.tags.next()?;
        self.queues[leaf.index()].front().map(|head| (leaf, head))
    }

    /// Queues that are to be served soon, about in that order, until `see` says that it has seen enough. Nothing depends on
    /// it: it is for bringing near what will be wanted.
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

    /// Takes the head of a queue into service whose turn it need not be. What it takes is charged as in its turn, to it and
    /// to all above it, so that shares over time stay what they are: the turns that follow come later.
    pub fn dequeue_ahead(&mut self, leaf: NodeId, length: impl FnOnce(&T) -> u64) -> Option<T> {
        let queue = &mut self.queues[leaf.index()];
        let head = queue.pop_front()?;
        let more = !queue.is_empty();
        self.len -= 1;
        self.tags.serve_ahead(leaf, length(&head), more);
        Some(head)
    }

    /// The queue whose turn it is among those below `node`; `None` where nothing there may be served.
    pub fn peek_below(&self, node: NodeId) -> Option<NodeId> {
        (self.tags.is_ready(node) && !self.tags.is_paused(node)).then(|| self.tags.next_below(node))
    }

    /// Takes the head whose turn it is among those below `node` into service, though it need not be the turn of `node`.
    /// What it takes is charged as in its turn, but no farther than keeps `node` and those above it `most` ahead: who is
    /// served so for long does not wait for as long when that ends.
    pub fn dequeue_below(&mut self, node: NodeId, most: u64, length: impl FnOnce(&T) -> u64) -> Option<(NodeId, T)> {
        let leaf = self.peek_below(node)?;
        let queue = &mut self.queues[leaf.index()];
        let head = queue.pop_front().expect("a queue whose turn it is holds something");
        let more = !queue.is_empty();
        self.len -= 1;
        self.tags.serve_below(Ahead { node, most }, leaf, length(&head), more);
        Some((leaf, head))
    }

    /// Serves nothing below a node until [`Self::resume`]; those beside it get its turns.
    ///
    /// # Panics
    /// If it is the root.
    pub fn pause(&mut self, node: NodeId) {
        self.tags.pause(node);
    }

    /// Serves a node that was paused again, from now on: the turns that it missed are gone.
    pub fn resume(&mut self, node: NodeId) {
        self.tags.resume(node);
    }

    /// It, or a node above it, is paused.
    pub fn is_paused(&self, node: NodeId) -> bool {
        self.tags.is_paused(node)
    }

    /// Charges a node, and none above it, for a length that it was not served for: its next turn comes later by that.
    pub fn charge(&mut self, node: NodeId, length: u64) {
        self.tags.charge(node, length);
    }

    /// How much more a node was served or charged than its turns until now would have given it, as a length.
    pub fn lead(&self, node: NodeId) -> u64 {
        self.tags.lead(node)
    }

    /// The item last dequeued has left the server, and none follows it now. [`Self::dequeue`] implies it.
    pub fn end_service(&mut self) {
        self.tags.end_service();
    }

    /// Takes the head of a queue away, unserved and uncharged.
    pub fn drop_head(&mut self, leaf: NodeId) -> Option<T> {
        let queue = &mut self.queues[leaf.index()];
        let head = queue.pop_front()?;
        self.len -= 1;
        if queue.is_empty() {
            self.tags.deactivate(leaf);
        }
        Some(head)
    }

    /// Takes those items out of a queue that `wanted` names, in their order, unserved and uncharged. Looks at all of it.
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

    /// What a queue holds, head first.
    pub fn queue(&self, leaf: NodeId) -> &VecDeque<T> {
        &self.queues[leaf.index()]
    }

    /// Items in all queues.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Nothing is held.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}
