//! Telemetry reports about stations, and the values that follow from them for all stations.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use evenair_packet::MacAddr;
use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::PhyRate;

use super::{MAX_STATIONS_BY_WORD, Station, Stations};
use crate::airtime_model::{AirtimeModel, AirtimeModels};
use crate::ids::{DomainId, ModelId, StationId};
use crate::observed::{Cost, MOST};
use crate::packet_cost::PacketCost;
use crate::told::{Seen, Shares, Told, ToldCounts, Verdict, judge};

/// The packet by which rates are compared.
const FULL_SIZE: Bytes = Bytes(1500);

/// The outcome of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) id: StationId,
    /// The station was not known before.
    pub(crate) new: bool,
    /// Its rate is another one now.
    pub(crate) changed: bool,
}

impl Station {
    /// The medium time of a load by what is said of it, where `airtime` is that by what is believed.
    pub(crate) fn airtime_by_word(&self, airtime: Span, cost: &PacketCost, model: &AirtimeModel) -> Span {
        let word = self.hearsay.as_ref().and_then(|hearsay| hearsay.word());
        word.filter(|&word| word != self.rate).map_or(airtime, |word| model.airtime(cost, word))
    }

    /// By how many hundredths of the standard's highest rate it is faster, where that is said of it and believed.
    pub(super) fn times_faster(&self, fastest: PhyRate) -> Option<u64> {
        self.told?;
        let above = self.hearsay.as_ref()?.above_standard()?;
        Some(u64::from(above) * 100_000 / fastest.bit_rate().as_bps().max(1))
    }

    /// The rate that it would be charged at without reports.
    fn rate_alone(&self, otherwise: PhyRate, model: &AirtimeModel) -> PhyRate {
        model.nearest(self.observed.or(self.configured.as_ref().map(|c| c.rate)).unwrap_or(otherwise))
    }

    /// Takes over what sources say of it now. True: its rate is another one.
    fn believe(&mut self, now: Instant, otherwise: PhyRate, model: &AirtimeModel) -> bool {
        let said = self.hearsay.as_ref().and_then(|hearsay| hearsay.class(now));
        if said == self.told && self.rate == self.present_rate(otherwise, model) {
            return false;
        }
        if said != self.told {
            // What was used until now was reckoned at another rate.
            self.told_used = Span::ZERO;
        }
        self.told = said;
        self.update(otherwise, model)
    }
}

impl Stations {
    /// The rate of a station in this domain of which nothing is known.
    pub(super) fn otherwise(&self, domain: DomainId, models: &AirtimeModels) -> PhyRate {
        let typical = self.typical.get(models.id(domain).index()).copied().flatten();
        typical.unwrap_or_else(|| models[domain].default_rate(self.default_rate))
    }

    /// The same for the domains of each airtime model.
    pub(super) fn all_otherwise(&self, models: &AirtimeModels) -> Vec<PhyRate> {
        let typical = |id: ModelId| self.typical.get(id.index()).copied().flatten();
        models.iter().map(|(id, model)| typical(id).unwrap_or_else(|| model.default_rate(self.default_rate))).collect()
    }

    /// Takes the mean of the reported rates for each airtime model.
    pub(super) fn note_typical(&mut self, models: &AirtimeModels) {
        self.typical =
            models.iter().map(|(id, model)| self.mean_told(model.rates(), |at| models.id(at) == id)).collect();
    }

    /// The harmonic mean of the reported and used rates in these domains: what a medium carries for these stations on average.
    fn mean_told(&self, rates: &[PhyRate], is_there: impl Fn(DomainId) -> bool) -> Option<PhyRate> {
        let there = || self.slots.iter().flatten().filter(|station| is_there(station.domain));
        let told = || there().filter_map(|station| station.told);
        let count = told().count() as u64;
        // Time for a gigabit at each.
        let time: u64 = told().map(|rate| rate.bit_rate().time_for_bits(1_000_000_000).as_nanos()).sum();
        let mean = BitRate::from_bits_over(count.checked_mul(1_000_000_000)?, Span::from_nanos(time));
        let nearest = rates.iter().min_by_key(|rate| rate.bit_rate().as_bps().abs_diff(mean.as_bps()));
        nearest.copied().filter(|_| count > 0)
    }

    /// Handles a report about a station. `None`: a group address, or one station too many.
    pub(crate) fn hear(&mut self, now: Instant, told: &Told, models: &AirtimeModels) -> Option<Heard> {
        let known = self.find(told.mac);
        let room = self.by_mac.len() < MAX_STATIONS_BY_WORD;
        if told.mac.is_multicast() || (known.is_none() && !room) {
            self.counts.unknown += 1;
            return None;
        }
        let id = known.unwrap_or_else(|| self.insert(told.mac, models, now));
        let domain = self.get(id).domain;
        let (otherwise, model) = (self.otherwise(domain, models), &models[domain]);
        let station = self.get_mut(id);
        let crossed = (station.to_station, station.from_station);
        let hearsay = station.hearsay.get_or_insert_default();
        let counts = hearsay.accept(now, told, crossed, model.rates());
        if hearsay.is_empty() {
            station.hearsay = None;
        }
        let changed = station.believe(now, otherwise, model);
        self.counts += counts;
        Some(Heard { id, new: known.is_none(), changed })
    }

