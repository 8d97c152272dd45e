//! The `evenair` command: the box, the real-time testbed, and their tools.
//!
//! This crate only parses the command line, calls the library crates and prints. Every command's errors end here: one line
//! with the error and its remedy, and exit status 1 (2 for a wrong command line).

mod accept;
mod commands;
mod demo;
mod output;
mod reproduce;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Fair, low-latency Wi-Fi behind ordinary access points.
#[derive(Parser)]
#[command(name = "evenair", version = output::VERSION, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Demonstrate the box in two minutes: ten stations without and with it
    Demo(demo::DemoArgs),
    /// Run scenarios with real hosts over a simulated radio, in real time
    #[command(subcommand)]
    Testbed(commands::testbed::TestbedCommand),
    /// Run scenarios in the simulator, in virtual time
    #[command(subcommand)]
    Sim(commands::sim::SimCommand),
    /// Compare policies for a WLAN in the same simulated experiment: FIFO, FQ-CoDel, LAS-ACK, ADWISER, Evenair, your own
    Compare(commands::compare::CompareArgs),
    /// Check scenario files, print their schema
    #[command(subcommand)]
    Scenario(commands::scenario::ScenarioCommand),
    /// Set up a box on this machine: its configuration, and the bridge that it needs
    Init(commands::live::InitArgs),
    /// Check a box's configuration, print the reference of its keys
    #[command(subcommand)]
    Config(commands::live::ConfigCommand),
    /// Run the box in line between access points and wire
    Run(commands::live::RunArgs),
    /// Make a running box manage the traffic
    Insert(commands::live::ControlArgs),
    /// Make a running box measure the traffic and change nothing: the bridge carries it
    Observe(commands::live::ControlArgs),
    /// Make a running box drain its queues and hand the traffic to the bridge
    Bypass(commands::live::BypassArgs),
    /// Restore the interface offloads that a killed box has left switched off; the service does this when it has ended
    #[command(hide = true)]
    RestoreOffloads,
    /// Show the status of a running box
    Status(commands::live::ControlArgs),
    /// Show a running box live, station by station
    Top(commands::live::TopArgs),
    /// Print the history of a box: statistics of each interval, and events
    History(commands::live::HistoryArgs),
    /// Reload the configuration of a running box, without losing a packet
    Reload(commands::live::ReloadArgs),
    /// Report problems of a box on this machine, and how to fix them
    Doctor(commands::live::DoctorArgs),
    /// Poll access points for their stations once, and print the reports
    #[command(disable_version_flag = true)]
    Telemetry(commands::live::TelemetryArgs),
    /// Run a recording through the manager again and compare its decisions
    Replay {
        /// The recording
        file: PathBuf,
    },
    /// Measure every promised figure and compare it with its bound
    Accept(accept::AcceptArgs),
    /// Run the published experiments in the simulator, and compare each published figure
    Reproduce(reproduce::ReproduceArgs),
    /// Infer from captures of air and wire how many nodes were backlogged
    Backlog(commands::backlog::BacklogArgs),
    /// Measure the goodput of a link by its signal, for channel-aware schedulers
    Calibrate(commands::calibrate::CalibrateArgs),
    /// A host's traffic programs in the testbed, driven over standard input
    #[command(hide = true)]
    Agent,
}

impl Command {
    /// Commands that only print may exit when their reader has closed the pipe. The others have sockets and children, and
    /// handle a closed one as an error.
    const fn ends_with_its_reader(&self) -> bool {
        matches!(
            self,
            Self::Status(_)
                | Self::History(_)
                | Self::Doctor(_)
                | Self::Sim(_)
                | Self::Compare(_)
                | Self::Scenario(_)
                | Self::Config(_)
                | Self::Replay { .. }
                | Self::Backlog(_)
                | Self::Calibrate(_)
        )
    }
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    if command.ends_with_its_reader() {
        evenair_sys::process::end_with_the_reader();
    }
    let outcome = match command {
        Command::Demo(args) => demo::demo(&args),
        Command::Testbed(command) => commands::testbed::run(command),
        Command::Sim(command) => commands::sim::run(command),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Scenario(command) => commands::scenario::run(command),
        Command::Init(args) => commands::live::init(&args),
        Command::Config(command) => Ok(commands::live::config(&command)),
        Command::Run(args) => commands::live::run(&args),
        Command::Insert(args) => commands::live::insert(&args),
        Command::Observe(args) => commands::live::observe(&args),
        Command::RestoreOffloads => {
            evenair_live::restore_offloads();
            Ok(ExitCode::SUCCESS)
        }
        Command::Bypass(args) => commands::live::bypass(&args),
        Command::Status(args) => commands::live::status(&args),
        Command::Top(args) => commands::live::top(&args),
        Command::History(args) => commands::live::history(&args),
        Command::Reload(args) => commands::live::reload(&args),
        Command::Doctor(args) => commands::live::doctor(&args),
        Command::Telemetry(args) => commands::live::telemetry(&args),
        Command::Replay { file } => commands::live::replay(&file),
        Command::Accept(args) => accept::accept(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Backlog(args) => commands::backlog::backlog(&args),
        Command::Calibrate(args) => commands::calibrate::calibrate(&args),
        Command::Agent => commands::testbed::agent(),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("evenair: {}", in_one_line(&error));
        ExitCode::FAILURE
    })
}

/// The error, then each cause that is not in the text yet: some errors include their cause.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let cause = std::io::Error::other("the disk is full");
        let error = anyhow::Error::new(cause).context("cannot write x: the disk is full").context("no result");
        assert_eq!(in_one_line(&error), "no result: cannot write x: the disk is full");
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
