//! Averages of flows, stations, and groups of flows.

use std::ops::Range;

use evenair_scenario::{Place, Scenario};
use evenair_units::BitRate;
use evenair_workload::{Direction, Phase};

use super::sum;
use crate::groups::sigma_over_mean;
use crate::histogram::Times;
use crate::period::{FlowPeriod, Period};
use crate::stats::{mean, part, share};
use crate::{
    ApplicationKind, ApplicationResult, Directions, FlowResult, FlowSeries, GroupResult, Series, StationResult,
};

/// Every application's flow.
pub(super) fn flows(
    scenario: &Scenario,
    series: &Series,
    counted: &Period,
    phase: &Phase,
    intervals: &Range<usize>,
) -> Vec<FlowResult> {
    let blank = FlowPeriod::default();
    let apps = scenario.apps.iter().zip(&series.flows).enumerate();
    let mut flows: Vec<_> = apps
        .map(|(number, (app, flow))| {
            let rate = scenario.rate_at(app.station, phase.from).map(|rate| rate.bit_rate());
            flow_result(flow, rate, counted.flows.get(number).unwrap_or(&blank), intervals)
        })
        .collect();
    let total = flows.iter().map(|flow| flow.ip_mbps).sum();
    flows.iter_mut().for_each(|flow| flow.share = share(flow.ip_mbps, total));
    flows
}

/// `rate`: that of its station at the phase's start.
fn flow_result(
    series: &FlowSeries,
    rate: Option<BitRate>,
    counted: &FlowPeriod,
    intervals: &Range<usize>,
) -> FlowResult {
    let (data, acks) = (sum(&series.data_packets, intervals), sum(&series.ack_packets, intervals));
    FlowResult {
        app: series.app.clone(),
        station: series.station.clone(),
        direction: series.direction,
        rate_mbps: rate.map_or(0.0, BitRate::as_mbps_f64),
        ip_mbps: mean(part(&series.ip_mbps, intervals).iter().copied()).unwrap_or(0.0),
        goodput_mbps: mean(part(&series.goodput_mbps, intervals).iter().copied()).unwrap_or(0.0),
        share: 0.0,
        d: (acks > 0).then(|| data as f64 / acks as f64),
        cwnd_segments: mean(part(&series.cwnd_segments, intervals).iter().copied().flatten()),
        rtt_ms: mean(part(&series.rtt_ms, intervals).iter().copied().flatten()),
        retransmits: sum(&series.retransmits, intervals),
        rtt: counted.rtt.distribution(),
        delay: counted.delay.distribution(),
        jitter_ms: counted.jitter.mean_ms(),
        sent_packets: sum(&series.sent_packets, intervals),
        received_packets: sum(&series.received_packets, intervals),
        variation: sigma_over_mean(part(&series.ip_mbps, intervals)),
    }
}

