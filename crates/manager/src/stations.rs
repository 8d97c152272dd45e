//! Stations: their identity, their PHY rate, and their claims on the medium.
//!
//! A station is a MAC address on the WLAN side. The manager knows it from the configuration, from telemetry reports,
//! or from the frames that it sends; a reported or observed rate takes precedence over the configured one, and that over
//! an inferred one. A frame
//! from the wire creates no station, since any host can address any MAC (see `unheard`).

pub(crate) mod access_points;
mod addresses;
mod bits;
pub(crate) mod config;
mod copied;
mod debts;
mod inferred;
pub(crate) mod neighbours;
pub(crate) mod observed;
mod record;
mod reported;
pub(crate) mod reports;
mod unheard;
mod victim;

pub(crate) use copied::complete_domains;
pub(crate) use record::Station;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;

use evenair_packet::MacAddr;
use evenair_units::{Bytes, Instant, Span};
use evenair_wifi::PhyRate;

use crate::airtime_model::AirtimeModels;
use crate::ids::{DomainId, StationId};
use crate::index::{Index, hash};
use crate::loss::Losses;
use crate::pacer::aggregating::paced::Paced;
use crate::pacer::guard::Confirmed;
use crate::pacer::standing::RatesSaid;
use crate::{Label, Place, StationCounted};
use access_points::Table;
use bits::Bits;
use config::StationConfig;
use neighbours::Address;
use record::Account;
use reports::{ReportCounts, RssiConfig};
use victim::Victim;

/// Stations in the table, at most: a campus may have some ten thousand behind one box, and a scan of made-up addresses
/// must not fill the memory (this many take some 20 MB).
const MAX_STATIONS: usize = 1 << 16;
/// Stations learned from reports alone, at most, so that a source that reports absent stations does not exclude others.
const MAX_STATIONS_BY_REPORT: usize = 2048;
/// Idle time after which a learned station without flows is forgotten.
const STATION_IDLE: Span = Span::from_secs(300);

/// Idle time after which a station loses an address.
const ADDRESS_IDLE: Span = Span::from_secs(900);

/// Airtime in an interval below which a station does not count as active.
const LEAST_USED: Span = Span::from_millis(2);

#[derive(Clone, Debug)]
pub(crate) struct Stations {
    default_rate: PhyRate,
    /// Rate classes by signal, if configured.
    rssi: Option<Box<RssiConfig>>,
    /// Mean of the known rates in the domains of each airtime model, for stations without any information.
    typical: Vec<Option<PhyRate>>,
    counts: ReportCounts,
    by_mac: BTreeMap<u64, StationId>,
    index: Index,
    slots: Vec<Option<Station>>,
    /// Free slots, the lowest first.
    vacant: BinaryHeap<Reverse<u32>>,
    /// By domain: the shared entry of unheard stations.
    shared: Vec<StationId>,
    /// Stations to evict next when the table is full, the first one last.
    victims: Vec<Victim>,
    /// Slots whose reports may have changed since they were last handed over.
    changed: Bits,
}

/// An address as a number, in the same order: faster to compare than its bytes.
const fn number(mac: MacAddr) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

impl Stations {
    /// A table of these configured stations; `default_rate`: the rate of stations without any information.
    pub(crate) fn new(
        default_rate: PhyRate,
        configured: &[StationConfig],
        models: &AirtimeModels,
        now: Instant,
    ) -> Self {
        let mut this = Self {
            default_rate,
            rssi: None,
            typical: Vec::new(),
            counts: ReportCounts::default(),
            by_mac: BTreeMap::new(),
            index: Index::default(),
            slots: Vec::new(),
            vacant: BinaryHeap::new(),
            shared: Vec::new(),
            victims: Vec::new(),
            changed: Bits::default(),
        };
        this.reconfigure(default_rate, configured, models, now);
        this
    }

    /// Applies other rate classes by signal, which take effect with the [`Self::reconfigure`] that follows.
    pub(crate) fn set_rssi(&mut self, rssi: Option<Box<RssiConfig>>) {
        if self.rssi != rssi {
            // Class numbers have another meaning now.
            let reports = self.slots.iter_mut().flatten().filter_map(|station| station.reports.as_mut());
            reports.for_each(|reports| reports.forget_signal_classes());
        }
        self.rssi = rssi;
    }

