//! `evenair accept`: measures every promised figure and prints it beside its bound.
//!
//! A case is a scenario, run several times on the testbed, and the figures of each run. A run that the testbed marks as invalid
//! (it could not keep real time) is printed and repeated, since its numbers do not describe the manager; more than one such run
//! in five fails the case. The short form accepts a slightly late run, with bounds narrowed by the lost part of the time. A run
//! with a fault of the box is never repeated: it fails the case.

mod adwiser;
mod best;
mod calls;
mod case;
mod cases;
mod check;
mod figures;
mod groups;
mod kept;
mod load;
mod pages;
mod promises;
mod radio;
mod receiver;
mod simulated;
mod stations;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use clap::Args;
use evenair_results::RunResult;
use evenair_scenario::Scenario;
use evenair_testbed::TestbedOptions;
use evenair_testbed::lateness::IDLE_LIMIT_PPM;

use self::case::{Case, Run};
use self::check::{Figure, Judged, judge};
use crate::commands::testbed::{options, run_scenario};
use crate::output;

/// Number of runs per tolerated invalid one.
const RUNS_PER_INVALID: usize = 5;
/// Number of late runs that the short form repeats: it runs on machines that may be shared.
const SHORT_INVALID: usize = 3;
/// Largest idle time due to lateness, in thousandths of the run, that the short form accepts.
const SHORT_IDLE_PERMILLE: f64 = 10.0;
/// Limit, in thousandths, above which the testbed marks a run as invalid.
const IDLE_LIMIT_PERMILLE: f64 = IDLE_LIMIT_PPM as f64 / 1_000.0;
/// Unit of CPU times in /proc: USER_HZ, 100 on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Arguments of `evenair accept`.
#[derive(Args)]
pub struct AcceptArgs {
    /// Only these cases, by name (all where none is given)
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// Only the cases of this group, which takes 25 minutes at most
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["only", "short"])]
    group: Option<String>,
    /// Runs of each case (5, and fewer of those that take long)
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: Option<u32>,
    /// One short run of four cases, held to twice the bands: what continuous integration runs
    #[arg(long)]
    short: bool,
    /// List the cases with their groups and the minutes that a run takes, and do nothing
    #[arg(long)]
    list: bool,
    /// List the groups and do nothing
    #[arg(long)]
    list_groups: bool,
    /// Go on in this directory of an earlier call: runs that are there whole, of the same version, are not made again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "short"])]
    resume: Option<PathBuf>,
    /// Where each run's results go, in a directory of their own
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
}

/// The measurements of one case.
struct Outcome {
    name: &'static str,
    judged: Vec<Judged>,
    invalid: usize,
    box_at_fault: usize,
    holds: bool,
}

