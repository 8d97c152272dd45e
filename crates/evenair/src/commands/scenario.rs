//! `evenair scenario`: files checked without running them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use evenair_scenario::Scenario;

use super::scenario_run::{key_and_value, load, load_with_points};

/// What `evenair scenario` does.
#[derive(Subcommand)]
pub enum ScenarioCommand {
    /// Check files with the points of their sweeps, and say what each of them is
    Check {
        /// Scenario files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Replace a value, for instance `--set seed=7`
        #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
        sets: Vec<(String, String)>,
    },
    /// List the scenarios in a folder and the folders inside of it
    List {
        /// The folder
        #[arg(default_value = "scenarios")]
        folder: PathBuf,
    },
    /// Print the JSON schema of scenario files, for editors
    Schema,
}

/// Does what the command line says.
pub fn run(command: ScenarioCommand) -> Result<ExitCode> {
    match command {
        ScenarioCommand::Schema => {
            println!("{:#}", evenair_scenario::schema());
            Ok(ExitCode::SUCCESS)
        }
        ScenarioCommand::List { folder } => {
            let mut files = Vec::new();
            scenario_files(&folder, &mut files)?;
            if files.is_empty() {
                bail!("{}: no scenario files (*.toml)", folder.display());
            }
            for file in files {
                match load(&file, &[]) {
                    Ok(scenario) => println!("{:<52} {}", file.display(), describe(&scenario)),
                    Err(error) => {
                        let text = error.to_string();
                        println!("{:<52} WRONG: {}", file.display(), text.lines().next().unwrap_or_default());
                    }
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        ScenarioCommand::Check { files, sets } => {
            let mut right = true;
            for file in &files {
                match load_with_points(file, &sets) {
                    Ok(scenario) => println!("{}: right: {}", file.display(), describe(&scenario)),
                    Err(error) => {
                        right = false;
                        eprintln!("{error}");
                    }
                }
            }
            Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// The scenario files below a folder, in the order of their names.
fn scenario_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            scenario_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    Ok(())
}

fn describe(scenario: &Scenario) -> String {
    let stations = scenario.hosts.iter().filter(|host| host.place.is_station()).count();
    format!(
        "{} ({stations} stations, {} applications, {:.0} s)",
        scenario.title,
        scenario.apps.len(),
        scenario.duration.as_secs_f64()
    )
}
