//! The queue of events for the watch feed, which the feed's sampler empties once a second. It is bounded; events beyond that are lost to
//! the feed.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::SystemTime;

use evenair_manager as manager;

use super::happened::Happened;

/// Entries that may wait for the sampler.
const WAITING: usize = 256;

/// The time and the event.
pub type Entry = (SystemTime, Happened);

/// The sending end of the queue, for packet loops and the control socket.
#[derive(Clone)]
pub struct FeedSink(SyncSender<Entry>);

impl FeedSink {
    /// The sink, and the receiving end of its queue.
    pub fn new() -> (Self, Receiver<Entry>) {
        let (sender, entries) = mpsc::sync_channel(WAITING);
        (Self(sender), entries)
    }

    /// Queues an event, unless it is about a station, of which there may be very many.
    pub(super) fn leave(&self, at: SystemTime, what: &Happened) {
        use manager::Event::{ConfigRefused, DomainsChanged, Guard};
        let wanted = match what {
            Happened::Managed(event) => matches!(event, ConfigRefused(_) | DomainsChanged { .. } | Guard { .. }),
            Happened::OfBox(_) => true,
        };
        if wanted {
            let _ = self.0.try_send((at, what.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use evenair_api::history::Event;

    use super::*;

    #[test]
    fn events_about_stations_are_not_in_the_feed() {
        let (sink, entries) = FeedSink::new();
        let station = manager::Event::StationLearned(evenair_packet::MacAddr([2; 6]));
        for _ in 0..2 * WAITING {
            sink.leave(SystemTime::now(), &Happened::Managed(station.clone()));
        }
        sink.leave(SystemTime::now(), &Happened::OfBox(Event::Ports { text: "wl0 has gone".into() }));
        assert_eq!(entries.try_iter().count(), 1);
    }
}
