//! `evenair results`: folders of results, as commands have written them.
//!
//! `folder` finds what a folder has, `show` prints it, `cite` as text for a paper, `rerun` makes it again, and `difference` compares JSON.

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
