//! The common part of commands with many runs: replications, seeds, cores, directory of the results.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result};
use clap::Args;
use evenair_results::{Table, write_whole};
use evenair_scenario::sweep::Settings;
use evenair_study::{Made, Plan, PlannedRun, Status, Store};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::super::scenario_run::{key_and_value, note_left_out};
use crate::output::VERSION;

/// Common arguments of commands with many runs.
#[derive(Args)]
pub struct Many {
    /// Replace a value of the file in all runs, for example `--set duration="20 s"`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub sets: Vec<(String, String)>,
    /// Seed of the first run; the others have the successive seeds
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Parent directory of the results
    #[arg(long, default_value = "results", value_name = "DIR")]
    pub out: PathBuf,
    /// Parallel runs [default: the number of cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

impl Many {
    /// Settings of all runs.
    pub fn settings(&self) -> Settings {
        let seed = self.seed.map(|seed| ("seed".to_owned(), seed.to_string()));
        self.sets.iter().cloned().chain(seed).collect()
    }

    /// Makes the missing runs of a plan, and shows the progress.
    ///
    /// # Errors
    /// Results cannot be stored.
    pub fn run(&self, plan: &Plan, store: &mut Store) -> Result<Status> {
        self.run_while(plan, plan.runs(), store, || true)
    }

    /// As [`Many::run`], of the given runs of the plan only, while `goes_on`.
    ///
    /// # Errors
    /// Results cannot be stored.
    pub fn run_while(
        &self,
        plan: &Plan,
        runs: Vec<PlannedRun>,
        store: &mut Store,
        goes_on: impl Fn() -> bool,
    ) -> Result<Status> {
        let threads = self.threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let interrupted: Arc<AtomicBool> = Arc::default();
        for signal in [SIGINT, SIGTERM] {
            // A second signal ends the process at once.
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        let bar = bar(self.quiet);
        let status = evenair_study::run_some(plan, runs, store, threads, |status| {
            show(&bar, status);
            !interrupted.load(Ordering::Relaxed) && goes_on()
        });
        bar.finish_and_clear();
        Ok(status?)
    }

    /// The existing directory `out/name-kind-N` of the same experiment, or a new one with the first free N. `about` describes the
    /// experiment with all inputs of its runs. Prints the entries of the files that are left out.
    pub fn directory(&self, plan: &Plan, kind: &str, about: &Value) -> Result<PathBuf> {
        note_left_out(&plan.name, &plan.left_out);
        for number in 1.. {
            let directory = self.out.join(format!("{}-{kind}-{number}", plan.name));
            let file = directory.join("experiment.json");
            if let Ok(text) = fs::read_to_string(&file) {
                let known: Value = serde_json::from_str(&text).unwrap_or_default();
                if known["identity"] != about["identity"] {
                    continue;
                }
                // Another program repeats all runs and replaces the old results.
                if known["program"] == about["program"] {
                    Made::now(VERSION).write_once(&directory)?;
                    return Ok(directory);
                }
            } else if directory.exists() {
                continue;
            }
            fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
            write_whole(&file, format!("{about:#}\n").as_bytes())?;
            Made::now(VERSION).write_once(&directory)?;
            return Ok(directory);
        }
        unreachable!("there are more numbers than directories")
    }
}

/// A document with the results: the description of the experiment, then the table as `rows`.
pub fn document(plan: &Plan, status: &Status, rows: &str, table: &Table) -> Result<String> {
    Ok(evenair_study::document(plan, VERSION, status.is_complete(), rows, table)?)
}

/// Prints the number of runs.
pub fn print_status(status: &Status) {
    let Status { runs, known, ended, failed, elapsed, .. } = status;
    let before = if *known > 0 { format!(", {known} known before") } else { String::new() };
    let bad = if *failed > 0 { format!(", {failed} FAILED") } else { String::new() };
    println!("{ended} of {runs} runs made in {:.1} s{before}{bad}", elapsed.as_secs_f64());
}

/// Exit status of an interrupted command, after a message.
pub fn interrupted(directory: &Path) -> ExitCode {
    eprintln!("interrupted: {} has what was found; the same command goes on from there", directory.display());
    ExitCode::from(130)
}

fn bar(quiet: bool) -> ProgressBar {
    // Nothing is drawn without a terminal.
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(4) };
    let bar = ProgressBar::with_draw_target(None, target);
    bar.set_style(ProgressStyle::with_template("{wide_bar} {msg}").expect("a template that is right"));
    bar
}

fn show(bar: &ProgressBar, status: &Status) {
    // The bar advances by thousandths of runs, so that it moves during long ones.
    let thousandths = |runs: f64| (runs * 1000.0) as u64;
    bar.set_length(thousandths(status.runs as f64));
    bar.set_position(thousandths(status.known as f64 + status.progress));
    let failed = if status.failed > 0 { format!(", {} failed", status.failed) } else { String::new() };
    let left = status.left().map_or_else(String::new, |left| format!(", {} left", in_words(left)));
    bar.set_message(format!("{} of {} runs{failed}{left}", status.known + status.ended, status.runs));
}

/// A duration as text: "35 s", "4 min", "2 h 10 min".
fn in_words(time: Duration) -> String {
    match time.as_secs() {
        s if s < 120 => format!("{s} s"),
        s if s < 7200 => format!("{} min", s / 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}
