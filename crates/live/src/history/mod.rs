//! What has been: statistics of each interval and the events between, kept in files of bounded size.
//!
//! A thread of its own asks the loop for its state once an interval, as the metrics do, makes the difference to the last
//! one, and keeps it together with the events that the loop has handed over since. The loop never waits: events go through
//! a queue of bounded length, and those for which it has no room are counted. What is kept where is behind [`Keeper`]; the
//! box keeps it in lines of JSON ([`Files`]). A disk that is full, or has gone, loses history and nothing else.
//!
//! What is not here: thinning out what is old. It goes when the files have grown to their limit.

mod files;
mod record;
mod recorder;
mod spec;

use std::io;

pub use files::{Files, Reader, Seen};
pub use record::{CallRecord, ClassSample, EventRecord, HopSample, Record, Sample, StationSample};
pub(crate) use recorder::{History, Tap};
pub use spec::{HistoryConfig, HistorySpec};

/// Where history is kept.
pub trait Keeper: Send {
    /// Keeps a record, after all earlier ones.
    ///
    /// # Errors
    /// It cannot be kept: that record is lost, and the next one may do better.
    fn keep(&mut self, record: &Record) -> io::Result<()>;
}
