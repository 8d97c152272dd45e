//! The policy classes in a tree of queues: the node of each class, and what it may have now.
//!
//! A ceiling is a virtual clock that runs at the class's rate: each packet advances it by the time that the ceiling
//! allows for it. While it is ahead of the real clock, the class is paused, and its siblings share its turns. It
//! makes up for recently unused time by [`BURST`] at most.
//!
//! A minimum is the same clock with the opposite test: while it is behind, the class is served before the weights
//! decide. This service counts as part of its share, up to [`LEAD`]: the class gets the larger of its minimum and its
//! share, not both, and if the minimum was more, it does not wait as long afterwards. The clock of a rate is the real
//! one; that of a part of the medium is the work done for all, so that it holds whatever the medium's speed is.
//!
//! Principle: Stoica, Zhang, Ng, "A Hierarchical Fair Service Curve Algorithm for Link-Sharing, Real-Time and
//! Priority Services", SIGCOMM 1997: guarantees by a clock of their own, the rest by fair queueing. Here both curves
//! are straight lines, and guarantees are of inner classes as well as of leaves.

use alloc::vec::Vec;

use evenair_sched::NodeId;
use evenair_units::{Bytes, Instant, Span};

use super::config::{Amount, Class, ClassTree, number};
use crate::held::Service;
use crate::ids::ClassId;

/// Recently unused time that a class makes up for, at most: longer than a round of turns among a few tens of packets at
/// low rates, shorter than a noticeable burst.
const BURST: Span = Span::from_millis(50);
/// Medium time by which a class that is served for its minimum may be ahead of its share, at most. Less than what would
/// keep its sparse queues from their priority.
pub(crate) const LEAD: Span = Span::from_millis(30);

/// The classes of a tree of queues.
#[derive(Clone, Debug)]
pub(crate) struct ClassNodes {
    pub(crate) tree: ClassTree,
    states: Vec<State>,
    /// Classes with a minimum; paused classes.
    guaranteed: Vec<ClassId>,
    paused: Vec<ClassId>,
    /// Charged airtime of all served packets.
    served: Span,
    now: Instant,
}

#[derive(Clone, Debug)]
struct State {
    /// Its node, while it has a flow.
    node: Option<NodeId>,
    /// When its ceiling allows it to go on.
    free_at: Instant,
    /// The clock of its minimum, in nanoseconds: the time until which its minimum has been served.
    due: u64,
    packets: u32,
    bytes: Bytes,
}

impl ClassNodes {
    pub(crate) fn new(tree: &ClassTree, now: Instant) -> Self {
        let state = State { node: None, free_at: Instant::ZERO, due: 0, packets: 0, bytes: Bytes::ZERO };
        let guaranteed = (0..tree.classes.len()).filter(|&at| tree.classes[at].minimum.is_some());
        Self {
            states: tree.classes.iter().map(|_| state.clone()).collect(),
            guaranteed: guaranteed.map(number).collect(),
            paused: Vec::new(),
            served: Span::ZERO,
            now,
            tree: tree.clone(),
        }
    }

    /// The tree without ceilings.
    pub(crate) fn without_ceilings(tree: &ClassTree) -> ClassTree {
        let classes = tree.classes.iter().map(|class| Class { ceiling: None, ..class.clone() });
        ClassTree { classes: classes.collect(), other: tree.other }
    }

    /// Sets the node of a class, or removes it. True: it is to be paused.
    pub(crate) fn set_node(&mut self, class: ClassId, node: Option<NodeId>) -> bool {
        self.state(class).node = node;
        self.paused.contains(&class)
    }

    /// Advances to now: returns nodes to be resumed.
    pub(crate) fn refresh(&mut self, now: Instant) -> Vec<NodeId> {
        self.now = now;
        self.resume(|state| state.free_at <= now)
    }

    /// Resumes all paused classes: returns their nodes.
    pub(crate) fn lift(&mut self) -> Vec<NodeId> {
        self.resume(|_| true)
    }

    fn resume(&mut self, may: impl Fn(&State) -> bool) -> Vec<NodeId> {
        if self.paused.is_empty() {
            return Vec::new();
        }
        let states = &self.states;
        let (go, stay) = self.paused.iter().partition(|class| may(&states[usize::from(class.0)]));
        self.paused = stay;
        let go: Vec<ClassId> = go;
        go.into_iter().filter_map(|class| states[usize::from(class.0)].node).collect()
    }

    /// When the next paused class may be resumed.
    pub(crate) fn next_free(&self) -> Option<Instant> {
        self.paused.iter().map(|class| self.states[usize::from(class.0)].free_at).min()
    }

    /// The node that is farthest behind its minimum, among those that `may` be served.
    pub(crate) fn due(&self, may: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let behind = |&class: &ClassId| {
            let state = &self.states[usize::from(class.0)];
            let lag = self.clock(self.tree.get(class).minimum?).checked_sub(state.due)?;
            Some((lag, state.node.filter(|&node| may(node))?))
        };
        self.guaranteed.iter().filter_map(behind).max_by_key(|&(lag, _)| lag).map(|(_, node)| node)
    }

