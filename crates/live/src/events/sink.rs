//! The sink of events, for the history and the watch feed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use evenair_api::ModeCommand;
use evenair_api::history::{Author, Event};
use evenair_manager as manager;
use evenair_sys::rt;
use evenair_units::Instant as Monotonic;

use super::attribution::{Attribution, Commanded};
use super::budget::Budget;
use super::feed::FeedSink;
use super::happened::Happened;

/// Events that may wait for the history thread.
pub const EVENTS_WAITING: usize = 1024;

/// An event in the queue of the history; `None`: the history ends.
pub type Queued = Option<(SystemTime, Happened)>;

/// The sink of events, for packet loops and the control socket. Clones share the same queues.
#[derive(Clone)]
pub struct EventSink {
    events: Option<SyncSender<Queued>>,
    /// The watch feed, which gets events that are not about a station.
    watch: Option<FeedSink>,
    /// Events lost for want of room.
    lost: Arc<AtomicU64>,
    budget: Arc<Budget>,
    attribution: Arc<Mutex<Attribution>>,
}

/// The history's end of the sink.
pub struct Queue {
    /// Events, in order.
    pub events: Receiver<Queued>,
    /// Sender of the end marker.
    pub end: SyncSender<Queued>,
    /// Events lost for want of room.
    pub lost: Arc<AtomicU64>,
    budget: Arc<Budget>,
}

impl EventSink {
    /// A sink for the history, the watch feed, or both; `None`: for neither.
    pub fn new(keeps_history: bool, watch: Option<FeedSink>) -> (Option<Self>, Option<Queue>) {
        if !keeps_history {
            let (sink, _) = Self::with(watch.clone(), monotonic());
            return (watch.map(|_| Self { events: None, ..sink }), None);
        }
        let (sink, queue) = Self::with(watch, monotonic());
        (Some(sink), Some(queue))
    }

    /// As [`Self::new`] with a history, with full budgets at this instant.
    pub fn with(watch: Option<FeedSink>, now: Monotonic) -> (Self, Queue) {
        let (sender, events) = mpsc::sync_channel(EVENTS_WAITING);
        let (lost, budget) = (Arc::new(AtomicU64::new(0)), Arc::new(Budget::new(now)));
        let queue = Queue { events, end: sender.clone(), lost: Arc::clone(&lost), budget: Arc::clone(&budget) };
        (Self { events: Some(sender), watch, lost, budget, attribution: Arc::default() }, queue)
    }

    /// Queues an event. It is lost if the history thread is too far behind, and left out if there are too many events of
    /// its kind.
    pub fn leave(&self, event: &manager::Event) {
        self.leave_at(monotonic(), event);
    }

    /// As [`Self::leave`], at this instant.
    pub fn leave_at(&self, now: Monotonic, event: &manager::Event) {
        if matches!(event, manager::Event::RateChanged { .. } | manager::Event::ObservationRefused(_))
            || !self.budget.admits(now, event)
        {
            return;
        }
        if let manager::Event::ModeChanged(mode) = event {
            let event = self.attribution().changed(*mode);
            return self.send(Happened::OfBox(event));
        }
        if let manager::Event::Guard { step, .. } = event {
            self.attribution().guard(*step);
        }
        self.send(Happened::Managed(event.clone()));
    }

    /// Queues an event of the box itself. Stations cannot cause it, so it has no budget.
    pub fn leave_own(&self, event: Event) {
        self.send(Happened::OfBox(event));
    }

    /// Notes that a command is about to be carried out, whose author the next change of mode gets.
    pub fn begin(&self, command: ModeCommand, author: Author) {
        self.attribution().begin(command, author);
    }

    /// Notes that a command was carried out.
    pub fn leave_done(&self, command: Commanded, author: Option<Author>) {
        let event = match (command, author) {
            (Commanded::Reload, by) => Some(Event::Reload { by }),
            (Commanded::Mode(command), Some(author)) => self.attribution().done(command, &author),
            (Commanded::Mode(_), None) => None,
        };
        event.into_iter().for_each(|event| self.leave_own(event));
    }

    fn attribution(&self) -> MutexGuard<'_, Attribution> {
        // The state is consistent between any two statements.
        self.attribution.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, what: Happened) {
        let at = SystemTime::now();
        if let Some(watch) = &self.watch {
            watch.leave(at, &what);
        }
        if let Some(events) = &self.events
            && events.try_send(Some((at, what))).is_err()
        {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Queue {
    /// Events about stations that were left out since the last call, since there were too many of their kind.
    pub fn take_left_out(&self) -> u64 {
        self.budget.take_left_out()
    }

    /// Counts events that were left out.
    pub fn add_left_out(&self, events: u64) {
        self.budget.add_left_out(events);
    }
}

fn monotonic() -> Monotonic {
    Monotonic::from_nanos(rt::monotonic_ns())
}
