//! `evenair measure engines`: the published experiments in the simulator and on the testbed, and how far apart the two are.
//!
//! Each is its scenario file as it is, without the variants of `evenair reproduce`, cut to a run of seconds that ends with the measured
//! phase: the longest of those that end last. Experiments that one of the engines does not have are listed with the reason.

mod cut;
mod figures;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use anyhow::{Result, bail};
use clap::Args;
use evenair_scenario::Scenario;
use evenair_testbed::preflight::check_box;
use evenair_testbed::{TestbedError, TestbedOptions};

use super::jobs::in_parallel;
use super::page::Measured;
use crate::commands::scenario_run::key_and_value;
use crate::commands::testbed;
use crate::reproduce::{self, Experiment};
use figures::{Figures, Row, table};

/// Runs for each one that is to be valid, at most.
const ATTEMPTS: u32 = 3;

/// Arguments of `evenair measure engines`.
#[derive(Args)]
pub struct EnginesArgs {
    /// Only experiments with this in the paths of their scenarios, such as a11 or las-ack
    #[arg(value_name = "PART", default_value = "")]
    part: String,
    /// Valid runs of each experiment on the testbed
    #[arg(long, default_value = "1", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Runs of each experiment in the simulator
    #[arg(long, default_value = "5", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Length to which longer runs are cut, s
    #[arg(long, default_value = "30", value_name = "S", value_parser = clap::value_parser!(u32).range(4..))]
    seconds: u32,
    /// Replace a value of every scenario, such as tcp.stack=linux
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    sets: Vec<(String, String)>,
    /// Say which experiments run in both engines, and run nothing
    #[arg(long)]
    list: bool,
}

/// Experiments that are not in the table, by the reason.
type Left = BTreeMap<String, Vec<&'static str>>;

