//! Streams of voice without a stream in the other direction yet.
//!
//! Two telephones may send from other ports than those on which they receive. Then each direction is a flow of its
//! own, and the first of the two that is found waits here for the other.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use evenair_units::Instant;

use super::{SILENCE, Speaker, index};
use crate::ids::StationId;

/// Streams at once. Where there are more, the one that was found longest ago goes: a stream that goes on is found
/// again.
const MOST: usize = 1024;

/// By station, other end and direction: the flow, and when it was found to be voice.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneWay {
    found: BTreeMap<(StationId, IpAddr, usize), (u64, Instant)>,
}

impl OneWay {
    /// A stream was found. True: another flow between the same two speaks the other way; it waits no longer then.
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

    /// A flow has a call, and waits no longer.
    pub(crate) fn leave(&mut self, speaker: &Speaker) {
        for direction in 0..2 {
            let key = (speaker.station, speaker.peer, direction);
            if self.found.get(&key).is_some_and(|(flow, _)| *flow == speaker.serial) {
                self.found.remove(&key);
            }
        }
    }

    /// A station is forgotten.
    pub(crate) fn forget(&mut self, station: StationId) {
        self.found.retain(|(of, ..), _| *of != station);
    }
}
