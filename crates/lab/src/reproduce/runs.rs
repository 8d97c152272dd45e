//! The variants of a scenario that an experiment runs, and the figures of their runs.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::mem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use evenair_results::{FlowResult, FlowSeries, PhaseResult, RunResult, Series, scalars};
use evenair_scenario::Scenario;
use evenair_workload::Direction;
use rayon::prelude::*;

use super::judge::Ours;

/// A scenario with some of its values changed, run from several seeds.
#[derive(Clone, Debug)]
pub struct Variant {
    pub label: String,
    pub sets: Vec<(String, String)>,
    pub seeds: u64,
}

impl Variant {
    /// `label` names the variant in evidence.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), sets: Vec::new(), seeds: 1 }
    }

    /// Sets a key, as `--set KEY=VALUE` on the command line.
    pub fn set(mut self, key: &str, value: impl Display) -> Self {
        self.sets.push((key.to_owned(), value.to_string()));
        self
    }

    /// Sets the number of seeds, which count up from that of the file.
    pub fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// The scenario of one seed.
    ///
    /// # Errors
    /// The scenario is invalid.
    pub fn scenario(&self, text: &str, file: &str, replication: u64) -> Result<Scenario> {
        let sets: Vec<_> = self.sets.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let mut scenario =
            Scenario::parse_with(text, file, &sets).with_context(|| format!("{file}, variant \"{}\"", self.label))?;
        scenario.seed += replication;
        Ok(scenario)
    }
}

/// Lengths of the windows of short-term fairness, in seconds.
pub const WINDOWS: [f64; 2] = [1.0, 10.0];

/// One run, as the evidence needs it.
#[derive(Debug)]
pub struct Run {
    /// The result without its series, to save memory.
    pub result: RunResult,
    /// Minimum over maximum IP-level rate of the flows in each [window](WINDOWS) of the first phase, averaged over the windows.
    pub short_term: [f64; WINDOWS.len()],
    /// IP-level throughput of all flows per interval, in Mb/s.
    pub totals: Vec<f64>,
    /// Variance of the sum of all uploads relative to the sum of their variances, over the intervals of the first phase: 1 if
    /// they are independent, their number if they are in step.
    pub uploads_in_step: f64,
    scalars: BTreeMap<String, f64>,
}

impl Run {
    fn new(mut result: RunResult) -> Self {
        let scalars = scalars(&result).into_iter().collect();
        let (short_term, totals) = (WINDOWS.map(|window| short_term(&result, window)), totals(&result.series));
        let uploads_in_step = in_step(&rates_by_interval(&result, |flow| flow.direction == Direction::Up));
        result.series = Series::default();
        Self { result, short_term, totals, uploads_in_step, scalars }
    }

    /// A phase by its name; the first one if empty.
    ///
    /// # Panics
    /// The scenario has no such phase.
    pub fn phase(&self, name: &str) -> &PhaseResult {
        let mut phases = self.result.phases.iter();
        phases.find(|phase| name.is_empty() || phase.name == name).expect("a judge names phases of its scenario")
    }

    /// A measure of docs/measures.md by its full name; NaN if the run has none.
    pub fn measure(&self, name: &str) -> f64 {
        self.scalars.get(name).copied().unwrap_or(f64::NAN)
    }

    /// The flows of one direction in a phase.
    pub fn flows(&self, phase: &str, direction: Direction) -> impl Iterator<Item = &FlowResult> {
        self.phase(phase).flows.iter().filter(move |flow| flow.direction == direction)
    }

    /// IP-level rates of the flows of one direction.
    pub fn rates(&self, phase: &str, direction: Direction) -> Vec<f64> {
        self.flows(phase, direction).map(|flow| flow.ip_mbps).collect()
    }

    /// IP-level rates of the applications whose names begin with `group`.
    pub fn rates_of(&self, phase: &str, group: &str) -> Vec<f64> {
        let flows = self.phase(phase).flows.iter().filter(|flow| flow.app.starts_with(group));
        flows.map(|flow| flow.ip_mbps).collect()
    }

