//! `evenair testbed`: runs of scenarios between real hosts.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use evenair_cli::{DAEMON, find_program};
use evenair_results::RunResult;
use evenair_scenario::Scenario;
use evenair_testbed::TestbedOptions;
use signal_hook::consts::{SIGINT, SIGQUIT, SIGTERM};

use super::scenario_run::ScenarioRun;
use crate::view::View;

/// What `evenair testbed` does.
#[derive(Subcommand)]
pub enum TestbedCommand {
    /// Run a scenario in real time
    Run(RunArgs),
    /// List the hosts of active runs
    List,
    /// Run a command in a host of an active run (names as in `list`)
    Exec {
        /// The run
        run: String,
        /// The host
        host: String,
        /// The command and its arguments
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
}

/// Arguments of `evenair testbed run`.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    run: ScenarioRun,
    /// Record the inputs of the box's manager, for `evenair replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Executes the command.
pub fn run(command: TestbedCommand) -> Result<ExitCode> {
    match command {
        TestbedCommand::Run(args) => run_file(&args),
        TestbedCommand::List => list(),
        TestbedCommand::Exec { run, host, command } => exec(&run, &host, &command),
    }
}

/// Runs the traffic programs of a host.
pub fn agent() -> Result<ExitCode> {
    evenair_testbed::agent::main().map_err(anyhow::Error::msg)?;
    Ok(ExitCode::SUCCESS)
}

/// Options for a run with this program as the hosts' agent and the daemon as the box. Ctrl-C ends the run early and cleanly.
pub fn options() -> Result<TestbedOptions> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let cancel: Arc<AtomicBool> = Arc::default();
    for signal in [SIGINT, SIGTERM] {
        // A second signal ends the process at once, and with it all its children.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&cancel))?;
        signal_hook::flag::register(signal, Arc::clone(&cancel))?;
    }
    let daemon = find_program(DAEMON).unwrap_or_else(|| DAEMON.into());
    let mut options = TestbedOptions::new(program, daemon);
    options.cancel = cancel;
    Ok(options)
}

/// Runs a scenario with a live view, or silently.
pub fn run_scenario(scenario: &Scenario, options: &TestbedOptions, quiet: bool) -> Result<RunResult> {
    let mut view = View::new(scenario, quiet);
    let result = evenair_testbed::run(scenario, options, |progress| view.show(progress));
    view.finish();
    Ok(result?)
}

fn run_file(args: &RunArgs) -> Result<ExitCode> {
    let mut options = options()?;
    options.record.clone_from(&args.record);
    args.run.run(|scenario, quiet| run_scenario(scenario, &options, quiet))
}

fn list() -> Result<ExitCode> {
    let hosts = evenair_testbed::rundir::running_hosts();
    if hosts.is_empty() {
        println!("no testbed is running");
    }
    for (run, host, _) in hosts {
        println!("{run}  {host}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Exits with the status of the command.
fn exec(run: &str, host: &str, command: &[String]) -> Result<ExitCode> {
    for signal in [SIGINT, SIGQUIT] {
        // Terminal keys are meant for the command, which would die with this process.
        signal_hook::flag::register(signal, Arc::default())?;
    }
    let status = evenair_testbed::exec(Some(run), host, command)?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
