//! Series of access points and contention domains, for scenarios with named access points.

use evenair_medium::Totals;
use evenair_results::{AccessPointSeries, DomainSeries, MediumSeries};
use evenair_scenario::Scenario;
use evenair_units::Span;

use crate::air::BssTotals;
use crate::collect::{Collected, Interval};

/// Series of every access point with its stations; none if access points have no names.
pub fn access_points(scenario: &Scenario, collected: &Collected) -> Vec<AccessPointSeries> {
    let interval = scenario.measure.interval;
    let series = |(number, point): (usize, &evenair_scenario::AccessPoint)| {
        let bss_totals =
            collected.intervals.iter().map(|counted| counted.bss_totals.get(number).copied().unwrap_or_default());
        let since = steps(bss_totals, |now: &BssTotals, before| now.since(before));
        AccessPointSeries {
            access_point: point.name.clone(),
            domain: point.domain_name.clone(),
            ip_mbps: since.iter().map(|bss| bss.bytes as f64 * 8.0 / interval.as_secs_f64() / 1e6).collect(),
            airtime_share: since.iter().map(|bss| part(bss.airtime.0, interval)).collect(),
        }
    };
    let named = scenario.access_points.iter().enumerate().filter(|(_, point)| point.channel.is_some());
    named.map(series).collect()
}

/// Series of every domain, by index.
pub fn domains(scenario: &Scenario, collected: &Collected) -> Vec<DomainSeries> {
    let series = |number: usize| {
        let point = scenario.access_points.iter().find(|point| point.domain == number && point.channel.is_some())?;
        let medium = medium_series(scenario, collected, |media| media.get(number).copied().unwrap_or_default());
        Some(DomainSeries { domain: point.domain_name.clone(), medium })
    };
    (0..scenario.domains()).filter_map(series).collect()
}

/// Series of the medium; of several, their mean, with the sum of the traffic.
pub fn medium(scenario: &Scenario, collected: &Collected) -> MediumSeries {
    let points = scenario.access_points.len();
    let active = |interval: &Interval| {
        let stations = interval.senders.iter().skip(points);
        stations.map(|station| part(Span::from_nanos(station.occupied_ns), scenario.measure.interval)).sum()
    };
    let series = medium_series(scenario, collected, |media| {
        let sum = |of: fn(&Totals) -> Span| media.iter().map(of).fold(Span::ZERO, |sum, span| sum + span);
        let mean = |of| sum(of) / media.len().max(1) as u64;
        Totals {
            busy: mean(|totals| totals.busy),
            contending: mean(|totals| totals.contending),
            idle: mean(|totals| totals.idle),
            transmissions: media.iter().map(|totals| totals.transmissions).sum(),
            collisions: media.iter().map(|totals| totals.collisions).sum(),
            ..Totals::default()
        }
    });
    MediumSeries { active_stations: collected.intervals.iter().map(active).collect(), ..series }
}

/// A series of one value of the media's totals at the end of each interval; without the number of nodes with a frame.
fn medium_series(scenario: &Scenario, collected: &Collected, of: impl Fn(&[Totals]) -> Totals) -> MediumSeries {
    let interval = scenario.measure.interval;
    let totals = collected.intervals.iter().map(|counted| of(&counted.media));
    let since = steps(totals, |&now: &Totals, &before| now - before);
    let parts = |of: fn(&Totals) -> Span| since.iter().map(|totals| part(of(totals), interval)).collect();
    MediumSeries {
        busy_share: parts(|totals| totals.busy),
        contending_share: parts(|totals| totals.contending),
        idle_share: parts(|totals| totals.idle),
        transmissions: since.iter().map(|totals| totals.transmissions).collect(),
        collisions: since.iter().map(|totals| totals.collisions).collect(),
        ..MediumSeries::default()
    }
}

/// Differences between consecutive cumulative values.
fn steps<T: Default>(all: impl Iterator<Item = T>, since: impl Fn(&T, &T) -> T) -> Vec<T> {
    let mut before = T::default();
    let mut steps = Vec::new();
    for now in all {
        steps.push(since(&now, &before));
        before = now;
    }
    steps
}

fn part(time: Span, interval: Span) -> f64 {
    time.as_nanos() as f64 / interval.as_nanos() as f64
}
