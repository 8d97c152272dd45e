//! Events of the box, queued for the history and the watch feed.

use evenair_api::history::Event;
use evenair_manager as manager;

use super::event::event_of;

/// An event.
#[derive(Clone, Debug)]
pub enum Happened {
    /// An event of the manager.
    Managed(manager::Event),
    /// An event of the box itself.
    OfBox(Event),
}

impl Happened {
    /// The event for the history; `None`: samples have the same information.
    pub fn event(&self) -> Option<Event> {
        match self {
            Self::Managed(event) => event_of(event),
            Self::OfBox(event) => Some(event.clone()),
        }
    }
}
