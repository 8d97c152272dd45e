//! `evenair results rerun`: repeats the results of a folder from its content, and compares them.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, bail};
use clap::Args;
use evenair_scenario::Scenario;
use evenair_study::{Made, RUNS, Store, first_difference};

use super::difference::difference;
use super::folder::{Kept, KeptMany, KeptRun};
use crate::output::VERSION;

/// The simulator in `run.json`; testbed runs are made in real time and not repeatable.
const SIMULATOR: &str = "sim";
/// Exit status if another version made the results.
const OTHER_VERSION: u8 = 2;

/// Arguments of `evenair results rerun`.
#[derive(Args)]
pub struct RerunArgs {
    /// The folder of a run, a sweep or a comparison
    folder: PathBuf,
    /// Run it although another version made it
    #[arg(long)]
    anyway: bool,
    /// Parallel runs [default: the number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

/// Repeats the results of a folder.
pub fn run(args: &RerunArgs) -> Result<ExitCode> {
    let kept = Kept::of(&args.folder)?;
    let made = kept.made();
    if !made.is_of(VERSION) {
        let (theirs, ours) = (made.program_text(), Made::now(VERSION).program_text());
        let text = format!("{} was made by {theirs}; this is {ours}", args.folder.display());
        if !args.anyway {
            eprintln!("evenair-lab: {text}. --anyway runs it all the same");
            return Ok(ExitCode::from(OTHER_VERSION));
        }
        eprintln!("note: {text}");
    }
    let found = match &kept {
        Kept::Run(run) => again(run)?,
        Kept::Many(many) => all_again(many, args.threads)?,
    };
    match found {
        Outcome::Same(what) => {
            println!("the same: {what}");
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Different(what) => {
            println!("different: {what}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Result of a comparison, as text.
enum Outcome {
    Same(String),
    Different(String),
}

/// Repeats one run. The version in its result may differ.
fn again(kept: &KeptRun) -> Result<Outcome> {
    let engine = kept.about["engine"].as_str().unwrap_or(SIMULATOR);
    if engine != SIMULATOR {
        bail!("this run is of the {engine}, in real time: only those of evenair sim can be made again to the bit");
    }
    if kept.made.is_commanded {
        let command = kept.made.command_text().map_or_else(String::new, |command| format!(": {command}"));
        bail!(
            "a Python program stepped and commanded this run, and the folder does not keep its commands; run it again{command}"
        );
    }
    let settings: Vec<_> = kept.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let file = named_then(&kept.made, &kept.source.file);
    let scenario = Scenario::parse_with(&kept.source.text, &file, &settings)?;
    let mut result = evenair_sim::run(&scenario, |_| ())?;
    result.version.clone_from(&kept.result.version);
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let path = folder.path().join("result.json");
    result.write(&path)?;
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(match difference(&kept.text, &text) {
        None => Outcome::Same(format!("result.json, {} bytes", text.len())),
        Some(found) => {
            let [theirs, ours] = found.values;
            Outcome::Different(format!("result.json: {} is {theirs} as kept and {ours} made again", found.place))
        }
    })
}

/// Repeats all existing runs of a sweep or a comparison.
fn all_again(kept: &KeptMany, threads: Option<NonZeroUsize>) -> Result<Outcome> {
    let (mut plan, store) = kept.plan()?;
    for source in &mut plan.sources {
        source.file = named_then(&kept.made, &source.file);
    }
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut again = Store::open(&folder.path().join(RUNS))?;
    let threads = threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let runs = plan.runs();
    if runs.is_empty() {
        bail!("{} has no runs in {RUNS}", kept.folder.display());
    }
    evenair_study::run(&plan, &mut again, threads, |_| true)?;
    Ok(match first_difference(&plan, &store, &again) {
        None => Outcome::Same(format!("{} runs of {RUNS}", runs.len())),
        Some(found) => Outcome::Different(format!("{RUNS}: {found}")),
    })
}

/// A file name relative to the original working directory: the scenario may name other files beside
/// it.
fn named_then(made: &Made, file: &str) -> String {
    let Some(folder) = &made.folder else { return file.to_owned() };
    Path::new(folder).join(file).to_string_lossy().into_owned()
}
