//! Builds a line of the watch feed from two successive states of a box.
//!
//! Rates are differences of counters. Those of stations, domains and classes are the manager's, at IP level; those of the whole box
//! are port counters, supplied by the driver ([`Beside`]). Where a counter does not cover the whole interval, the value is unknown.

use std::collections::{BTreeMap, BTreeSet};

use evenair_api::causes::StationCounted;
use evenair_api::watch::{
    self, AccessPoint, Class, Domain, Histograms, LegHistograms, Line, MOST_STATIONS, Source, Station, StationCounts,
    Totals, VERSION, Value,
};
use evenair_api::{ClassStatus, DomainStatus, FlowStatus, Mode, RateSource, StationStatus, Status};
use evenair_manager::{DelayReport, Hop, Latency, Losses, Report};

use crate::latencies::{Latencies, histograms, lost, written};
use crate::milliseconds;

/// The state of a box at one instant.
#[derive(Debug)]
pub struct Taken {
    at_s: f64,
    status: Status,
    /// 95th percentile of recent waiting times for the WLAN, in milliseconds; `None`: no packet left recently.
    wait_p95_ms: Option<f64>,
    /// The same percentile per contention domain, indexed like the status's domains.
    domain_wait_p95_ms: Vec<Option<f64>>,
    latencies: Latencies,
}

/// Values of a line that neither state contains; the driver supplies them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// Seconds since the mode changed.
    pub since_s: f64,
    /// IP-level bytes that crossed the ports since the previous state, toward the WLAN and from it; `None`: unknown.
    pub crossed: [Option<u64>; 2],
}

impl Taken {
    /// The state at `at_s`, in seconds since 1970, UTC; `status` is made from `report`.
    pub fn new(at_s: f64, report: &Report, status: Status) -> Self {
        let p95 = |recent: &DelayReport| (recent.packets > 0).then(|| milliseconds(recent.p95));
        let wlan = report.hops.iter().find(|hop| hop.hop == Hop::Wlan);
        Self {
            at_s,
            wait_p95_ms: wlan.and_then(|hop| p95(&hop.recent)),
            domain_wait_p95_ms: report.domains.iter().map(|domain| p95(&domain.hop.recent)).collect(),
            latencies: Latencies::of(report),
            status,
        }
    }

    /// The status of this instant.
    pub const fn status(&self) -> &Status {
        &self.status
    }

    /// Takes the flows out of the status: once this is the previous state, lines no longer need them.
    pub fn take_flows(&mut self) -> Vec<FlowStatus> {
        std::mem::take(&mut self.status.flows)
    }

    /// Whether the manager sees the traffic: it does unless it is bypassed.
    fn sees_traffic(&self) -> bool {
        self.status.mode != Mode::Bypassed
    }
}

/// Bytes and charged airtime (in seconds) of a station, scaled to the length of the totals' interval; counts, latencies and losses are
/// unscaled.
#[derive(Clone, Copy, Default)]
struct Moved {
    down: u64,
    up: u64,
    air_down_s: f64,
    air_up_s: f64,
    counted: StationCounted,
    latency: Latency,
    losses: Losses,
}

impl Moved {
    /// The values of an interval `factor` times as long, at the same rate.
    fn times(self, factor: f64) -> Self {
        let bytes = |bytes: u64| (bytes as f64 * factor).round() as u64;
        let (down, up) = (bytes(self.down), bytes(self.up));
        Self { down, up, air_down_s: self.air_down_s * factor, air_up_s: self.air_up_s * factor, ..self }
    }
}

/// Two successive states, their distance in seconds, and the driver's values.
struct Interval<'a> {
    before: Option<&'a Taken>,
    now: &'a Taken,
    seconds: f64,
    beside: Beside,
}

