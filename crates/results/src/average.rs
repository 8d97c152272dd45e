//! Averages over a phase from values per interval. Both engines use this code, so that their phases are defined alike.

mod air;
mod flows;

use std::collections::BTreeSet;
use std::ops::Range;

use evenair_scenario::{App, AppKind, Scenario, WarmUp};
use evenair_units::Span;
use evenair_workload::{Direction, Phase};

use super::period::Period;
use super::stats::{jain, mean, part};
use super::{Backlog, CountedAirtime, Evenness, MediumAirtime, PhaseResult, Series, domains, warm_up};

impl PhaseResult {
    /// Averages of `series` over a phase of its scenario, as far as the run went, with the counters in `periods`.
    /// `series.flows` has the scenario's applications in order.
    ///
    /// # Panics
    /// The series has other applications than the scenario.
    pub fn average(scenario: &Scenario, series: &Series, periods: &[Period], phase: &Phase) -> Self {
        assert_eq!(series.flows.len(), scenario.apps.len(), "a series of another scenario");
        let nominal = intervals(scenario, phase);
        let transient = transient(scenario, series, &nominal);
        let intervals = nominal.start + transient.unwrap_or(0)..nominal.end;
        let within =
            |period: &&Period| intervals.start <= period.intervals.start && period.intervals.end <= intervals.end;
        let counted = Period::sum(periods.iter().filter(within));

        let length = periods.iter().filter(within).map(|period| period.intervals.len()).sum();
        let backlogged = backlogged(scenario, &counted, length);
        let backlogged_names: BTreeSet<&str> = backlogged.iter().flatten().map(String::as_str).collect();
        let is_backlogged = |name: &str| backlogged_names.contains(name);

        let flows = flows::flows(scenario, series, &counted, phase, &intervals);
        let stations = flows::stations(scenario, series, &flows, &intervals);
        let greedy: Vec<_> = (0..flows.len()).filter(|&app| is_greedy(scenario, &scenario.apps[app], phase)).collect();
        let rates = |ways: &[Direction]| -> Vec<f64> {
            let of = greedy.iter().filter(|&&app| ways.contains(&flows[app].direction));
            of.map(|&app| flows[app].ip_mbps).collect()
        };
        let loading = scenario.apps.iter().filter(|app| is_loading(scenario, app, phase));
        let loaded: BTreeSet<&str> = loading.map(|app| scenario.hosts[app.station].name.as_str()).collect();
        let loaded: Vec<_> =
            stations.iter().filter(|s| loaded.contains(s.station.as_str())).map(|s| s.ip_mbps).collect();
        let of_backlogged: Vec<_> = stations.iter().filter(|s| is_backlogged(&s.station)).map(|s| s.ip_mbps).collect();
        let queue = part(&series.ap_queue_packets, &intervals);
        let nodes = air::nodes(series, &counted, &intervals);
        let airtime = airtime(periods, &intervals);
        let active = scenario.apps.iter().filter(|app| is_active(scenario, app, phase));
        let used: BTreeSet<usize> = active.map(|app| app.station).collect();
        let is_used = |host| used.contains(&host);
        let started = |app: usize| part(&series.flows[app].goodput_mbps, &(0..intervals.end)).iter().any(|&x| x > 0.0);
        Self {
            name: phase.name.clone(),
            from_s: (scenario.measure.interval * intervals.start as u64).as_secs_f64(),
            to_s: phase.to.as_secs_f64(),
            transient_s: transient.map(|count| (scenario.measure.interval * count as u64).as_secs_f64()),
            total_ip_mbps: flows.iter().map(|flow| flow.ip_mbps).sum(),
            total_goodput_mbps: flows.iter().map(|flow| flow.goodput_mbps).sum(),
            capacity_cstar_mbps: scenario.capacity_mbps(phase, |app| flows[app].d),
            service_rate_mbps: mean(part(&series.service_rate_mbps, &intervals).iter().copied().flatten()),
            directions: flows::directions(&flows),
            jain_flows: jain(&rates(&[Direction::Up, Direction::Down])),
            ap_queue_mean_packets: mean(queue.iter().copied()).unwrap_or(0.0),
            ap_queue_max_packets: queue.iter().copied().fold(0.0, f64::max),
            flows_not_started: greedy.iter().filter(|&&app| !started(app)).count() as u64,
            evenness_up: Evenness::of(&rates(&[Direction::Up])),
            evenness_down: Evenness::of(&rates(&[Direction::Down])),
            evenness_stations: Evenness::of(&loaded),
            groups_direction: flows::by_direction(&flows, &counted),
            groups_class: flows::by_class(scenario, &flows, &counted),
            groups_rate: flows::by_rate(&flows, &counted),
            applications: flows::by_entry(scenario, &flows, &counted),
            medium: air::medium(series, &counted, &nodes, &intervals),
            nodes,
            access_points: domains::access_points(series, &intervals),
            domains: domains::domains(scenario, phase, series, &flows, &intervals),
            places: air::places(series, &intervals),
            backlog: Backlog::of(&counted.chain),
            evenness_backlogged: Evenness::of(&of_backlogged),
            measured_airtime: airtime.as_ref().map(|counted| {
                let mut measured = MediumAirtime::new(scenario, counted, is_used);
                measured.jain_backlogged = measured.jain_of(is_backlogged);
                measured
            }),
            backlogged_stations: backlogged,
            charged_airtime: airtime.map_or_else(Vec::new, |counted| counted.charged(scenario)),
            stations,
            flows,
        }
    }
}

