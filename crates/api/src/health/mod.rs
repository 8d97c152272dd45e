//! The health of the network and the box: a list of reasons, each with a value, its limit and one remedy.
//!
//! [`Health`] gets the line of the watch feed of each second with [`Facts`] beyond it, and returns the reasons in force. It has no
//! clock: a call is a second. A reason is raised once its condition has held for [`RAISED_AFTER`] seconds, and cleared once it has not
//! held for [`CLEARED_AFTER`] seconds (`memory.rs`). The distance of a condition from its limit is its *degree*: 1 at the limit, and for
//! several conditions that must all hold the smallest of their degrees (`wifi.rs`, `machine.rs`). Sentences state means of ten seconds
//! (`means.rs`).
//!
//! It prefers silence: a busy network whose stations get their shares has no reason. Not detected: a crowded channel without
//! reported rates, since low rates would have the same effect.

mod facts;
mod judge;
mod limits;
mod machine;
mod means;
mod memory;
pub(crate) mod reason;
#[cfg(test)]
mod tests;
mod wifi;

pub use facts::{Counters, Facts, SetAside, Source};
pub use judge::Health;
pub use limits::Limits;
pub use memory::{CLEARED_AFTER, CLEARED_AFTER_RETURN, RAISED_AFTER, RETURNS_WITHIN};
pub use reason::{Code, HealthStatus, Level, Reason, Subject, SubjectKind};
