//! The same experiment from several seeds, on all cores: means with confidence intervals of every measure.
//!
//! The engine is a closure from a seed to a result, so that this serves the simulator and the testbed alike (a testbed
//! wants one thread). Replication `k` has the seed `first_seed + k`.
//!
//! A plan may have a stopping rule: replications continue until the interval of each named measure is narrow enough. The result
//! does not depend on threads: the rule is evaluated after each replication in the order of the seeds, and later replications
//! are discarded. Stopping because an interval happens to be narrow slightly reduces its coverage (Law, "Simulation Modeling
//! and Analysis", 9.4.1; asymptotically it does not matter: Chow and Robbins, Ann. Math. Stat. 36, 1965). The minimum number of
//! replications keeps this effect small; for published figures, use a fixed number.
//!
//! Only the measures of a replication are kept, so that memory does not depend on the size of a run's results.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;

use evenair_reader::{closest, did_you_mean};
use serde::{Deserialize, Serialize};

use super::estimate::{CONFIDENCE, Estimate};
use super::{RunResult, scalars};

/// Fewest replications before a sequential plan may stop, unless it says otherwise.
pub const LEAST: u32 = 10;
/// Most replications of a sequential plan, unless it says otherwise.
pub const MOST: u32 = 1000;

/// Number of replications and their seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Seed of the first replication; the others count up from it.
    pub first_seed: u64,
    /// Minimum number of replications; at least one.
    pub least: u32,
    /// Maximum number of replications.
    pub most: u32,
    /// Stopping rule between the two; without one, `most` replications.
    pub until: Option<Until>,
    /// Confidence of the intervals, between 0 and 1.
    pub confidence: f64,
    /// Number of concurrent replications; at least one.
    pub threads: usize,
}

/// Stopping rule of a sequential plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Until {
    /// Upper limit of the interval's half-width, relative to the mean.
    pub relative_half_width: f64,
    /// Full names of the measures that must meet the limit.
    pub measures: Vec<String>,
}

impl Plan {
    /// A fixed number of replications, 95 % intervals, on all cores.
    pub fn fixed(first_seed: u64, replications: u32) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { first_seed, least: replications, most: replications, until: None, confidence: CONFIDENCE, threads }
    }

    /// Replications until the intervals are narrow enough, within the usual limits.
    pub fn sequential(first_seed: u64, until: Until) -> Self {
        Self { least: LEAST, until: Some(until), ..Self::fixed(first_seed, MOST) }
    }
}

/// Results of the replications.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replications {
    /// Short name of the scenario.
    pub scenario: String,
    /// One line for headings.
    pub title: String,
    /// "testbed" or "sim".
    pub engine: String,
    /// Version of the program.
    pub version: String,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Seeds of the replications that count, in order.
    pub seeds: Vec<u64>,
    /// Seeds of invalid replications, which do not count.
    pub invalid_seeds: Vec<u64>,
    /// Whether a sequential plan reached its width; absent where the number was fixed.
    pub reached: Option<bool>,
    /// Every measure that any replication had, in the order of the first that had it.
    pub estimates: Vec<Estimate>,
}

impl Replications {
    /// The estimate of a measure by its full name.
    pub fn estimate(&self, name: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|estimate| estimate.name == name)
    }
}

/// Progress of replications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advance {
    /// Completed replications.
    pub done: u32,
    /// Maximum number.
    pub most: u32,
    /// Largest relative half-width among the measures of a sequential plan, if known.
    pub widest: Option<f64>,
}

/// Why there are no estimates.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum ReplicateError<E> {
    /// A run failed.
    #[error("{0}")]
    Run(E),
    /// A measure that the plan names is not among those of the first valid replication.
    #[error("no measure \"{name}\" in the results{}", did_you_mean(.near.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// The nearest existing name.
        near: Option<String>,
    },
}

/// The part of a replication that is kept.
#[derive(Clone, Debug)]
struct Kept {
    seed: u64,
    valid: bool,
    scalars: Vec<(String, f64)>,
    /// Scenario, title, engine, version.
    names: [String; 4],
}

impl Kept {
    fn of(seed: u64, run: RunResult) -> Self {
        let scalars = scalars(&run);
        Self { seed, valid: run.valid, scalars, names: [run.scenario, run.title, run.engine, run.version] }
    }
}

