//! Copies of stations for reports, and which of them have changed since they were last handed over.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use evenair_units::Instant;

use super::{Station, Stations};
use crate::Label;
use crate::api::{DomainReport, RateSource, StationReport};
use crate::ids::StationId;

impl Station {
    /// Source of its rate.
    const fn rate_source(&self) -> RateSource {
        if self.has_known_rate() {
            RateSource::Reported
        } else if self.inferred.is_some() {
            RateSource::Inferred
        } else {
            RateSource::Unknown
        }
    }

    pub(super) fn report(&self, now: Instant) -> StationReport {
        StationReport {
            mac: self.mac,
            copied: now,
            domain: self.domain.index(),
            access_point: self.access_point,
            reported_place: self.reported_place,
            rate: self.rate,
            rate_source: self.rate_source(),
            capacity: self.capacity,
            weight: u32::try_from(self.weight()).unwrap_or(u32::MAX),
            learned: self.configured.is_none(),
            airtime: self.airtime,
            airtime_up: self.airtime_up,
            addresses: self.addresses.iter().map(|((_, address), _)| *address).collect(),
            name: self.name.map(|name| name.as_str().into()),
            random_mac: self.mac.is_local(),
            to_station: self.to_station,
            from_station: self.from_station,
            over_share: self.account.is_over,
            latency: self.latency.clone(),
            counted: self.counted,
            losses: self.losses,
            reported: self.reports.as_ref().and_then(|reports| reports.report(now)),
        }
    }
}

impl Stations {
    /// Marks a station whose report may have changed.
    pub(super) fn mark(&mut self, id: StationId) {
        self.changed.insert(id.0);
    }

    /// Marks all stations.
    pub(super) fn mark_all(&mut self) {
        self.changed.insert_below(self.end());
    }

    /// The number of the slot after the last one.
    pub(crate) fn end(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    /// The first changed slot from this one on, and its content, which counts as handed over; `None` in it: the slot is
    /// empty.
    pub(crate) fn take_changed(&mut self, now: Instant, start: u32) -> Option<(u32, Option<StationReport>)> {
        let slot = self.changed.take_from(start)?;
        let station = self.slots.get(slot as usize)?.as_ref().filter(|station| !station.is_shared);
        Some((slot, station.map(|station| station.report(now))))
    }

    /// Reports of all stations, by MAC address.
    pub(crate) fn report(&self, now: Instant) -> Vec<StationReport> {
        self.iter().map(|station| station.report(now)).collect()
    }
}

/// Completes reports of domains by what follows from the stations: their number, and the access points of learned
/// domains.
pub(crate) fn complete_domains<'a>(domains: &mut [DomainReport], stations: impl Iterator<Item = &'a StationReport>) {
    let mut points: BTreeMap<usize, BTreeSet<Label>> = BTreeMap::new();
    domains.iter_mut().for_each(|domain| domain.stations = 0);
    for station in stations {
        let Some(domain) = domains.get_mut(station.domain) else { continue };
        domain.stations += 1;
        if domain.learned {
            points.entry(station.domain).or_default().extend(station.access_point);
        }
    }
    for (at, domain) in domains.iter_mut().enumerate().filter(|(_, domain)| domain.learned) {
        domain.access_points = points.remove(&at).unwrap_or_default().into_iter().collect();
    }
}