    fn clock(&self, minimum: Amount) -> u64 {
        match minimum {
            Amount::Part(_) => self.served.as_nanos(),
            Amount::Rate(_) => self.now.as_nanos(),
        }
    }

    /// Notes the service of a packet of a class: returns nodes to be paused.
    pub(crate) fn note_service(&mut self, class: Option<ClassId>, service: &Service) -> Vec<NodeId> {
        self.served = Span::from_nanos(self.served.as_nanos().saturating_add(service.time.as_nanos()));
        let mut pause = Vec::new();
        let mut up = class;
        while let Some(class) = up {
            let Class { parent, minimum, ceiling, .. } = *self.tree.get(class);
            if let Some(minimum) = minimum {
                let takes = minimum.time_for(service.bits, service.time).as_nanos();
                let since = self.clock(minimum).saturating_sub(BURST.as_nanos());
                let state = self.state(class);
                state.due = state.due.max(since).saturating_add(takes);
            }
            if let Some(ceiling) = ceiling {
                let since = self.now.saturating_sub(BURST);
                let now = self.now;
                let state = self.state(class);
                state.free_at = state.free_at.max(since).saturating_add(ceiling.time_for(service.bits, service.real));
                let (over, node) = (state.free_at > now, state.node);
                if over && !self.paused.contains(&class) {
                    self.paused.push(class);
                    pause.extend(node);
                }
            }
            up = parent;
        }
        pause
    }

    /// Notes packets of a class that come to be held (`more`), or cease to.
    pub(crate) fn note_held(&mut self, class: Option<ClassId>, packets: u32, bytes: Bytes, more: bool) {
        let mut up = class;
        while let Some(class) = up {
            let state = self.state(class);
            if more {
                (state.packets, state.bytes) = (state.packets + packets, state.bytes + bytes);
            } else {
                (state.packets, state.bytes) = (state.packets - packets, state.bytes - bytes);
            }
            up = self.tree.get(class).parent;
        }
    }

    /// Packets and bytes held in a class and below it, and whether it is at its ceiling.
    pub(crate) fn held(&self, class: ClassId) -> (u32, Bytes, bool) {
        let state = &self.states[usize::from(class.0)];
        (state.packets, state.bytes, self.paused.contains(&class))
    }

    fn state(&mut self, class: ClassId) -> &mut State {
        &mut self.states[usize::from(class.0)]
    }
}

impl Amount {
    /// Time in which this amount grants so many bits, or so much medium time.
    fn time_for(self, bits: u64, time: Span) -> Span {
        match self {
            Self::Part(permille) => time.mul_div(1000, permille.into()),
            Self::Rate(rate) => rate.time_for_bits(bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Takes;
    use evenair_units::BitRate;

    /// One class with these amounts, and a packet of 12,000 bits that takes 2 ms.
    fn nodes(minimum: Option<Amount>, ceiling: Option<Amount>) -> (ClassNodes, Service) {
        let class = Class { parent: None, weight: 1, minimum, ceiling, takes: Takes::Rest };
        let mut nodes = ClassNodes::new(&ClassTree { classes: [class].into(), other: 1 }, Instant::ZERO);
        nodes.set_node(ClassId(0), Some(NodeId::ROOT));
        let packet = Service::by_length(Bytes(1_500), BitRate::from_mbps(6));
        (nodes, Service { real: packet.time * 2, ..packet })
    }

    /// Packets served in 1,000 ms, with an attempt each millisecond.
    fn served_below(ceiling: Amount) -> usize {
        let (mut nodes, service) = nodes(None, Some(ceiling));
        let mut served = 0;
        for ms in 1_000..2_000 {
            nodes.refresh(Instant::ZERO + Span::from_millis(ms));
            while nodes.next_free().is_none() {
                nodes.note_service(Some(ClassId(0)), &service);
                served += 1;
            }
        }
        served
    }

    #[test]
    fn a_ceiling_lets_its_amount_pass_and_a_burst() {
        // 50 a second, and the 2.5 of 50 ms before; as a part of the medium, which is half as fast as the model, 4 ms
        // for each.
        assert_eq!(served_below(Amount::Rate(BitRate::from_kbps(600))), 53);
        assert_eq!(served_below(Amount::Part(200)), 53);
    }

    #[test]
    fn a_minimum_is_due_by_its_own_clock() {
        for (minimum, expected) in [(Amount::Part(300), 300), (Amount::Rate(BitRate::from_kbps(1_200)), 200)] {
            let (mut nodes, service) = nodes(Some(minimum), None);
            let mut due = 0;
            for k in 0..1_000 {
                nodes.refresh(Instant::ZERO + Span::from_millis(2 * k));
                let class = nodes.due(|_| true).map(|_| ClassId(0));
                due += usize::from(class.is_some());
                nodes.note_service(class, &service);
            }
            assert!((expected..expected + 2).contains(&due), "{minimum:?}: {due}");
            assert!(nodes.due(|_| false).is_none());
        }
    }
}
