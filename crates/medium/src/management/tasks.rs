//! What management traffic is to do when, and what it works with.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant};
use evenair_wifi::{AccessCategory, PhyRate};

use crate::frame::{Carried, Event, Mpdu, NodeId, Own, Queued, To};
use crate::nodes::Nodes;

/// What is to be done next, by the number of the access point, station or source. At one instant in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Task {
    Beacon(u32),
    /// Whether a station may go to sleep.
    Doze(u32),
    Obss(u32),
}

/// Tasks by time.
#[derive(Debug, Default)]
pub(super) struct Timers {
    tasks: BTreeSet<(Instant, Task)>,
}

impl Timers {
    pub(super) fn schedule(&mut self, at: Instant, task: Task) {
        self.tasks.insert((at, task));
    }

    /// When something is to be done next; [`Instant::MAX`] where nothing is.
    pub(super) fn next(&self) -> Instant {
        self.tasks.first().map_or(Instant::MAX, |&(at, _)| at)
    }

    /// The next task that is due at `at`.
    pub(super) fn take_due(&mut self, at: Instant) -> Option<Task> {
        let &(due, task) = self.tasks.first()?;
        if due > at {
            return None;
        }
        self.tasks.pop_first();
        Some(task)
    }
}

/// What management traffic works with at one instant: the nodes, what has become of packets, its timers.
pub(super) struct Context<'a, F> {
    pub(super) at: Instant,
    pub(super) nodes: &'a mut Nodes<F>,
    pub(super) events: &'a mut VecDeque<Event<F>>,
    pub(super) timers: &'a mut Timers,
    /// EDCAFs that have got work, in this order.
    pub(super) started: &'a mut Vec<u32>,
    /// Of a frame of which nothing else is known.
    pub(super) lowest_rate: PhyRate,
}

impl<F> Context<'_, F> {
    /// A frame of a node's own, so large behind the headers of data frames.
    pub(super) fn own(&self, to: To, msdu: Bytes, own: Own) -> Queued<F> {
        let (rate, category) = (self.lowest_rate, AccessCategory::BestEffort);
        Queued { enqueued: self.at, mpdu: Mpdu { to, msdu, rate, category, frame: Carried::Own(own) } }
    }

    /// A node is to send a frame of its own, in its turn.
    pub(super) fn send(&mut self, from: NodeId, queued: Queued<F>) {
        self.started.extend(self.nodes.accept_own(from, queued));
    }

    /// A node is to send a frame to everybody, before all that wait behind the frame in service.
    pub(super) fn send_first(&mut self, from: NodeId, queued: Queued<F>) {
        self.started.extend(self.nodes.accept_first(from, queued));
    }

    /// A packet comes to the MAC of a node.
    pub(super) fn accept(&mut self, from: NodeId, mpdu: Mpdu<F>) {
        self.started.extend(self.nodes.accept(self.at, from, mpdu, self.events));
    }
}
