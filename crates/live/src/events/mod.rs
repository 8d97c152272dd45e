//! Events of the box, from where they happen to who keeps or shows them: the packet loops, the monitor of the bridge and the servers of
//! commands leave them in a [`EventSink`], and the history and the watch feed take them out of bounded queues. Leaving one
//! never waits.

mod attribution;
mod budget;
mod event;
mod feed;
mod happened;
mod sink;

pub use attribution::Commanded;
pub(crate) use event::event_of;
pub use feed::{Entry, FeedSink};
pub use happened::Happened;
pub use sink::{EVENTS_WAITING, EventSink, Queue, Queued};