/// Executes a plan. `run` makes the run of a seed; `advance` is called after each replication, in the order of seeds.
///
/// # Errors
/// The first failed run, in the order of seeds; an unknown measure.
///
/// # Panics
/// `run` panics, or the plan's confidence is not between 0 and 1.
pub fn replicate<E: Send>(
    plan: &Plan,
    run: impl Fn(u64) -> Result<RunResult, E> + Sync,
    mut advance: impl FnMut(Advance),
) -> Result<Replications, ReplicateError<E>> {
    let most = plan.most.max(plan.least).max(1);
    let (next, stop) = (AtomicU32::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..plan.threads.clamp(1, most as usize) {
            let (sender, next, stop, run) = (sender.clone(), &next, &stop, &run);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= most {
                        break;
                    }
                    let seed = plan.first_seed.wrapping_add(u64::from(number));
                    let kept = run(seed).map(|result| Kept::of(seed, result));
                    // The receiver is dropped once the plan has ended.
                    let _ = sender.send((number, kept));
                }
            });
        }
        drop(sender);
        let outcome = collect(plan, most, receiver.iter(), &mut advance);
        stop.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Sorts replications by seed, and applies the stopping rule.
fn collect<E>(
    plan: &Plan,
    most: u32,
    arrivals: impl Iterator<Item = (u32, Result<Kept, E>)>,
    advance: &mut impl FnMut(Advance),
) -> Result<Replications, ReplicateError<E>> {
    let mut early = BTreeMap::new();
    let mut kept: Vec<Kept> = Vec::new();
    let mut reached = false;
    'plan: for (number, outcome) in arrivals {
        early.insert(number, outcome);
        while let Some(outcome) = early.remove(&(kept.len() as u32)) {
            kept.push(outcome.map_err(ReplicateError::Run)?);
            check_measures(plan, &kept)?;
            let widest = plan.until.as_ref().and_then(|until| widest(until, &kept, plan.confidence));
            let done = kept.len() as u32;
            advance(Advance { done, most, widest });
            reached = match (&plan.until, widest) {
                (Some(until), Some(widest)) => widest <= until.relative_half_width,
                _ => false,
            };
            if done >= plan.least && reached || done >= most {
                break 'plan;
            }
        }
    }
    Ok(summarise(plan, &kept, plan.until.as_ref().map(|_| reached)))
}

/// Reported at the first valid replication rather than after the last.
fn check_measures<E>(plan: &Plan, kept: &[Kept]) -> Result<(), ReplicateError<E>> {
    let mut valid = kept.iter().filter(|kept| kept.valid);
    let (Some(until), Some(first), None) = (&plan.until, valid.next(), valid.next()) else { return Ok(()) };
    let known = |name: &String| first.scalars.iter().any(|(known, _)| known == name);
    let Some(name) = until.measures.iter().find(|name| !known(name)) else { return Ok(()) };
    let near = closest(name, first.scalars.iter().map(|(name, _)| name.as_str())).map(str::to_owned);
    Err(ReplicateError::Unknown { name: name.clone(), near })
}

/// Largest relative half-width; `None` while a measure has no interval.
fn widest(until: &Until, kept: &[Kept], confidence: f64) -> Option<f64> {
    let mut widest: f64 = 0.0;
    for name in &until.measures {
        let width = Estimate::of(name, values(name, kept), confidence)?.relative_half_width()?;
        widest = widest.max(width);
    }
    Some(widest)
}

/// A measure's value in each valid replication.
fn values(name: &str, kept: &[Kept]) -> Vec<Option<f64>> {
    let valid = kept.iter().filter(|kept| kept.valid);
    valid.map(|kept| kept.scalars.iter().find(|(known, _)| known == name).map(|&(_, value)| value)).collect()
}

