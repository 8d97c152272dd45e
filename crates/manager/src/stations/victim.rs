//! Stations that may be evicted where the table is full.

use evenair_units::Instant;

use super::record::Station;
use crate::ids::StationId;

/// A station that may be evicted, as it was when it was chosen: not heard goes before heard, and then the one that
/// was in use longest ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Victim {
    pub(super) is_heard: bool,
    pub(super) last_seen: Instant,
    pub(super) id: StationId,
}

impl Victim {
    /// `None`: it is not to be evicted.
    pub(super) fn of(id: StationId, station: &Station) -> Option<Self> {
        let may_go = station.configured.is_none() && !station.is_shared;
        may_go.then_some(Self { is_heard: station.is_heard, last_seen: station.last_seen, id })
    }
}
