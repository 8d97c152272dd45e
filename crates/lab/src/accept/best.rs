//! The best total with a constant service rate, C_max, compared with the default manager.
//!
//! C_max is the highest total, over constant service rates in steps of 1 %, at which the shares and the access point's queue are
//! within their bounds. The simulator runs every plausible step; the testbed runs the simulator's best one and three steps on
//! either side of it, and more if the best one is at an end of these. The default manager, without a configured rate, must reach
//! 98 % of C_max in both.
//!
//! Not here: changing populations (the case `population`; in the simulator `b11` of `evenair reproduce`).

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use evenair_results::{PhaseResult, RunResult};
use evenair_scenario::Scenario;
use rayon::prelude::*;

use super::case::{Case, NO_TELEMETRY, Run};
use super::check::{Bound, Figure};
use super::figures::{INSERTED, conservation, phase};
use super::promises::{A_54, at_most, mean, slowest_exchange_ms, sojourn_p95};

/// Downloads at 54, 24 and 6 Mb/s.
type Population = [u32; 3];

/// The populations of the published experiment a09.
const POPULATIONS: [Population; 3] = [[3, 3, 3], [1, 2, 3], [4, 4, 4]];
/// Minimum throughput of the manager, as a proportion of C_max.
const PART: f64 = 0.98;
/// A rate is fair if each station has at least this proportion of the mean.
const FAIR: f64 = 0.94;
/// Ratio of successive service rates.
const STEP: f64 = 1.01;
/// Lowest and highest rate in the simulator, relative to the throughput of the manager there. A constant rate limits the total,
/// so lower ones need no run.
const SIMULATED: (f64, f64) = (0.85, 1.25);
/// Number of seeds per rate in the simulator.
const SEEDS: u64 = 2;
/// Steps on either side of the simulator's best that the testbed tries first, and at most: up and down.
const FIRST: i32 = 3;
const FARTHEST: (i32, i32) = (8, 15);
/// Maximum number of runs: a search that goes to one end, and the run that is compared.
const MOST_RUNS: u32 = 1 + (2 * FIRST + 1 + FARTHEST.1 - FIRST) as u32;
/// How often an invalid run of the testbed is repeated.
const REPEATED: u32 = 2;

/// The cases, in the order of measuring.
pub fn cases() -> [Case; 3] {
    let case = |name, title, make, figures| Case { name, title, in_short: false, runs_each: MOST_RUNS, make, figures };
    [
        case(
            "best-9",
            "9 downloads, beside the best constant rate",
            |_| ours(POPULATIONS[0]),
            |run| figures(run, POPULATIONS[0]),
        ),
        case(
            "best-6",
            "6 downloads, beside the best constant rate",
            |_| ours(POPULATIONS[1]),
            |run| figures(run, POPULATIONS[1]),
        ),
        case(
            "best-12",
            "12 downloads, beside the best constant rate",
            |_| ours(POPULATIONS[2]),
            |run| figures(run, POPULATIONS[2]),
        ),
    ]
}

fn ours(population: Population) -> Result<Scenario> {
    scenario(population, "")
}

fn constant(population: Population, mbps: f64) -> Result<Scenario> {
    let rate = (mbps * 1e6) as u64;
    scenario(population, &format!("controller.kind = \"fixed\"\ncontroller.rate = \"{rate} b/s\"\n"))
}

fn scenario([fast, middle, slow]: Population, controller: &str) -> Result<Scenario> {
    let radio = A_54.radio;
    let text = format!(
        r#"
version = 1
name = "best"
title = "Downloads at 54, 24 and 6 Mb/s"
duration = "32 s"
radio = {radio}
lan = {{ rate = "100 Mb/s", delay = "5 ms" }}
station = [
    {{ name = "fast", count = {fast}, rate = "54 Mb/s" }},
    {{ name = "middle", count = {middle}, rate = "24 Mb/s" }},
    {{ name = "slow", count = {slow}, rate = "6 Mb/s" }},
]
server = [{{ name = "server" }}]
bulk = [{{ name = "download", stations = ["fast", "middle", "slow"], server = "server", direction = "down" }}]
event = [{{ at = "1 s", do = "insert" }}]
phase = [{{ name = "inserted", from = "10 s", to = "32 s" }}]
{NO_TELEMETRY}[manager]
{controller}"#
    );
    Ok(Scenario::parse(&text, "best")?)
}

