//! `evenair results`: folders of results.
//!
//! `folder` detects their kind, `show` prints them, `cite` makes a citation for a paper, `rerun` repeats them, and `difference` compares
//! JSON.

mod cite;
mod difference;
mod folder;
mod rerun;
mod show;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Subcommands of `evenair results`.
#[derive(Subcommand)]
pub enum ResultsCommand {
    /// Show what a folder of results is: command, version, machine, phases or points, whether it is complete and valid, and a citation
    Show(show::ShowArgs),
    /// Make the results of a folder again from what it keeps, and compare to the last bit. Exit status 0: the same; 1: they differ,
    /// or cannot be made; 2: another version made them
    Rerun(rerun::RerunArgs),
}

/// Executes the command.
pub fn run(command: &ResultsCommand) -> Result<ExitCode> {
    match command {
        ResultsCommand::Show(args) => show::run(args),
        ResultsCommand::Rerun(args) => rerun::run(args),
    }
}
