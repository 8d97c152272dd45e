//! A network of others on the same channel: one of its nodes sends to another one, and all nodes of the medium hear both.
//!
//! Frames come at gaps that are uniformly distributed around a mean, whatever becomes of those before, and wait in a short
//! drop-tail buffer. They contend by DCF with the PHY's windows. Not here: a network that answers to what it gets, as TCP
//! would, and one that only some of the nodes hear.

use evenair_units::{Bytes, Instant, Limit, Rng, Span};
use evenair_wifi::{AccessCategory, PhyRate};

use crate::chores::Chore;
use crate::frame::{Own, Queued};
use crate::{Medium, Mpdu, NodeConfig, NodeId, To};

/// Frames that wait at most.
const BUFFER: usize = 20;

/// What a network of others sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Foreign {
    /// Size of its packets, without LLC/SNAP and the MAC's headers.
    pub msdu: Bytes,
    /// PHY rate of its frames.
    pub rate: PhyRate,
    /// Mean time from one frame to the next.
    pub gap: Span,
    /// When it begins.
    pub start: Instant,
    /// When it ends.
    pub stop: Instant,
}

/// Its sender.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) node: NodeId,
    to: NodeId,
    what: Foreign,
    gaps: Rng,
}

impl<F> Medium<F> {
    /// A network of others, as two nodes that come after those that are there: who sends, and who answers. What they send
    /// does not come out as events.
    ///
    /// # Panics
    /// If the mean gap is zero.
    pub fn add_foreign(&mut self, what: Foreign) -> [NodeId; 2] {
        assert!(what.gap > Span::ZERO, "{what:?}");
        let [node, to] = [(); 2].map(|()| self.add_node(NodeConfig::dcf(Limit::Unlimited)));
        let mut gaps = self.streams.numbered("medium foreign", u64::from(node.0));
        let first = what.start + Span::from_nanos(gaps.below(what.gap.as_nanos()));
        let sources = &mut self.chores.get_or_insert_default().sources;
        let number = sources.len() as u32;
        sources.push(Source { node, to, what, gaps });
        self.plan(first, Chore::Foreign(number));
        [node, to]
    }

    pub(crate) fn send_foreign(&mut self, at: Instant, number: u32) {
        let Some(chores) = &mut self.chores else { return };
        let Source { node, to, what, gaps } = &mut chores.sources[number as usize];
        let gap = Span::from_nanos(1 + gaps.below(2 * what.gap.as_nanos()));
        let (node, to, what) = (*node, *to, *what);
        if at >= what.stop {
            return;
        }
        let function = self.nodes[node.0 as usize].function(AccessCategory::BestEffort);
        if self.functions[function as usize].frames() < BUFFER {
            let own = self.own(at, To::Node(to), what.msdu, Own::Obss);
            let mpdu = Mpdu { rate: what.rate, ..own.mpdu };
            self.accept_own(at, node, Queued { mpdu, ..own });
        }
        self.plan(at + gap, Chore::Foreign(number));
    }
}
