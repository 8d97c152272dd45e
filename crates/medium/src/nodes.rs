//! Tables of a medium's nodes and their EDCAFs.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use evenair_units::{Instant, Rng};
use evenair_wifi::AccessCategory;

use crate::attempt::{Attempt, Sending};
use crate::config::NodeConfig;
use crate::counters::{Counters, QueueState};
use crate::edcaf::{Edcaf, Rules};
use crate::frame::{DropReason, Event, Mpdu, NodeId, Queued, To, lost};
use crate::node::Node;
use crate::watch::Kind;

/// All nodes and all EDCAFs of a medium.
#[derive(Debug)]
pub(crate) struct Nodes<F> {
    nodes: Vec<Node>,
    /// EDCAFs of all nodes; those of one node are adjacent.
    pub(crate) edcafs: Vec<Edcaf<F>>,
    /// Distinct rules of all EDCAFs.
    rules: Vec<Arc<Rules>>,
    /// Whether any node has EDCA.
    pub(crate) has_edca: bool,
    /// Number of nodes with a frame.
    pub(crate) backlogged: usize,
}

impl<F> Nodes<F> {
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new(), edcafs: Vec::new(), rules: Vec::new(), has_edca: false, backlogged: 0 }
    }

    /// Adds a node; its EDCAFs follow by [`Self::add_edcaf`].
    pub(crate) fn add_node(&mut self, config: &NodeConfig) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        let first = u32::try_from(self.edcafs.len()).expect("fewer than 2^32 access functions");
        self.nodes.push(Node::new(config, first));
        self.has_edca |= config.edca.is_some();
        id
    }

    /// Adds an EDCAF of the node that joined last.
    pub(crate) fn add_edcaf(&mut self, node: u32, rules: Rules, back_off: Rng, aggregates: bool) {
        let rules = share(&mut self.rules, rules);
        self.edcafs.push(Edcaf::new(node, rules, back_off, aggregates));
    }

    /// Marks a node as gone and without work. The caller empties its queues.
    pub(crate) fn leave(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.0 as usize];
        node.has_left = true;
        self.backlogged -= usize::from(node.backlogged > 0);
        node.backlogged = 0;
    }

    #[inline]
    pub(crate) fn has_left(&self, node: u32) -> bool {
        self.nodes[node as usize].has_left
    }

    /// Number of nodes that ever joined.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Whether a node has EDCA, and so sends QoS frames to others that have it.
    #[inline]
    pub(crate) fn is_qos(&self, node: u32) -> bool {
        self.nodes[node as usize].edca
    }

    /// Number of the EDCAF that sends a node's frames of this category.
    #[inline]
    pub(crate) fn edcaf_id(&self, node: u32, category: AccessCategory) -> u32 {
        self.nodes[node as usize].edcaf(category)
    }

    /// The numbers of a node's EDCAFs.
    #[inline]
    pub(crate) fn edcaf_ids(&self, node: u32) -> Range<usize> {
        self.nodes[node as usize].edcafs()
    }

    /// Enqueues a packet at a node that is present. Returns the EDCAF if it had no work before.
    #[inline(always)]
    pub(crate) fn accept(
        &mut self,
        now: Instant,
        from: NodeId,
        mpdu: Mpdu<F>,
        events: &mut VecDeque<Event<F>>,
    ) -> Option<u32> {
        let node = &mut self.nodes[from.0 as usize];
        let id = node.edcaf(mpdu.category);
        node.note_used(id);
        let edcaf = &mut self.edcafs[id as usize];
        let had_work = edcaf.has_work();
        if !edcaf.has_room(mpdu.msdu) {
            edcaf.counters.buffer_drops += 1;
            events.push_back(lost(now, from, mpdu, DropReason::BufferFull));
            return None;
        }
        edcaf.push(now, mpdu);
        (!had_work).then_some(id)
    }

    /// Enqueues a management frame at a node. Returns the EDCAF if it had no work before.
    pub(crate) fn accept_own(&mut self, from: NodeId, queued: Queued<F>) -> Option<u32> {
        let id = self.edcaf_id(from.0, queued.mpdu.category);
        self.nodes[from.0 as usize].note_used(id);
        let edcaf = &mut self.edcafs[id as usize];
        let had_work = edcaf.has_work();
        edcaf.push_own(queued);
        (!had_work).then_some(id)
    }

    /// Enqueues a broadcast ahead of all frames that wait behind the frame in service. Returns the EDCAF if
    /// it had no work before.
    pub(crate) fn accept_first(&mut self, from: NodeId, queued: Queued<F>) -> Option<u32> {
        let id = self.edcaf_id(from.0, queued.mpdu.category);
        self.nodes[from.0 as usize].note_used(id);
        let edcaf = &mut self.edcafs[id as usize];
        let had_work = edcaf.has_work();
        edcaf.push_first(queued);
        (!had_work).then_some(id)
    }

    /// Removes the frames at a node for another one, behind those in service.
    pub(crate) fn take_waiting(&mut self, from: NodeId, to: NodeId) -> impl Iterator<Item = Queued<F>> {
        let edcafs = self.edcaf_ids(from.0);
        edcafs.flat_map(move |number| self.edcafs[number].take_waiting(to))
    }

    /// Whether a node has anything to send.
    pub(crate) fn has_work(&self, id: NodeId) -> bool {
        self.edcafs_of(id).any(Edcaf::has_work)
    }

    /// Whether a node has a frame for another one.
    pub(crate) fn has_for(&self, from: NodeId, to: NodeId) -> bool {
        self.edcafs_of(from).any(|edcaf| edcaf.has_for(to))
    }

    /// An EDCAF of the node has got its first frame, or lost its last one.
    pub(crate) fn note_backlog(&mut self, node: u32, has_frame: bool) {
        let edcafs = &mut self.nodes[node as usize].backlogged;
        if has_frame {
            self.backlogged += usize::from(*edcafs == 0);
            *edcafs += 1;
        } else {
            *edcafs -= 1;
            self.backlogged -= usize::from(*edcafs == 0);
        }
    }

    /// Updates the backlog if the EDCAF has lost its last frame.
    pub(crate) fn note_if_empty(&mut self, id: u32) {
        let edcaf = &self.edcafs[id as usize];
        if !edcaf.has_work() {
            self.note_backlog(edcaf.node, false);
        }
    }

    /// Occupancy of a node's buffers.
    #[inline]
    pub(crate) fn queue(&self, id: NodeId) -> QueueState {
        self.nodes[id.0 as usize].used_edcafs().map(|number| self.edcafs[number].queue_state()).sum()
    }

    /// Counters of a node.
    pub(crate) fn counters(&self, id: NodeId) -> Counters {
        let node = &self.nodes[id.0 as usize];
        if node.edca {
            return self.edcafs_of(id).map(|edcaf| edcaf.counters).sum();
        }
        self.edcafs[node.edcafs().start].counters
    }

    pub(crate) fn edcafs_of(&self, id: NodeId) -> impl Iterator<Item = &Edcaf<F>> {
        self.edcafs[self.edcaf_ids(id.0)].iter()
    }

    #[inline]
    pub(crate) fn edcaf_of(&self, id: NodeId, category: AccessCategory) -> &Edcaf<F> {
        &self.edcafs[self.edcaf_id(id.0, category) as usize]
    }

    /// Kind of the RTS or DATA of an attempt, for the watch.
    pub(crate) fn kind_of(&self, edcaf: u32, attempt: &Attempt, is_rts: bool) -> Kind {
        let this = &self.edcafs[edcaf as usize];
        let node = &self.nodes[this.node as usize];
        let (category, number) = (node.category(edcaf), this.head.attempts);
        if is_rts {
            return Kind::Rts { category, attempt: number };
        }
        let qos = match attempt.to {
            To::Node(receiver) => node.edca && self.is_qos(receiver.0),
            To::Broadcast => false,
        };
        match (attempt.sending, this.tx_queues()) {
            (Sending::Request, _) => Kind::BlockAckRequest { category },
            (Sending::Aggregate, Some(queues)) => {
                Kind::Aggregate { category, attempt: number, reserved: attempt.rts, mpdus: queues.burst.places.len() }
            }
            _ => Kind::Data { category, attempt: number, reserved: attempt.rts, qos },
        }
    }
}

/// Interns rules: returns those of another EDCAF if they are equal.
fn share(all: &mut Vec<Arc<Rules>>, rules: Rules) -> Arc<Rules> {
    let known = all.iter().find(|known| ***known == rules).map(Arc::clone);
    known.unwrap_or_else(|| {
        let new = Arc::new(rules);
        all.push(Arc::clone(&new));
        new
    })
}
