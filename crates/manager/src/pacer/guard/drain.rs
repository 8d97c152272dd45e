//! Detects when the access points' queues at the insertion have drained.

use alloc::collections::BTreeMap;

use crate::ids::StationId;

/// The stations that have not acknowledged all releases from before the insertion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undrained {
    /// The last release of each station with an acknowledgment due.
    stations: BTreeMap<StationId, u64>,
    /// Number of stations at the insertion.
    at_first: usize,
}

impl Undrained {
    /// The box is inserted; `awaited`: the last release of each station with an acknowledgment due.
    pub(crate) fn new(awaited: BTreeMap<StationId, u64>) -> Self {
        Self { at_first: awaited.len(), stations: awaited }
    }

    /// Notes that a station has acknowledged this release.
    pub(crate) fn note_completion(&mut self, station: StationId, number: u64) {
        if self.stations.get(&station).is_some_and(|last| *last <= number) {
            self.stations.remove(&station);
        }
    }

    /// Whether the median station has not acknowledged all yet: the access points still send earlier packets.
    pub(crate) fn is_most(&self) -> bool {
        self.stations.len() * 2 > self.at_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_with_the_median_station() {
        let mut undrained =
            Undrained::new([(1, 10), (2, 12), (3, 11), (4, 9)].map(|(id, last)| (StationId(id), last)).into());
        let mut complete = |id, number| {
            undrained.note_completion(StationId(id), number);
            undrained.is_most()
        };
        assert!(complete(1, 9), "it awaits the tenth");
        assert!(complete(1, 10) && complete(1, 20) && complete(7, 20), "one of four");
        assert!(!complete(3, 30), "two of four");
        assert!(!Undrained::default().is_most());
    }
}
