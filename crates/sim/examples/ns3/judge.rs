//! Statistical comparison of the two simulators.
//!
//! For each value, the difference of the means over seeds and the half width of its 95 % interval (Welch, "The
//! generalization of Student's problem when several different population variances are involved", Biometrika 34, 1947).
//! They agree if the difference is at most the larger of band and half width. If the half width exceeds twice the band the
//! result is inconclusive, and counts as a failure.

use std::sync::atomic::{AtomicUsize, Ordering};

use evenair_results::estimate::{CONFIDENCE, half_width, student};
use evenair_results::stats::{deviation, mean};
use evenair_results::write_whole;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use serde::Serialize;

use super::case::{Band, Case, Got};
use super::ns3::Ns3;
use super::{Args, cases, ours, table};

/// Runs of ns-3 per case.
const SEEDS: u32 = 20;
/// Our runs per run of ns-3: they cost next to nothing.
const OURS_FOR_EACH: u32 = 5;
/// Concurrent runs of ns-3.
const JOBS: usize = 2;

/// Status of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Agree,
    Differ,
    /// Inconclusive: the interval is too wide.
    NoCase,
}

/// One value, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    pub case: String,
    pub what: String,
    pub ours: f64,
    pub ours_half_width: f64,
    pub ns3: f64,
    pub ns3_half_width: f64,
    pub difference: f64,
    pub half_width: f64,
    pub band: f64,
    pub verdict: Verdict,
    pub seeds: usize,
}

/// Runs and compares the selected cases; returns whether all agree.
pub fn validate(args: &Args) -> Result<bool, String> {
    let ns3 = Ns3::find().ok_or("ns-3 is not there; scripts/ns3 gets it")?;
    let seeds = args.seeds.unwrap_or(SEEDS).max(2);
    let wanted = |case: &Case| {
        (!args.short || case.in_short)
            && (args.cases.is_empty() || args.cases.iter().any(|name| case.name.starts_with(name.as_str())))
    };
    let cases: Vec<Case> = cases::all().into_iter().filter(wanted).collect();
    if cases.is_empty() {
        return Err("no such case; `ns3 list` has their names".into());
    }
    let theirs = run_all(&ns3, &cases, seeds, args.jobs.unwrap_or(JOBS))?;
    let mut judged = Vec::new();
    for (case, theirs) in cases.iter().zip(&theirs) {
        let ours = (1..=seeds * OURS_FOR_EACH).map(|seed| ours::run(case, seed)).collect::<Result<Vec<_>, _>>()?;
        judged.extend(compare(case, &ours, theirs));
    }
    print!("{}", table::table(&judged));
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&judged).map_err(|error| error.to_string())?;
        write_whole(path, text.as_bytes()).map_err(|error| error.to_string())?;
        println!("written: {}", path.display());
    }
    Ok(judged.iter().all(|value| value.verdict == Verdict::Agree))
}

/// ns-3's runs of every case, in the order of seeds, `jobs` at a time.
fn run_all(ns3: &Ns3, cases: &[Case], seeds: u32, jobs: usize) -> Result<Vec<Vec<Vec<Got>>>, String> {
    let todo: Vec<(usize, u32)> = (0..cases.len()).flat_map(|case| (1..=seeds).map(move |seed| (case, seed))).collect();
    let ended = AtomicUsize::new(0);
    let run = |&(case, seed): &(usize, u32)| {
        let run = ns3.run(&cases[case], seed)?;
        let count = ended.fetch_add(1, Ordering::Relaxed) + 1;
        eprint!("\rns-3: {count} of {} runs ({}){:20}\r", todo.len(), cases[case].name, "");
        Ok(run.got)
    };
    let pool = ThreadPoolBuilder::new().num_threads(jobs).build().map_err(|error| error.to_string())?;
    let done = pool.install(|| todo.par_iter().map(run).collect::<Result<Vec<_>, String>>());
    eprintln!();
    let mut runs = vec![Vec::new(); cases.len()];
    todo.iter().zip(done?).for_each(|(&(case, _), got)| runs[case].push(got));
    Ok(runs)
}

fn compare(case: &Case, ours: &[Vec<Got>], theirs: &[Vec<Got>]) -> Vec<Judged> {
    let values = |runs: &[Vec<Got>], metric: &super::case::Metric| -> Vec<f64> {
        runs.iter().map(|run| metric.what.of(run)).collect()
    };
    let judged = |metric| judge(metric, &values(ours, metric), &values(theirs, metric), &case.name);
    case.metrics.iter().map(judged).collect()
}

fn judge(metric: &super::case::Metric, ours: &[f64], ns3: &[f64], case: &str) -> Judged {
    let [a, b] = [ours, ns3].map(|values| mean(values.iter().copied()).unwrap_or(f64::NAN));
    let band = match metric.band {
        Band::Percent(percent) => b.abs() * percent / 100.0,
        Band::Absolute(band) => band,
    };
    let (difference, half_width_of_it) = (a - b, welch(ours, ns3));
    let own = |values| half_width(values, CONFIDENCE).unwrap_or(f64::NAN);
    Judged {
        case: case.to_owned(),
        what: metric.what.words(),
        ours: a,
        ours_half_width: own(ours),
        ns3: b,
        ns3_half_width: own(ns3),
        difference,
        half_width: half_width_of_it,
        band,
        verdict: verdict(difference, half_width_of_it, band),
        seeds: ns3.len(),
    }
}

/// NaN is inconclusive.
fn verdict(difference: f64, half_width: f64, band: f64) -> Verdict {
    if half_width.is_nan() || half_width > 2.0 * band {
        Verdict::NoCase
    } else if difference.abs() <= band.max(half_width) {
        Verdict::Agree
    } else {
        Verdict::Differ
    }
}

/// Half width of the 95 % interval of the difference of two means.
fn welch(a: &[f64], b: &[f64]) -> f64 {
    let part = |values: &[f64]| {
        let n = values.len() as f64;
        let variance = deviation(values).unwrap_or(f64::NAN).powi(2) / n;
        (variance, variance * variance / (n - 1.0))
    };
    let ((va, fa), (vb, fb)) = (part(a), part(b));
    if va + vb == 0.0 {
        return 0.0;
    }
    if (va + vb).is_nan() {
        return f64::NAN;
    }
    student(CONFIDENCE, (va + vb).powi(2) / (fa + fb)) * (va + vb).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_difference_by_hand() {
        // Variances 2.5 and 10 over five: 0.5 + 2 = 2.5; freedom 6.25 / (0.0625 + 1) = 5.88; t = 2.459.
        let half_width = welch(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 4.0, 6.0, 8.0, 10.0]);
        assert!((half_width - 2.459 * 2.5f64.sqrt()).abs() < 2e-3, "{half_width}");
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), 0.0);
        assert!(welch(&[1.0], &[2.0, 3.0]).is_nan());
    }

    #[test]
    fn verdicts() {
        assert_eq!(verdict(0.9, 0.1, 1.0), Verdict::Agree);
        assert_eq!(verdict(-1.1, 0.1, 1.0), Verdict::Differ);
        assert_eq!(verdict(-1.1, 1.2, 1.0), Verdict::Agree);
        assert_eq!(verdict(0.0, 2.1, 1.0), Verdict::NoCase);
        assert_eq!(verdict(0.0, f64::NAN, 1.0), Verdict::NoCase);
        assert_eq!(verdict(f64::NAN, 0.1, 1.0), Verdict::Differ);
    }
}
