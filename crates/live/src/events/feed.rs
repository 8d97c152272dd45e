//! Where events are left for the watch feed: a bounded queue, which the sampler of the feed empties once a second. What does not fit is
//! lost to the feed.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::SystemTime;

use evenair_manager as manager;

use super::happened::Happened;

/// Entries that may wait for the sampler.
const WAITING: usize = 256;

/// What happened, and when.
pub type Entry = (SystemTime, Happened);

/// Where the loop, or several, and the control socket leave entries.
#[derive(Clone)]
pub struct FeedSink(SyncSender<Entry>);

impl FeedSink {
    /// The sink, and where its entries come out.
    pub fn new() -> (Self, Receiver<Entry>) {
        let (sender, entries) = mpsc::sync_channel(WAITING);
        (Self(sender), entries)
    }

    /// Leaves what happened, unless it is about a station: of these there may be very many.
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
    fn stations_are_not_in_the_feed() {
        let (sink, entries) = FeedSink::new();
        let station = manager::Event::StationLearned(evenair_packet::MacAddr([2; 6]));
        for _ in 0..2 * WAITING {
            sink.leave(SystemTime::now(), &Happened::Managed(station.clone()));
        }
        sink.leave(SystemTime::now(), &Happened::OfBox(Event::Ports { text: "wl0 has gone".into() }));
        assert_eq!(entries.try_iter().count(), 1);
    }
}
