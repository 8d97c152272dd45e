//! `evenair sim`: runs of scenarios in virtual time.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use super::scenario_run::ScenarioRun;
use crate::view::View;

/// What `evenair sim` does.
#[derive(Subcommand)]
pub enum SimCommand {
    /// Run a scenario in virtual time, as fast as this machine can
    Run(ScenarioRun),
}

/// Does what the command line says.
pub fn run(command: SimCommand) -> Result<ExitCode> {
    let SimCommand::Run(run) = command;
    run.run(|scenario, quiet| {
        let mut view = View::new(scenario, quiet);
        let result = evenair_sim::run(scenario, |progress| view.show(progress));
        view.finish();
        Ok(result?)
    })
}