/// The intervals of a phase. The scenario's checks ensure that phases end at interval boundaries.
fn intervals(scenario: &Scenario, phase: &Phase) -> Range<usize> {
    let index = |at: Span| (at / scenario.measure.interval) as usize;
    index(phase.from)..index(phase.to)
}

/// Number of intervals at the phase's start that are cut off as its transient, if the scenario requests that.
fn transient(scenario: &Scenario, series: &Series, phase: &Range<usize>) -> Option<usize> {
    if scenario.measure.warm_up != WarmUp::Auto {
        return None;
    }
    let total = |interval: usize| series.flows.iter().filter_map(|flow| flow.ip_mbps.get(interval)).sum();
    let whole = series.flows.iter().map(|flow| flow.ip_mbps.len()).max().unwrap_or(0);
    let totals: Vec<f64> = phase.clone().take_while(|&interval| interval < whole).map(total).collect();
    // Counters without series can be cut at certain intervals only.
    Some(warm_up::transient(&totals).unwrap_or(0).next_multiple_of(warm_up::step(phase.len())))
}

/// Airtime of some intervals, as far as the run went: the difference of the counters at their end and start.
fn airtime(periods: &[Period], intervals: &Range<usize>) -> Option<CountedAirtime> {
    let counted_by = |end: usize| periods.iter().find(|period| period.intervals.end == end)?.airtime.as_ref();
    let ends = periods.iter().map(|period| period.intervals.end);
    let end = ends.filter(|&end| intervals.start < end && end <= intervals.end).max()?;
    let before = if intervals.start > 0 { Some(counted_by(intervals.start)?) } else { None };
    Some(counted_by(end)?.since(before))
}

/// Stations with queued packets for more than half of `intervals`; `None` if that was not counted.
fn backlogged(scenario: &Scenario, counted: &Period, intervals: usize) -> Option<Vec<String>> {
    let queued = &counted.backlogged_ns;
    let half = (scenario.measure.interval * intervals as u64).as_nanos() / 2;
    let stations = queued.iter().filter(|&(_, &ns)| ns > half).map(|(&host, _)| scenario.hosts[host].name.clone());
    (!queued.is_empty()).then(|| stations.collect())
}

/// The sum of the values of some intervals.
fn sum(counts: &[u64], intervals: &Range<usize>) -> u64 {
    part(counts, intervals).iter().sum()
}

/// Whether an application is active in the phase, on an associated station.
fn is_active(scenario: &Scenario, app: &App, phase: &Phase) -> bool {
    let runs = app.start < phase.to && app.stop.is_none_or(|stop| stop > phase.from);
    runs && scenario.is_present(app.station, phase.from)
}

/// Whether an application is greedy in the phase, so that it counts for a fairness index.
fn is_greedy(scenario: &Scenario, app: &App, phase: &Phase) -> bool {
    matches!(app.kind, AppKind::Bulk { .. }) && is_active(scenario, app, phase)
}

