//! History: statistics of each interval and the events between, in files of bounded size.
//!
//! A separate thread requests the loop's state once per interval, like the metrics, computes the difference to the last
//! one, and stores it with the events of the interval. The loop never waits: events go through a bounded queue, and events
//! that do not fit are counted, and events about stations have a budget ([`evenair_live::events`]) and files of their own, so that a flood of
//! made-up addresses displaces no sample and no other event. [`Keeper`] is the storage interface; the box stores lines of JSON ([`Files`]). If the disk
//! is full or missing, only history is lost.
//!
//! Not here: downsampling of old records. They are deleted when the files reach their limit.

mod files;
mod recorder;

use std::io;

use evenair_api::history::Record;

pub use files::Files;
pub(crate) use recorder::History;

/// Storage of a history.
pub trait Keeper: Send {
    /// Stores a record, after all earlier ones.
    ///
    /// # Errors
    /// It cannot be stored: this record is lost, but later ones may succeed.
    fn keep(&mut self, record: &Record) -> io::Result<()>;
}
