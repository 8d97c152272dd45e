//! What is to happen next beside the medium and the wires, in the order of time and, at one instant, of being entered.
//!
//! Alarms move more often than they ring: TCP puts its timeout off with every acknowledgment. So an alarm that moves to
//! a later instant stays in the heap where it is; when its entry comes up, its owner looks whether anything is due and
//! enters again. An owner keeps the instant of its earliest entry, by which it knows stale ones.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use evenair_units::Instant;

/// Who is to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// A TCP endpoint's timer.
    Tcp { connection: u32, side: Side },
    /// An application's own timer.
    App(u32),
    /// The box's deadline.
    Box,
    /// An application starts.
    Start(u32),
    /// An application stops.
    Stop(u32),
    /// The next event of the scenario.
    Event,
    /// The box is told the rates that senders have come to choose.
    Rates,
}

/// An end of a connection: the station opens it, the server accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Station,
    Server,
}

/// The instant of an owner's earliest entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alarm(Instant);

#[derive(Debug)]
struct Entry {
    at: Instant,
    sequence: u64,
    task: Task,
}

#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
}

impl Alarm {
    pub(crate) const OFF: Self = Self(Instant::MAX);

    /// An entry came up at `now`: whether it is the earliest one, and so not stale.
    pub(crate) fn rings(&mut self, now: Instant) -> bool {
        let rings = self.0 == now;
        if rings {
            *self = Self::OFF;
        }
        rings
    }
}

impl Agenda {
    pub(crate) fn enter(&mut self, at: Instant, task: Task) {
        self.sequence += 1;
        self.entries.push(Reverse(Entry { at, sequence: self.sequence, task }));
    }

    /// Sees to it that an entry comes up at `at` or before.
    pub(crate) fn arm(&mut self, alarm: &mut Alarm, at: Option<Instant>, task: Task) {
        if let Some(at) = at.filter(|&at| at < alarm.0) {
            alarm.0 = at;
            self.enter(at, task);
        }
    }

    /// When the next entry comes up; [`Instant::MAX`] without any.
    pub(crate) fn next(&self) -> Instant {
        self.entries.peek().map_or(Instant::MAX, |Reverse(entry)| entry.at)
    }

    pub(crate) fn pop(&mut self) -> Option<Task> {
        self.entries.pop().map(|Reverse(entry)| entry.task)
    }
}

impl Entry {
    fn key(&self) -> (Instant, u64) {
        (self.at, self.sequence)
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn entries_come_up_by_time_and_at_one_instant_in_the_order_of_entering() {
        let mut agenda = Agenda::default();
        for (ns, app) in [(5, 0), (3, 1), (5, 2), (3, 3)] {
            agenda.enter(at(ns), Task::App(app));
        }
        assert_eq!(agenda.next(), at(3));
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [1, 3, 0, 2].map(Task::App));
        assert_eq!(agenda.next(), Instant::MAX);
    }

    #[test]
    fn an_alarm_that_moves_back_stays_and_one_that_moves_forward_leaves_a_stale_entry() {
        let (mut agenda, mut alarm) = (Agenda::default(), Alarm::OFF);
        agenda.arm(&mut alarm, Some(at(10)), Task::Box);
        agenda.arm(&mut alarm, Some(at(20)), Task::Box);
        agenda.arm(&mut alarm, None, Task::Box);
        assert_eq!(agenda.entries.len(), 1);
        agenda.arm(&mut alarm, Some(at(4)), Task::Box);
        assert_eq!(agenda.next(), at(4));
        agenda.pop();
        assert!(alarm.rings(at(4)));
        assert_eq!(agenda.next(), at(10));
        assert!(!alarm.rings(at(10)), "nobody waits for it any more");
    }
}