/// The best constant service rate, and the total at it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Best {
    rate_mbps: f64,
    total_mbps: f64,
}

fn figures(run: &Run<'_>, population: Population) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    let (ours, simulated) = simulate(population)?;
    println!(
        "    simulator: C_max {:.3} Mb/s, at a constant {:.3}; ours {ours:.3}",
        simulated.total_mbps, simulated.rate_mbps
    );
    let rate = |step: i32| simulated.rate_mbps * STEP.powi(step);
    let found = search(|step| {
        let total = measure(run, population, step, rate(step))?;
        println!("    testbed at a constant {:.3} Mb/s: {}", rate(step), described(total));
        Ok(total.filter(|found| found.1).map(|found| found.0))
    })?;
    let total = inserted.total_ip_mbps;
    if let Some((step, best)) = found {
        println!("    testbed: C_max {best:.3} Mb/s, at a constant {:.3}; ours {total:.3}", rate(step));
    }
    let part = |what, value| Figure { what, value, bound: Bound::short_by_at_most(1.0 - PART) };
    Ok(vec![
        part("total, of C_max", total / found.map_or(f64::NAN, |found| found.1)),
        part("total, of C_max, in the simulator", ours / simulated.total_mbps),
        at_most("p95 in the access point, over its bound", sojourn_p95(inserted)? / longest_ms(population), 1.0),
        Figure {
            what: "least station, of the mean",
            value: least_part(inserted),
            bound: Bound::short_by_at_most(1.0 - FAIR),
        },
        conservation(run.result),
    ])
}

fn described(total: Option<(f64, bool)>) -> String {
    match total {
        Some((total, true)) => format!("{total:.3} Mb/s"),
        Some((total, false)) => format!("{total:.3} Mb/s, out of bounds"),
        None => "no valid run".into(),
    }
}

/// Bound of the 95th percentile of sojourn times in the access point, in milliseconds.
fn longest_ms([_, _, slow]: Population) -> f64 {
    A_54.sojourn_ms + f64::from(slow) * slowest_exchange_ms()
}

fn least_part(phase: &PhaseResult) -> f64 {
    let rates: Vec<f64> = phase.flows.iter().map(|flow| flow.ip_mbps).collect();
    rates.iter().copied().fold(f64::INFINITY, f64::min) / mean(&rates)
}

fn keeps_bounds(phase: &PhaseResult, population: Population) -> bool {
    let short = sojourn_p95(phase).is_ok_and(|p95| p95 <= longest_ms(population));
    short && least_part(phase) >= FAIR
}

/// A run of the testbed at a constant rate: its total, and whether it is within the bounds; `None` without a valid run.
fn measure(run: &Run<'_>, population: Population, step: i32, mbps: f64) -> Result<Option<(f64, bool)>> {
    for attempt in 0..=REPEATED {
        let scenario = Scenario { seed: run.scenario.seed, ..constant(population, mbps)? };
        let result = (run.testbed)(&scenario, &format!("step{step:+}-{attempt}"))?;
        if result.valid {
            let inserted = phase(&result, INSERTED);
            return Ok(Some((inserted.total_ip_mbps, keeps_bounds(inserted, population))));
        }
    }
    Ok(None)
}

/// The step with the highest value. Tries the steps around 0 first, then continues beyond the end at which the best one lies.
fn search(mut value: impl FnMut(i32) -> Result<Option<f64>>) -> Result<Option<(i32, f64)>> {
    let mut found: BTreeMap<i32, Option<f64>> = BTreeMap::new();
    let (mut low, mut high) = (-FIRST, FIRST);
    for step in low..=high {
        found.insert(step, value(step)?);
    }
    loop {
        let best = found.iter().filter_map(|(&step, &value)| Some((step, value?)));
        let best = best.max_by(|a, b| a.1.total_cmp(&b.1));
        let next = match best {
            Some((step, _)) if step == high && high < FARTHEST.0 => {
                high += 1;
                high
            }
            Some((step, _)) if step != low => return Ok(best),
            _ if low > -FARTHEST.1 => {
                low -= 1;
                low
            }
            _ => return Ok(best),
        };
        found.insert(next, value(next)?);
    }
}

