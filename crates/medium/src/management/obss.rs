//! Overlapping BSS (OBSS): a network of others on the same channel. One of its nodes sends to another one, and all nodes
//! of the medium hear both.
//!
//! Frames come at gaps that are uniformly distributed around a mean, whatever becomes of those before, and wait in a short
//! drop-tail buffer. They contend by DCF with the PHY's windows. Not here: a network that answers to what it gets, as TCP
//! would, and one that only some of the nodes hear.

use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Rng, Span};
use evenair_wifi::{AccessCategory, PhyRate};

use super::tasks::{Context, Task};
use crate::frame::{Mpdu, NodeId, Own, Queued, To};

/// Frames that wait at most.
const BUFFER: usize = 20;

/// What an overlapping BSS (a network of others) sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Obss {
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
struct Source {
    node: NodeId,
    to: NodeId,
    what: Obss,
    gaps: Rng,
}

/// All overlapping BSS.
#[derive(Debug, Default)]
pub(super) struct ObssTraffic {
    sources: Vec<Source>,
}

impl ObssTraffic {
    /// A network of others, whose `node` sends to `to`. Says when it does first, and its task.
    pub(super) fn add(&mut self, [node, to]: [NodeId; 2], what: Obss, mut gaps: Rng) -> (Instant, Task) {
        let first = what.start + Span::from_nanos(gaps.below(what.gap.as_nanos()));
        let number = self.sources.len() as u32;
        self.sources.push(Source { node, to, what, gaps });
        (first, Task::Obss(number))
    }

    /// Those that send.
    pub(super) fn senders(&self) -> impl Iterator<Item = NodeId> {
        self.sources.iter().map(|source| source.node)
    }

    /// A source is to send its next frame.
    pub(super) fn send<F>(&mut self, ctx: &mut Context<'_, F>, number: u32) {
        let Source { node, to, what, gaps } = &mut self.sources[number as usize];
        let gap = Span::from_nanos(1 + gaps.below(2 * what.gap.as_nanos()));
        let (node, to, what) = (*node, *to, *what);
        if ctx.at >= what.stop {
            return;
        }
        if ctx.nodes.edcaf_of(node, AccessCategory::BestEffort).frames() < BUFFER {
            let own = ctx.own(To::Node(to), what.msdu, Own::Obss);
            let mpdu = Mpdu { rate: what.rate, ..own.mpdu };
            ctx.send(node, Queued { mpdu, ..own });
        }
        ctx.timers.schedule(ctx.at + gap, Task::Obss(number));
    }
}