/// The line of the interval, without health and events.
pub fn line(before: Option<&Taken>, now: &Taken, beside: Beside) -> Line {
    let of = |before: &Taken| now.status.uptime_s - before.status.uptime_s;
    let before = before.filter(|before| of(before) > 0.0);
    let interval = Interval { before, now, seconds: before.map_or(0.0, of), beside };
    let moved = interval.moved_by_station();
    let active = interval.active(&moved, |_| true);
    Line {
        v: VERSION,
        seq: 0,
        at: now.at_s,
        uptime_s: now.status.uptime_s,
        health: None,
        totals: Some(Totals {
            active,
            latency: written(&interval.latency(&moved, |_| true)),
            losses: interval.losses(&moved, |_| true),
            ..interval.totals()
        }),
        domains: Some(interval.domains(&moved)),
        access_points: Some(interval.access_points(&moved)),
        stations: Some(interval.stations(&moved)),
        classes: Some(now.status.classes.iter().map(|class| interval.class(class)).collect()),
        calls: now.status.calls_watched.then(|| now.status.calls.clone()),
        events: None,
        histograms: Some(interval.histograms(&moved)),
    }
}

impl Interval<'_> {
    fn mbps(&self, bytes: impl Into<Option<u64>>) -> Value {
        Value::new(bytes.into().map(|bytes| bytes as f64 * 8e-6 / self.seconds), Source::Measured)
    }

    fn air(&self, seconds: impl Into<Option<f64>>) -> Value {
        Value::new(seconds.into().map(|part| part / self.seconds), Source::Charged)
    }

    /// The previous state, if the manager has seen the traffic since then.
    fn seen_before(&self) -> Option<&Taken> {
        self.before.filter(|before| before.sees_traffic() && self.now.sees_traffic())
    }

    fn totals(&self) -> Totals {
        let status = &self.now.status;
        let crossed = self.beside.crossed.map(|bytes| bytes.filter(|_| self.before.is_some()));
        let [down_mbps, up_mbps] = crossed.map(|bytes| self.mbps(bytes));
        let gone = |status: &Status| status.packets.dropped() + status.packets.lost();
        Totals {
            mode: status.mode,
            carrier: status.carrier,
            since_s: (self.beside.since_s * 10.0).round() / 10.0,
            fail_open: status.fail_open.available,
            guard: status.guard.state,
            down_mbps,
            up_mbps,
            held: status.packets.held,
            wait_p95_ms: Value::new(self.now.wait_p95_ms, Source::Measured),
            dropped: self.before.map_or(0, |before| gone(status).saturating_sub(gone(&before.status))),
            stations: status.stations_known,
            active: None,
            latency: watch::Latency::default(),
            losses: None,
        }
    }

    /// Traffic of each station of the status; `None`: unknown.
    fn moved_by_station(&self) -> Vec<Option<Moved>> {
        let now = &self.now.status;
        let Some(before) = self.seen_before() else { return vec![None; now.stations.len()] };
        let earlier: BTreeMap<_, _> =
            before.status.stations.iter().map(|station| (station.mac.as_str(), station)).collect();
        // In a complete list, a station without a previous entry is new; in a list of the busiest, it may have been left out before.
        let lists_all = before.status.stations_known <= before.status.stations.len();
        let moved = |station: &StationStatus| {
            let latency = self.now.latencies.of_station(&before.latencies, &station.mac);
            let losses = self.now.latencies.losses_of(&before.latencies, &station.mac);
            let own = self.now.latencies.seconds_of(&before.latencies, &station.mac);
            let before = earlier.get(station.mac.as_str()).copied();
            // A station that was removed and came back restarts its counters.
            let same = before.filter(|before| before.charged_airtime_s <= station.charged_airtime_s);
            let share = own.filter(|_| same.is_some()).map_or(1.0, |own| self.seconds / own);
            (before.is_some() || lists_all).then(|| Moved { latency, losses, ..moved(same, station).times(share) })
        };
        self.within_time(now.stations.iter().map(moved).collect())
    }

    /// Limits airtime to the interval: airtime charged by assumed rates may sum up to several times its length. Each station of such a
    /// domain then gets its proportional part.
    fn within_time(&self, mut moved: Vec<Option<Moved>>) -> Vec<Option<Moved>> {
        let stations = &self.now.status.stations;
        let mut charged_s = BTreeMap::<_, f64>::new();
        for (station, moved) in stations.iter().zip(&moved).filter_map(|(station, moved)| Some((station, (*moved)?))) {
            *charged_s.entry(self.domain_of(station)).or_default() += moved.air_down_s + moved.air_up_s;
        }
        for (station, moved) in stations.iter().zip(&mut moved) {
            let Some(moved) = moved else { continue };
            let excess = charged_s.get(self.domain_of(station)).map_or(1.0, |charged| charged / self.seconds).max(1.0);
            moved.air_down_s /= excess;
            moved.air_up_s /= excess;
        }
        moved
    }

    /// Number of the selected stations that had traffic; `None`: unknown.
    fn active(&self, moved: &[Option<Moved>], which: impl Fn(&StationStatus) -> bool) -> Option<usize> {
        self.seen_before()?;
        let pairs = self.now.status.stations.iter().zip(moved);
        Some(pairs.filter(|(station, moved)| which(station) && moved.is_some_and(is_active)).count())
    }

    fn domains(&self, moved: &[Option<Moved>]) -> Vec<Domain> {
        let waits = self.now.domain_wait_p95_ms.iter().copied().chain(std::iter::repeat(None));
        self.now.status.domains.iter().zip(waits).map(|(domain, wait)| self.domain(domain, wait, moved)).collect()
    }

    fn domain(&self, domain: &DomainStatus, wait_p95_ms: Option<f64>, moved: &[Option<Moved>]) -> Domain {
        let is_here = |station: &StationStatus| self.domain_of(station) == domain.name;
        let here = || self.now.status.stations.iter().zip(moved).filter(|(station, _)| is_here(station));
        let all = self.now.status.stations_known <= self.now.status.stations.len();
        let sum: Option<Moved> = self
            .seen_before()
            .filter(|_| all)
            .and_then(|_| here().map(|(_, moved)| *moved).try_fold(Moved::default(), add));
        let active_reported = here()
            .filter(|(_, moved)| moved.is_some_and(is_active))
            .all(|(station, _)| station.reported_rate().is_some());
        let cost = domain.path.as_ref().and_then(|path| path.cost).filter(|_| self.now.status.mode == Mode::Inserted);
        let capacity = Some(domain.capacity_mbps).filter(|capacity| *capacity > 0.0);
        Domain {
            name: domain.name.clone(),
            access_points: domain.access_points.clone(),
            down_mbps: self.mbps(sum.map(|sum| sum.down)),
            up_mbps: self.mbps(sum.map(|sum| sum.up)),
            air_down: self.air(sum.map(|sum| sum.air_down_s)),
            air_up: self.air(sum.map(|sum| sum.air_up_s)),
            // The manager does not report airtime of group frames yet.
            air_group: Value::UNKNOWN,
            capacity_mbps: Value::new(capacity, if active_reported { Source::Reported } else { Source::Assumed }),
            air_cost: Value::new(cost, Source::Measured),
            held: domain.held,
            wait_p95_ms: Value::new(wait_p95_ms, Source::Measured),
            stations: domain.stations,
            active: self.active(moved, is_here),
            latency: written(&self.latency(moved, is_here)),
            losses: self.losses(moved, is_here),
        }
    }

    /// Latency over all selected stations that have measurements.
    fn latency(&self, moved: &[Option<Moved>], which: impl Fn(&StationStatus) -> bool) -> Latency {
        let pairs = self.now.status.stations.iter().zip(moved).filter(|(station, _)| which(station));
        pairs.filter_map(|(_, moved)| *moved).fold(Latency::default(), |sum, moved| sum.plus(&moved.latency))
    }

    /// Latency histograms of stations, domains and access points. A station counts for its domain and its access point.
    fn histograms(&self, moved: &[Option<Moved>]) -> Histograms {
        let mut all = Histograms::default();
        let stations = self.now.status.stations.iter().zip(moved);
        for (station, moved) in stations.filter_map(|(station, moved)| Some((station, (*moved)?))) {
            let of_station = histograms(&moved.latency);
            if of_station == LegHistograms::default() {
                continue;
            }
            all.totals.merge(&of_station);
            all.domains.entry(self.domain_of(station).to_owned()).or_default().merge(&of_station);
            if let Some(point) = &station.access_point {
                all.access_points.entry(point.clone()).or_default().merge(&of_station);
            }
            all.stations.insert(station.mac.clone(), of_station);
        }
        let classes = self.now.status.classes.iter();
        let classes =
            classes.filter_map(|class| Some((class.name.clone(), histograms(&self.class_latency(&class.name)?))));
        all.classes = classes.filter(|(_, counts)| *counts != LegHistograms::default()).collect();
        all
    }

    fn losses(&self, moved: &[Option<Moved>], which: impl Fn(&StationStatus) -> bool) -> Option<watch::Losses> {
        self.seen_before()?;
        let pairs = self.now.status.stations.iter().zip(moved).filter(|(station, _)| which(station));
        let sum = pairs.filter_map(|(_, moved)| *moved).fold(Losses::default(), |sum, moved| sum.plus(&moved.losses));
        Some(lost(&sum))
    }

    fn access_points(&self, moved: &[Option<Moved>]) -> Vec<AccessPoint> {
        let stations = &self.now.status.stations;
        let names: BTreeSet<&String> = stations.iter().filter_map(|station| station.access_point.as_ref()).collect();
        let all = self.now.status.stations_known <= stations.len();
        let point = |name: &String| {
            let is_there = |station: &StationStatus| station.access_point.as_ref() == Some(name);
            let there = || stations.iter().zip(moved).filter(|(station, _)| is_there(station));
            let sum = there().map(|(_, moved)| *moved).try_fold(Moved::default(), add).filter(|_| all);
            AccessPoint {
                name: name.clone(),
                domain: there().next().map_or("", |(station, _)| self.domain_of(station)).to_owned(),
                down_mbps: self.mbps(sum.map(|sum| sum.down)),
                up_mbps: self.mbps(sum.map(|sum| sum.up)),
                air_down: self.air(sum.map(|sum| sum.air_down_s)),
                air_up: self.air(sum.map(|sum| sum.air_up_s)),
                stations: there().count(),
                active: self.active(moved, is_there),
                latency: written(&self.latency(moved, is_there)),
                losses: self.losses(moved, is_there),
            }
        };
        names.into_iter().map(point).collect()
    }

    /// The domain of a station: that of its access point, otherwise the default one.
    fn domain_of(&self, station: &StationStatus) -> &str {
        self.now.status.domain_of(station)
    }

    fn stations(&self, moved: &[Option<Moved>]) -> Vec<Station> {
        let held = held_by_station(&self.now.status.flows);
        let mut order: Vec<_> = self.now.status.stations.iter().zip(moved.iter().copied()).collect();
        let air = |moved: Option<Moved>| moved.map_or(0.0, |moved| moved.air_down_s + moved.air_up_s);
        order.sort_by(|(_, a), (_, b)| air(*b).total_cmp(&air(*a)));
        let station = |(station, moved): &(&StationStatus, Option<Moved>)| Station {
            held: held.get(station.mac.as_str()).copied().unwrap_or(0),
            ..self.station(station, *moved)
        };
        order.iter().take(MOST_STATIONS).map(station).collect()
    }

    fn station(&self, station: &StationStatus, moved: Option<Moved>) -> Station {
        let reported = station.reported.as_ref();
        let rate_source = match station.rate_source {
            RateSource::Reported => Source::Reported,
            RateSource::Inferred => Source::Inferred,
            RateSource::Unknown => Source::Unknown,
        };
        Station {
            mac: station.mac.clone(),
            name: station.name.clone(),
            random_mac: station.random_mac,
            access_point: station.access_point.clone(),
            domain: self.domain_of(station).to_owned(),
            weight: station.weight,
            down_mbps: self.mbps(moved.map(|moved| moved.down)),
            up_mbps: self.mbps(moved.map(|moved| moved.up)),
            air_down: self.air(moved.map(|moved| moved.air_down_s)),
            air_up: self.air(moved.map(|moved| moved.air_up_s)),
            rate_mbps: Value::new(station.rate(), rate_source),
            mode: reported.and_then(|reported| reported.transmit_mode.clone()),
            signal_dbm: Value::new(reported.and_then(|reported| reported.signal_dbm).map(f64::from), Source::Reported),
            held: 0,
            active: moved.map(is_active),
            counted: moved.map(|moved| StationCounts { counts: moved.counted }),
            latency: moved.map_or_else(watch::Latency::default, |moved| written(&moved.latency)),
            losses: moved.map(|moved| lost(&moved.losses)),
        }
    }

    fn class(&self, class: &ClassStatus) -> Class {
        let before =
            self.seen_before().and_then(|before| before.status.classes.iter().find(|old| old.name == class.name));
        let before = before.filter(|before| before.charged_airtime_s <= class.charged_airtime_s);
        let since = |value: fn(&ClassStatus) -> u64| before.map(|before| value(class).saturating_sub(value(before)));
        Class {
            name: class.name.clone(),
            down_mbps: self.mbps(since(|class| class.released_bytes)),
            up_mbps: self.mbps(since(|class| class.from_wlan_bytes)),
            air: self.air(
                before.map(|before| (class.charged_airtime_s - before.charged_airtime_s) / self.excess_of_classes()),
            ),
            held: class.held.into(),
            dropped: since(|class| class.dropped).unwrap_or(0),
            at_ceiling: class.at_ceiling,
            latency: self.class_latency(&class.name).as_ref().map_or_else(watch::Latency::default, written),
            losses: self
                .seen_before()
                .map(|before| lost(&self.now.latencies.losses_of_class(&before.latencies, &class.name))),
        }
    }

    /// Airtime charged to all classes, in multiples of the interval times the number of contention domains; at least 1.
    fn excess_of_classes(&self) -> f64 {
        let charged_s = |status: &Status| status.classes.iter().map(|class| class.charged_airtime_s).sum::<f64>();
        let before_s = self.before.map_or(0.0, |before| charged_s(&before.status));
        let whole_s = self.seconds * self.now.status.domains.len().max(1) as f64;
        ((charged_s(&self.now.status) - before_s) / whole_s).max(1.0)
    }

    fn class_latency(&self, name: &str) -> Option<Latency> {
        self.seen_before().map(|before| self.now.latencies.of_class(&before.latencies, name))
    }
}

