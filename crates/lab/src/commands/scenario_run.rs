//! The common part of every engine's `run FILE`: the file, the directory of results, the output.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_results::{RunResult, summary};
use evenair_scenario::Scenario;

use super::library::scenario_file;
use crate::output;

/// The scenario to run, and the directory of its results.
#[derive(Args)]
pub struct ScenarioRun {
    /// The scenario: a file, or the name of one in `evenair scenario list`
    file: PathBuf,
    /// Replace a value of the file, for example `--set seed=7` or `--set radio.ap_buffer="50 packets"`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    sets: Vec<(String, String)>,
    /// Seed of the run; short for `--set seed=N`
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Parent directory of the results
    #[arg(long, default_value = "results", value_name = "DIR")]
    pub(super) out: PathBuf,
    /// Print the results as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Show no live view; with --json, draw no plots either
    #[arg(long)]
    pub(super) quiet: bool,
}

impl ScenarioRun {
    /// The scenario with all settings applied.
    pub(super) fn scenario(&self) -> Result<Scenario> {
        let seed = self.seed.map(|seed| ("seed".to_owned(), seed.to_string()));
        let sets: Vec<_> = self.sets.iter().cloned().chain(seed).collect();
        load(&self.file, &sets)
    }

    /// Runs the scenario on `engine`, quietly or not, writes its results and prints them.
    pub fn run(&self, engine: impl FnOnce(&Scenario, bool) -> Result<RunResult>) -> Result<ExitCode> {
        let scenario = self.scenario()?;
        let shown = match (self.json, self.quiet) {
            (true, true) => Shown::JsonWithoutPictures,
            (true, false) => Shown::Json,
            (false, _) => Shown::Summary,
        };
        let result = run_into(&self.out, &scenario.name, &scenario, shown, |scenario| engine(scenario, self.quiet))?;
        if result.valid { Ok(ExitCode::SUCCESS) } else { bail!("this run is not valid: see above") }
    }
}

/// Output format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Text and tables.
    Summary,
    /// Only the JSON document.
    Json,
    /// Only the JSON document, and no plots are drawn.
    JsonWithoutPictures,
}

/// Makes a new directory `out/name-N`, runs `scenario` on `engine`, writes the results there and prints them.
pub fn run_into(
    out: &Path,
    name: &str,
    scenario: &Scenario,
    shown: Shown,
    engine: impl FnOnce(&Scenario) -> Result<RunResult>,
) -> Result<RunResult> {
    // Created first, so that an unwritable place is an error before the run rather than after it.
    let directory = output::new_directory(out, name)?;
    let outcome = engine(scenario);
    if outcome.is_err() {
        // An empty directory would look like a result.
        let _ = std::fs::remove_dir(&directory);
    }
    let mut result = outcome?;
    output::VERSION.clone_into(&mut result.version);
    let write = if shown == Shown::JsonWithoutPictures { output::write_without_pictures } else { output::write };
    write(&directory, scenario, &result)?;
    match shown {
        Shown::Json | Shown::JsonWithoutPictures => println!("{}", serde_json::to_string_pretty(&result)?),
        Shown::Summary => {
            println!("\n{}", summary(&result));
            println!("results: {} (plots and tables: report.html)", directory.display());
        }
    }
    Ok(result)
}

/// Loads a scenario with settings applied. Prints its warnings.
pub fn load(file: &Path, sets: &[(String, String)]) -> Result<Scenario> {
    Ok(noted(Scenario::load_with(scenario_file(file)?, &borrowed(sets))?))
}

/// The same, with the points of its sweep checked.
pub fn load_with_points(file: &Path, sets: &[(String, String)]) -> Result<Scenario> {
    Ok(noted(Scenario::load_with_points(scenario_file(file)?, &borrowed(sets))?))
}

/// Prints a scenario's warnings, and the entries that are left out.
fn noted(scenario: Scenario) -> Scenario {
    scenario.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    note_left_out(&scenario.name, &scenario.left_out);
    scenario
}

/// Prints to standard error the entries of a scenario that lie beyond the end of a shortened run.
pub(super) fn note_left_out(scenario: &str, left_out: &[String]) {
    for kind in left_out {
        eprintln!("note: {scenario}: beyond the end of this run, and left out: {kind}");
    }
}

fn borrowed(sets: &[(String, String)]) -> Vec<(&str, &str)> {
    sets.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

/// Parses `key=value`.
pub fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, for instance seed=7")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