    /// Downloads' proportion of the total.
    pub fn down_share(&self, phase: &str) -> f64 {
        let phase = self.phase(phase);
        phase.directions.down_ip_mbps / phase.total_ip_mbps
    }
}

/// The rates of the selected flows in each interval of the first phase.
fn rates_by_interval(result: &RunResult, is_asked: impl Fn(&FlowSeries) -> bool) -> Vec<Vec<f64>> {
    let (Some(phase), series) = (result.phases.first(), &result.series) else { return Vec::new() };
    let flows: Vec<_> = series.flows.iter().filter(|flow| is_asked(flow)).collect();
    let interval = |second: f64| (second / series.interval_s).round() as usize;
    let at = |k: usize| flows.iter().map(|flow| flow.ip_mbps.get(k).copied().unwrap_or(0.0)).collect();
    (interval(phase.from_s)..interval(phase.to_s)).map(at).collect()
}

fn short_term(result: &RunResult, window_s: f64) -> f64 {
    let intervals = (window_s / result.series.interval_s).round() as usize;
    equality_in_windows(&rates_by_interval(result, |_| true), intervals.max(1))
}

/// Variance of the sums relative to the sum of the variances; NaN if nothing varies.
fn in_step(rates: &[Vec<f64>]) -> f64 {
    let variance = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>()
    };
    let sums: Vec<f64> = rates.iter().map(|flows| flows.iter().sum()).collect();
    let flows = rates.first().map_or(0, Vec::len);
    let own = (0..flows).map(|flow| variance(&rates.iter().map(|rates| rates[flow]).collect::<Vec<_>>()));
    variance(&sums) / own.sum::<f64>()
}

/// Minimum over maximum of the flows' sums in each full window of `intervals`, averaged over the windows. `rates` has one entry
/// per interval.
fn equality_in_windows(rates: &[Vec<f64>], intervals: usize) -> f64 {
    let windows = rates.chunks_exact(intervals).map(|window| {
        let flows = window[0].len();
        let sums: Vec<f64> = (0..flows).map(|flow| window.iter().map(|rates| rates[flow]).sum()).collect();
        min_over_max(&sums)
    });
    mean(&windows.collect::<Vec<_>>())
}

fn totals(series: &Series) -> Vec<f64> {
    let intervals = series.flows.iter().map(|flow| flow.ip_mbps.len()).max().unwrap_or(0);
    (0..intervals).map(|k| series.flows.iter().filter_map(|flow| flow.ip_mbps.get(k)).sum()).collect()
}

/// Minimum over maximum; NaN without values.
pub fn min_over_max(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    least / most
}

/// Standard deviation (population) over mean.
pub fn sigma_over_mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    variance.sqrt() / mean
}

/// The mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// All runs of an experiment by their variant's label.
#[derive(Debug, Default)]
pub struct Runs(BTreeMap<String, Vec<Run>>);

impl Runs {
    /// The runs of a variant, in the order of seeds.
    ///
    /// # Panics
    /// The experiment has no such variant.
    pub fn of(&self, label: &str) -> &[Run] {
        self.0.get(label).unwrap_or_else(|| panic!("the experiment has no variant {label:?}"))
    }

    /// Mean and interval over a variant's seeds.
    ///
    /// # Panics
    /// As [`Runs::of`].
    pub fn mean(&self, label: &str, value: impl Fn(&Run) -> f64) -> Ours {
        Ours::over(self.of(label).iter().map(value).collect())
    }

    /// Mean and interval of a number that compares two variants, seed by seed.
    ///
    /// # Panics
    /// As [`Runs::of`].
    pub fn mean_of_both(&self, first: &str, second: &str, value: impl Fn(&Run, &Run) -> f64) -> Ours {
        Ours::over(self.of(first).iter().zip(self.of(second)).map(|(a, b)| value(a, b)).collect())
    }
}

/// The runs of one experiment.
pub struct Work<'a> {
    pub text: &'a str,
    pub file: &'a str,
    pub variants: Vec<Variant>,
}

/// The runs of an experiment that have ended, by variant and seed.
type Ended = Mutex<BTreeMap<(usize, u64), Run>>;