fn moved(before: Option<&StationStatus>, now: &StationStatus) -> Moved {
    let since = |value: fn(&StationStatus) -> u64| value(now).saturating_sub(before.map_or(0, value));
    let air = |value: fn(&StationStatus) -> f64| (value(now) - before.map_or(0.0, value)).max(0.0);
    Moved {
        down: since(|station| station.to_station_bytes),
        up: since(|station| station.from_station_bytes),
        air_down_s: air(|station| station.charged_airtime_down_s),
        air_up_s: air(|station| station.charged_airtime_up_s),
        counted: before.map_or(now.counted, |before| now.counted.since(&before.counted)),
        latency: Latency::default(),
        losses: Losses::default(),
    }
}

fn add(a: Moved, b: Option<Moved>) -> Option<Moved> {
    b.map(|b| Moved {
        down: a.down + b.down,
        up: a.up + b.up,
        air_down_s: a.air_down_s + b.air_down_s,
        air_up_s: a.air_up_s + b.air_up_s,
        // Latencies and losses are added up separately; counts are of stations alone.
        ..Moved::default()
    })
}

fn is_active(moved: Moved) -> bool {
    moved.down + moved.up > 0
}

fn held_by_station(flows: &[FlowStatus]) -> BTreeMap<&str, u64> {
    let mut held = BTreeMap::new();
    for flow in flows {
        *held.entry(flow.station.as_str()).or_default() += u64::from(flow.backlog_packets);
    }
    held
}

