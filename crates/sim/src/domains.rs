//! All contention domains of a scenario, and the domain of each station.
//!
//! A domain is a medium with its access points, and does not hear the others. Most scenarios have one domain, for which the
//! per-frame path needs no lookup.
//!
//! A roaming station leaves its access point at once and associates with the next one after a gap. Until then its old
//! access point does not know this: it continues to send and to accept packets for the station. When the station has
//! associated with the new access point, the old one flushes its packets.

use evenair_results::period::{FlowPeriod, NodePeriod, Period};
use evenair_results::{DomainSeries, MediumSeries, NodeSeries, Series};
use evenair_scenario::{AirPlan, Scenario};
use evenair_units::{Instant, Span, Streams};

use crate::domain::ContentionDomain;
use crate::medium_counters::RunCounters;

#[derive(Debug)]
pub(crate) struct ContentionDomains {
    pub(crate) first: ContentionDomain,
    others: Vec<ContentionDomain>,
    /// Index of each station's access point; of a roaming station, of the one that it has left.
    at: Vec<usize>,
    /// Domain of each access point, and its index on that medium.
    points: Vec<(usize, usize)>,
}

impl ContentionDomains {
    /// All domains, with the scenario's stations associated.
    pub(crate) fn new(scenario: &Scenario, streams: &Streams) -> Self {
        let plans = AirPlan::all(scenario);
        let mut points = vec![(0, 0); scenario.access_points.len()];
        for (domain, plan) in plans.iter().enumerate() {
            plan.access_points.iter().enumerate().for_each(|(at, point)| points[point.number] = (domain, at));
        }
        let at = plans[0].stations.iter().map(|station| station.access_point).collect();
        let mut domains = plans.into_iter().map(|plan| ContentionDomain::new(scenario, plan, streams));
        let first = domains.next().expect("every scenario has a domain");
        Self { first, others: domains.collect(), at, points }
    }

    #[inline(always)]
    pub(crate) fn are_several(&self) -> bool {
        !self.others.is_empty()
    }

    pub(crate) fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The domain of this index.
    #[inline(always)]
    pub(crate) fn at(&self, domain: usize) -> &ContentionDomain {
        if domain == 0 { &self.first } else { &self.others[domain - 1] }
    }

    #[inline(always)]
    pub(crate) fn at_mut(&mut self, domain: usize) -> &mut ContentionDomain {
        if domain == 0 { &mut self.first } else { &mut self.others[domain - 1] }
    }

    /// Index of the domain of a station.
    #[inline(always)]
    pub(crate) fn domain_of(&self, station: usize) -> usize {
        if self.others.is_empty() { 0 } else { self.points[self.at[station]].0 }
    }

    /// Index of the station's access point, or of the one that it has left.
    pub(crate) fn access_point_of(&self, station: usize) -> usize {
        self.at[station]
    }

    /// Domain of that access point, and its index there.
    pub(crate) fn place_of(&self, station: usize) -> (usize, usize) {
        self.points[self.at[station]]
    }

    /// Domain of the access point of this index, and its index there.
    pub(crate) fn point(&self, number: usize) -> (usize, usize) {
        self.points[number]
    }

    /// The domain of a station.
    #[inline(always)]
    pub(crate) fn of(&self, station: usize) -> &ContentionDomain {
        self.at(self.domain_of(station))
    }

    #[inline(always)]
    pub(crate) fn of_mut(&mut self, station: usize) -> &mut ContentionDomain {
        self.at_mut(self.domain_of(station))
    }

    /// All domains, by index.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ContentionDomain> + Clone {
        [&self.first].into_iter().chain(&self.others)
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut ContentionDomain> {
        [&mut self.first].into_iter().chain(&mut self.others)
    }

    /// Next deadline of any domain; [`Instant::MAX`] without one.
    #[inline(always)]
    pub(crate) fn deadline(&self) -> Instant {
        let first = self.first.deadline();
        if self.others.is_empty() { first } else { self.next().0 }
    }

    /// Next deadline and its domain: the lowest index first at equal times.
    fn next(&self) -> (Instant, usize) {
        let due = self.all().map(ContentionDomain::deadline).zip(0..);
        due.min().expect("there is a domain")
    }

    /// Processes the next due domain up to `limit`, until another domain is due or a frame's TX status is known; returns
    /// the time reached.
    #[inline(never)]
    pub(crate) fn advance(&mut self, limit: Instant) -> Instant {
        let (at, domain) = self.next();
        let others = self.all().enumerate().filter(|&(other, _)| other != domain);
        // At equal times, a domain of a lower index comes before this one.
        let before = others.map(|(other, air)| match air.deadline() {
            due if other < domain => due - Span::from_nanos(1),
            due => due,
        });
        let limit = before.min().unwrap_or(limit).min(limit);
        self.at_mut(domain).advance(at, limit)
    }

