//! What happens in the box: left in queues for the history and for the watch feed.

use evenair_api::history::Event;
use evenair_manager as manager;

use super::event::event_of;

/// What has happened.
#[derive(Clone, Debug)]
pub enum Happened {
    /// The manager says so.
    Managed(manager::Event),
    /// The box says so.
    OfBox(Event),
}

impl Happened {
    /// As the history has it; `None`: samples have the same information.
    pub fn event(&self) -> Option<Event> {
        match self {
            Self::Managed(event) => event_of(event),
            Self::OfBox(event) => Some(event.clone()),
        }
    }
}