#[cfg(test)]
mod tests {
    use evenair_api::causes::{Cause, StationCounter};
    use evenair_manager::{Config, Manager, StationConfig};
    use evenair_packet::MacAddr;
    use evenair_units::{Instant, Span};
    use evenair_wifi::{Phy, Standard};

    use super::*;

    /// A report of a manager that knows one station.
    fn report() -> Report {
        let mut config = Config::new(Phy::default_for(Standard::Dot11g));
        let (mac, rate) = (MacAddr([2, 0, 0, 0, 0, 1]), config.default_rate);
        config.stations.push(StationConfig { mac, rate, weight: 1, class: None });
        Manager::<()>::new(config, Instant::ZERO).report(Instant::ZERO)
    }

    fn state(seconds: u64, mode: Mode, report: &Report) -> Taken {
        let status = Status { uptime_s: seconds as f64, mode, ..crate::status(report, Instant::ZERO, &[]) };
        Taken::new(seconds as f64, report, status)
    }

    /// A state `seconds` after the start. Its station has been charged half of the time and received 1 MB/s.
    fn taken(seconds: u64, mode: Mode) -> Taken {
        let mut report = report();
        let station = &mut report.stations[0];
        station.to_station.0 = 1_000_000 * seconds;
        station.airtime = Span::from_millis(500 * seconds);
        StationCounter::ALL
            .iter()
            .for_each(|&counter| station.counted[counter] = (3 + counter.index() as u64) * seconds);
        state(seconds, mode, &report)
    }

