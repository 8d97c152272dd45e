//! `evenair scenario`: files checked without running them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use evenair_scenario::Scenario;

use super::scenario_run::{key_and_value, load};

/// What `evenair scenario` does.
#[derive(Subcommand)]
pub enum ScenarioCommand {
    /// Check files, and say what each of them is
    Check {
        /// Scenario files
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Replace a value, for instance `--set seed=7`
        #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
        sets: Vec<(String, String)>,
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
        ScenarioCommand::Check { files, sets } => {
            let mut right = true;
            for file in &files {
                match load(file, &sets) {
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

fn describe(scenario: &Scenario) -> String {
    let stations = scenario.hosts.iter().filter(|host| host.place.is_station()).count();
    format!(
        "{} ({stations} stations, {} applications, {:.0} s)",
        scenario.title,
        scenario.apps.len(),
        scenario.duration.as_secs_f64()
    )
}
