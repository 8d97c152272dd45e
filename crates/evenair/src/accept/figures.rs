//! Figures read off a run's result.

use evenair_scenario::Direction;
use evenair_scenario::results::{PhaseResult, RunResult};

use super::check::{Bound, Figure};

/// The phase before the box is inserted.
pub const BYPASSED: &str = "bypassed";
/// The phase in which the box manages.
pub const INSERTED: &str = "inserted";

/// A named phase of a result; scenarios of acceptance have it, which the cases' tests check.
pub fn phase<'a>(result: &'a RunResult, name: &str) -> &'a PhaseResult {
    result
        .phases
        .iter()
        .find(|phase| phase.name == name)
        .unwrap_or_else(|| panic!("scenario {} has no phase called {name}", result.scenario))
}

/// Up to down, as a deviation from equality: 0 is equal.
pub fn up_down_inequality(phase: &PhaseResult) -> f64 {
    (phase.directions.up_ip_mbps / phase.directions.down_ip_mbps - 1.0).abs()
}

/// Total over C*.
pub fn share_of_capacity(phase: &PhaseResult) -> f64 {
    phase.capacity_cstar_mbps.map_or(f64::NAN, |capacity| phase.total_ip_mbps / capacity)
}

/// The smallest flow over the mean of the flows of that direction.
pub fn slowest_over_mean(phase: &PhaseResult, direction: Direction) -> f64 {
    let rates: Vec<f64> =
        phase.flows.iter().filter(|flow| flow.direction == direction).map(|flow| flow.ip_mbps).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    rates.iter().copied().fold(f64::INFINITY, f64::min) / mean
}

/// Largest relative deviation of the PHY-rate classes' shares from shares in proportion to `capacities`
/// (pairs of PHY rate in Mb/s and C_i; every station of the run belongs to one of them).
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

/// Ratio of the first flow to the second, as a deviation from `wanted`.
pub fn ratio_deviation(phase: &PhaseResult, wanted: f64) -> f64 {
    match phase.flows.as_slice() {
        [first, second, ..] => (first.ip_mbps / second.ip_mbps / wanted - 1.0).abs(),
        _ => f64::NAN,
    }
}

/// What every run with a box must show: the box's account agrees.
pub fn conservation(result: &RunResult) -> Figure {
    let unaccounted = result.box_counters.as_ref().map_or(f64::NAN, |counters| {
        let dropped: u64 = counters.dropped.iter().map(|drop| drop.packets).sum();
        counters.received.abs_diff(counters.released + dropped + counters.held) as f64
    });
    Figure { what: "packets the box cannot account for", value: unaccounted, bound: zero() }
}

/// Exactly none.
pub const fn zero() -> Bound {
    Bound::AtMost { limit: 0.0, single: 0.0 }
}