    /// Applies another configuration. What was learned and observed stays, as far as some PHY has the rate.
    pub(crate) fn reconfigure(
        &mut self,
        default_rate: PhyRate,
        configured: &[StationConfig],
        models: &AirtimeModels,
        now: Instant,
    ) {
        self.default_rate = default_rate;
        for station in self.slots.iter_mut().flatten() {
            station.configured = None;
            station.observed = station.observed.filter(|&rate| models.have_rate(rate));
            station.inferred = station.inferred.filter(|&rate| models.have_rate(rate));
            if let Some(reports) = &mut station.reports {
                let classes = models[station.domain].classes();
                reports.reclassify(classes);
                reports.classify_signals(self.rssi.as_deref(), classes);
                station.reported_rate = reports.class(now);
            }
        }
        self.note_typical(models);
        let otherwise = self.all_otherwise(models);
        for station in self.slots.iter_mut().flatten() {
            station.take_model(now, otherwise[models.id(station.domain).index()], &models[station.domain]);
        }
        for configured in configured {
            let id = self.find(configured.mac);
            let id = id.unwrap_or_else(|| self.insert(configured.mac, models, now));
            let station = self.slots[id.0 as usize].as_mut().expect("an identifier in the map is in use");
            station.configured = Some(configured.clone());
            station.update(otherwise[models.id(station.domain).index()], &models[station.domain]);
        }
        self.mark_all();
    }

    /// Moves a station to another contention domain. True: that has another airtime model.
    pub(crate) fn move_to(&mut self, now: Instant, id: StationId, domain: DomainId, models: &AirtimeModels) -> bool {
        let otherwise = self.otherwise(domain, models);
        let station = self.get_mut(id);
        let before = core::mem::replace(&mut station.domain, domain);
        let differs = models.id(before) != models.id(domain);
        if differs {
            station.take_model(now, otherwise, &models[domain]);
        }
        differs
    }

    pub(crate) fn get(&self, id: StationId) -> &Station {
        self.slots[id.0 as usize].as_ref().expect("a station that is referred to is there")
    }

    pub(crate) fn get_mut(&mut self, id: StationId) -> &mut Station {
        self.mark(id);
        self.slots[id.0 as usize].as_mut().expect("a station that is referred to is there")
    }

    /// The station of this number, if it still exists.
    pub(crate) fn find_mut(&mut self, id: StationId) -> Option<&mut Station> {
        let station = self.slots.get_mut(id.0 as usize)?.as_mut()?;
        self.changed.insert(id.0);
        Some(station)
    }

    /// The station with this address, if it is known; marks it as used now.
    pub(crate) fn seen(&mut self, mac: MacAddr, now: Instant) -> Option<StationId> {
        let id = self.find(mac)?;
        self.get_mut(id).last_seen = now;
        Some(id)
    }

    /// Adds a station that is not known yet. `None`: the table is full.
    pub(crate) fn learn(&mut self, mac: MacAddr, models: &AirtimeModels, now: Instant) -> Option<StationId> {
        (!self.is_full()).then(|| self.insert(mac, models, now))
    }

    /// The station with this address.
    fn find(&mut self, mac: MacAddr) -> Option<StationId> {
        let (mac, hash) = (number(mac), hash([number(mac)]));
        let is_it = |id: u32| self.slots[id as usize].as_ref().is_some_and(|station| number(station.mac) == mac);
        if let Some(id) = self.index.get(hash, is_it) {
            return Some(StationId(id));
        }
        let id = *self.by_mac.get(&mac)?;
        self.index.note(hash, id.0, self.by_mac.len());
        Some(id)
    }

    pub(crate) fn hash(mac: MacAddr) -> u64 {
        hash([number(mac)])
    }

    /// Prefetches the index entry of a hash.
    pub(crate) fn ask(&self, hash: u64) {
        self.index.ask(hash);
    }

    /// Prefetches the station of a hash.
    pub(crate) fn bring_by_hash(&self, hash: u64) {
        let id = self.index.get(hash, |_| true);
        id.and_then(|id| self.slots[id as usize].as_ref()).into_iter().for_each(Station::bring);
    }

