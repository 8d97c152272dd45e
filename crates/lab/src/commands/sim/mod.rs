//! `evenair sim`: runs scenarios in virtual time.

mod compare;
pub(super) mod many;
mod merge;
mod packets;
mod replications;
pub(super) mod series;
mod store;
mod sweep;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use evenair_sim::SimOptions;

use self::replications::ReplicationArgs;
use super::scenario_run::ScenarioRun;
use crate::view::View;

/// Subcommands of `evenair sim`.
#[derive(Subcommand)]
pub enum SimCommand {
    /// Run a scenario in virtual time, as fast as this machine can
    Run(RunArgs),
    /// Run a scenario at many points, with varied keys, on all cores; resumes after an interruption
    Sweep(sweep::SweepArgs),
    /// Join the parts of a sweep that ran in several processes or on several machines
    Merge(merge::MergeArgs),
    /// Run two variants with the same seeds, and report their differences
    Compare(compare::CompareArgs),
}

/// Arguments of `evenair sim run`.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    run: ScenarioRun,
    /// Write the frames on the air and the wire to this directory, as pcap files for Wireshark
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
    /// Write each IP packet that was delivered or lost on the WLAN to this file, as a Parquet table
    #[arg(long, value_name = "FILE")]
    packets: Option<PathBuf>,
    #[command(flatten)]
    replications: ReplicationArgs,
}

/// Executes the command.
pub fn run(command: SimCommand) -> Result<ExitCode> {
    match command {
        SimCommand::Run(args) if args.replications.is_asked_for() => {
            if args.trace.is_some() {
                bail!("--trace is of one run: leave out --replications and --until-width");
            }
            if args.packets.is_some() {
                bail!("--packets is of one run: leave out --replications and --until-width");
            }
            replications::run(&args.run, &args.replications)
        }
        SimCommand::Run(args) => {
            let options = SimOptions { trace: args.trace.clone(), ..SimOptions::default() };
            args.run.run(|scenario, quiet| {
                let mut view = View::new(scenario, quiet);
                let result = match &args.packets {
                    Some(file) => packets::run(scenario, &options, file, |progress| view.show(progress)),
                    None => evenair_sim::run_with(scenario, &options, |progress| {
                        progress.into_iter().for_each(|progress| view.show(progress));
                        ControlFlow::Continue(())
                    })
                    .map_err(Into::into),
                };
                view.finish();
                result
            })
        }
        SimCommand::Sweep(args) => sweep::sweep(&args),
        SimCommand::Merge(args) => merge::run(&args),
        SimCommand::Compare(args) => compare::run(&args),
    }
}