    fn line_of(before: Option<&Taken>, now: &Taken) -> Line {
        line(before, now, Beside::default())
    }

    #[test]
    fn rates_are_of_the_interval_at_ip_level() {
        let (before, now) = (taken(10, Mode::Inserted), taken(12, Mode::Inserted));
        let beside = Beside { since_s: 3.25, crossed: [Some(2_000_000), None] };
        let line = line(Some(&before), &now, beside);
        let totals = line.totals.expect("there");
        assert_eq!(totals.down_mbps, Value::new(8.0, Source::Measured));
        assert_eq!((totals.since_s, totals.active, line.uptime_s, line.at), (3.3, Some(1), 12.0, 12.0));
        let station = &line.stations.expect("there")[0];
        assert_eq!(station.down_mbps, Value::new(8.0, Source::Measured));
        assert_eq!(
            (station.air_down, station.air_up),
            (Value::new(0.5, Source::Charged), Value::new(0.0, Source::Charged))
        );
        assert_eq!((station.rate_mbps.source, station.signal_dbm), (Source::Reported, Value::UNKNOWN));
        let domain = &line.domains.expect("there")[0];
        assert_eq!((domain.down_mbps, domain.air_down), (station.down_mbps, station.air_down));
        assert_eq!((station.domain.as_str(), domain.name.as_str()), ("default", "default"));
        assert_eq!((domain.wait_p95_ms, domain.air_group), (Value::UNKNOWN, Value::UNKNOWN), "nothing left");
    }

