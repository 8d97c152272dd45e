//! `evenair testbed`: runs of scenarios between real hosts.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use evenair_scenario::Scenario;
use evenair_scenario::results::RunResult;
use evenair_testbed::TestbedOptions;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::output;
use crate::view::View;

/// What `evenair testbed` does.
#[derive(Subcommand)]
pub enum TestbedCommand {
    /// Run a scenario in real time
    Run(RunArgs),
    /// List the hosts of the runs that are going on
    List,
    /// Run a command in a host of a run that is going on (as `list` names them)
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

/// What `evenair testbed run` is told.
#[derive(Args)]
pub struct RunArgs {
    /// The scenario file
    file: PathBuf,
    /// Replace a value of the file, for instance `--set seed=7` or `--set radio.ap_buffer="50 packets"`
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    sets: Vec<(String, String)>,
    /// Where the results go, in a directory of their own
    #[arg(long, default_value = "results", value_name = "DIR")]
    out: PathBuf,
    /// Show no live view
    #[arg(long)]
    quiet: bool,
    /// Record what the box is told, for `evenair replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Does what the command line says.
pub fn run(command: TestbedCommand) -> Result<ExitCode> {
    match command {
        TestbedCommand::Run(args) => run_file(&args),
        TestbedCommand::List => list(),
        TestbedCommand::Exec { run, host, command } => exec(&run, &host, &command),
    }
}

/// A host's traffic programs.
pub fn agent() -> Result<ExitCode> {
    evenair_testbed::agent::main().map_err(anyhow::Error::msg)?;
    Ok(ExitCode::SUCCESS)
}

/// Loads a scenario, with values replaced.
pub fn load(file: &Path, sets: &[(String, String)]) -> Result<Scenario> {
    let sets: Vec<(&str, &str)> = sets.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    Ok(Scenario::load_with(file, &sets)?)
}

/// Reads `key=value` of a command line.
pub fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, for instance seed=7")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Options for a run by this very program, which Ctrl-C ends early and cleanly.
pub fn options() -> Result<TestbedOptions> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let cancel: Arc<AtomicBool> = Arc::default();
    for signal in [SIGINT, SIGTERM] {
        // A second signal ends the process at once; everything that was started is tied to it and goes with it.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&cancel))?;
        signal_hook::flag::register(signal, Arc::clone(&cancel))?;
    }
    let mut options = TestbedOptions::new(program);
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
    let scenario = load(&args.file, &args.sets)?;
    let mut options = options()?;
    options.record.clone_from(&args.record);
    // The directory comes first: better to learn before the run than after it that nothing can be written.
    let directory = output::new_directory(&args.out, &scenario.name)?;
    let outcome = run_scenario(&scenario, &options, args.quiet);
    if outcome.is_err() {
        // Still empty, so nothing is lost; leaving it would only look like a result.
        let _ = std::fs::remove_dir(&directory);
    }
    let result = outcome?;
    output::write(&directory, &result)?;
    println!("{}", evenair_scenario::results::summary(&result));
    println!("results: {}", directory.display());
    if result.valid { Ok(ExitCode::SUCCESS) } else { bail!("this run is not valid: see above") }
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

fn exec(run: &str, host: &str, command: &[String]) -> Result<ExitCode> {
    let hosts = evenair_testbed::rundir::running_hosts();
    let namespace = hosts
        .iter()
        .find(|(of, name, _)| of == run && name == host)
        .map(|(_, _, namespace)| namespace)
        .ok_or_else(|| anyhow!("no run {run} with a host {host} is going on; `evenair testbed list` shows them"))?;
    let mut enter = Command::new("nsenter");
    enter.arg(format!("--net={}", namespace.display())).args(command);
    Err(enter.exec()).context("cannot run nsenter (of package util-linux)")
}
