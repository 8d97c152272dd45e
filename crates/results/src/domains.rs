//! Results of access points and contention domains, for scenarios with named access points.
//!
//! Results of the medium as a whole then cover all domains together: counts are sums, parts of time are means.

use std::ops::Range;

use evenair_scenario::Scenario;
use evenair_workload::Phase;
use serde::{Deserialize, Serialize};

use super::stats::{mean, part};
use super::{FlowResult, MediumSeries, NodeSeries, PhaseResult, RunResult, Series};

/// One access point with its stations, per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AccessPointSeries {
    /// Name of the access point.
    pub access_point: String,
    /// Name of its contention domain.
    pub domain: String,
    /// IP-level rate of DATA and ACKs between it and its stations.
    pub ip_mbps: Vec<f64>,
    /// Proportion of the interval that its accesses and those of its stations occupied, including failed ones.
    pub airtime_share: Vec<f64>,
}

/// One contention domain per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DomainSeries {
    /// Name of the domain.
    pub domain: String,
    /// Its medium.
    pub medium: MediumSeries,
}

/// One access point with its stations, in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AccessPointResult {
    /// Name of the access point.
    pub access_point: String,
    /// Name of its contention domain.
    pub domain: String,
    /// IP-level rate of DATA and ACKs between it and its stations.
    pub ip_mbps: f64,
    /// Proportion of the phase that its accesses and those of its stations occupied, including failed ones.
    pub airtime_share: f64,
}

/// One contention domain in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DomainResult {
    /// Name of the domain.
    pub domain: String,
    /// Names of its access points.
    pub access_points: Vec<String>,
    /// IP-level rate of DATA and ACKs over its medium.
    pub ip_mbps: f64,
    /// The computed capacity C* for its flows in this phase.
    pub capacity_cstar_mbps: Option<f64>,
    /// Proportion of the phase with frames, including the gaps within exchanges.
    pub busy_share: f64,
    /// Proportion without a frame on the medium while a node had a frame to send.
    pub contending_share: f64,
    /// Proportion of silence with nothing to send.
    pub idle_share: f64,
    /// How often its medium became busy.
    pub transmissions: u64,
    /// Of these, those with two or more simultaneous senders.
    pub collisions: u64,
    /// Mean number of stations (not access points) with a frame to send; absent if not counted.
    pub active_stations: Option<f64>,
}

impl MediumSeries {
    /// Combines several media: counts are summed, proportions of time averaged.
    pub fn together<'a>(all: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let media = all.clone().count().max(1) as f64;
        let sum = |of: fn(&Self) -> &Vec<f64>| columns(all.clone().map(of), |values| values.sum::<f64>());
        let part = |of| sum(of).into_iter().map(|sum| sum / media).collect();
        let count = |of: fn(&Self) -> &Vec<u64>| columns(all.clone().map(of), |values| values.sum::<u64>());
        Self {
            busy_share: part(|medium| &medium.busy_share),
            contending_share: part(|medium| &medium.contending_share),
            idle_share: part(|medium| &medium.idle_share),
            transmissions: count(|medium| &medium.transmissions),
            collisions: count(|medium| &medium.collisions),
            active_stations: sum(|medium| &medium.active_stations),
        }
    }
}

impl NodeSeries {
    /// Adds the same station's results on another medium, where it was at other times.
    pub fn add(&mut self, other: &Self) {
        let counts = |of: fn(&mut Self) -> &mut Vec<u64>, own: &mut Self, other: &mut Self| {
            let (own, other) = (of(own), &*of(other));
            *own = columns([&*own, other].into_iter(), |values| values.sum());
        };
        let other = &mut other.clone();
        let all: [fn(&mut Self) -> &mut Vec<u64>; 8] = [
            |node| &mut node.offered_frames,
            |node| &mut node.delivered_frames,
            |node| &mut node.attempts,
            |node| &mut node.successes,
            |node| &mut node.collisions,
            |node| &mut node.errors,
            |node| &mut node.repeated_failures,
            |node| &mut node.slowed,
        ];
        all.into_iter().for_each(|of| counts(of, self, other));
        for lost in &other.lost_frames {
            match self.lost_frames.iter_mut().find(|own| own.reason == lost.reason) {
                Some(own) => own.frames = columns([&own.frames, &lost.frames].into_iter(), |values| values.sum()),
                None => self.lost_frames.push(lost.clone()),
            }
        }
        self.airtime_share = columns([&self.airtime_share, &other.airtime_share].into_iter(), |values| values.sum());
        self.queue_packets = columns([&self.queue_packets, &other.queue_packets].into_iter(), |values| values.sum());
        let most = [&self.queue_max_packets, &other.queue_max_packets];
        self.queue_max_packets = columns(most.into_iter(), |values| values.max().unwrap_or(0));
    }
}

/// Combines series interval by interval; an empty series means zeros.
fn columns<'a, T: Copy + Default + 'a, S>(
    all: impl Iterator<Item = &'a Vec<T>> + Clone,
    of: impl Fn(&mut dyn Iterator<Item = T>) -> S,
) -> Vec<S> {
    let intervals = all.clone().map(Vec::len).max().unwrap_or(0);
    let value = |series: &Vec<T>, at: usize| series.get(at).copied().unwrap_or_default();
    (0..intervals).map(|at| of(&mut all.clone().map(|series| value(series, at)))).collect()
}

/// Mean over intervals of a series, which is empty for zeros.
fn average(values: &[f64], intervals: &Range<usize>) -> f64 {
    mean(part(values, intervals).iter().copied()).unwrap_or(0.0)
}