/// Total of the manager in the simulator, and the best constant rate there.
fn simulate(population: Population) -> Result<(f64, Best)> {
    let seeds = |scenario: &Scenario| (1..=SEEDS).map(|seed| Scenario { seed, ..scenario.clone() }).collect::<Vec<_>>();
    let own = run_all(&seeds(&ours(population)?))?;
    let total = |result: &RunResult| phase(result, INSERTED).total_ip_mbps;
    let ours = mean(&own.iter().map(total).collect::<Vec<_>>());
    let steps = ((SIMULATED.1 / SIMULATED.0).ln() / STEP.ln()).ceil() as i32;
    let rates: Vec<f64> = (0..=steps).map(|step| ours * SIMULATED.0 * STEP.powi(step)).collect();
    let mut scenarios = Vec::new();
    for &rate in &rates {
        scenarios.extend(seeds(&constant(population, rate)?));
    }
    let results = run_all(&scenarios)?;
    let of_rate = |(&rate_mbps, results): (&f64, &[RunResult])| {
        let keeps = results.iter().all(|result| keeps_bounds(phase(result, INSERTED), population));
        let total_mbps = mean(&results.iter().map(total).collect::<Vec<_>>());
        keeps.then_some(Best { rate_mbps, total_mbps })
    };
    let all = rates.iter().zip(results.chunks(SEEDS as usize)).filter_map(of_rate);
    let best = all.max_by(|a, b| a.total_mbps.total_cmp(&b.total_mbps));
    Ok((ours, best.context("no constant rate keeps the bounds in the simulator")?))
}

/// Makes simulated runs on all cores; results come in the order of the scenarios.
fn run_all(scenarios: &[Scenario]) -> Result<Vec<RunResult>> {
    let run = |scenario| evenair_sim::run(scenario, |_| ()).context("the simulator refuses the scenario");
    scenarios.par_iter().map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best step for these values, and the number of steps tried.
    fn searched(value: impl Fn(i32) -> Option<f64>) -> (Option<i32>, usize) {
        let mut asked = 0;
        let found = search(|step| {
            asked += 1;
            Ok(value(step))
        });
        (found.expect("nothing fails").map(|found| found.0), asked)
    }

    #[test]
    fn the_best_is_found_within_and_beyond_the_first_steps() {
        let up_to = |limit: i32| move |step: i32| (step <= limit).then_some(f64::from(step));
        assert_eq!(searched(up_to(1)), (Some(1), 7));
        assert_eq!(searched(up_to(3)), (Some(3), 8), "one beyond the end, to know that it is none");
        assert_eq!(searched(up_to(5)), (Some(5), 10));
        assert_eq!(searched(up_to(-6)), (Some(-6), 11), "the one below it tells that it is the best");
        assert_eq!(searched(up_to(100)).0, Some(FARTHEST.0), "it ends");
        assert_eq!(searched(|_| None).0, None);
        assert_eq!(searched(|step| Some(-f64::from(step.abs()))), (Some(0), 7));
    }

    #[test]
    fn the_manager_comes_near_the_best_constant_rate_in_the_simulator_and_a_low_rate_does_not() {
        let population = POPULATIONS[1];
        let (ours, best) = simulate(population).expect("it can be simulated");
        assert!(ours >= PART * best.total_mbps, "{ours} of {best:?}");
        let low = run_all(&[constant(population, 0.9 * best.rate_mbps).expect("a right scenario")]).expect("it runs");
        assert!(phase(&low[0], INSERTED).total_ip_mbps < PART * best.total_mbps, "the canary");
    }
}
