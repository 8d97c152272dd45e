//! The `evenair-lab` command: simulator, real-time testbed, and studies made with them. `evenair` starts it for its commands.
//!
//! This crate only parses the command line, calls the library crates and prints. Every command's errors end here: one line
//! with the error and its remedy, and exit status 1 (2 for a wrong command line).

mod accept;
mod calibrate;
mod commands;
mod demo;
mod measure;
mod output;
mod reproduce;
mod view;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Simulator, real-time testbed and studies of Evenair.
#[derive(Parser)]
#[command(name = "evenair-lab", version = output::VERSION, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Demonstrate the box in a minute: a room without and with it, in a browser and here
    Demo(demo::DemoArgs),
    /// Run scenarios with real hosts over a simulated radio, in real time
    #[command(subcommand)]
    Testbed(commands::testbed::TestbedCommand),
    /// Run scenarios in the simulator, in virtual time
    #[command(subcommand)]
    Sim(commands::sim::SimCommand),
    /// Show a folder of results, or make it again and compare
    #[command(subcommand)]
    Results(commands::results::ResultsCommand),
    /// Compare policies for a WLAN in the same simulated experiment: FIFO, FQ-CoDel, LAS-ACK, ADWISER, Evenair, your own
    Compare(commands::compare::CompareArgs),
    /// Check scenario files, print their schema and the reference of their keys
    #[command(subcommand)]
    Scenario(commands::scenario::ScenarioCommand),
    /// Measure every promised figure and compare it with its bound
    Accept(accept::AcceptArgs),
    /// Run the published experiments in the simulator, and compare each published figure
    Reproduce(reproduce::ReproduceArgs),
    /// Infer from captures of air and wire how many nodes were backlogged
    Backlog(commands::backlog::BacklogArgs),
    /// Measure the goodput of a link by its signal, for channel-aware schedulers
    Calibrate(commands::calibrate::CalibrateArgs),
    /// Measure what the box does in simulated networks: a table for each question, as in docs/measured
    Measure(measure::MeasureArgs),
    /// A host's traffic programs in the testbed, driven over standard input
    #[command(hide = true)]
    Agent,
}

impl Command {
    /// Commands that only print may exit on a closed pipe. The others have sockets and children, and handle a closed pipe as
    /// an error.
    const fn ends_with_its_reader(&self) -> bool {
        matches!(
            self,
            Self::Sim(_)
                | Self::Results(_)
                | Self::Compare(_)
                | Self::Scenario(_)
                | Self::Backlog(_)
                | Self::Calibrate(_)
                | Self::Measure(_)
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
        Command::Results(command) => commands::results::run(&command),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Scenario(command) => commands::scenario::run(command),
        Command::Accept(args) => accept::accept(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Backlog(args) => commands::backlog::backlog(&args),
        Command::Calibrate(args) => commands::calibrate::calibrate(&args),
        Command::Measure(args) => measure::run(&args),
        Command::Agent => commands::testbed::agent(),
    };
    evenair_cli::end("evenair-lab", outcome)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn evenair_lists_these_commands() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let ours: Vec<_> =
            visible.map(|command| (command.get_name(), command.get_about().expect("documented").to_string())).collect();
        let listed: Vec<_> = evenair_cli::LAB_COMMANDS.iter().map(|&(name, about)| (name, about.to_owned())).collect();
        assert_eq!(listed, ours, "left: LAB_COMMANDS");
    }
}
