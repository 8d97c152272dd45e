//! Streams of voice without a stream in the other direction yet.
//!
//! Two telephones may send from other ports than those on which they receive. Then each direction is a flow of its own,
//! and the first one that is detected waits here for the other.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use evenair_units::Instant;

use super::{SILENCE, Speaker, index};
use crate::ids::StationId;

/// Streams, at most. A further one replaces the one detected longest ago: an ongoing stream is detected again.
const MOST: usize = 1024;

/// The flow of each station, peer and direction, and when it was detected as voice.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneWay {
    found: BTreeMap<(StationId, IpAddr, usize), (u64, Instant)>,
}

impl OneWay {
    /// Notes a detected stream. True: another flow between the same ends is a stream in the other direction, and is
    /// removed from here.
    pub(crate) fn meets(&mut self, now: Instant, speaker: &Speaker) -> bool {
        let own = index(speaker.direction);
        let other = (speaker.station, speaker.peer, 1 - own);
        let answers = |(flow, at): &(u64, Instant)| *flow != speaker.serial && now.saturating_since(*at) < SILENCE;
        if self.found.get(&other).is_some_and(answers) {
            self.found.remove(&other);
            return true;
        }
        self.found.insert((speaker.station, speaker.peer, own), (speaker.serial, now));
        if self.found.len() > MOST {
            let oldest = self.found.iter().min_by_key(|(_, (_, at))| *at).map(|(&key, _)| key);
            oldest.into_iter().for_each(|key| _ = self.found.remove(&key));
        }
        false
    }

    /// Removes a flow that has a call.
    pub(crate) fn leave(&mut self, speaker: &Speaker) {
        for direction in 0..2 {
            let key = (speaker.station, speaker.peer, direction);
            if self.found.get(&key).is_some_and(|(flow, _)| *flow == speaker.serial) {
                self.found.remove(&key);
            }
        }
    }

    /// Forgets a station.
    pub(crate) fn forget(&mut self, station: StationId) {
        self.found.retain(|(of, ..), _| *of != station);
    }
}
