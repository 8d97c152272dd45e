//! The daemon of the box: forwards packets in line between access points and wire, until a signal or a command ends it.
//!
//! This crate only parses the command line and sets up logging; the box is `evenair-serve`. Errors end here: one line with the error
//! and its remedy, and exit status 1 (2 for a wrong command line).

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand, ValueEnum};
use evenair_boxfile::{BoxConfig, CONFIG};
use evenair_live::crash;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Run the box in line between access points and wire. `evenair` commands it.
#[derive(Parser)]
#[command(name = "evenaird", version = evenair_cli::VERSION)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Restore the interface offloads that a killed box has left switched off; the service does this when it has ended
    #[command(hide = true)]
    RestoreOffloads,
}

/// How the box is run.
#[derive(Args)]
struct RunArgs {
    /// The same as --config
    #[arg(conflicts_with = "config", value_name = "FILE")]
    file: Option<PathBuf>,
    /// The box's configuration file
    #[arg(long, default_value = CONFIG, value_name = "FILE")]
    config: PathBuf,
    /// Wait for missing ports, and for ports that are not in the bridge, at the start and later, instead of exiting
    #[arg(long)]
    wait_for_ports: bool,
    /// Only validate the configuration, and summarize it
    #[arg(long)]
    check: bool,
    /// Format of log lines
    #[arg(long, default_value = "text", value_name = "FORM")]
    log_format: LogFormat,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line, for programs
    Json,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        None => run(&cli.run),
        Some(Command::RestoreOffloads) => {
            evenair_live::restore_offloads();
            Ok(ExitCode::SUCCESS)
        }
    };
    evenair_cli::end("evenaird", outcome)
}

/// Runs the box until a signal or a command ends it.
fn run(args: &RunArgs) -> Result<ExitCode> {
    start_log(args.log_format);
    let file = args.file.as_ref().unwrap_or(&args.config);
    let config = BoxConfig::load(file)?;
    if args.check {
        println!("{} is right: {}", file.display(), config.in_short());
        return Ok(ExitCode::SUCCESS);
    }
    crash::report_crashes(&crash::state_directory(), file);
    let last =
        if args.wait_for_ports { evenair_serve::run_when_ready(config)? } else { Some(evenair_serve::run(config)?) };
    if let Some(last) = last {
        println!("{}", last.packets.in_short());
    }
    Ok(ExitCode::SUCCESS)
}

/// Log levels per module, from the variable EVENAIR_LOG, such as `debug` or `evenair_serve=debug,info`.
fn log_filter(variable: Option<&str>) -> Targets {
    let usual = Targets::new().with_default(LevelFilter::INFO);
    variable.filter(|text| !text.is_empty()).and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn start_log(format: LogFormat) {
    let filter = log_filter(std::env::var("EVENAIR_LOG").ok().as_deref());
    let lines = tracing_subscriber::fmt::layer().with_writer(|| crash::Log);
    let log = tracing_subscriber::registry().with(filter);
    match format {
        LogFormat::Text => log.with(lines.with_ansi(std::io::stderr().is_terminal())).init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true)).init(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_log_level_is_info() {
        use tracing_subscriber::filter::LevelFilter;
        let level = |variable| log_filter(variable).default_level();
        assert_eq!(level(None), Some(LevelFilter::INFO));
        assert_eq!(level(Some("")), Some(LevelFilter::INFO));
        assert_eq!(level(Some("nonsense=loud")), Some(LevelFilter::INFO));
        assert_eq!(level(Some("debug")), Some(LevelFilter::DEBUG));
        assert_eq!(level(Some("evenair_serve=debug,warn")), Some(LevelFilter::WARN));
    }

    #[test]
    fn the_file_is_a_positional_argument_and_given_once() {
        let file = |words: &[&str]| Cli::try_parse_from([&["evenaird"], words].concat()).map(|cli| cli.run.file);
        assert_eq!(file(&["--check"]).expect("understood"), None);
        assert_eq!(file(&["box.toml", "--check"]).expect("understood"), Some("box.toml".into()));
        assert!(file(&["box.toml", "--config", "box.toml"]).is_err());
        let cli = Cli::try_parse_from(["evenaird", "restore-offloads"]).expect("understood");
        assert!(matches!(cli.command, Some(Command::RestoreOffloads)));
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