/// Every access point.
pub(super) fn access_points(series: &Series, intervals: &Range<usize>) -> Vec<AccessPointResult> {
    let result = |point: &AccessPointSeries| AccessPointResult {
        access_point: point.access_point.clone(),
        domain: point.domain.clone(),
        ip_mbps: average(&point.ip_mbps, intervals),
        airtime_share: average(&point.airtime_share, intervals),
    };
    series.access_points.iter().map(result).collect()
}

/// Every domain, with the flows of the phase.
pub(super) fn domains(
    scenario: &Scenario,
    phase: &Phase,
    series: &Series,
    flows: &[FlowResult],
    intervals: &Range<usize>,
) -> Vec<DomainResult> {
    let points = access_points(series, intervals);
    let result = |(number, domain): (usize, &DomainSeries)| {
        let points = || points.iter().filter(|point| point.domain == domain.domain);
        let medium = &domain.medium;
        let count = |counts: &[u64]| part(counts, intervals).iter().sum();
        DomainResult {
            domain: domain.domain.clone(),
            access_points: points().map(|point| point.access_point.clone()).collect(),
            ip_mbps: points().map(|point| point.ip_mbps).sum(),
            capacity_cstar_mbps: scenario.domain_capacity_mbps(number, phase, |app| flows[app].d),
            busy_share: average(&medium.busy_share, intervals),
            contending_share: average(&medium.contending_share, intervals),
            idle_share: average(&medium.idle_share, intervals),
            transmissions: count(&medium.transmissions),
            collisions: count(&medium.collisions),
            active_stations: mean(part(&medium.active_stations, intervals).iter().copied()),
        }
    };
    series.domains.iter().enumerate().map(result).collect()
}

/// One row per quantity of an access point or a domain, one column per phase; none if none is named.
pub(super) fn rows(run: &RunResult) -> Vec<Vec<String>> {
    let Some(first) = run.phases.first() else { return Vec::new() };
    let row = |name: String, value: &dyn Fn(&PhaseResult) -> Option<String>| {
        let values = run.phases.iter().map(|phase| value(phase).unwrap_or_else(|| "-".into()));
        std::iter::once(name).chain(values).collect::<Vec<_>>()
    };
    let percent = |x: f64| format!("{:.1} %", 100.0 * x);
    let mut rows = Vec::new();
    for (at, DomainResult { domain, .. }) in first.domains.iter().enumerate() {
        let of = |phase: &PhaseResult, value: &dyn Fn(&DomainResult) -> String| phase.domains.get(at).map(value);
        rows.push(row(format!("{domain}: Mb/s"), &|phase| of(phase, &|domain| format!("{:.3}", domain.ip_mbps))));
        rows.push(row(format!("{domain}: idle"), &|phase| of(phase, &|domain| percent(domain.idle_share))));
    }
    for (at, AccessPointResult { access_point, .. }) in first.access_points.iter().enumerate() {
        let of =
            |phase: &PhaseResult, value: &dyn Fn(&AccessPointResult) -> String| phase.access_points.get(at).map(value);
        let name = format!("{access_point}: Mb/s, part of the time");
        let both = |point: &AccessPointResult| format!("{:.3}, {}", point.ip_mbps, percent(point.airtime_share));
        rows.push(row(name, &|phase| of(phase, &both)));
        let queue = |phase: &PhaseResult| {
            let node = phase.nodes.iter().find(|node| node.node == *access_point)?;
            Some(format!("{:.1}, {}", node.queue_mean_packets, percent(node.loss_rate.unwrap_or(0.0))))
        };
        rows.push(row(format!("{access_point}: queue, lost"), &queue));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::LossSeries;
    use super::*;

    #[test]
    fn media_are_put_together_by_interval() {
        let one = MediumSeries { busy_share: vec![0.5, 0.25], transmissions: vec![7, 1], ..MediumSeries::default() };
        let other = MediumSeries { busy_share: vec![1.0, 0.75], transmissions: vec![2, 2], ..MediumSeries::default() };
        let both = MediumSeries::together([&one, &other].into_iter());
        assert_eq!((both.busy_share, both.transmissions), (vec![0.75, 0.5], vec![9, 3]));
        assert_eq!(MediumSeries::together([&one].into_iter()), one);
    }

    #[test]
    fn a_station_that_roams_has_done_what_it_did_on_each_medium() {
        let loss = |reason: &str, frames: Vec<u64>| LossSeries { reason: reason.into(), frames };
        let mut node = NodeSeries {
            attempts: vec![3, 0],
            lost_frames: vec![loss("buffer full", vec![1, 0])],
            queue_max_packets: vec![4, 0],
            ..NodeSeries::default()
        };
        node.add(&NodeSeries {
            attempts: vec![0, 5],
            offered_frames: vec![0, 6],
            lost_frames: vec![loss("buffer full", vec![0, 2]), loss("station left", vec![0, 1])],
            queue_max_packets: vec![0, 2],
            airtime_share: vec![0.0, 0.5],
            ..NodeSeries::default()
        });
        assert_eq!((node.attempts, node.offered_frames), (vec![3, 5], vec![0, 6]));
        assert_eq!(node.lost_frames, [loss("buffer full", vec![1, 2]), loss("station left", vec![0, 1])]);
        assert_eq!((node.queue_max_packets, node.airtime_share), (vec![4, 2], vec![0.0, 0.5]));
    }
}