    /// From time to time: what is valid no longer is forgotten. The stations whose rates are others now.
    pub(crate) fn review_told(&mut self, now: Instant, models: &AirtimeModels) -> Vec<StationId> {
        for station in self.slots.iter_mut().flatten() {
            let Some(hearsay) = &mut station.hearsay else { continue };
            hearsay.expire(now);
            station.told = station.told.filter(|_| hearsay.class(now).is_some());
            if hearsay.is_empty() && !hearsay.doubt.is_set_aside(now) {
                station.hearsay = None;
            }
        }
        self.note_typical(models);
        let otherwise = self.all_otherwise(models);
        let mut changed = Vec::new();
        for (index, station) in (0..).zip(&mut self.slots) {
            let Some(station) = station else { continue };
            let (of_domain, model) = (otherwise[models.id(station.domain).index()], &models[station.domain]);
            if station.believe(now, of_domain, model) {
                changed.push(StationId(index));
            }
        }
        changed
    }

    /// An interval has ended in which what crossed can be held against what is told (`None`: it cannot): `tell` hears
    /// of each station whose rate is set aside. `shares` are those of each medium.
    pub(crate) fn judge_told(
        &mut self,
        now: Instant,
        interval: Option<Span>,
        shares: Vec<&mut Shares>,
        mut tell: impl FnMut(MacAddr, Option<PhyRate>),
    ) {
        let mut all: Vec<Span> = shares.iter().map(|_| Span::ZERO).collect();
        let mut contradicted = 0;
        for station in self.slots.iter_mut().flatten() {
            let used = core::mem::take(&mut station.told_used);
            let Some(hearsay) = &mut station.hearsay else { continue };
            let Some(interval) = interval.filter(|_| hearsay.can_be_judged(now)) else { continue };
            all[station.domain.index()] += used;
            if hearsay.doubt.judge(used, interval) {
                hearsay.doubt.set_aside(now);
                contradicted += 1;
                tell(station.mac, station.told);
            }
        }
        let judged = shares.into_iter().zip(all);
        let over: Vec<bool> =
            judged.map(|(shares, all)| interval.is_some_and(|interval| shares.judge(all, interval))).collect();
        if over.contains(&true) {
            for station in self.slots.iter_mut().flatten() {
                let Some(hearsay) = &mut station.hearsay else { continue };
                if over[station.domain.index()] && hearsay.can_be_judged(now) {
                    hearsay.doubt.set_aside(now);
                    contradicted += 1;
                    tell(station.mac, station.told);
                }
            }
        }
        self.counts.contradicted += contradicted;
    }

    /// In which of so many domains what is said of stations in use makes a difference between them.
    pub(crate) fn words_matter(&self, domains: usize, models: &AirtimeModels) -> Vec<bool> {
        let otherwise = self.all_otherwise(models);
        let mut first: Vec<Option<(PhyRate, PhyRate)>> = (0..domains).map(|_| None).collect();
        let mut differ: Vec<(bool, bool)> = (0..domains).map(|_| (false, false)).collect();
        for station in self.slots.iter().flatten().filter(|station| station.is_in_use()) {
            let at = station.domain.index();
            let alone = station.rate_alone(otherwise[models.id(station.domain).index()], &models[station.domain]);
            let word = station.hearsay.as_ref().and_then(|hearsay| hearsay.word());
            let own = (word.unwrap_or(alone), alone);
            // From one another, and by what is said.
            differ[at].0 |= own != *first[at].get_or_insert(own);
            differ[at].1 |= own.0 != own.1;
        }
        differ.into_iter().map(|(stations, words)| stations && words).collect()
    }

    /// An interval has ended: what stations of a medium were seen to cost is held against what is told of them.
    /// `tell` hears of each whose rate is set aside.
    pub(crate) fn weigh_told(
        &mut self,
        domain: DomainId,
        costs: &[Cost],
        models: &AirtimeModels,
        mut tell: impl FnMut(MacAddr, Option<PhyRate>),
    ) {
        let (otherwise, model) = (self.otherwise(domain, models), &models[domain]);
        let of = |cost: &Cost| {
            let station = self.slots.get(cost.station.0 as usize)?.as_ref().filter(|there| there.domain == domain)?;
            // Of one that is faster than the standard it is known only that it costs no more than at its highest rate.
            let hearsay = station.hearsay.as_ref().filter(|hearsay| hearsay.above_standard().is_none())?;
            let word = hearsay.word()?;
            let airtime = |rate| model.packet_airtime(FULL_SIZE, rate);
            let alone = airtime(station.rate_alone(otherwise, model));
            Some((cost.station, Seen { cost: cost.cost, error: cost.error, told: airtime(word), alone }))
        };
        let seen: Vec<(StationId, Seen)> = costs.iter().filter_map(of).collect();
        let verdicts = judge(&seen.iter().map(|(_, seen)| *seen).collect::<Vec<_>>());
        let against = verdicts.iter().filter(|&&verdict| verdict == Verdict::Contradicts).count();
        // Where most of those that are told apart are told wrongly, so are the others.
        let of_others = (seen.len() >= MOST / 2).then(|| match against * 2 > seen.len() {
            true => Verdict::Contradicts,
            false => Verdict::Agrees,
        });
        let verdicts: BTreeMap<StationId, Verdict> = seen.iter().map(|(id, _)| *id).zip(verdicts).collect();
        let mut contradicted = 0;
        for (index, station) in (0..).zip(&mut self.slots) {
            let Some(station) = station.as_mut().filter(|station| station.domain == domain) else { continue };
            let Some(hearsay) = &mut station.hearsay else { continue };
            if hearsay.above_standard().is_some() {
                continue;
            }
            if hearsay.doubt.weigh(verdicts.get(&StationId(index)).copied().or(of_others)) {
                contradicted += 1;
                tell(station.mac, station.told);
            }
        }
        self.counts.contradicted += contradicted;
    }

    pub(crate) const fn told_counts(&self) -> ToldCounts {
        self.counts
    }
}
