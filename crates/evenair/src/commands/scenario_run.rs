//! What every engine's `run FILE` has in common: the file, the place of the results, what is printed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_scenario::Scenario;
use evenair_scenario::results::{RunResult, summary};

use crate::output;

/// Which scenario is run, and where its results go.
#[derive(Args)]
pub struct ScenarioRun {
    /// The scenario file
    file: PathBuf,
    /// Replace a value of the file, for instance `--set seed=7` or `--set radio.ap_buffer="50 packets"`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    sets: Vec<(String, String)>,
    /// Where the results go, in a directory of their own
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
    /// Show no live view
    #[arg(long)]
    quiet: bool,
}

impl ScenarioRun {
    /// Runs the scenario on `engine` (which is told to be quiet or not), writes its results and prints them.
    pub fn run(&self, engine: impl FnOnce(&Scenario, bool) -> Result<RunResult>) -> Result<ExitCode> {
        let scenario = load(&self.file, &self.sets)?;
        run_into(&self.out, &scenario.name, || engine(&scenario, self.quiet))
    }
}

/// Makes a new directory `out/name-N`, runs, writes the results there and prints them.
pub fn run_into(out: &Path, name: &str, run: impl FnOnce() -> Result<RunResult>) -> Result<ExitCode> {
    // The directory comes first: better to learn before the run than after it that nothing can be written.
    let directory = output::new_directory(out, name)?;
    let outcome = run();
    if outcome.is_err() {
        // Still empty, so nothing is lost; leaving it would only look like a result.
        let _ = std::fs::remove_dir(&directory);
    }
    let result = outcome?;
    output::write(&directory, &result)?;
    println!("\n{}", summary(&result));
    println!("results: {} (plots and tables: report.html)", directory.display());
    if result.valid { Ok(ExitCode::SUCCESS) } else { bail!("this run is not valid: see above") }
}

/// Loads a scenario, with values replaced.
pub fn load(file: &Path, sets: &[(String, String)]) -> Result<Scenario> {
    let sets: Vec<(&str, &str)> = sets.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    Ok(Scenario::load_with(file, &sets)?)
}

/// Reads `key=value` of a command line.
pub fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, for instance seed=7")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