/// Runs all variants of all experiments on all cores, in their order, so that few experiments are under way at a time. `done` is
/// called after each run with the number of completed runs and of all, `judge` with the number of an experiment as soon as all
/// of its runs have ended. Returns what `judge` did, in the order of the experiments.
///
/// # Errors
/// Those of `judge`, and scenarios that cannot be run.
pub fn run_all<R: Send>(
    work: &[Work<'_>],
    done: impl Fn(usize, usize) + Sync,
    judge: impl Fn(usize, &Runs) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let of = |(number, work): (usize, &Work<'_>)| -> Vec<_> {
        let variants = work.variants.iter().enumerate();
        variants.flat_map(|(place, variant)| (0..variant.seeds).map(move |seed| (number, place, seed))).collect()
    };
    let jobs: Vec<Vec<(usize, usize, u64)>> = work.iter().enumerate().map(of).collect();
    let all = jobs.iter().map(Vec::len).sum();
    let finished = AtomicUsize::new(0);
    let ended: Vec<Ended> = work.iter().map(|_| Ended::default()).collect();
    let run = |&(number, place, replication): &(usize, usize, u64)| -> Result<Option<(usize, R)>> {
        let run = one(&work[number], &work[number].variants[place], replication)?;
        done(finished.fetch_add(1, Ordering::Relaxed) + 1, all);
        let all_ended = {
            let mut runs = ended[number].lock().expect("no thread panics with it");
            runs.insert((place, replication), run);
            (runs.len() == jobs[number].len()).then(|| mem::take(&mut *runs))
        };
        all_ended.map(|runs| Ok((number, judge(number, &by_label(&work[number], runs))?))).transpose()
    };
    // Not `par_iter`, which halves the list.
    let judged = jobs.iter().flatten().par_bridge().filter_map(|job| run(job).transpose());
    let mut judged = judged.collect::<Result<BTreeMap<usize, R>>>()?;
    let of_each = |number| judged.remove(&number).map_or_else(|| judge(number, &Runs::default()), Ok);
    (0..work.len()).map(of_each).collect()
}

fn by_label(work: &Work<'_>, runs: BTreeMap<(usize, u64), Run>) -> Runs {
    let mut all = Runs::default();
    for ((place, _), run) in runs {
        all.0.entry(work.variants[place].label.clone()).or_default().push(run);
    }
    all
}

fn one(work: &Work<'_>, variant: &Variant, replication: u64) -> Result<Run> {
    let scenario = variant.scenario(work.text, work.file, replication)?;
    let result =
        evenair_sim::run(&scenario, |_| ()).with_context(|| format!("{}, variant \"{}\"", work.file, variant.label))?;
    Ok(Run::new(result))
}

/// The threshold of a sweep: the first of `points` at which `is_so`; NaN without any.
pub fn first_where(points: &[u32], is_so: impl Fn(u32) -> bool) -> Ours {
    Ours::exactly(points.iter().copied().find(|&point| is_so(point)).map_or(f64::NAN, f64::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_in_step_vary_together_and_flows_that_take_turns_do_not() {
        assert_eq!(in_step(&[vec![1.0, 1.0], vec![4.0, 4.0]]), 2.0);
        assert_eq!(in_step(&[vec![1.0, 4.0], vec![4.0, 1.0]]), 0.0);
        let independent = [vec![1.0, 1.0], vec![1.0, 4.0], vec![4.0, 1.0], vec![4.0, 4.0]];
        assert_eq!(in_step(&independent), 1.0);
    }

    #[test]
    fn flows_that_take_turns_are_equal_in_long_windows_and_not_in_short_ones() {
        let turns: Vec<_> = (0..8).map(|k| if k % 2 == 0 { vec![1.0, 4.0] } else { vec![4.0, 1.0] }).collect();
        assert_eq!(equality_in_windows(&turns, 1), 0.25);
        assert_eq!(equality_in_windows(&turns, 2), 1.0);
        let with_rest = [turns, vec![vec![0.0, 9.0]]].concat();
        assert_eq!(equality_in_windows(&with_rest, 2), 1.0, "a window that is not full does not count");
    }
}
