//! What happens in the box: left in queues for the history and for the watch feed.

use std::time::{SystemTime, UNIX_EPOCH};

use evenair_api::history::Event;
use evenair_manager as manager;

use super::event_of;

/// What has happened.
#[derive(Clone)]
pub(crate) enum Happened {
    /// The manager says so.
    Managed(manager::Event),
    /// The box says so.
    OfBox(Event),
}

impl Happened {
    /// As the history has it; `None`: samples have the same information.
    pub(crate) fn event(&self) -> Option<Event> {
        match self {
            Self::Managed(event) => event_of(event),
            Self::OfBox(event) => Some(event.clone()),
        }
    }
}

/// Seconds since 1970, in milliseconds.
pub(crate) fn seconds(at: SystemTime) -> f64 {
    // A clock before 1970 is not set.
    at.duration_since(UNIX_EPOCH).map_or(0.0, |since| (since.as_secs_f64() * 1e3).round() / 1e3)
}
