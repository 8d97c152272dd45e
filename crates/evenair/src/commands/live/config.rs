//! `evenair config`: the box's configuration, without a box.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use evenair_live::{BoxConfig, Migration};

/// What `evenair config` does.
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Say whether files are right, or all that is wrong in them; `evenair doctor` looks at the machine, too
    Check {
        /// Configurations of boxes
        #[arg(default_value = super::CONFIG)]
        files: Vec<PathBuf>,
    },
    /// Rewrite files of an older version with the present names of keys; each old file is kept as FILE.bak
    Migrate {
        /// Configurations of boxes, scenarios and policies
        #[arg(default_value = super::CONFIG)]
        files: Vec<PathBuf>,
        /// Only say what would be changed; the exit status is 1 if anything would be
        #[arg(long)]
        check: bool,
    },
    /// Print all tables and keys with their defaults, in Markdown
    Reference,
    /// Print the JSON schema of the file, for editors
    Schema,
}

/// Does what the command line says.
pub fn config(command: &ConfigCommand) -> ExitCode {
    match command {
        ConfigCommand::Check { files } => {
            let mut right = true;
            for file in files {
                match BoxConfig::load(file) {
                    Ok(config) => println!("{}", super::in_short(file, &config)),
                    Err(error) => {
                        right = false;
                        eprintln!("{error}");
                    }
                }
            }
            if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
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
            print!("{}", evenair_live::reference());
            ExitCode::SUCCESS
        }
        ConfigCommand::Schema => {
            println!("{:#}", evenair_live::schema());
            ExitCode::SUCCESS
        }
    }
}

/// Rewrites a file, or says what would be changed. Whether there was nothing to change.
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