/// The experiments' scenarios that run in both engines, and the others.
fn selection(args: &EnginesArgs) -> Result<(Vec<(&'static str, Scenario)>, Left)> {
    let sets: Vec<_> = args.sets.iter().map(|(key, value)| (&**key, &**value)).collect();
    let (mut both, mut left) = (Vec::new(), Left::new());
    for Experiment { id, file, text, .. } in reproduce::all().iter().filter(|one| one.file.contains(&args.part)) {
        let scenario = Scenario::parse_with(text, file, &sets)?;
        match cut::runs_in_both(&scenario, f64::from(args.seconds)) {
            Ok(scenario) => both.push((*id, scenario)),
            Err(why) => left.entry(why).or_default().push(*id),
        }
    }
    Ok((both, left))
}

/// The experiments that are not in the table, a line for each reason; nothing without any.
fn reasons(left: &Left) -> String {
    if left.is_empty() {
        return String::new();
    }
    let lines: String = left.iter().map(|(why, ids)| format!("- {}: {why}\n", ids.join(", "))).collect();
    format!("\nNot in the table:\n\n{lines}")
}

/// Runs each experiment in both engines, on the testbed first, and prints its row at once.
pub fn measure(args: &EnginesArgs) -> Result<Measured> {
    let (both, mut left) = selection(args)?;
    let seconds: f64 = both.iter().map(|(_, scenario)| scenario.duration.as_secs_f64()).sum();
    let minutes = seconds * f64::from(args.runs) / 60.0;
    eprintln!("{} experiments, {minutes:.0} minutes on the testbed if it is never late", both.len());
    if args.list {
        let ids: Vec<_> = both.iter().map(|(id, _)| *id).collect();
        return Ok(format!("{}\n{}", ids.join(" "), reasons(&left)).into());
    }
    // Now rather than at the first experiment with the box.
    check_box()?;
    let options = testbed::options()?;
    let mut rows = Vec::new();
    for (number, (id, scenario)) in both.iter().enumerate() {
        let name = format!("{id}{}", if cut::has_box(scenario) { ", box" } else { "" });
        eprintln!("{} of {}: {name}", number + 1, both.len());
        let found = on_testbed(scenario, args.runs, &options)?;
        if options.cancel.load(Ordering::Relaxed) {
            for (id, _) in &both[number..] {
                left.entry("interrupted".to_owned()).or_default().push(*id);
            }
            break;
        }
        let row = found.and_then(|(testbed, late)| {
            let simulator = simulated(scenario, args.seeds).map_err(|error| format!("{error:#}"))?;
            Ok(Row { name: name.clone(), simulator, testbed, late })
        });
        match row {
            Ok(row) => {
                eprint!("{}", row.line());
                rows.push(row);
            }
            Err(why) => {
                eprintln!("{name}: {why}");
                left.entry(why).or_default().push(*id);
            }
        }
    }
    let (table, is_met) = table(&rows);
    let without = both.len() - rows.len();
    let text = format!(
        "The published experiments in the simulator (mean of {} seeds) and on the testbed (of at most {} runs), of at most {} s: \
         goodput, the\nstation whose share of it differs most, and mean delay of echoes, or else from arrival at access points, or \
         at stations, to\ndelivery. Runs in which the testbed was late are made again, {ATTEMPTS} for each valid one at most.\n\n{table}\
         missed {without} of {}: valid runs in both\n{}",
        args.seeds,
        args.runs,
        args.seconds,
        both.len(),
        reasons(&left)
    );
    Ok(Measured { text, is_met: is_met && without == 0 })
}

/// Mean over the seeds, which count up from that of the file.
fn simulated(scenario: &Scenario, seeds: u32) -> Result<Figures> {
    let seeds: Vec<u64> = (0..u64::from(seeds)).collect();
    let run = |&seed: &u64| {
        let mut scenario = scenario.clone();
        scenario.seed += seed;
        Ok(Figures::of(&evenair_sim::run(&scenario, |_| ())?.phases[0]))
    };
    Ok(Figures::mean(&in_parallel(&seeds, run)?))
}

/// Mean over valid runs, and the number of late ones; or why there is none.
///
/// # Errors
/// This machine cannot run any experiment.
fn on_testbed(scenario: &Scenario, runs: u32, options: &TestbedOptions) -> Result<Result<(Figures, u32), String>> {
    let (mut valid, mut late) = (Vec::new(), 0);
    for seed in 0..runs * ATTEMPTS {
        let mut scenario = scenario.clone();
        scenario.seed += u64::from(seed);
        let run = match testbed::run_scenario(&scenario, options, true) {
            Ok(run) => run,
            Err(error) => return only_this(error).map(Err),
        };
        if options.cancel.load(Ordering::Relaxed) {
            return Ok(Err("interrupted".to_owned()));
        }
        if run.valid {
            valid.push(Figures::of(&run.phases[0]));
            if valid.len() == runs as usize {
                break;
            }
        } else if run.was_only_late() {
            late += 1;
            eprintln!("late: {}", run.invalid_because.join("; "));
        } else {
            let why: Vec<_> = run.invalid_because.iter().chain(&run.box_faults).map(String::as_str).collect();
            return Ok(Err(format!("its run on the testbed is not valid: {}", why.join("; "))));
        }
    }
    if valid.is_empty() {
        return Ok(Err("the testbed was late in every run".to_owned()));
    }
    Ok(Ok((Figures::mean(&valid), late)))
}

/// The reason why the testbed cannot run this experiment.
///
/// # Errors
/// It cannot run any.
fn only_this(error: anyhow::Error) -> Result<String> {
    match error.downcast_ref::<TestbedError>() {
        Some(TestbedError::NotPermitted(_) | TestbedError::NoBox(_) | TestbedError::NoTap { .. }) => bail!(error),
        _ => Ok(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scenario of an experiment.
    pub fn scenario(id: &str) -> Scenario {
        let all = reproduce::all();
        let experiment = all.iter().find(|experiment| experiment.id == id).expect("it is published");
        Scenario::parse(experiment.text, experiment.file).expect("scenario files are sound")
    }

    fn args(part: &str, sets: &[(&str, &str)]) -> EnginesArgs {
        let sets = sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        EnginesArgs { part: part.to_owned(), runs: 1, seeds: 5, seconds: 30, sets, list: true }
    }

    #[test]
    fn every_experiment_is_run_or_left_with_a_reason() {
        let (both, left) = selection(&args("", &[])).expect("sound");
        let mut ids: Vec<_> = both.iter().map(|(id, _)| *id).chain(left.values().flatten().copied()).collect();
        let mut all: Vec<_> = reproduce::all().iter().map(|experiment| experiment.id).collect();
        ids.sort_unstable();
        all.sort_unstable();
        assert_eq!(ids, all);
        for id in ["a02", "a11"] {
            assert!(both.iter().any(|(known, _)| *known == id), "{id} is in neither");
        }
        assert!(both.iter().all(|(_, scenario)| scenario.duration.as_secs_f64() <= 30.0));
        let text = reasons(&left);
        assert_eq!(text.lines().filter(|line| line.starts_with("- ")).count(), left.len(), "{text}");
    }

    #[test]
    fn a_value_that_is_replaced_lets_the_testbed_run_an_experiment() {
        let (both, left) = selection(&args("las01", &[("tcp.stack", "linux")])).expect("sound");
        assert!(both.len() == 1 && left.is_empty(), "{left:?}");
    }

    #[test]
    fn without_permission_the_measurement_ends() {
        let missing = TestbedError::MissingProgram { program: "iperf3".to_owned(), needed_for: "x".to_owned() };
        assert!(only_this(missing.into()).expect("of one experiment").contains("iperf3"));
        let error = only_this(TestbedError::NoBox("run as root".to_owned()).into()).expect_err("of all");
        assert!(error.to_string().contains("run as root"), "{error:#}");
    }
}
