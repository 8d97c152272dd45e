//! Timers of management traffic, and the context of its tasks.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant};
use evenair_wifi::{AccessCategory, PhyRate};

use crate::frame::{Carried, Event, Mpdu, NodeId, Own, Queued, To};
use crate::nodes::Nodes;

/// A task of an access point, station or source, by its number. Tasks at one instant run in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Task {
    Beacon(u32),
    /// Check whether a station may go to sleep.
    Doze(u32),
    Obss(u32),
}

/// Tasks ordered by time.
#[derive(Debug, Default)]
pub(super) struct Timers {
    tasks: BTreeSet<(Instant, Task)>,
}

impl Timers {
    pub(super) fn schedule(&mut self, at: Instant, task: Task) {
        self.tasks.insert((at, task));
    }

    /// Time of the next task; [`Instant::MAX`] if there is none.
    pub(super) fn next(&self) -> Instant {
        self.tasks.first().map_or(Instant::MAX, |&(at, _)| at)
    }

    /// Takes the next task that is due at `at`.
    pub(super) fn take_due(&mut self, at: Instant) -> Option<Task> {
        let &(due, task) = self.tasks.first()?;
        if due > at {
            return None;
        }
        self.tasks.pop_first();
        Some(task)
    }
}

/// Context of management tasks at one instant.
pub(super) struct Context<'a, F> {
    pub(super) at: Instant,
    pub(super) nodes: &'a mut Nodes<F>,
    pub(super) events: &'a mut VecDeque<Event<F>>,
    pub(super) timers: &'a mut Timers,
    /// EDCAFs that have got work, in order.
    pub(super) started: &'a mut Vec<u32>,
    /// Rate of frames that carry none of their own.
    pub(super) lowest_rate: PhyRate,
}

impl<F> Context<'_, F> {
    /// A management frame with an MSDU of this size.
    pub(super) fn own(&self, to: To, msdu: Bytes, own: Own) -> Queued<F> {
        let (rate, category) = (self.lowest_rate, AccessCategory::BestEffort);
        Queued { enqueued: self.at, mpdu: Mpdu { to, msdu, rate, category, frame: Carried::Own(own) } }
    }

    /// A node enqueues a management frame.
    pub(super) fn send(&mut self, from: NodeId, queued: Queued<F>) {
        self.started.extend(self.nodes.accept_own(from, queued));
    }

    /// A node enqueues a broadcast ahead of all frames that wait behind the frame in service.
    pub(super) fn send_first(&mut self, from: NodeId, queued: Queued<F>) {
        self.started.extend(self.nodes.accept_first(from, queued));
    }

    /// A packet arrives at the MAC of a node.
    pub(super) fn accept(&mut self, from: NodeId, mpdu: Mpdu<F>) {
        self.started.extend(self.nodes.accept(self.at, from, mpdu, self.events));
    }
}