/// Measures the cases that `args` names and prints the table.
pub fn accept(args: &AcceptArgs) -> Result<ExitCode> {
    let cases = chosen(args)?;
    if args.list {
        for case in &cases {
            let minutes = f64::from(case.runs_each) * (case.make)(args.short)?.duration.as_secs_f64() / 60.0;
            println!("{:<14} {:<16} {minutes:>5.1} min  {}", case.name, groups::group_of(case.name), case.title);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.list_groups {
        groups::GROUPS.iter().for_each(|group| println!("{}", group.name));
        return Ok(ExitCode::SUCCESS);
    }
    let options = options()?;
    let directory = match &args.resume {
        Some(directory) => directory.clone(),
        None => output::new_directory(&args.out, "accept")?,
    };
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
    if let Some(group) = &args.group {
        return groups::cases_of(group, all);
    }
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

/// Runs a case the requested number of times, not counting invalid runs.
fn measure(case: &Case, args: &AcceptArgs, options: &TestbedOptions, directory: &Path) -> Result<Outcome> {
    let runs = if args.short { 1 } else { args.runs.unwrap_or(groups::runs_of(case.name)) as usize };
    let allowed_invalid = if args.short { SHORT_INVALID } else { runs.div_ceil(RUNS_PER_INVALID) };
    println!("\n{}: {}", case.name, case.title);
    let mut measured: Vec<Vec<Figure>> = Vec::new();
    let (mut invalid, mut box_at_fault) = (0, 0);
    for number in 1.. {
        let mut scenario = (case.make)(args.short)?;
        scenario.seed = number;
        let (result, cpu_share) = run_once(case, &scenario, options, directory)?;
        box_at_fault += usize::from(!result.box_faults.is_empty());
        let moved = if args.short { late_part(&result) } else { None };
        if is_repeated(&result) && moved.is_none() {
            println!("  run {number}: INVALID, repeated: {}", result.invalid_because.join("; "));
            invalid += 1;
        } else {
            let testbed = |scenario: &Scenario, which: &str| run_another(case, scenario, which, options, directory);
            let run = Run { scenario: &scenario, result: &result, cpu_share, testbed: &testbed };
            let mut figures = (case.figures)(&run)?;
            if args.short {
                figures.iter_mut().for_each(|figure| figure.bound = figure.bound.doubled());
            }
            if let Some(part) = moved {
                println!("  run {number}: LATE, held to narrower bounds: {}", result.invalid_because.join("; "));
                figures.iter_mut().for_each(|figure| figure.bound = figure.bound.narrowed(part));
            }
            print_run(number, &result, &figures);
            measured.push(figures);
        }
        if measured.len() == runs || invalid > allowed_invalid {
            break;
        }
    }
    let judged = judge(&measured);
    let holds = invalid <= allowed_invalid
        && box_at_fault == 0
        && !judged.is_empty()
        && judged.iter().all(|figure| figure.holds);
    Ok(Outcome { name: case.name, judged, invalid, box_at_fault, holds })
}

/// Whether a run is invalid through no fault of the box, and so is repeated.
const fn is_repeated(result: &RunResult) -> bool {
    !result.valid && result.box_faults.is_empty()
}

/// The proportion of a run in which the medium was idle because the testbed was late, if that is the only reason for its
/// invalidity and is small compared with the bands of the short form, which are then narrowed by it. That is a margin, not a
/// proof: it covers the effect on a total or a proportion, if the idle time is spread over the run. A ratio of two flows, or a
/// phase with all of the idle time, may have changed by a few times as much.
fn late_part(result: &RunResult) -> Option<f64> {
    let permille = result.lateness?.idle_for_late_permille;
    let alone = result.invalid_because.len() == 1 && permille > IDLE_LIMIT_PERMILLE && result.box_faults.is_empty();
    (alone && permille <= SHORT_IDLE_PERMILLE).then_some(permille / 1_000.0)
}

/// Makes and stores one run. Returns its result, and its CPU time relative to its length.
fn run_once(case: &Case, scenario: &Scenario, options: &TestbedOptions, directory: &Path) -> Result<(RunResult, f64)> {
    let directory = directory.join(format!("{}-{}", case.name, scenario.seed));
    let cpu_before = cpu_seconds()?;
    let result = run_into(scenario, options, &directory)?;
    let cpu_share = (cpu_seconds()? - cpu_before) / scenario.duration.as_secs_f64();
    Ok((result, kept::cpu_share(&directory, cpu_share)?))
}

/// Makes a further run, for comparison with a case's run.
fn run_another(
    case: &Case,
    scenario: &Scenario,
    which: &str,
    options: &TestbedOptions,
    directory: &Path,
) -> Result<RunResult> {
    run_into(scenario, options, &directory.join(format!("{}-{}-{which}", case.name, scenario.seed)))
}

fn run_into(scenario: &Scenario, options: &TestbedOptions, directory: &Path) -> Result<RunResult> {
    if let Some(result) = kept::result(directory, scenario)? {
        return Ok(result);
    }
    let mut result = run_scenario(scenario, options, true)?;
    output::VERSION.clone_into(&mut result.version);
    if options.cancel.load(Ordering::Relaxed) {
        bail!("cancelled");
    }
    std::fs::create_dir_all(directory)?;
    output::write(directory, scenario, &result)?;
    Ok(result)
}

fn print_run(number: u64, result: &RunResult, figures: &[Figure]) {
    let values: Vec<String> = figures.iter().map(|figure| format!("{:.4}", figure.value)).collect();
    println!("  run {number}: {}", values.join("  "));
    for fault in &result.box_faults {
        println!("  run {number}: THE BOX AT FAULT: {fault}");
    }
}

/// User and system CPU time of this process and its ended children (the box, the hosts' agents), in seconds.
fn cpu_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("cannot read /proc/self/stat")?;
    Ok(cpu_ticks(&stat) / TICKS_PER_SECOND)
}

fn cpu_ticks(stat: &str) -> f64 {
    // proc(5): the second field, the program's name, may contain spaces; user and system time are fields 14 and 15, those of
    // waited-for children 16 and 17.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<f64>().ok()).sum()
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
    let Outcome { name, invalid, box_at_fault, .. } = outcome;
    println!("  {name} {verdict} ({invalid} invalid runs, {box_at_fault} with the box at fault)");
}

#[cfg(test)]
mod tests {
    use evenair_results::Lateness;

    use super::figures::tests::managed;
    use super::*;

    #[test]
    fn a_late_run_is_repeated_and_a_faulty_box_is_not() {
        let mut run = managed();
        assert!(!is_repeated(&run));
        run.valid = false;
        run.invalid_because.push("the radio was late".into());
        assert!(is_repeated(&run));
        run.box_faults.push("its account of packets does not add up".into());
        assert!(!is_repeated(&run), "even where the run was late, too");
    }

    #[test]
    fn a_run_that_was_a_little_late_is_judged_in_short_and_no_other() {
        let mut run = managed();
        run.valid = false;
        run.invalid_because.push("the medium stood idle".into());
        let late = |permille| Some(Lateness { idle_for_late_permille: permille, ..Lateness::default() });
        run.lateness = late(2.5);
        assert_eq!(late_part(&run), Some(0.0025));
        run.lateness = late(10.5);
        assert_eq!(late_part(&run), None, "too late even for the short form");
        run.lateness = late(0.5);
        assert_eq!(late_part(&run), None, "what is wrong is something else");
        run.lateness = late(2.5);
        run.invalid_because.push("a host did not answer".into());
        assert_eq!(late_part(&run), None, "something else is wrong besides");
        run.invalid_because.pop();
        run.box_faults.push("its account of packets does not add up".into());
        assert_eq!(late_part(&run), None, "the box's own fault");
    }

    #[test]
    fn the_time_of_children_counts() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 100 200 3 4 10 200 3000 40000 20 0 1 0 500 6000 700 18446744";
        assert!((cpu_ticks(stat) - 43_210.0).abs() < 1e-9);
    }
}
