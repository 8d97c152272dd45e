//! Telemetry reports about stations, and the values for all stations that follow from them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use evenair_packet::MacAddr;
use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::PhyRate;

use super::observed::{Cost, MOST};
use super::reports::{OutlierCheck, RateReport, ReportCounts, Seen, Shares, check_outliers};
use super::{MAX_STATIONS_BY_REPORT, Station, Stations};
use crate::airtime_model::rate_classes::{RateClasses, nearest};
use crate::airtime_model::{AirtimeModel, AirtimeModels};
use crate::ids::{DomainId, ModelId, StationId};
use crate::packet_cost::PacketCost;

/// IP-level size of the packet by which rates are compared.
pub(super) const FULL_SIZE: Bytes = Bytes(1500);

/// The outcome of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReportOutcome {
    pub(crate) id: StationId,
    /// Whether the station is new.
    pub(crate) new: bool,
    /// Whether its rate has changed.
    pub(crate) changed: bool,
}

impl Station {
    /// The airtime of a load at the reported rate; `airtime` is that at the rate in force.
    pub(crate) fn airtime_by_report(&self, airtime: Span, cost: &PacketCost, model: &AirtimeModel) -> Span {
        let reported = self.reports.as_ref().and_then(|reports| reports.reported_rate());
        reported.filter(|&rate| rate != self.rate).map_or(airtime, |rate| model.airtime(cost, rate))
    }

    /// The reported rate in hundredths of the standard's highest rate, if it is higher and accepted.
    pub(super) fn times_faster(&self, fastest: PhyRate) -> Option<u64> {
        self.reported_rate?;
        let above = self.reports.as_ref()?.above_standard()?;
        Some(u64::from(above) * 100_000 / fastest.bit_rate().as_bps().max(1))
    }

    /// Its rate by configuration alone.
    fn rate_alone(&self, otherwise: PhyRate, model: &AirtimeModel) -> PhyRate {
        model.nearest(self.observed.or(self.configured.as_ref().map(|c| c.rate)).unwrap_or(otherwise))
    }

    /// Applies the rate that follows from the reports. True: the station's rate has changed.
    fn apply_reports(&mut self, now: Instant, otherwise: PhyRate, model: &AirtimeModel) -> bool {
        let reported = self.reports.as_ref().and_then(|reports| reports.class(now));
        if reported == self.reported_rate && self.rate == self.present_rate(otherwise, model) {
            return false;
        }
        if reported != self.reported_rate {
            // The airtime until now was computed at another rate.
            self.reported_airtime = Span::ZERO;
        }
        self.reported_rate = reported;
        self.update(otherwise, model)
    }
}

impl Stations {
    /// The rate of a station in this domain without any information.
    pub(super) fn otherwise(&self, domain: DomainId, models: &AirtimeModels) -> PhyRate {
        let typical = self.typical.get(models.id(domain).index()).copied().flatten();
        typical.unwrap_or_else(|| models[domain].default_rate(self.default_rate))
    }

    /// The same for the domains of each airtime model.
    pub(super) fn all_otherwise(&self, models: &AirtimeModels) -> Vec<PhyRate> {
        let typical = |id: ModelId| self.typical.get(id.index()).copied().flatten();
        models.iter().map(|(id, model)| typical(id).unwrap_or_else(|| model.default_rate(self.default_rate))).collect()
    }

    /// Updates the mean of the reported and inferred rates of each airtime model.
    pub(super) fn note_typical(&mut self, models: &AirtimeModels) {
        let of_model =
            |(id, model): (ModelId, &AirtimeModel)| self.mean_reported_rate(model.classes(), |at| models.id(at) == id);
        self.typical = models.iter().map(of_model).collect();
    }