    #[test]
    fn stations_charged_more_than_the_interval_have_parts_of_it() {
        let charged = |seconds: u64| {
            let mut report = report();
            let first = &mut report.stations[0];
            first.airtime = Span::from_millis(4_500 * seconds);
            let mut second = first.clone();
            second.mac = MacAddr([2, 0, 0, 0, 0, 2]);
            second.airtime = Span::from_millis(1_500 * seconds);
            report.stations.push(second);
            state(seconds, Mode::Observing, &report)
        };
        let line = line_of(Some(&charged(10)), &charged(12));
        let air: Vec<_> = line.stations.expect("there").iter().map(|station| station.air_down.value).collect();
        assert_eq!(air, [Some(0.75), Some(0.25)]);
        assert_eq!(line.domains.expect("there")[0].air_down, Value::new(1.0, Source::Charged));
    }

    #[test]
    fn a_phy_rate_is_reported_inferred_or_unknown_and_the_default_is_none() {
        let shown = |source: evenair_manager::RateSource| {
            let mut report = report();
            report.stations[0].rate_source = source;
            let taken = state(1, Mode::Inserted, &report);
            let station = &taken.status.stations[0];
            let line = line_of(None, &taken);
            (station.rate_mbps.is_some(), station.capacity_mbps.is_some(), line.stations.expect("there")[0].rate_mbps)
        };
        let mbps = report().stations[0].rate.bit_rate().as_mbps_f64();
        let known = |source| (true, true, Value::new(mbps, source));
        assert_eq!(shown(evenair_manager::RateSource::Reported), known(Source::Reported));
        assert_eq!(shown(evenair_manager::RateSource::Inferred), known(Source::Inferred));
        assert_eq!(shown(evenair_manager::RateSource::Unknown), (false, false, Value::UNKNOWN));
    }

    #[test]
    fn a_rate_uses_the_time_between_the_copies_of_the_station() {
        let copied = |seconds: u64, copied_ms: u64| {
            let mut report = report();
            let station = &mut report.stations[0];
            station.copied = Instant::from_nanos(copied_ms * 1_000_000);
            // 8 Mb/s, and half of the airtime.
            station.to_station.0 = 1_000 * copied_ms;
            station.airtime = Span::from_micros(500 * copied_ms);
            state(seconds, Mode::Inserted, &report)
        };
        for (before_ms, now_ms) in [(9_700, 10_990), (9_990, 10_700), (10_000, 11_000)] {
            let line = line_of(Some(&copied(10, before_ms)), &copied(11, now_ms));
            let station = &line.stations.expect("there")[0];
            let close = |value: Value, right: f64| (value.value.expect("known") / right - 1.0).abs() < 0.01;
            assert!(close(station.down_mbps, 8.0) && close(station.air_down, 0.5), "{before_ms}: {station:?}");
            assert!(close(line.domains.expect("there")[0].down_mbps, 8.0), "the sum as well");
        }
    }

