//! `evenair config`: the box's configuration, without a box.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use evenair_boxfile::{BoxConfig, Migration};
use evenair_reader::ConfigError;
use serde_json::{Value, json};

/// Subcommands of `evenair config`.
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Validate files, and list their errors; `evenair doctor` also checks the machine
    Check {
        /// Configuration files of boxes
        #[arg(default_value = super::CONFIG)]
        files: Vec<PathBuf>,
        /// Print JSON: of each file, whether it is right, and what is wrong
        #[arg(long)]
        json: bool,
    },
    /// Rename the keys in files of an older version; each old file is kept as FILE.bak
    Migrate {
        /// Configuration files of boxes, scenarios and policies
        #[arg(default_value = super::CONFIG)]
        files: Vec<PathBuf>,
        /// Only list the changes; the exit status is 1 if there are any
        #[arg(long)]
        check: bool,
    },
    /// Print all tables and keys with their defaults, in Markdown
    Reference,
    /// Print the JSON schema of the file, for editors
    Schema,
}

/// Executes the command.
pub fn config(command: &ConfigCommand) -> ExitCode {
    match command {
        ConfigCommand::Check { files, json } => check(files, *json),
        ConfigCommand::Migrate { files, check } => {
            // Each file is migrated, whatever becomes of the others.
            let mut code = ExitCode::SUCCESS;
            for file in files {
                match migrate(file, *check) {
                    Ok(is_up_to_date) if is_up_to_date || !check => {}
                    Ok(_) => code = ExitCode::FAILURE,
                    Err(error) => {
                        eprintln!("{error:#}");
                        code = ExitCode::FAILURE;
                    }
                }
            }
            code
        }
        ConfigCommand::Reference => {
            print!("{}", evenair_boxfile::reference());
            ExitCode::SUCCESS
        }
        ConfigCommand::Schema => {
            println!("{:#}", evenair_boxfile::schema());
            ExitCode::SUCCESS
        }
    }
}

/// Prints for each file whether it is valid.
fn check(files: &[PathBuf], as_json: bool) -> ExitCode {
    let loaded: Vec<_> = files.iter().map(|file| (file, BoxConfig::load(file))).collect();
    if as_json {
        let values: Vec<_> = loaded.iter().map(|(file, config)| in_json(file, config.as_ref())).collect();
        println!("{:#}", json!(values));
    } else {
        loaded.iter().for_each(|(file, config)| print_checked(file, config.as_ref()));
    }
    if loaded.iter().all(|(_, config)| config.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn in_json(file: &Path, config: Result<&BoxConfig, &ConfigError>) -> Value {
    match config {
        Ok(config) => {
            let warning = config.broken_aggregates().map(|warning| warning.to_string());
            json!({ "file": file, "right": true, "summary": config.in_short(), "warning": warning })
        }
        Err(error) => json!({ "file": file, "right": false, "error": error.to_string() }),
    }
}

fn print_checked(file: &Path, config: Result<&BoxConfig, &ConfigError>) {
    match config {
        Ok(config) => {
            println!("{} is right: {}", file.display(), config.in_short());
            if let Some(warning) = config.broken_aggregates() {
                println!("  warning: {warning}");
            }
        }
        Err(error) => eprintln!("{error}"),
    }
}

/// Rewrites a file, or lists the changes. Returns whether there was nothing to change.
fn migrate(file: &Path, check: bool) -> Result<bool> {
    let migration = Migration::of(file)?;
    let name = file.display();
    for change in migration.changes() {
        println!("{name}: {change}");
    }
    if migration.changes().is_empty() {
        println!("{name}: nothing to change");
        return Ok(true);
    }
    if check {
        println!("{name} would be rewritten");
        return Ok(false);
    }
    let kept = migration.write().with_context(|| format!("{name} stays as it was: it cannot be rewritten"))?;
    println!("{name} is rewritten; the old file is {}", kept.display());
    Ok(false)
}
