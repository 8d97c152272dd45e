//! From values per interval to averages over a phase. Every engine's phases are made here, so that they mean the same.

use std::ops::Range;

use evenair_units::Span;

use super::stats::{jain, mean, share};
use super::{Directions, FlowResult, FlowSeries, PhaseResult, Series, StationResult};
use crate::{App, AppKind, Direction, Phase, Scenario};

impl PhaseResult {
    /// The averages of `series` over a phase of the scenario it was measured in, as far as the run went. `series.flows`
    /// has the scenario's applications in their order.
    ///
    /// # Panics
    /// If the series has other applications than the scenario.
    pub fn average(scenario: &Scenario, series: &Series, phase: &Phase) -> Self {
        assert_eq!(series.flows.len(), scenario.apps.len(), "a series of another scenario");
        let intervals = intervals(scenario, phase);
        let mut flows: Vec<_> = scenario
            .apps
            .iter()
            .zip(&series.flows)
            .map(|(app, flow)| flow_result(scenario, app, flow, phase, &intervals))
            .collect();
        let total_ip_mbps = flows.iter().map(|flow| flow.ip_mbps).sum();
        flows.iter_mut().for_each(|flow| flow.share = share(flow.ip_mbps, total_ip_mbps));

        let greedy = scenario.apps.iter().zip(&flows).filter(|(app, _)| is_greedy(scenario, app, phase));
        let greedy: Vec<_> = greedy.map(|(_, flow)| flow.ip_mbps).collect();
        let of = |direction| flows.iter().filter(|flow| flow.direction == direction).map(|flow| flow.ip_mbps).sum();
        let queue = part(&series.ap_queue_packets, &intervals);
        Self {
            name: phase.name.clone(),
            from_s: phase.from.as_secs_f64(),
            to_s: phase.to.as_secs_f64(),
            total_ip_mbps,
            total_goodput_mbps: flows.iter().map(|flow| flow.goodput_mbps).sum(),
            capacity_cstar_mbps: scenario.capacity_mbps(phase, |app| flows[app].d),
            service_rate_mbps: mean(part(&series.service_rate_mbps, &intervals).iter().copied().flatten()),
            stations: stations(&flows, total_ip_mbps),
            directions: Directions { up_ip_mbps: of(Direction::Up), down_ip_mbps: of(Direction::Down) },
            jain_flows: jain(&greedy),
            ap_queue_mean_packets: mean(queue.iter().copied()).unwrap_or(0.0),
            ap_queue_max_packets: queue.iter().copied().fold(0.0, f64::max),
            flows,
        }
    }
}

/// The intervals of a phase; its ends lie on their edges, which the scenario's checks see to.
fn intervals(scenario: &Scenario, phase: &Phase) -> Range<usize> {
    let index = |at: Span| (at / scenario.measure.interval) as usize;
    index(phase.from)..index(phase.to)
}

/// The values of some intervals, as far as there are any.
fn part<'a, T>(values: &'a [T], intervals: &Range<usize>) -> &'a [T] {
    let to = intervals.end.min(values.len());
    &values[intervals.start.min(to)..to]
}

/// Whether an application takes what it can get in the phase, so that it belongs into an index of fairness.
fn is_greedy(scenario: &Scenario, app: &App, phase: &Phase) -> bool {
    let runs = app.start < phase.to && app.stop.is_none_or(|stop| stop > phase.from);
    runs && matches!(app.kind, AppKind::Bulk { .. }) && scenario.is_present(app.station, phase.from)
}

fn flow_result(
    scenario: &Scenario,
    app: &App,
    series: &FlowSeries,
    phase: &Phase,
    intervals: &Range<usize>,
) -> FlowResult {
    let sum = |counts: &[u64]| part(counts, intervals).iter().sum::<u64>();
    let (data, acks) = (sum(&series.data_packets), sum(&series.ack_packets));
    FlowResult {
        app: series.app.clone(),
        station: series.station.clone(),
        direction: series.direction,
        rate_mbps: scenario.rate_at(app.station, phase.from).map_or(0.0, |rate| rate.bit_rate().as_mbps_f64()),
        ip_mbps: mean(part(&series.ip_mbps, intervals).iter().copied()).unwrap_or(0.0),
        goodput_mbps: mean(part(&series.goodput_mbps, intervals).iter().copied()).unwrap_or(0.0),
        share: 0.0,
        d: (acks > 0).then(|| data as f64 / acks as f64),
        cwnd_segments: mean(part(&series.cwnd_segments, intervals).iter().copied().flatten()),
        rtt_ms: mean(part(&series.rtt_ms, intervals).iter().copied().flatten()),
        retransmits: sum(&series.retransmits),
    }
}

/// The flows of each station together, in the order of their first flow.
fn stations(flows: &[FlowResult], total: f64) -> Vec<StationResult> {
    let mut stations: Vec<StationResult> = Vec::new();
    for flow in flows {
        match stations.iter_mut().find(|known| known.station == flow.station) {
            Some(known) => known.ip_mbps += flow.ip_mbps,
            None => stations.push(StationResult {
                station: flow.station.clone(),
                rate_mbps: flow.rate_mbps,
                ip_mbps: flow.ip_mbps,
                share: 0.0,
            }),
        }
    }
    stations.iter_mut().for_each(|station| station.share = share(station.ip_mbps, total));
    stations
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn a_phase_is_the_mean_of_its_intervals() {
        let (scenario, run) = sample::two_flows();
        let (bypassed, inserted) = (&run.phases[0], &run.phases[1]);
        // Made as 4.0 and 0.5 before 5 s, 2.0 and 2.0 from 5 s on.
        assert!((bypassed.total_ip_mbps - 4.5).abs() < 1e-9);
        assert!((bypassed.directions.up_ip_mbps - 4.0).abs() < 1e-9);
        assert!((bypassed.flows[0].share - 4.0 / 4.5).abs() < 1e-9);
        assert_eq!(inserted.jain_flows, Some(1.0));
        assert_eq!(bypassed.service_rate_mbps, None);
        assert_eq!(inserted.service_rate_mbps, Some(4.6));
        assert_eq!(inserted.flows[1].d, Some(2.0));
        assert_eq!(inserted.flows[1].rate_mbps, 11.0);
        assert_eq!(inserted.stations.len(), 2);
        assert!(scenario.capacity_mbps(&scenario.measure.phases[0], |_| None).is_some());
    }

    #[test]
    fn a_run_that_was_cut_short_gives_what_there_is() {
        let (scenario, mut run) = sample::two_flows();
        run.series.ap_queue_packets.truncate(3);
        for flow in &mut run.series.flows {
            flow.ip_mbps.truncate(3);
            flow.data_packets.clear();
        }
        let phases = scenario.measure.phases.iter().map(|phase| PhaseResult::average(&scenario, &run.series, phase));
        let totals: Vec<_> = phases.map(|phase| phase.total_ip_mbps).collect();
        assert_eq!(totals, [4.5, 0.0]);
    }
}
