//! Figures computed from a run's result.

use evenair_results::{BoxCounters, PhaseResult, RunResult};
use evenair_workload::Direction;

use super::check::{Bound, Figure};

/// The phase before the box is inserted.
pub const BYPASSED: &str = "bypassed";
/// The phase in which the box manages.
pub const INSERTED: &str = "inserted";

/// A phase of a result, by name. Scenarios of the acceptance test have it, which the cases' tests
/// check.
pub fn phase<'a>(result: &'a RunResult, name: &str) -> &'a PhaseResult {
    result
        .phases
        .iter()
        .find(|phase| phase.name == name)
        .unwrap_or_else(|| panic!("scenario {} has no phase called {name}", result.scenario))
}

/// Ratio of uploads to downloads, as a deviation from 1.
pub fn up_down_inequality(phase: &PhaseResult) -> f64 {
    (phase.directions.up_ip_mbps / phase.directions.down_ip_mbps - 1.0).abs()
}

/// Ratio of the total to C*.
pub fn share_of_capacity(phase: &PhaseResult) -> f64 {
    phase.capacity_cstar_mbps.map_or(f64::NAN, |capacity| phase.total_ip_mbps / capacity)
}

/// Ratio of the smallest flow of a direction to the mean of its flows.
pub fn slowest_over_mean(phase: &PhaseResult, direction: Direction) -> f64 {
    let rates: Vec<f64> =
        phase.flows.iter().filter(|flow| flow.direction == direction).map(|flow| flow.ip_mbps).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    rates.iter().copied().fold(f64::INFINITY, f64::min) / mean
}

/// Largest relative deviation of the shares of PHY rates from shares in proportion to `capacities`
/// (pairs of PHY rate in Mb/s and C_i; each station of the run has one of these rates).
pub fn deviation_from_shares(phase: &PhaseResult, capacities: &[(f64, f64)]) -> f64 {
    let sum: f64 = capacities.iter().map(|(_, capacity)| capacity).sum();
    capacities
        .iter()
        .map(|(rate_mbps, capacity)| {
            let got: f64 = phase
                .stations
                .iter()
                .filter(|station| (station.rate_mbps - rate_mbps).abs() < 1e-6)
                .map(|station| station.ip_mbps)
                .sum();
            (got / phase.total_ip_mbps / (capacity / sum) - 1.0).abs()
        })
        .fold(0.0, f64::max)
}

/// Ratio of the first flow to the second, as a relative deviation from `wanted`.
pub fn ratio_deviation(phase: &PhaseResult, wanted: f64) -> f64 {
    match phase.flows.as_slice() {
        [first, second, ..] => (first.ip_mbps / second.ip_mbps / wanted - 1.0).abs(),
        _ => f64::NAN,
    }
}

/// The figure of every run with a box: packets lost or unaccounted for, and faults that the box
/// reported.
pub fn conservation(result: &RunResult) -> Figure {
    let missing = |counters: &BoxCounters| (counters.lost() + counters.unaccounted()) as f64;
    let faults = result.box_faults.len() as f64;
    let value = faults + result.box_counters.as_ref().map_or(f64::NAN, missing);
    Figure { what: "packets lost or unaccounted by the box", value, bound: zero() }
}

/// A bound of exactly zero.
pub const fn zero() -> Bound {
    Bound::AtMost { limit: 0.0, single: 0.0 }
}

#[cfg(test)]
pub mod tests {
    use evenair_api::causes::{Cause, LossReason};
    use evenair_scenario::Scenario;

    use super::*;

    const MANAGED: &str = r#"
version = 1
name = "managed"
duration = "2 s"
radio = { standard = "802.11b" }
station = [{ name = "sta", rate = "11 Mb/s" }]
server = [{ name = "server" }]
bulk = [{ name = "upload", stations = ["sta"], server = "server", direction = "up" }]
event = [{ at = "1 s", do = "insert" }]
"#;

    /// A valid run with a box, in virtual time.
    pub fn managed() -> RunResult {
        let scenario = Scenario::parse(MANAGED, "managed").expect("a right scenario");
        evenair_sim::run(&scenario, |_| ()).expect("runs")
    }

    #[test]
    fn lost_and_unaccounted_packets_are_outside_the_bound() {
        type Spoil = fn(&mut RunResult);
        fn counters(run: &mut RunResult) -> &mut BoxCounters {
            run.box_counters.as_mut().expect("a box")
        }
        let holds = |run: &RunResult| super::super::check::judge(&[vec![conservation(run)]])[0].holds;
        let right = managed();
        assert!(counters(&mut right.clone()).received > 0 && holds(&right));
        let ways: [Spoil; 6] = [
            |run| counters(run).received += 1,
            |run| counters(run).probe_answers += 1,
            |run| counters(run).released += 1,
            |run| counters(run).held += 1,
            |run| run.box_faults.push("its account does not add up".into()),
            |run| run.box_counters = None,
        ];
        for (number, spoil) in ways.iter().enumerate() {
            let mut run = right.clone();
            spoil(&mut run);
            assert!(!holds(&run), "way {number}");
        }
        for &reason in LossReason::ALL {
            let mut run = right.clone();
            counters(&mut run).losses[reason] += 1;
            assert!(!holds(&run), "{reason:?}");
        }
    }
}
