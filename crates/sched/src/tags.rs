//! The arithmetic of start-time fair queueing over a tree: start tags, finish tags and virtual times, no packets.
//!
//! Each inner node is a server that shares its service among its children:
//!
//! ```text
//! S = max(F_prev of the child, V(arrival));  F = S + l / phi;  serve in the order of S
//! V = S of what is in service; when the busy period ends, the largest F so far
//! ```
//!
//! Tags are fixed-point integers of 128 bits. A packet gets its tags when it becomes the head of its queue, not when it
//! arrives. That is equivalent: behind a head with start tag S >= V, F_prev >= V holds for all that follow. But it lets a
//! queue drop its head, lets a weight change, and lets a length be determined only when the packet is served.
//!
//! Source: Goyal, Vin, Cheng, "Start-time Fair Queueing: A Scheduling Algorithm for Integrated Services Packet
//! Switching Networks", IEEE/ACM ToN 5(5), 1997, for the tags and for the tree (section on link sharing).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Binary places of a tag. With 56 of them a length of one over a weight of 2^32 still keeps 24 binary digits, and at
/// weight one a tag has room for 2^72 units of length: more than ten thousand years at 10 Gb/s.
const FRACTION_BITS: u32 = 56;

/// A virtual time or tag.
type Tag = u128;

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

/// The tags of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    nodes: Vec<Node>,
    /// Servers by node. Separate, because leaves are many and do not use them.
    servers: Vec<Server>,
    vacant: Vec<NodeId>,
    /// Inner node whose child is in service; its ancestors are in service too.
    in_service: Option<NodeId>,
    /// Number of insertions into `ready` sets, so that equal tags are served in turn.
    turn: u64,
}

/// A node in its role as a child: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Node {
    parent: NodeId,
    weight: u64,
    children: u32,
    start: Tag,
    finish: Tag,
    turn: u64,
    /// Whether it has something that may be served.
    backlogged: bool,
    /// Whether nothing below it may be served; and whether there is something (its start tag is kept).
    paused: bool,
    waits: bool,
}

/// A node in its role as a server of its children.
#[derive(Clone, Debug, Default)]
struct Server {
    virtual_time: Tag,
    largest_finish: Tag,
    ready: BTreeSet<(Tag, u64, NodeId)>,
    /// Total weight of the children in `ready`.
    ready_weight: u64,
}

/// A service out of turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// Lowest node that is served out of turn; those above it are, too.
    pub(crate) node: NodeId,
    /// Maximum lead of it and those above it.
    pub(crate) most: u64,
}

impl NodeId {
    /// The root of every tree.
    pub const ROOT: Self = Self(0);

    /// A small index, for tables; indices of removed nodes are reused.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Node {
    const fn new(parent: NodeId, weight: u64) -> Self {
        Self {
            parent,
            weight,
            children: 0,
            start: 0,
            finish: 0,
            turn: 0,
            backlogged: false,
            paused: false,
            waits: false,
        }
    }
}

impl Tags {
    pub(crate) fn new() -> Self {
        Self {
            nodes: [Node::new(NodeId::ROOT, 1)].into(),
            servers: [Server::default()].into(),
            vacant: Vec::new(),
            in_service: None,
            turn: 0,
        }
    }

