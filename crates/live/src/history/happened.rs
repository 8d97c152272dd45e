//! What happened to a running box, on its way from the loop to the history and to the watch feed.

use std::time::{SystemTime, UNIX_EPOCH};

use evenair_manager::Event;

use super::EventRecord;

/// What happened.
#[derive(Clone)]
pub(crate) enum Happened {
    /// The manager says so.
    Managed(Event),
    /// Fail-open was lost or is back, in words.
    FailOpen(String),
    /// The ports are no longer what the box can work with, in words.
    Ports(String),
}

impl Happened {
    /// As a record; `None`: samples have the same information.
    pub(crate) fn record(&self, at_s: f64) -> Option<EventRecord> {
        let named = |name: &str, text: &String| {
            Some(EventRecord { at_s, name: name.into(), station: None, text: text.clone() })
        };
        match self {
            Self::Managed(event) => EventRecord::new(event, at_s),
            Self::Ports(text) => named("ports", text),
            Self::FailOpen(text) => named("fail-open", text),
        }
    }
}

/// Seconds since 1970, in milliseconds.
pub(crate) fn seconds(at: SystemTime) -> f64 {
    // A clock before 1970 is not set.
    at.duration_since(UNIX_EPOCH).map_or(0.0, |since| (since.as_secs_f64() * 1e3).round() / 1e3)
}
