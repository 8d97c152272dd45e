//! Accuracy of the simulated TCP: the testbed compared with the simulator, on the same scenario.
//!
//! Totals are compared directly. Shares are parts of the total: those of the uploads, and those of the flows. Flows of one
//! direction and rate are equivalent, and their order is random; so they are compared in the order of their shares, the
//! best with the best.

use anyhow::{Context, Result};
use evenair_results::{FlowResult, PhaseResult};
use evenair_scenario::Scenario;

use super::case::Run;
use super::check::{Bound, Figure};
use super::figures::{BYPASSED, INSERTED, phase};

/// Number of simulated runs whose mean is compared.
const SEEDS: u64 = 10;
/// The phase of a scenario without the box.
const MEASURED: &str = "measured";

/// Bound of the relative difference of totals.
const TOTAL: Bound = Bound::within(0.07);
/// Bound of the difference of shares.
const SHARE: Bound = Bound::within(0.05);

/// Names of the compared values.
struct Names {
    phase: &'static str,
    total: &'static str,
    up: &'static str,
    flows: &'static str,
}

const NAMES: [Names; 3] = [
    Names {
        phase: BYPASSED,
        total: "bypassed: total, from the simulator's",
        up: "bypassed: uploads' share, from the simulator's",
        flows: "bypassed: the flows' shares, from the simulator's",
    },
    Names {
        phase: INSERTED,
        total: "inserted: total, from the simulator's",
        up: "inserted: uploads' share, from the simulator's",
        flows: "inserted: the flows' shares, from the simulator's",
    },
    Names {
        phase: MEASURED,
        total: "total, from the simulator's",
        up: "uploads' share, from the simulator's",
        flows: "the flows' shares, from the simulator's",
    },
];

/// Compared values of a phase: of one run, or the mean of several.
#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    total_mbps: f64,
    up_share: f64,
    /// Shares of flows by direction and rate, the largest first.
    flow_shares: Vec<f64>,
}

/// Equal numbers of uploads and downloads without a box, as the simulator supports; one minute long.
pub fn uplink_rate_control(stations: u32) -> Result<Scenario> {
    const FILE: &str = include_str!("../../../../scenarios/uplink-rate-control/r01-uploads-against-downloads.toml");
    let count = stations.to_string();
    let sets = [
        ("station.u.count", count.as_str()),
        ("station.d.count", count.as_str()),
        ("duration", "70 s"),
        ("phase.measured.from", "20 s"),
        ("phase.measured.to", "70 s"),
    ];
    Ok(Scenario::parse_with(FILE, "r01-uploads-against-downloads.toml", &sets)?)
}

/// Compares the testbed's run with the simulator.
pub fn figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let mut simulated = Vec::new();
    for seed in 1..=SEEDS {
        let scenario = Scenario { seed, ..run.scenario.clone() };
        simulated.push(evenair_sim::run(&scenario, |_| ()).context("the simulator refuses the scenario")?);
    }
    let has = |name: &str| run.scenario.measure.phases.iter().any(|phase| phase.name == name);
    let mut figures = Vec::new();
    for names in NAMES.iter().filter(|names| has(names.phase)) {
        let kernel = Outcome::of(phase(run.result, names.phase));
        let ours = Outcome::mean(simulated.iter().map(|result| Outcome::of(phase(result, names.phase))).collect());
        println!(
            "    {}: testbed {:.3} Mb/s, {:.1} % up; simulator {:.3} Mb/s, {:.1} % up",
            names.phase,
            kernel.total_mbps,
            100.0 * kernel.up_share,
            ours.total_mbps,
            100.0 * ours.up_share
        );
        figures.extend(compare(names, &kernel, &ours));
    }
    Ok(figures)
}

fn compare(names: &Names, kernel: &Outcome, ours: &Outcome) -> [Figure; 3] {
    let apart = |a: &f64, b: &f64| (a - b).abs();
    let flows = kernel.flow_shares.iter().zip(&ours.flow_shares).map(|(a, b)| apart(a, b)).fold(0.0, f64::max);
    let total = (ours.total_mbps / kernel.total_mbps - 1.0).abs();
    [
        Figure { what: names.total, value: total, bound: TOTAL },
        Figure { what: names.up, value: apart(&kernel.up_share, &ours.up_share), bound: SHARE },
        Figure { what: names.flows, value: flows, bound: SHARE },
    ]
}

impl Outcome {
    fn of(phase: &PhaseResult) -> Self {
        let mut flows: Vec<&FlowResult> = phase.flows.iter().collect();
        flows.sort_by(|a, b| {
            let by_kind = a.direction.cmp(&b.direction).then(a.rate_mbps.total_cmp(&b.rate_mbps));
            by_kind.then(b.share.total_cmp(&a.share))
        });
        Self {
            total_mbps: phase.total_ip_mbps,
            up_share: phase.directions.up_ip_mbps / phase.total_ip_mbps,
            flow_shares: flows.into_iter().map(|flow| flow.share).collect(),
        }
    }

    fn mean(all: Vec<Self>) -> Self {
        let n = all.len() as f64;
        let flows = all.first().map_or(0, |one| one.flow_shares.len());
        Self {
            total_mbps: all.iter().map(|one| one.total_mbps).sum::<f64>() / n,
            up_share: all.iter().map(|one| one.up_share).sum::<f64>() / n,
            flow_shares: (0..flows).map(|i| all.iter().map(|one| one.flow_shares[i]).sum::<f64>() / n).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::managed;
    use super::*;

    #[test]
    fn a_run_does_not_differ_from_itself_and_does_from_another() {
        let result = managed();
        let one = Outcome::of(&result.phases[0]);
        let names = &NAMES[1];
        assert!(compare(names, &one, &one).iter().all(|figure| figure.value == 0.0));
        let other = Outcome {
            total_mbps: one.total_mbps * 1.1,
            up_share: one.up_share + 0.2,
            flow_shares: one.flow_shares.iter().map(|share| share - 0.1).collect(),
        };
        let values = compare(names, &one, &other).map(|figure| figure.value);
        assert!(
            values.iter().zip([0.1, 0.2, 0.1]).all(|(value, expected)| (value - expected).abs() < 1e-9),
            "{values:?}"
        );
    }

    #[test]
    fn the_mean_is_of_each_place_in_the_order() {
        let outcome =
            |total_mbps, flow_shares: &[f64]| Outcome { total_mbps, up_share: 0.5, flow_shares: flow_shares.to_vec() };
        let mean = Outcome::mean(vec![outcome(4.0, &[0.6, 0.4]), outcome(6.0, &[0.8, 0.2])]);
        assert!((mean.total_mbps - 5.0).abs() < 1e-12);
        assert!((mean.flow_shares[0] - 0.7).abs() < 1e-12 && (mean.flow_shares[1] - 0.3).abs() < 1e-12);
    }
}
