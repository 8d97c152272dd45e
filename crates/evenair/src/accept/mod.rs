//! `evenair accept`: every promised figure, measured and printed beside its bound.
//!
//! A case is a scenario, run several times on the testbed, and the figures read off each run. A run that the testbed
//! itself calls invalid (it could not keep real time) is printed and repeated, since its numbers say nothing about the
//! manager; more than one such run in five fails the case.

mod cases;
mod check;
mod figures;
mod radio;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use clap::Args;
use evenair_scenario::Scenario;
use evenair_testbed::TestbedOptions;

use self::cases::{Case, Run};
use self::check::{Figure, Judged, judge};
use crate::commands::testbed::{options, run_scenario};
use crate::output;

/// Of this many runs at most one may be invalid.
const RUNS_PER_INVALID: usize = 5;
/// Of the CPU times in /proc: 100 on every Linux (USER_HZ).
const TICKS_PER_SECOND: f64 = 100.0;

/// What `evenair accept` is told.
#[derive(Args)]
pub struct AcceptArgs {
    /// Only these cases, by name (all where none is given)
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// Runs of each case
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// One short run of three cases, held to twice the bands: what continuous integration runs
    #[arg(long)]
    short: bool,
    /// List the cases and do nothing
    #[arg(long)]
    list: bool,
    /// Where each run's results go, in a directory of their own
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
}

/// One case, measured.
struct Outcome {
    name: &'static str,
    judged: Vec<Judged>,
    invalid: usize,
    holds: bool,
}

/// Measures the cases that `args` names and prints the table.
pub fn accept(args: &AcceptArgs) -> Result<ExitCode> {
    let cases = chosen(args)?;
    if args.list {
        for case in &cases {
            println!("{:<14} {}", case.name, case.title);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let options = options()?;
    let directory = output::new_directory(&args.out, "accept")?;
    println!("results of every run go to {}", directory.display());
    let mut outcomes = Vec::new();
    for case in &cases {
        let outcome = measure(case, args, &options, &directory)?;
        print_outcome(&outcome);
        outcomes.push(outcome);
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.holds).count();
    println!("\n{} cases hold, {failed} do not", outcomes.len() - failed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(args: &AcceptArgs) -> Result<Vec<Case>> {
    let all = cases::all();
    for name in &args.only {
        if !all.iter().any(|case| case.name == name) {
            let names: Vec<&str> = all.iter().map(|case| case.name).collect();
            bail!("there is no case called {name}; there are: {}", names.join(", "));
        }
    }
    let wanted = |case: &Case| {
        if args.only.is_empty() { !args.short || case.in_short } else { args.only.iter().any(|name| case.name == name) }
    };
    Ok(all.into_iter().filter(wanted).collect())
}

/// Runs one case as often as asked, invalid runs aside.
fn measure(case: &Case, args: &AcceptArgs, options: &TestbedOptions, directory: &Path) -> Result<Outcome> {
    let runs = if args.short { 1 } else { (args.runs as usize).min(case.most_runs) };
    let allowed_invalid = runs.div_ceil(RUNS_PER_INVALID);
    println!("\n{}: {}", case.name, case.title);
    let mut measured: Vec<Vec<Figure>> = Vec::new();
    let mut invalid = 0;
    for number in 1.. {
        let mut scenario = (case.make)(args.short)?;
        scenario.seed = number;
        match run_once(case, &scenario, options, directory)? {
            Some(figures) => measured.push(figures),
            None => invalid += 1,
        }
        if measured.len() == runs || invalid > allowed_invalid {
            break;
        }
    }
    if args.short {
        measured.iter_mut().flatten().for_each(|figure| figure.bound = figure.bound.doubled());
    }
    let judged = judge(&measured);
    let holds = invalid <= allowed_invalid && !judged.is_empty() && judged.iter().all(|figure| figure.holds);
    Ok(Outcome { name: case.name, judged, invalid, holds })
}

/// One run: its figures, or none where the run is invalid.
fn run_once(
    case: &Case,
    scenario: &Scenario,
    options: &TestbedOptions,
    directory: &Path,
) -> Result<Option<Vec<Figure>>> {
    let cpu_before = cpu_seconds()?;
    let result = run_scenario(scenario, options, true)?;
    let cpu_share = (cpu_seconds()? - cpu_before) / scenario.duration.as_secs_f64();
    if options.cancel.load(Ordering::Relaxed) {
        bail!("cancelled");
    }
    let number = scenario.seed;
    let run_directory = directory.join(format!("{}-{number}", case.name));
    std::fs::create_dir(&run_directory)?;
    output::write(&run_directory, &result)?;
    if !result.valid {
        println!("  run {number}: INVALID, repeated: {}", result.invalid_because.join("; "));
        return Ok(None);
    }
    let figures = (case.figures)(&Run { scenario, result: &result, cpu_share })?;
    let values: Vec<String> = figures.iter().map(|figure| format!("{:.4}", figure.value)).collect();
    println!("  run {number}: {}", values.join("  "));
    Ok(Some(figures))
}

/// CPU time that this process has taken, in the kernel and outside.
fn cpu_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("cannot read /proc/self/stat")?;
    // proc(5): the second field, the program's name, may hold spaces; user and system time are the 14th and 15th.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: Vec<f64> =
        after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
}

fn print_outcome(outcome: &Outcome) {
    for figure in &outcome.judged {
        let verdict = if figure.holds { "holds" } else { "FAILS" };
        let values: Vec<String> = figure.values.iter().map(|value| format!("{value:.4}")).collect();
        println!(
            "  {verdict}  {:<58} median {:>8.4}   bound {}   runs {}",
            figure.what,
            figure.median,
            figure.bound.describe(),
            values.join(" ")
        );
    }
    let verdict = if outcome.holds { "HOLDS" } else { "DOES NOT HOLD" };
    println!("  {} {verdict} ({} invalid runs)", outcome.name, outcome.invalid);
}
