//! Events of the box: packet loops, the monitor of the bridge and the servers of commands leave them in an [`EventSink`]; the history and
//! the watch feed take them from bounded queues. Leaving an event never blocks.

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