    /// Harmonic mean of the reported or inferred rates in use in these domains: the mean throughput of the medium for these stations.
    fn mean_reported_rate(&self, classes: &RateClasses, is_there: impl Fn(DomainId) -> bool) -> Option<PhyRate> {
        let there = || self.slots.iter().flatten().filter(|station| is_there(station.domain));
        let reported = || there().filter_map(Station::measured_rate);
        let count = reported().count() as u64;
        // The mean of equal rates is that rate itself, and no other mode with the same kb/s.
        let first = reported().next()?;
        if reported().all(|rate| rate == first) {
            return Some(classes.nearest(first));
        }
        // Time for a gigabit at each rate.
        let time: u64 = reported().map(|rate| rate.bit_rate().time_for_bits(1_000_000_000).as_nanos()).sum();
        let mean = BitRate::from_bits_over(count.checked_mul(1_000_000_000)?, Span::from_nanos(time));
        let rates = classes.of_kind(reported().all(|rate| rate.mode().is_none()));
        nearest(rates, mean).filter(|_| count > 0)
    }

    /// Handles a report about a station. `None`: a group address, or the table is full.
    pub(crate) fn handle_report(
        &mut self,
        now: Instant,
        report: &RateReport,
        models: &AirtimeModels,
    ) -> Option<ReportOutcome> {
        let known = self.find(report.mac);
        let room = self.by_mac.len() < MAX_STATIONS_BY_REPORT;
        if report.mac.is_multicast() || (known.is_none() && !room) {
            self.counts.unknown += 1;
            return None;
        }
        let id = known.unwrap_or_else(|| self.insert(report.mac, models, now));
        let domain = self.get(id).domain;
        let (otherwise, model) = (self.otherwise(domain, models), &models[domain]);
        self.changed.insert(id.0);
        let station = self.slots[id.0 as usize].as_mut().expect("it was found or inserted");
        let crossed = (station.to_station, station.from_station);
        let reports = station.reports.get_or_insert_default();
        let counts = reports.accept(now, report, crossed, model.classes());
        reports.classify_signals(self.rssi.as_deref(), model.classes());
        if reports.is_empty() {
            station.reports = None;
        }
        let changed = station.apply_reports(now, otherwise, model);
        self.counts += counts;
        Some(ReportOutcome { id, new: known.is_none(), changed })
    }

    /// Called once per interval: forgets expired reports. Returns the stations whose rates have changed.
    pub(crate) fn review_reports(&mut self, now: Instant, models: &AirtimeModels) -> Vec<StationId> {
        for (index, slot) in (0..).zip(&mut self.slots) {
            let Some(station) = slot else { continue };
            let Some(reports) = &mut station.reports else { continue };
            if reports.expire(now) {
                self.changed.insert(index);
            }
            station.reported_rate = station.reported_rate.filter(|_| reports.class(now).is_some());
            if reports.is_empty() && !reports.check.is_set_aside(now) {
                station.reports = None;
            }
        }
        self.note_typical(models);
        let otherwise = self.all_otherwise(models);
        let mut changed = Vec::new();
        for (index, station) in (0..).zip(&mut self.slots) {
            let Some(station) = station else { continue };
            let (of_domain, model) = (otherwise[models.id(station.domain).index()], &models[station.domain]);
            let before = station.reported_rate;
            if station.apply_reports(now, of_domain, model) {
                changed.push(StationId(index));
            }
            // Rejected reports may be used again, or the other way round.
            if before != station.reported_rate || changed.last() == Some(&StationId(index)) {
                self.changed.insert(index);
            }
        }
        changed
    }

    /// At the end of an interval: checks the airtime at reported rates against the interval (`None`: releases do not show it). Calls
    /// `on_contradiction` for each station whose rate is rejected. `shares`: one for each domain.
    pub(crate) fn check_reports(
        &mut self,
        now: Instant,
        interval: Option<Span>,
        shares: Vec<&mut Shares>,
        mut on_contradiction: impl FnMut(MacAddr, Option<PhyRate>),
    ) {
        let mut all: Vec<Span> = shares.iter().map(|_| Span::ZERO).collect();
        let mut contradicted = 0;
        for (index, slot) in (0..).zip(&mut self.slots) {
            let Some(station) = slot else { continue };
            let used = core::mem::take(&mut station.reported_airtime);
            let Some(reports) = &mut station.reports else { continue };
            let Some(interval) = interval.filter(|_| reports.can_be_checked(now)) else { continue };
            all[station.domain.index()] += used;
            if reports.check.on_airtime(used, interval) {
                reports.check.set_aside(now);
                self.changed.insert(index);
                contradicted += 1;
                on_contradiction(station.mac, station.reported_rate);
            }
        }
        let checked = shares.into_iter().zip(all);
        let over: Vec<bool> =
            checked.map(|(shares, all)| interval.is_some_and(|interval| shares.on_airtime(all, interval))).collect();
        if over.contains(&true) {
            for (index, slot) in (0..).zip(&mut self.slots) {
                let Some(station) = slot else { continue };
                let Some(reports) = &mut station.reports else { continue };
                if over[station.domain.index()] && reports.can_be_checked(now) {
                    reports.check.set_aside(now);
                    self.changed.insert(index);
                    contradicted += 1;
                    on_contradiction(station.mac, station.reported_rate);
                }
            }
        }
        self.counts.contradicted += contradicted;
    }