/// The flows of each station together, in the order of their first flow.
pub(super) fn stations(
    scenario: &Scenario,
    series: &Series,
    flows: &[FlowResult],
    intervals: &Range<usize>,
) -> Vec<StationResult> {
    let total = flows.iter().map(|flow| flow.ip_mbps).sum();
    // The position of each host among the stations with flows.
    let mut places: Vec<Option<usize>> = vec![None; scenario.hosts.len()];
    let mut stations: Vec<(StationResult, Vec<f64>)> = Vec::new();
    for ((app, flow), series) in scenario.apps.iter().zip(flows).zip(&series.flows) {
        let place = *places[app.station].get_or_insert_with(|| {
            stations.push((StationResult::of(flow), Vec::new()));
            stations.len() - 1
        });
        let (station, rates) = &mut stations[place];
        station.ip_mbps += flow.ip_mbps;
        station.goodput_mbps += flow.goodput_mbps;
        let own = part(&series.ip_mbps, intervals);
        rates.resize(rates.len().max(own.len()), 0.0);
        rates.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    let finish = |(mut station, rates): (StationResult, Vec<f64>)| {
        station.share = share(station.ip_mbps, total);
        station.variation = sigma_over_mean(&rates);
        station
    };
    stations.into_iter().map(finish).collect()
}

impl StationResult {
    /// The station of a flow, with counters at zero.
    fn of(flow: &FlowResult) -> Self {
        Self {
            station: flow.station.clone(),
            rate_mbps: flow.rate_mbps,
            ip_mbps: 0.0,
            share: 0.0,
            goodput_mbps: 0.0,
            variation: None,
        }
    }
}

/// Sums by direction of the data.
pub(super) fn directions(flows: &[FlowResult]) -> Directions {
    // Starts from 0.0, because `sum()` of nothing is -0.0.
    let of =
        |direction| flows.iter().filter(|flow| flow.direction == direction).fold(0.0, |sum, flow| sum + flow.ip_mbps);
    Directions { up_ip_mbps: of(Direction::Up), down_ip_mbps: of(Direction::Down) }
}

/// Uploads and downloads, if there are any.
pub(super) fn by_direction(flows: &[FlowResult], counted: &Period) -> Vec<GroupResult> {
    let groups = [("up", Direction::Up), ("down", Direction::Down)];
    let groups = groups.map(|(name, direction)| group(name, flows, counted, |app| flows[app].direction == direction));
    groups.into_iter().flatten().collect()
}

/// Flows of the stations of each class.
pub(super) fn by_class(scenario: &Scenario, flows: &[FlowResult], counted: &Period) -> Vec<GroupResult> {
    let class_of = |app: usize| match scenario.hosts[scenario.apps[app].station].place {
        Place::Station { class, .. } => class.map(|class| usize::from(class.0)),
        Place::Lan | Place::Wan => None,
    };
    let names = scenario.manager.policy.names.iter().enumerate();
    names.filter_map(|(number, name)| group(name, flows, counted, |app| class_of(app) == Some(number))).collect()
}

/// Flows of the stations of each PHY rate.
pub(super) fn by_rate(flows: &[FlowResult], counted: &Period) -> Vec<GroupResult> {
    let mut rates: Vec<f64> = flows.iter().map(|flow| flow.rate_mbps).collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates.dedup();
    let of = |rate: f64| group(&rate.to_string(), flows, counted, |app| flows[app].rate_mbps == rate);
    rates.into_iter().filter_map(of).collect()
}

/// Calls, datagrams and echoes by entry of the scenario, in the order of the file.
pub(super) fn by_entry(scenario: &Scenario, flows: &[FlowResult], counted: &Period) -> Vec<ApplicationResult> {
    let mut entries: Vec<(&str, ApplicationKind, Vec<usize>)> = Vec::new();
    for (number, app) in scenario.apps.iter().enumerate() {
        let Some(kind) = ApplicationKind::of(&app.kind) else { continue };
        // The applications of an entry follow one another.
        match entries.last_mut().filter(|(entry, ..)| *entry == app.entry) {
            Some((.., own)) => own.push(number),
            None => entries.push((&app.entry, kind, vec![number])),
        }
    }
    let result = |(entry, kind, own): (&str, ApplicationKind, Vec<usize>)| {
        let times = |of: fn(&FlowPeriod) -> &Times| {
            Times::sum(own.iter().filter_map(|&app| counted.flows.get(app)).map(of)).distribution()
        };
        ApplicationResult {
            application: entry.to_owned(),
            kind,
            flows: own.len() as u64,
            delay: times(|flow| &flow.delay),
            rtt: times(|flow| &flow.rtt),
            sent_packets: own.iter().map(|&app| flows[app].sent_packets).sum(),
            received_packets: own.iter().map(|&app| flows[app].received_packets).sum(),
        }
    };
    entries.into_iter().map(result).collect()
}

/// The flows of a group; `None` without any.
fn group(name: &str, flows: &[FlowResult], counted: &Period, belongs: impl Fn(usize) -> bool) -> Option<GroupResult> {
    let own: Vec<usize> = (0..flows.len()).filter(|&app| belongs(app)).collect();
    let times = |of: fn(&FlowPeriod) -> &Times| {
        Times::sum(own.iter().filter_map(|&app| counted.flows.get(app)).map(of)).distribution()
    };
    let total = |of: fn(&FlowResult) -> f64| own.iter().map(|&app| of(&flows[app])).sum();
    (!own.is_empty()).then(|| GroupResult {
        group: name.to_owned(),
        flows: own.len() as u64,
        ip_mbps: total(|flow| flow.ip_mbps),
        goodput_mbps: total(|flow| flow.goodput_mbps),
        share: total(|flow| flow.share),
        rtt: times(|flow| &flow.rtt),
        delay: times(|flow| &flow.delay),
    })
}