    pub(crate) fn add(&mut self, parent: NodeId, weight: u64) -> NodeId {
        assert!(weight > 0, "a weight of zero would never be served");
        assert!(!self.node(parent).backlogged || self.node(parent).children > 0, "a backlogged queue gets no children");
        self.node_mut(parent).children += 1;
        let node = Node::new(parent, weight);
        if let Some(id) = self.vacant.pop() {
            (self.nodes[id.index()], self.servers[id.index()]) = (node, Server::default());
            return id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        self.nodes.push(node);
        self.servers.push(Server::default());
        id
    }

    pub(crate) fn remove(&mut self, id: NodeId) {
        let node = self.node(id);
        assert!(
            id != NodeId::ROOT && node.children == 0 && !node.backlogged && !node.waits,
            "only an idle node without children goes"
        );
        let parent = node.parent;
        self.node_mut(parent).children -= 1;
        if self.in_service == Some(id) {
            self.in_service = Some(parent);
        }
        self.vacant.push(id);
    }

    pub(crate) fn parent(&self, id: NodeId) -> Option<NodeId> {
        (id != NodeId::ROOT).then(|| self.node(id).parent)
    }

    pub(crate) fn has_children(&self, id: NodeId) -> bool {
        self.node(id).children > 0
    }

    pub(crate) fn weight(&self, id: NodeId) -> u64 {
        self.node(id).weight
    }

    /// Takes effect from the next packet served.
    pub(crate) fn set_weight(&mut self, id: NodeId, weight: u64) {
        assert!(weight > 0, "a weight of zero would never be served");
        let Node { weight: was, backlogged, parent, .. } = *self.node(id);
        self.node_mut(id).weight = weight;
        if backlogged {
            let server = self.server_mut(parent);
            server.ready_weight = server.ready_weight - was + weight;
        }
    }

    /// Total weight of a node's children that have something to serve.
    pub(crate) fn ready_weight(&self, id: NodeId) -> u64 {
        self.server(id).ready_weight
    }

    /// An empty leaf has got something to serve.
    pub(crate) fn activate(&mut self, leaf: NodeId) {
        let mut id = leaf;
        while id != NodeId::ROOT && !self.node(id).backlogged && !self.node(id).waits {
            let parent = self.node(id).parent;
            let start = self.node(id).finish.max(self.server(parent).virtual_time);
            if self.node(id).paused {
                let node = self.node_mut(id);
                (node.start, node.waits) = (start, true);
                return;
            }
            self.make_ready(id, start);
            id = parent;
        }
    }

    /// A leaf has lost all its items unserved; or nothing below a node may be served any more.
    pub(crate) fn deactivate(&mut self, leaf: NodeId) {
        let mut id = leaf;
        while id != NodeId::ROOT && self.server(id).ready.is_empty() {
            if !self.node(id).backlogged {
                // A paused node has nothing more to wait for.
                self.node_mut(id).waits = false;
                return;
            }
            self.make_unready(id);
            id = self.node(id).parent;
            self.end_busy_period(id);
        }
    }

    /// The leaf to serve next.
    pub(crate) fn next(&self) -> Option<NodeId> {
        let (_, _, id) = *self.server(NodeId::ROOT).ready.first()?;
        Some(self.next_below(id))
    }

    /// The leaf to serve next among those below a node that has something to serve.
    pub(crate) fn next_below(&self, node: NodeId) -> NodeId {
        let mut id = node;
        // A leaf needs no search, and its entry among the servers would be a cache miss.
        while self.has_children(id)
            && let Some(&(_, _, child)) = self.server(id).ready.first()
        {
            id = child;
        }
        id
    }

    /// Leaves that will be served soon, in approximate order, until `see` returns false: the first leaves below the first
    /// nodes, in any order between these. Returns whether `see` wants more.
    pub(crate) fn soon(&self, node: NodeId, see: &mut impl FnMut(NodeId) -> bool) -> bool {
        if !self.has_children(node) {
            return see(node);
        }
        self.server(node).ready.iter().all(|&(_, _, child)| self.soon(child, see))
    }

    /// Begins the service of `length` from `leaf`, which [`Self::next`] returned; `more`: it has further items.
    pub(crate) fn serve(&mut self, leaf: NodeId, length: u64, more: bool) {
        self.begin(leaf, length, more, None);
    }

    /// Begins the service of `length` from `leaf` out of turn. It and all nodes above it pay with later turns; virtual times
    /// do not change, since no other node was served.
    pub(crate) fn serve_ahead(&mut self, leaf: NodeId, length: u64, more: bool) {
        self.begin(leaf, length, more, Some(Ahead { node: leaf, most: u64::MAX }));
    }

    /// Begins the service of `length` from `leaf`, whose turn it is among all below a node, though it is not the turn of
    /// that node. The node and those above it pay with later turns, up to a lead of `ahead.most`.
    pub(crate) fn serve_below(&mut self, ahead: Ahead, leaf: NodeId, length: u64, more: bool) {
        self.begin(leaf, length, more, Some(ahead));
    }

    fn begin(&mut self, leaf: NodeId, length: u64, more: bool, ahead: Option<Ahead>) {
        self.end_service();
        self.in_service = Some(self.node(leaf).parent);
        let (mut id, mut more, mut most) = (leaf, more, None);
        while id != NodeId::ROOT {
            most = most.or(ahead.filter(|ahead| ahead.node == id).map(|ahead| ahead.most));
            self.make_unready(id);
            let Node { parent, start, weight, .. } = *self.node(id);
            let mut finish = start + normalised(length, weight);
            if let Some(most) = most {
                let farthest = self.server(parent).virtual_time.saturating_add(normalised(most, weight));
                finish = finish.min(farthest.max(start));
            }
            self.node_mut(id).finish = finish;
            if more {
                // F >= V, so that the next head's start tag is F.
                self.make_ready(id, finish);
            }
            let server = self.server_mut(parent);
            if most.is_none() {
                server.virtual_time = start;
            }
            server.largest_finish = server.largest_finish.max(finish);
            more = !server.ready.is_empty();
            id = parent;
        }
    }

    /// Serves nothing below a node until it is resumed; its siblings share its service.
    pub(crate) fn pause(&mut self, id: NodeId) {
        assert!(id != NodeId::ROOT, "the root is the server itself");
        self.node_mut(id).paused = true;
        if self.node(id).backlogged {
            self.make_unready(id);
            self.node_mut(id).waits = true;
            let parent = self.node(id).parent;
            self.end_busy_period(parent);
            self.deactivate(parent);
        }
    }

    /// A paused node takes its turns again; those that it missed are lost.
    pub(crate) fn resume(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        node.paused = false;
        if core::mem::take(&mut node.waits) {
            let (parent, start) = (node.parent, node.start);
            let start = start.max(self.server(parent).virtual_time);
            self.make_ready(id, start);
            self.activate(parent);
        }
    }

    /// Whether a node, or one above it, is paused.
    pub(crate) fn is_paused(&self, id: NodeId) -> bool {
        let mut up = core::iter::successors(Some(id), |&id| self.parent(id));
        up.any(|id| self.node(id).paused)
    }

    /// Whether a node has something that may be served, regardless of the nodes above it.
    pub(crate) fn is_ready(&self, id: NodeId) -> bool {
        self.node(id).backlogged
    }

    /// Charges a node, and none above it, for `length` that was not served.
    pub(crate) fn charge(&mut self, id: NodeId, length: u64) {
        let node = self.node(id);
        let (parent, cost, backlogged) = (node.parent, normalised(length, node.weight), node.backlogged);
        if id == NodeId::ROOT {
            return;
        }
        let begins = self.node(id).finish.max(self.server(parent).virtual_time);
        if backlogged {
            let start = self.node(id).start + cost;
            self.make_unready(id);
            self.make_ready(id, start);
        } else if self.node(id).waits {
            self.node_mut(id).start += cost;
        } else {
            self.node_mut(id).finish = begins + cost;
            let server = self.server_mut(parent);
            server.largest_finish = server.largest_finish.max(begins + cost);
        }
    }

    /// How far a node is ahead of its turn, as a length.
    pub(crate) fn lead(&self, id: NodeId) -> u64 {
        let node = self.node(id);
        let tag = if node.backlogged || node.waits { node.start } else { node.finish };
        let ahead = tag.saturating_sub(self.server(node.parent).virtual_time);
        let length = (ahead >> (FRACTION_BITS / 2)).saturating_mul(u128::from(node.weight)) >> (FRACTION_BITS / 2);
        u64::try_from(length).unwrap_or(u64::MAX)
    }

    /// The item served last has left the server.
    pub(crate) fn end_service(&mut self) {
        let mut at = self.in_service.take();
        while let Some(id) = at {
            self.end_busy_period(id);
            at = self.parent(id);
        }
    }

    fn end_busy_period(&mut self, id: NodeId) {
        let server = self.server_mut(id);
        if server.ready.is_empty() {
            server.virtual_time = server.largest_finish;
        }
    }

    fn make_ready(&mut self, id: NodeId, start: Tag) {
        self.turn += 1;
        let turn = self.turn;
        let node = self.node_mut(id);
        (node.start, node.turn, node.backlogged) = (start, turn, true);
        let (parent, weight) = (node.parent, node.weight);
        let server = self.server_mut(parent);
        server.ready.insert((start, turn, id));
        server.ready_weight += weight;
    }

    fn make_unready(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        node.backlogged = false;
        let (parent, weight, key) = (node.parent, node.weight, (node.start, node.turn, id));
        let server = self.server_mut(parent);
        assert!(server.ready.remove(&key), "a node that is served or emptied was ready");
        server.ready_weight -= weight;
    }

    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    fn server(&self, id: NodeId) -> &Server {
        &self.servers[id.index()]
    }

    fn server_mut(&mut self, id: NodeId) -> &mut Server {
        &mut self.servers[id.index()]
    }
}

/// l / phi as a tag.
fn normalised(length: u64, weight: u64) -> Tag {
    (u128::from(length) << FRACTION_BITS) / u128::from(weight)
}
