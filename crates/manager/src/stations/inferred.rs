//! Rates of unreported stations, inferred from the measured airtime of their releases.
//!
//! Stations whose costs do not differ get the same rate. It is the one of the standard whose airtime is nearest to
//! the measured one, so what is charged is computed by the airtime model as with reports. If the reported rates of
//! other stations in the domain show how much longer everything takes (retries, other networks), the rates are relative to
//! those; else they are absolute, as far as the standard's rates reach. A rate in force stays unless another one is
//! clearly nearer.
//!
//! Beside an unresponsive sender that takes more than its share, releases take what that sender leaves, at random. Nothing is inferred
//! then, and earlier inferences are forgotten: all stations are charged alike.
//!
//! What is not here: stations whose costs differ by more than those of the standard's lowest and highest rate, as with aggregation; these
//! get the lowest or the highest rate. Stations that use so little that their cost is unknown keep the rate of stations without any
//! information.

use alloc::vec::Vec;

use evenair_units::Span;
use evenair_wifi::PhyRate;

use super::observed::{Cost, Estimate, Group, Measure, groups};
use super::reported::FULL_SIZE;
use super::{Station, Stations};
use crate::airtime_model::{AirtimeModel, AirtimeModels};
use crate::ids::{DomainId, StationId};

/// Ratio, in hundredths, of the errors of the rate in force and the nearest rate from which on the rate changes.
const LEAVES_AT_PERCENT: u128 = 110;
/// Ratio, in hundredths, to the airtime of the lowest or highest rate from which on an airtime is outside of the standard.
const BEYOND_PERCENT: u64 = 105;
/// Fixed-point unit of costs and factors.
const UNIT: u64 = 1 << 16;

impl Station {
    /// The unit in which the estimator counts its releases (see [`Station::airtime_by_report`]).
    fn measure(&self, model: &AirtimeModel) -> Measure {
        let reported = self.reports.as_ref().and_then(|reports| reports.reported_rate());
        let full_size = model.packet_airtime(FULL_SIZE, reported.unwrap_or(self.rate));
        Measure { full_size, is_reported: reported.is_some() }
    }
}

impl Stations {
    /// Whether each domain has several stations in use, of which some are unreported, and no flood.
    pub(crate) fn need_inference(&self, domains: usize) -> Vec<bool> {
        let mut seen: Vec<(u32, bool)> = (0..domains).map(|_| (0, false)).collect();
        for station in self.slots.iter().flatten().filter(|station| station.is_in_use()) {
            let (count, is_unknown) = &mut seen[station.domain.index()];
            *count += 1;
            *is_unknown |= !station.has_known_rate();
        }
        let flooded = self.flooded(domains);
        seen.iter().zip(flooded).map(|((count, is_unknown), flooded)| *count > 1 && *is_unknown && !flooded).collect()
    }

    /// Whether each domain has an unresponsive sender over its share.
    fn flooded(&self, domains: usize) -> Vec<bool> {
        let mut flooded: Vec<bool> = (0..domains).map(|_| false).collect();
        self.slots.iter().flatten().for_each(|station| flooded[station.domain.index()] |= station.account.is_over);
        flooded
    }

    /// Forgets inferred rates in the domains with a flood.
    pub(crate) fn forget_beside_floods(&mut self, domains: usize) {
        let flooded = self.flooded(domains);
        self.forget_inferred_where(|station| flooded[station.domain.index()]);
    }

    /// Forgets all inferred rates, because inference ends.
    pub(crate) fn forget_inferred(&mut self) {
        self.forget_inferred_where(|_| true);
    }

    fn forget_inferred_where(&mut self, is_there: impl Fn(&Station) -> bool) {
        for (index, slot) in (0..).zip(&mut self.slots) {
            let Some(station) = slot.as_mut().filter(|station| is_there(station)) else { continue };
            if station.inferred.take().is_some() {
                self.changed.insert(index);
            }
        }
    }

    /// The unit in which a station's releases are counted, if it is in this domain.
    pub(crate) fn measure(&self, id: StationId, domain: DomainId, models: &AirtimeModels) -> Option<Measure> {
        let station = self.slots.get(id.0 as usize)?.as_ref().filter(|station| station.domain == domain)?;
        Some(station.measure(&models[domain]))
    }