    /// For each domain: whether the reported rates of the stations in use differ from each other and from
    /// the rates without reports.
    pub(crate) fn reports_matter(&self, domains: usize, models: &AirtimeModels) -> Vec<bool> {
        let otherwise = self.all_otherwise(models);
        let mut first: Vec<Option<(PhyRate, PhyRate)>> = (0..domains).map(|_| None).collect();
        let mut differ: Vec<(bool, bool)> = (0..domains).map(|_| (false, false)).collect();
        for station in self.slots.iter().flatten().filter(|station| station.is_in_use()) {
            let at = station.domain.index();
            let alone = station.rate_alone(otherwise[models.id(station.domain).index()], &models[station.domain]);
            let reported = station.reports.as_ref().and_then(|reports| reports.reported_rate());
            let own = (reported.unwrap_or(alone), alone);
            differ[at].0 |= own != *first[at].get_or_insert(own);
            differ[at].1 |= own.0 != own.1;
        }
        differ.into_iter().map(|(between, from_alone)| between && from_alone).collect()
    }

    /// At the end of an interval: checks the reported rates of a domain's stations against their measured costs. Calls `on_contradiction`
    /// for each station whose rate is rejected.
    pub(crate) fn check_measured_costs(
        &mut self,
        domain: DomainId,
        costs: &[Cost],
        models: &AirtimeModels,
        mut on_contradiction: impl FnMut(MacAddr, Option<PhyRate>),
    ) {
        let (otherwise, model) = (self.otherwise(domain, models), &models[domain]);
        let of = |cost: &Cost| {
            let station = self.slots.get(cost.station.0 as usize)?.as_ref().filter(|there| there.domain == domain)?;
            // If a station is faster than the standard, its cost is at most that at the standard's highest rate, and no
            // more is known.
            let reports = station.reports.as_ref().filter(|reports| reports.above_standard().is_none())?;
            let rate = reports.reported_rate()?;
            let airtime = |rate| model.packet_airtime(FULL_SIZE, rate);
            let alone = airtime(station.rate_alone(otherwise, model));
            Some((cost.station, Seen { cost: cost.cost, error: cost.error, reported: airtime(rate), alone }))
        };
        let seen: Vec<(StationId, Seen)> = costs.iter().filter(|cost| cost.is_precise()).filter_map(of).collect();
        let checks = check_outliers(&seen.iter().map(|(_, seen)| *seen).collect::<Vec<_>>());
        let against = checks.iter().filter(|&&check| check == OutlierCheck::Contradicts).count();
        // If the estimator contradicts most of the reports that it can check, the others are rejected too.
        let of_others = (seen.len() >= MOST / 2).then(|| match against * 2 > seen.len() {
            true => OutlierCheck::Contradicts,
            false => OutlierCheck::Agrees,
        });
        let checks: BTreeMap<StationId, OutlierCheck> = seen.iter().map(|(id, _)| *id).zip(checks).collect();
        let mut contradicted = 0;
        for (index, station) in (0..).zip(&mut self.slots) {
            let Some(station) = station.as_mut().filter(|station| station.domain == domain) else { continue };
            let Some(reports) = &mut station.reports else { continue };
            if reports.above_standard().is_some() {
                continue;
            }
            if reports.check.on_outlier_check(checks.get(&StationId(index)).copied().or(of_others)) {
                self.changed.insert(index);
                contradicted += 1;
                on_contradiction(station.mac, station.reported_rate);
            }
        }
        self.counts.contradicted += contradicted;
    }

    pub(crate) const fn report_counts(&self) -> ReportCounts {
        self.counts
    }
}