    #[test]
    fn the_first_line_has_unknown_values_instead_of_zeros() {
        let line = line(None, &taken(1, Mode::Inserted), Beside { since_s: 0.0, crossed: [Some(1); 2] });
        let (totals, stations) = (line.totals.expect("there"), line.stations.expect("there"));
        assert_eq!((totals.down_mbps, totals.up_mbps, totals.active), (Value::UNKNOWN, Value::UNKNOWN, None));
        assert_eq!(
            (stations[0].down_mbps, stations[0].air_up, stations[0].active),
            (Value::UNKNOWN, Value::UNKNOWN, None)
        );
        assert_eq!(line.domains.expect("there")[0].air_down, Value::UNKNOWN);
    }

    #[test]
    fn while_bypassed_stations_are_unknown() {
        let (before, now) = (taken(10, Mode::Bypassed), taken(11, Mode::Bypassed));
        let crossed = [Some(25_000), None];
        let line = line(Some(&before), &now, Beside { crossed, ..Beside::default() });
        let totals = line.totals.expect("there");
        assert_eq!((totals.down_mbps, totals.up_mbps), (Value::new(0.2, Source::Measured), Value::UNKNOWN));
        assert_eq!(totals.active, None);
        assert_eq!(line.stations.expect("there")[0].down_mbps, Value::UNKNOWN);
        assert_eq!(line.domains.expect("there")[0].down_mbps, Value::UNKNOWN);
    }

    #[test]
    fn each_count_of_a_station_is_that_of_the_interval() {
        let (before, now) = (taken(10, Mode::Inserted), taken(12, Mode::Inserted));
        let counted = |before, now| line_of(before, now).stations.expect("there")[0].counted;
        let counts = counted(Some(&before), &now).expect("seen").counts;
        for (counter, count) in counts.iter() {
            assert_eq!(count, 2 * (3 + counter.index() as u64), "{counter:?}");
            assert_eq!(
                now.status.stations[0].counted[counter],
                12 * (3 + counter.index() as u64),
                "{counter:?} in the status"
            );
        }
        assert_eq!(counted(None, &now), None);
        assert_eq!(counted(Some(&before), &taken(12, Mode::Bypassed)), None);
    }

    #[test]
    fn the_counters_of_a_station_that_came_back_start_at_zero() {
        let (mut before, now) = (taken(10, Mode::Inserted), taken(11, Mode::Inserted));
        before.status.stations[0].charged_airtime_s = 1e6;
        let station = &line_of(Some(&before), &now).stations.expect("there")[0];
        assert_eq!(station.down_mbps.value, Some(88.0), "all that it has had since");
        // In a list of the busiest stations, a station without a previous entry may have been left out before.
        before.status.stations.clear();
        before.status.stations_known = 5_000;
        let station = &line_of(Some(&before), &now).stations.expect("there")[0];
        assert_eq!(station.down_mbps, Value::UNKNOWN);
    }

    #[test]
    fn a_station_is_in_the_domain_of_its_access_point() {
        let mut now = taken(11, Mode::Inserted);
        let hall = DomainStatus { name: "hall".into(), access_points: vec!["ap-2".into()], ..DomainStatus::default() };
        now.status.domains.push(hall);
        now.status.stations[0].access_point = Some("ap-2".into());
        let before = taken(10, Mode::Inserted);
        let line = line_of(Some(&before), &now);
        let domains = line.domains.expect("there");
        assert_eq!((domains[0].down_mbps.value, domains[1].down_mbps.value), (Some(0.0), Some(8.0)));
        assert_eq!((domains[0].active, domains[1].active), (Some(0), Some(1)));
        assert_eq!(line.stations.expect("there")[0].domain, "hall");
    }
}