    /// Infers the rates of a domain's stations from their measured costs. Returns the stations whose rates have changed.
    pub(crate) fn infer(&mut self, domain: DomainId, costs: &[Cost], models: &AirtimeModels) -> Vec<StationId> {
        let model = &models[domain];
        let estimate = |cost: &Cost| {
            let unit = self.measure(cost.station, domain, models)?.full_size;
            let of = |part: u64| unit.mul_div(part, UNIT);
            Some(Estimate { station: cost.station, airtime: of(cost.cost), error: of(cost.error) })
        };
        let seen: Vec<Estimate> = costs.iter().filter_map(estimate).collect();
        let is_known = |seen: &Estimate| self.get(seen.station).has_known_rate();
        let (known, unknown): (Vec<Estimate>, Vec<Estimate>) = seen.iter().partition(|seen| is_known(seen));
        let factor = self.factor_by_reports(&known, model);
        let groups = groups(unknown);
        let factor = factor.unwrap_or_else(|| factor_within(&groups, model));
        let is_inferred = |group: &Group| group.stations.iter().any(|&id| self.get(id).inferred.is_some());
        if known.is_empty() && groups.len() < 2 && !groups.iter().any(is_inferred) {
            // All alike, at an unknown rate.
            return Vec::new();
        }
        self.assign(&groups, factor, model)
    }

    /// Sets the rates of groups. Returns the stations whose rates have changed.
    fn assign(&mut self, groups: &[Group], factor: u64, model: &AirtimeModel) -> Vec<StationId> {
        let mut changed = Vec::new();
        for group in groups {
            let Some(rate) = self.rate_of_group(group, factor, model) else { continue };
            for &id in &group.stations {
                let station = self.get_mut(id);
                station.inferred = Some(rate);
                if station.update(rate, model) {
                    changed.push(id);
                }
            }
        }
        changed
    }

    /// Ratio of measured airtime to airtime at reported or configured rates, in `UNIT`: the mean of these stations, weighted by precision.
    fn factor_by_reports(&self, known: &[Estimate], model: &AirtimeModel) -> Option<u64> {
        let (sum, weights) = known.iter().fold((0_u128, 0_u128), |(sum, weights), seen| {
            let by_rate = model.packet_airtime(FULL_SIZE, self.get(seen.station).rate).as_nanos().max(1);
            let relative = seen.error.mul_div(UNIT, by_rate).as_nanos().max(1);
            let weight = (1_u128 << 60) / u128::from(relative).pow(2);
            (sum + weight * u128::from(seen.airtime.mul_div(UNIT, by_rate).as_nanos()), weights + weight)
        });
        u64::try_from(sum.checked_div(weights)?).ok().filter(|&factor| factor > 0)
    }

    /// The rate with the nearest airtime; a present rate of one of the stations stays unless it is clearly farther off.
    fn rate_of_group(&self, group: &Group, factor: u64, model: &AirtimeModel) -> Option<PhyRate> {
        let airtime = group.airtime.mul_div(UNIT, factor.max(1)).as_nanos();
        let off = |rate: PhyRate| {
            let by_rate = model.packet_airtime(FULL_SIZE, rate).as_nanos();
            u128::from(airtime.max(by_rate)) * 10_000 / u128::from(airtime.min(by_rate).max(1))
        };
        let nearest = model.rates().iter().copied().min_by_key(|&rate| off(rate))?;
        let in_force = group.stations.iter().filter_map(|&id| self.get(id).inferred);
        let best = in_force.min_by_key(|&rate| off(rate));
        let stays = best.filter(|&rate| off(rate) * 100 <= off(nearest) * LEAVES_AT_PERCENT);
        Some(stays.unwrap_or(nearest))
    }
}

/// Divisor of the airtimes of all groups, in `UNIT`, that brings them within the rates of the standard. If they differ too much, some stay
/// outside.
fn factor_within(groups: &[Group], model: &AirtimeModel) -> u64 {
    let of = |rate: Option<&PhyRate>| rate.map_or(Span::ZERO, |&rate| model.packet_airtime(FULL_SIZE, rate)).as_nanos();
    let (dearest, cheapest) = (of(model.rates().first()), model.shortest_airtime(FULL_SIZE).as_nanos());
    let bounds = groups.first().zip(groups.last());
    // The bounds of the airtimes, within their errors.
    let Some((least, most)) =
        bounds.map(|(first, last)| (first.airtime + first.error, last.airtime.saturating_sub(last.error)))
    else {
        return UNIT;
    };
    let (least, most) = (least.as_nanos(), most.as_nanos());
    let ratio = |airtime: u64, bound: u64| airtime.saturating_mul(UNIT) / bound.max(1);
    if most * 100 > dearest * BEYOND_PERCENT {
        ratio(most, dearest)
    } else if least * BEYOND_PERCENT < cheapest * 100 {
        ratio(least, cheapest)
    } else {
        UNIT
    }
}
