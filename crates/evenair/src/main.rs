//! The `evenair` command, for operators of a box. `evenair run` replaces itself with the daemon `evenaird`, and the
//! commands of simulator and testbed with `evenair-lab`.
//!
//! This crate only parses the command line, calls the library crates and prints. Every command's errors end here: one line
//! with the error and its remedy, and exit status 1 (2 for a wrong command line).

mod live;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use evenair_cli::{DAEMON, LAB, LAB_COMMANDS, VERSION, become_program};

/// The package that has both this program and the daemon.
const PACKAGE: &str = "evenair";

/// Fair, low-latency Wi-Fi behind ordinary access points.
#[derive(Parser)]
#[command(name = "evenair", version = VERSION, propagate_version = true, subcommands = lab_commands(), after_help = lab_package())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Set up a box on this machine: its configuration, and the bridge that it needs
    Init(live::InitArgs),
    /// Check a box's configuration, print the reference of its keys
    #[command(subcommand)]
    Config(live::ConfigCommand),
    /// Run the box in line between access points and wire: the daemon `evenaird`, with its options
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Run {
        /// Arguments of `evenaird`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Make a running box manage the traffic
    Insert(live::ControlArgs),
    /// Make a running box measure the traffic and change nothing: the bridge carries it
    Observe(live::ControlArgs),
    /// Make a running box drain its queues and hand the traffic to the bridge
    Bypass(live::BypassArgs),
    /// Show the status of a running box
    Status(live::StatusArgs),
    /// Show a running box live, station by station
    Top(live::TopArgs),
    /// Say where a browser finds the page of the box, also through SSH
    Web(live::WebArgs),
    /// Name stations, also those of a CSV file, or list the names
    Name(live::NameArgs),
    /// Print the history of a box: statistics of each interval, and events
    History(live::HistoryArgs),
    /// Reload the configuration of a running box, without losing a packet
    Reload(live::ReloadArgs),
    /// Report problems of a box on this machine, and how to fix them
    Doctor(live::DoctorArgs),
    /// Poll access points for their stations once, and print the reports
    #[command(disable_version_flag = true)]
    Telemetry(live::TelemetryArgs),
    /// Run a recording through the manager again and compare its decisions
    Replay(live::ReplayArgs),
    /// Prepare a recording to be passed on
    #[command(subcommand)]
    Recording(live::RecordingCommand),
}

impl Command {
    /// Commands that only print may exit when their reader has closed the pipe. The others have sockets and children, and
    /// handle a closed one as an error.
    const fn ends_with_its_reader(&self) -> bool {
        matches!(
            self,
            Self::Status(_) | Self::Name(_) | Self::History(_) | Self::Doctor(_) | Self::Config(_) | Self::Replay(_)
        )
    }
}

fn main() -> ExitCode {
    if let Some(outcome) = lab_command(std::env::args_os().skip(1).collect()) {
        return evenair_cli::end("evenair", outcome);
    }
    let command = Cli::parse().command;
    if command.ends_with_its_reader() {
        evenair_sys::process::end_with_the_reader();
    }
    let outcome = match command {
        Command::Init(args) => live::init(&args),
        Command::Config(command) => Ok(live::config(&command)),
        Command::Run { arguments } => become_program(DAEMON, PACKAGE, DAEMON, arguments),
        Command::Insert(args) => live::insert(&args),
        Command::Observe(args) => live::observe(&args),
        Command::Bypass(args) => live::bypass(&args),
        Command::Status(args) => live::status(&args),
        Command::Top(args) => live::top(&args),
        Command::Web(args) => live::web(&args),
        Command::Name(args) => live::name(&args),
        Command::History(args) => live::history(&args),
        Command::Reload(args) => live::reload(&args),
        Command::Doctor(args) => live::doctor(&args),
        Command::Telemetry(args) => live::telemetry(&args),
        Command::Replay(args) => live::replay(&args),
        Command::Recording(command) => live::recording(&command),
    };
    evenair_cli::end("evenair", outcome)
}

/// Replaces this process with `evenair-lab` if the first argument, or the one after `help`, is one of its commands; `evenair-lab` parses
/// all arguments itself.
fn lab_command(arguments: Vec<OsString>) -> Option<Result<ExitCode>> {
    let mut words = arguments.iter();
    let first = words.next()?;
    let command = if first == "help" { words.next()? } else { first };
    LAB_COMMANDS.iter().find(|(name, _)| command == name)?;
    Some(become_program(LAB, LAB, "evenair", arguments))
}

/// The commands of `evenair-lab`, listed after those of this program.
fn lab_commands() -> impl Iterator<Item = clap::Command> {
    LAB_COMMANDS
        .iter()
        .zip(100..)
        .map(|(&(name, about), order)| clap::Command::new(name).about(about).display_order(order))
}

fn lab_package() -> String {
    let names: Vec<_> = LAB_COMMANDS.iter().map(|&(name, _)| name).collect();
    format!("The commands {} are in the package {LAB}.", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