/// Whether an application loads its station's access to the medium.
fn is_loading(scenario: &Scenario, app: &App, phase: &Phase) -> bool {
    matches!(app.kind, AppKind::Bulk { .. } | AppKind::Udp { .. }) && is_active(scenario, app, phase)
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn a_phase_is_the_mean_of_its_intervals() {
        let (scenario, run) = sample::two_flows();
        let (bypassed, inserted) = (&run.phases[0], &run.phases[1]);
        // The sample has 4.0 and 0.5 before 5 s, 2.0 and 2.0 from then on.
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
        assert_eq!(bypassed.evenness_stations.unwrap().min_over_max, Some(0.125));
        assert_eq!(bypassed.evenness_up.unwrap().members, 1);
        assert_eq!((bypassed.flows[0].variation, bypassed.flows_not_started), (Some(0.0), 0));
        let [up, down] = &bypassed.groups_direction[..] else { panic!("two directions") };
        assert_eq!((up.group.as_str(), up.flows, up.ip_mbps, down.ip_mbps), ("up", 1, 4.0, 0.5));
        assert_eq!((bypassed.groups_rate.len(), bypassed.groups_rate[0].group.as_str()), (1, "11"));
    }

    #[test]
    fn a_run_that_was_cut_short_gives_what_there_is() {
        let (scenario, mut run) = sample::two_flows();
        run.series.ap_queue_packets.truncate(3);
        for flow in &mut run.series.flows {
            flow.ip_mbps.truncate(3);
            flow.data_packets.clear();
        }
        let phases = scenario.measure.phases.iter();
        let phases = phases.map(|phase| PhaseResult::average(&scenario, &run.series, &[], phase));
        let totals: Vec<_> = phases.map(|phase| phase.total_ip_mbps).collect();
        assert_eq!(totals, [4.5, 0.0]);
        let none = flows::directions(&[]);
        assert!(
            none.down_ip_mbps.is_sign_positive() && none.up_ip_mbps.is_sign_positive(),
            "nothing is not less than zero"
        );
    }

    #[test]
    fn an_automatic_warm_up_cuts_series_and_periods_alike() {
        let (mut scenario, mut run) = sample::two_flows();
        scenario.measure.warm_up = WarmUp::Auto;
        scenario.measure.phases = vec![Phase { name: "all".into(), from: Span::ZERO, to: Span::from_secs(50) }];
        for flow in &mut run.series.flows {
            flow.ip_mbps = (0..50).map(|k| if k < 8 { 0.0 } else { 3.0 }).collect();
        }
        let period = |k: usize| {
            let mut chain = evenair_medium::BacklogChain::default();
            [1, 2].into_iter().for_each(|state| chain.push(state));
            Period { intervals: 5 * k..5 * k + 5, chain, ..Period::default() }
        };
        let periods: Vec<_> = (0..10).map(period).collect();
        let phase = PhaseResult::average(&scenario, &run.series, &periods, &scenario.measure.phases[0]);
        assert_eq!((phase.transient_s, phase.from_s, phase.total_ip_mbps), (Some(10.0), 10.0, 6.0));
        assert_eq!(phase.backlog.unwrap().successes, 8);
    }

    #[test]
    fn airtime_is_the_difference_of_a_phases_ends_as_far_as_the_run_went() {
        let (scenario, run) = sample::two_flows();
        let period = |end: usize, sent: u64| {
            let mut station = super::super::CountedStation::default();
            station.measured.sent = Span::from_millis(sent);
            let (length, stations) = (Span::from_secs(end as u64), vec![station]);
            let airtime = Some(CountedAirtime { length, stations, ..CountedAirtime::default() });
            Period { intervals: end - 1..end, airtime, ..Period::default() }
        };
        let up_of = |periods: &[Period], phase: usize| {
            let phase = PhaseResult::average(&scenario, &run.series, periods, &scenario.measure.phases[phase]);
            phase.measured_airtime.map(|airtime| airtime.stations[0].up_share)
        };
        let periods = [period(5, 500), period(8, 2000), period(10, 4250)];
        assert_eq!([up_of(&periods, 0), up_of(&periods, 1)], [Some(0.1), Some(0.75)]);
        assert_eq!([up_of(&periods[..2], 0), up_of(&periods[..2], 1)], [Some(0.1), Some(0.5)]);
        // A phase that was not reached, or whose start is unknown, has no airtime.
        assert_eq!([up_of(&periods[..1], 1), up_of(&periods[1..], 1)], [None, None]);
    }
}