    /// Adds a reported station that is not known yet; the number of those has a limit of its own.
    pub(crate) fn reported_station(
        &mut self,
        mac: MacAddr,
        models: &AirtimeModels,
        now: Instant,
    ) -> Option<(StationId, bool)> {
        let known = self.find(mac);
        let room = !mac.is_multicast() && self.by_mac.len() < MAX_STATIONS_BY_REPORT;
        known.map(|id| (id, false)).or_else(|| room.then(|| (self.insert(mac, models, now), true)))
    }

    /// Adds a station, in the default domain until its access point is known.
    fn insert(&mut self, mac: MacAddr, models: &AirtimeModels, now: Instant) -> StationId {
        let id = self.add(mac, DomainId::DEFAULT, models, now);
        self.by_mac.insert(number(mac), id);
        id
    }

    /// Adds a station to which no address leads yet.
    fn add(&mut self, mac: MacAddr, domain: DomainId, models: &AirtimeModels, now: Instant) -> StationId {
        let rate = self.otherwise(domain, models);
        let capacity = models[domain].capacity(rate);
        let station = Station {
            mac,
            domain,
            access_point: None,
            reported_place: None,
            is_seen: false,
            configured: None,
            observed: None,
            inferred: None,
            paced: Paced::default(),
            reports: None,
            reported_rate: None,
            reported_airtime: Span::ZERO,
            rate,
            capacity,
            flows: 0,
            one_way: 0,
            airtime: Span::ZERO,
            airtime_up: Span::ZERO,
            addresses: Vec::new(),
            to_station: Bytes::ZERO,
            from_station: Bytes::ZERO,
            ssid: None,
            group: None,
            regrouped: 0,
            confirmed: 0,
            account: Account::default(),
            last_seen: now,
            latency: None,
            counted: StationCounted::default(),
            losses: Losses::default(),
            is_heard: false,
            is_shared: false,
            heard: now,
            name: None,
        };
        let id = match self.vacant.pop() {
            Some(Reverse(index)) => {
                self.slots[index as usize] = Some(station);
                StationId(index)
            }
            None => {
                self.slots.push(Some(station));
                StationId(u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 stations"))
            }
        };
        self.mark(id);
        id
    }

    /// Sets or removes the observed rate of a station. Returns the station if its rate has changed.
    pub(crate) fn observe(&mut self, mac: MacAddr, rate: Option<PhyRate>, models: &AirtimeModels) -> Option<StationId> {
        let id = self.find(mac)?;
        let domain = self.get(id).domain;
        let otherwise = self.otherwise(domain, models);
        let station = self.get_mut(id);
        station.observed = rate;
        if rate.is_none() {
            (station.reports, station.reported_rate, station.inferred) = (None, None, None);
        }
        station.update(otherwise, &models[domain]).then_some(id)
    }

    /// Handles a report of a station's network.
    pub(crate) fn tell_network(&mut self, id: StationId, ssid: Option<Label>) {
        let station = self.get_mut(id);
        station.regrouped = station.regrouped.wrapping_add((station.ssid != ssid).into());
        station.ssid = ssid;
    }

    /// Handles a report of a station's group.
    pub(crate) fn tell_group(&mut self, id: StationId, group: Option<Label>) {
        let station = self.get_mut(id);
        station.regrouped = station.regrouped.wrapping_add((station.group != group).into());
        station.group = group;
    }

    /// Forgets learned stations that are idle and without flows, and idle addresses; calls `give_up` for each of these.
    pub(crate) fn expire(&mut self, now: Instant, mut give_up: impl FnMut(Address, MacAddr)) {
        for (index, slot) in (0u32..).zip(&mut self.slots) {
            let Some(station) = slot.as_mut().filter(|station| !station.is_shared) else { continue };
            let unused = station.configured.is_none() && station.flows == 0 && station.reports.is_none();
            let gone = unused && now.saturating_since(station.last_seen) >= STATION_IDLE;
            let (mac, addresses) = (station.mac, station.addresses.len());
            station.addresses.retain(|&(address, used)| {
                let stays = !gone && now.saturating_since(used) < ADDRESS_IDLE;
                if !stays {
                    give_up(address, mac);
                }
                stays
            });
            if gone || station.addresses.len() != addresses {
                self.changed.insert(index);
            }
            if gone {
                *slot = None;
                self.by_mac.remove(&number(mac));
                self.index.forget(hash([number(mac)]), index);
                self.vacant.push(Reverse(index));
            }
        }
    }

    /// Ends an interval of this much airtime, by the model, in each domain. Calls `tell` for each station that has
    /// begun, or ceased, to take more than an equal share as an unresponsive sender.
    ///
    /// Returns the airtime that stations over their share took in each domain without control.
    pub(crate) fn judge(&mut self, intervals: &[Span], mut tell: impl FnMut(MacAddr, bool)) -> Vec<Span> {
        let mut users: Vec<u64> = intervals.iter().map(|_| 0).collect();
        for station in self.slots.iter().flatten().filter(|station| station.account.used > LEAST_USED) {
            users[station.domain.index()] += 1;
        }
        // A station that is alone harms no other.
        let share = |(&users, &interval)| if users > 1 { interval / users } else { Span::from_nanos(u64::MAX) };
        let shares: Vec<Span> = users.iter().zip(intervals).map(share).collect();
        let mut floods: Vec<Span> = intervals.iter().map(|_| Span::ZERO).collect();
        for (index, slot) in (0..).zip(&mut self.slots) {
            let Some(station) = slot else { continue };
            let domain = station.domain.index();
            let uncontrolled = station.account.uncontrolled;
            if station.judge(shares[domain]) && !station.is_shared {
                self.changed.insert(index);
                tell(station.mac, station.account.is_over);
            }
            if station.account.is_over {
                floods[domain] += uncontrolled;
            }
        }
        floods
    }

    /// Confirmed bits of the stations in each domain since the last call.
    pub(crate) fn take_confirmed(&mut self, domains: usize) -> Vec<Confirmed> {
        let mut confirmed: Vec<Confirmed> = (0..domains).map(|_| Confirmed::default()).collect();
        for station in self.slots.iter_mut().flatten() {
            confirmed[station.domain.index()].add(core::mem::take(&mut station.confirmed));
        }
        confirmed
    }

    /// Whether the rates of the stations in use in each domain are known, and above the highest of the
    /// domain's standard.
    pub(crate) fn rates_said(&self, domains: usize, models: &AirtimeModels) -> Vec<RatesSaid> {
        let mut said: Vec<RatesSaid> = (0..domains).map(|_| RatesSaid::All).collect();
        for station in self.slots.iter().flatten().filter(|station| station.is_in_use()) {
            let of_all = &mut said[station.domain.index()];
            match (station.times_faster(models[station.domain].fastest()), *of_all) {
                (Some(percent), RatesSaid::Faster { percent: before }) => {
                    *of_all = RatesSaid::Faster { percent: percent.max(before) };
                }
                (Some(percent), _) => *of_all = RatesSaid::Faster { percent },
                (None, RatesSaid::All) if !station.has_known_rate() => *of_all = RatesSaid::NotAll,
                (None, _) => {}
            }
        }
        said
    }

    /// Determines the access points of all stations anew, from their reports. True: some have changed their domains.
    pub(crate) fn find_again(&mut self, table: &Table) -> bool {
        self.mark_all();
        let mut moved = self.find_shared_again(table);
        for station in self.slots.iter_mut().flatten().filter(|station| !station.is_shared) {
            let seen = station.access_point.filter(|_| station.is_seen).map(Place::Named);
            let seen = seen.and_then(|place| table.find(place));
            station.is_seen = seen.is_some();
            let found = seen.or_else(|| table.find(station.reported_place?));
            station.access_point = found.map(|(name, _)| name);
            let domain = found.map_or(DomainId::DEFAULT, |(_, domain)| domain);
            moved |= core::mem::replace(&mut station.domain, domain) != domain;
        }
        moved
    }

    /// Stations with a reported place.
    pub(crate) fn reported_places(&self) -> Vec<(StationId, Place)> {
        let reported = |(index, station): (u32, &Option<Station>)| {
            let station = station.as_ref().filter(|station| !station.is_seen)?;
            Some((StationId(index), station.reported_place?))
        };
        (0..).zip(&self.slots).filter_map(reported).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Station> {
        self.by_mac.values().map(|&id| self.get(id))
    }

    /// Number of known stations.
    pub(crate) fn len(&self) -> usize {
        self.by_mac.len()
    }
}
