//! Candidates for eviction from a full table of stations.

use evenair_units::Instant;

use super::record::Station;
use crate::ids::StationId;

/// A candidate for eviction, as it was when it was chosen: unheard stations before heard ones, then the least recently
/// used first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Victim {
    pub(super) is_heard: bool,
    pub(super) last_seen: Instant,
    pub(super) id: StationId,
}

impl Victim {
    /// The candidate for a station. `None`: it must stay.
    pub(super) fn of(id: StationId, station: &Station) -> Option<Self> {
        let may_go = station.configured.is_none() && !station.is_shared;
        may_go.then_some(Self { is_heard: station.is_heard, last_seen: station.last_seen, id })
    }
}