fn summarise(plan: &Plan, kept: &[Kept], reached: Option<bool>) -> Replications {
    let valid = || kept.iter().filter(|kept| kept.valid);
    let count = valid().count();
    // Names are sorted by their first appearance.
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut columns: Vec<(&str, Vec<Option<f64>>)> = Vec::new();
    for (row, kept) in valid().enumerate() {
        for (name, value) in &kept.scalars {
            let place = *places.entry(name).or_insert_with(|| {
                columns.push((name, vec![None; count]));
                columns.len() - 1
            });
            columns[place].1[row] = Some(*value);
        }
    }
    let [scenario, title, engine, version] = kept.first().map(|kept| kept.names.clone()).unwrap_or_default();
    let estimate = |(name, values)| Estimate::of(name, values, plan.confidence);
    Replications {
        scenario,
        title,
        engine,
        version,
        confidence: plan.confidence,
        seeds: valid().map(|kept| kept.seed).collect(),
        invalid_seeds: kept.iter().filter(|kept| !kept.valid).map(|kept| kept.seed).collect(),
        reached,
        estimates: columns.into_iter().filter_map(estimate).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// A run whose total is a known function of the seed.
    fn run(seed: u64) -> Result<RunResult, String> {
        let (_, mut run) = sample::two_flows();
        run.phases[0].total_ip_mbps = 10.0 + (seed % 4) as f64;
        run.phases[1].jain_flows = seed.is_multiple_of(2).then_some(0.5);
        Ok(run)
    }

    fn until(relative_half_width: f64, measure: &str) -> Plan {
        let until = Until { relative_half_width, measures: vec![measure.to_owned()] };
        Plan { least: 4, most: 60, ..Plan::sequential(0, until) }
    }

    #[test]
    fn a_fixed_number_gives_the_mean_and_its_interval() {
        let mut reported = Vec::new();
        let all = replicate(&Plan::fixed(8, 4), run, |advance| reported.push(advance.done)).unwrap();
        assert_eq!((all.seeds.as_slice(), all.reached), ([8, 9, 10, 11].as_slice(), None));
        assert_eq!(reported, [1, 2, 3, 4]);
        let total = all.estimate("phase.bypassed.total_ip_mbps").unwrap();
        assert_eq!(total.values, [10.0, 11.0, 12.0, 13.0].map(Some));
        // s = 1.29099, t(3) = 3.1824: 3.1824 * 1.29099 / 2.
        assert!((total.mean - 11.5).abs() < 1e-12 && (total.half_width.unwrap() - 2.0543).abs() < 1e-3);
        let jain = all.estimate("phase.inserted.jain_flows").unwrap();
        assert_eq!((jain.count, jain.mean), (2, 0.5));
    }

    #[test]
    fn a_sequential_plan_stops_at_the_first_that_is_narrow_enough_whatever_the_threads() {
        let plan = until(0.05, "phase.bypassed.total_ip_mbps");
        let of = |threads, most| replicate(&Plan { threads, most, ..plan.clone() }, run, |_| ()).unwrap();
        let one = of(1, 60);
        assert_eq!(one.reached, Some(true));
        assert_eq!(of(3, 60), one);
        let n = one.seeds.len();
        let width = |all: &Replications| all.estimate("phase.bypassed.total_ip_mbps")?.relative_half_width();
        assert!(n > 4 && width(&one).unwrap() <= 0.05);
        // One replication less is not enough.
        let fewer = of(2, n as u32 - 1);
        assert_eq!(fewer.reached, Some(false));
        assert!(width(&fewer).unwrap() > 0.05);
    }

    #[test]
    fn a_measure_that_does_not_exist_is_reported_at_once() {
        let error = replicate(&until(0.1, "phase.bypassed.totl_ip_mbps"), run, |_| ()).unwrap_err();
        let expected = "no measure \"phase.bypassed.totl_ip_mbps\" in the results; \
                        did you mean \"phase.bypassed.total_ip_mbps\"?";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn the_first_failure_ends_it_and_invalid_runs_do_not_count() {
        let fails = |seed| if seed == 3 { Err("no".to_owned()) } else { run(seed) };
        let error = replicate(&Plan::fixed(0, 40), fails, |_| ()).unwrap_err();
        assert_eq!(error, ReplicateError::Run("no".to_owned()));
        let late = |seed| run(seed).map(|run| RunResult { valid: seed != 1, ..run });
        let all = replicate(&Plan::fixed(0, 4), late, |_| ()).unwrap();
        assert_eq!((all.seeds, all.invalid_seeds), (vec![0, 2, 3], vec![1]));
    }
}
