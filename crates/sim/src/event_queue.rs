//! The event queue of everything except the medium and the wires, in the order of time and, for equal times, of insertion.
//!
//! Timers are moved more often than they fire: TCP postpones its timeout with every acknowledgment. So a timer that moves
//! to a later time keeps its entry in the heap; when the entry comes up, its owner checks whether anything is due and
//! schedules again. An owner keeps the time of its earliest entry, which identifies stale ones.
//!
//! The heap has four branches at each node: half as many levels as with two, and the children are adjacent in memory.

use evenair_units::Instant;

/// What is called when an entry fires.
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
    /// A report to the box of the senders' rates.
    Rates,
    /// A report to the box of the access point's losses.
    Losses,
    /// A report to the box of the stations' signals.
    Signals,
    /// A roaming station associates with its new access point.
    Come { host: u32, access_point: u16 },
    /// A report to the box of a host's access point.
    Association(u32),
    /// The next second of the box's watch feed.
    Watch,
}

/// An end of a connection: the station opens it, the server accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Station,
    Server,
}

const BRANCHES: usize = 4;

/// A timer: the instant of its owner's earliest entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timer(Instant);

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    sequence: u64,
    task: Task,
}

#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    /// A heap: the parent of the entry at `i` is at `(i - 1) / BRANCHES`, and is never later.
    entries: Vec<Entry>,
    sequence: u64,
}

impl Timer {
    pub(crate) const OFF: Self = Self(Instant::MAX);

    /// Whether the entry that fires at `now` is the earliest one, and so not stale.
    pub(crate) fn fires(&mut self, now: Instant) -> bool {
        let fires = self.0 == now;
        if fires {
            *self = Self::OFF;
        }
        fires
    }
}

impl EventQueue {
    pub(crate) fn schedule(&mut self, at: Instant, task: Task) {
        self.sequence += 1;
        let entry = Entry { at, sequence: self.sequence, task };
        self.entries.push(entry);
        self.sift_up(entry, self.entries.len() - 1);
    }

    /// Ensures that an entry fires at `at` or before.
    pub(crate) fn arm(&mut self, timer: &mut Timer, at: Option<Instant>, task: Task) {
        if let Some(at) = at.filter(|&at| at < timer.0) {
            timer.0 = at;
            self.schedule(at, task);
        }
    }

    /// Time of the next entry; [`Instant::MAX`] without any.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.entries.first().map_or(Instant::MAX, |entry| entry.at)
    }

    /// The task of the next entry.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Task> {
        self.entries.first().map(|entry| entry.task)
    }

    pub(crate) fn pop(&mut self) -> Option<Task> {
        let last = self.entries.pop()?;
        let Some(first) = self.entries.first() else { return Some(last.task) };
        let task = first.task;
        // The free position moves down to a leaf, each time to the earliest child; the last entry fills it and moves up from
        // there, usually not far.
        let mut place = 0;
        while let Some(least) = self.least_of(place * BRANCHES + 1) {
            self.entries[place] = self.entries[least];
            place = least;
        }
        self.sift_up(last, place);
        Some(task)
    }

    /// Moves an entry up from a free position to where it belongs.
    #[inline]
    fn sift_up(&mut self, entry: Entry, mut place: usize) {
        while place > 0 {
            let above = (place - 1) / BRANCHES;
            if self.entries[above].key() < entry.key() {
                break;
            }
            self.entries[place] = self.entries[above];
            place = above;
        }
        self.entries[place] = entry;
    }

    /// Position of the earliest of the siblings that begin at `begin`.
    #[inline]
    fn least_of(&self, begin: usize) -> Option<usize> {
        if let Some([a, b, c, d]) = self.entries.get(begin..begin + BRANCHES) {
            // The outcome is unpredictable, so it is computed without branches.
            let keys = [a.key(), b.key(), c.key(), d.key()];
            let pairs = [usize::from(keys[1] < keys[0]), 2 + usize::from(keys[3] < keys[2])];
            return Some(begin + pairs[usize::from(keys[pairs[1]] < keys[pairs[0]])]);
        }
        (begin..self.entries.len()).min_by_key(|&place| self.entries[place].key())
    }
}

impl Entry {
    fn key(&self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn entries_come_up_by_time_and_at_one_instant_in_the_order_of_scheduling() {
        let mut event_queue = EventQueue::default();
        for (ns, app) in [(5, 0), (3, 1), (5, 2), (3, 3)] {
            event_queue.schedule(at(ns), Task::App(app));
        }
        assert_eq!(event_queue.next(), at(3));
        let order: Vec<_> = std::iter::from_fn(|| event_queue.pop()).collect();
        assert_eq!(order, [1, 3, 0, 2].map(Task::App));
        assert_eq!(event_queue.next(), Instant::MAX);
    }

    #[test]
    fn any_order_of_scheduling_comes_out_sorted() {
        let mut rng = evenair_units::Streams::new(1).stream("event queue");
        let (mut event_queue, mut scheduled) = (EventQueue::default(), Vec::new());
        for number in 0..3_000u32 {
            let ns = rng.below(500);
            event_queue.schedule(at(ns), Task::App(number));
            scheduled.push((ns, number));
            if rng.below(3) == 0 {
                let first = scheduled.iter().copied().min().expect("it has one");
                scheduled.retain(|&entry| entry != first);
                assert_eq!((event_queue.next(), event_queue.pop()), (at(first.0), Some(Task::App(first.1))));
            }
        }
        scheduled.sort_unstable();
        let rest: Vec<_> = std::iter::from_fn(|| event_queue.pop()).collect();
        assert_eq!(rest, scheduled.into_iter().map(|(_, number)| Task::App(number)).collect::<Vec<_>>());
    }

    #[test]
    fn a_timer_that_is_postponed_keeps_its_entry_and_one_moved_forward_leaves_a_stale_entry() {
        let (mut event_queue, mut timer) = (EventQueue::default(), Timer::OFF);
        event_queue.arm(&mut timer, Some(at(10)), Task::Box);
        event_queue.arm(&mut timer, Some(at(20)), Task::Box);
        event_queue.arm(&mut timer, None, Task::Box);
        assert_eq!(event_queue.entries.len(), 1);
        event_queue.arm(&mut timer, Some(at(4)), Task::Box);
        assert_eq!(event_queue.next(), at(4));
        event_queue.pop();
        assert!(timer.fires(at(4)));
        assert_eq!(event_queue.next(), at(10));
        assert!(!timer.fires(at(10)), "nobody waits for it any more");
    }
}