    /// Processes the next due domain.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let (_, domain) = self.next();
        self.at_mut(domain).handle_timeout(now);
    }

    /// A station that was away associates again with its last access point.
    pub(crate) fn join(&mut self, station: usize) {
        let (domain, point) = self.points[self.at[station]];
        self.at_mut(domain).join(station, point);
    }

    /// A station leaves its access point for another one.
    pub(crate) fn go(&mut self, now: Instant, station: usize) {
        self.of_mut(station).go(now, station);
    }

    /// A roaming station associates with its new access point.
    pub(crate) fn come(&mut self, now: Instant, station: usize, access_point: usize) {
        self.of_mut(station).give_up(now, station);
        self.at[station] = access_point;
        self.join(station);
    }

    /// Packets in the access points' queues, and packet-nanoseconds since the last call.
    pub(crate) fn take_queue(&mut self, now: Instant) -> (usize, u128) {
        let sum = |sum: (usize, u128), queue: (usize, u128)| (sum.0 + queue.0, sum.1 + queue.1);
        self.all_mut().map(|air| air.take_queue(now)).fold((0, 0), sum)
    }

    /// Ends an interval; `flows` returns the applications' counters if a period ends as well. Returns whether one did.
    pub(crate) fn end_interval(&mut self, now: Instant, flows: impl FnOnce() -> Vec<FlowPeriod>) -> bool {
        let ends = self.first.end_interval(now, flows);
        for air in &mut self.others {
            air.end_interval(now, Vec::new);
        }
        ends
    }

    /// Packets in the access points' queues.
    pub(crate) fn queued(&self) -> usize {
        self.all().map(ContentionDomain::queued).sum()
    }

    /// Packets in all buffers of the domains.
    pub(crate) fn held(&self) -> usize {
        self.all().map(ContentionDomain::held).sum()
    }

    /// Adds the domains' series to those of the run, and returns the periods.
    pub(crate) fn finish(self, series: &mut Series) -> Vec<Period> {
        let has_several = self.are_several();
        let (mut points, mut stations, mut media, mut periods) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for air in [self.first].into_iter().chain(self.others) {
            let (RunCounters { mut nodes, medium, periods: of_air }, bss) = air.finish();
            let Some(bss) = bss else {
                (series.nodes, series.medium) = (nodes, Some(medium));
                return of_air;
            };
            let of_stations = nodes.split_off(bss.numbers.len());
            let numbers = bss.numbers.clone();
            nodes.iter_mut().for_each(|node| node.access_point = true);
            series.domains.push(DomainSeries { domain: bss.domain.clone(), medium });
            points.extend(bss.finish().zip(nodes));
            add_all(&mut stations, of_stations, NodeSeries::add);
            media.push((numbers, of_air));
        }
        points.sort_by_key(|((number, _), _)| *number);
        series.medium = Some(MediumSeries::together(series.domains.iter().map(|domain| &domain.medium)));
        for ((_, point), node) in points {
            series.access_points.push(point);
            series.nodes.push(node);
        }
        series.nodes.extend(stations);
        for (numbers, of_air) in media {
            let of_air = of_air.into_iter().map(|period| spread(period, &numbers, self.points.len(), has_several));
            add_all(&mut periods, of_air, add_period);
        }
        periods
    }
}

/// Adds elements of the same index; `sum` may be shorter.
fn add_all<T>(sum: &mut Vec<T>, all: impl IntoIterator<Item = T>, add: fn(&mut T, &T)) {
    for (number, one) in all.into_iter().enumerate() {
        match sum.get_mut(number) {
            Some(known) => add(known, &one),
            None => sum.push(one),
        }
    }
}

/// Spreads a medium's period over all access points; the medium has those of these `numbers`. The number of nodes with a
/// frame is omitted if there are several media.
fn spread(mut period: Period, numbers: &[usize], points: usize, has_several: bool) -> Period {
    let stations = period.nodes.split_off(numbers.len());
    let mut nodes: Vec<_> = (0..points).map(|_| NodePeriod::default()).collect();
    numbers.iter().zip(period.nodes).for_each(|(&number, node)| nodes[number] = node);
    nodes.extend(stations);
    period.nodes = nodes;
    if has_several {
        period.chain = Default::default();
    }
    period
}

fn add_period(sum: &mut Period, other: &Period) {
    let intervals = sum.intervals.clone();
    *sum = Period { intervals, ..Period::sum([&*sum, other]) };
}
