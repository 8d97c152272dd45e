//! `evenair config`: the box's configuration, without a box.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use evenair_live::BoxConfig;

/// What `evenair config` does.
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Say whether files are right, or all that is wrong in them; `evenair doctor` looks at the machine, too
    Check {
        /// Configurations of boxes
        #[arg(default_value = super::CONFIG)]
        files: Vec<PathBuf>,
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
