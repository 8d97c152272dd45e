//! The `evenair` command: the box, the real-time testbed, and what surrounds them.
//!
//! This crate only reads the command line, calls the library crates and prints. Every command's errors end here: one
//! line that says what went wrong and what would be right, and exit status 1 (2 for a wrong command line).

mod accept;
mod commands;
mod demo;
mod output;
mod reproduce;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Fair and quick Wi-Fi behind off-the-shelf access points.
#[derive(Parser)]
#[command(name = "evenair", version = output::VERSION, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the main job in two minutes: ten stations without and with the box
    Demo(demo::DemoArgs),
    /// Real hosts, joined by a simulated radio in real time
    #[command(subcommand)]
    Testbed(commands::testbed::TestbedCommand),
    /// The same hosts in virtual time, simulated
    #[command(subcommand)]
    Sim(commands::sim::SimCommand),
    /// Compare ways to manage a WLAN, each in the same simulated experiment: FIFO, FQ-CoDel, LAS-ACK, ADWISER, ours, your own
    Compare(commands::compare::CompareArgs),
    /// Check scenario files, print their schema
    #[command(subcommand)]
    Scenario(commands::scenario::ScenarioCommand),
    /// Set a box up on this machine: its configuration, and the bridge that it needs
    Init(commands::live::InitArgs),
    /// Check a box's configuration, print all that one may say
    #[command(subcommand)]
    Config(commands::live::ConfigCommand),
    /// Run the box in line between access points and wire
    Run(commands::live::RunArgs),
    /// Make a running box manage the traffic
    Insert(commands::live::ControlArgs),
    /// Make a running box look at the traffic and shape nothing: the bridge carries it
    Observe(commands::live::ControlArgs),
    /// Make a running box drain and let everything pass
    Bypass(commands::live::BypassArgs),
    /// Switch on the offloads of interfaces that a box which was killed has left off; the service does that when it has ended
    #[command(hide = true)]
    RestoreOffloads,
    /// Show what a running box does
    Status(commands::live::ControlArgs),
    /// Watch a running box, station by station
    Top(commands::live::TopArgs),
    /// Print what a box has kept of what was: statistics of each interval, and events
    History(commands::live::HistoryArgs),
    /// Make a running box read its configuration again, without losing a packet
    Reload(commands::live::ReloadArgs),
    /// Say what would go wrong with a box on this machine, and how to mend it
    Doctor(commands::live::DoctorArgs),
    /// Ask access points for their stations once, and print what they tell
    #[command(disable_version_flag = true)]
    Telemetry(commands::live::TelemetryArgs),
    /// Run a recording through the manager again and compare its decisions
    Replay {
        /// The recording
        file: PathBuf,
    },
    /// Measure every promised figure and print it beside its bound
    Accept(accept::AcceptArgs),
    /// Run the published experiments in the simulator, and judge each published figure
    Reproduce(reproduce::ReproduceArgs),
    /// Infer from captures of air and wire how many stations had something to send
    Backlog(commands::backlog::BacklogArgs),
    /// Measure the goodput of a simulated link by its signal, for the channel-aware scheduler
    Calibrate(commands::calibrate::CalibrateArgs),
    /// A host's traffic programs in the testbed, driven over standard input
    #[command(hide = true)]
    Agent,
}

impl Command {
    /// Commands that only print may end where nobody reads on. The others have sockets and children, whose end is an
    /// error to be handled and not the end of the program.
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

/// What went wrong, then each cause that has not been said yet: some errors tell their cause themselves.
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
