//! The commands around a box: setting it up, controlling it, and reading its files.

mod config;
mod dialogue;
mod doctor;
mod history;
mod init;
mod name;
mod recording;
mod status;
mod telemetry;
mod top;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use evenair_api::Mode;
use evenair_boxfile::CONFIG;
use evenair_client::control::{Client, ClientError};
use serde_json::json;

pub use config::{ConfigCommand, config};
pub use doctor::{DoctorArgs, doctor};
pub use history::{HistoryArgs, history};
pub use init::{InitArgs, init};
pub use name::{NameArgs, name};
pub use recording::{RecordingCommand, ReplayArgs, recording, replay};
pub use status::{StatusArgs, status};
pub use telemetry::{TelemetryArgs, telemetry};
pub use top::{TopArgs, top};
pub use web::{WebArgs, web};

/// Default path of the box's control socket.
const SOCKET: &str = "/run/evenair/control.sock";

/// The box's control socket.
#[derive(Args)]
pub struct ControlArgs {
    /// The box's control socket
    #[arg(long, default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ControlArgs {
    /// Prints the box's mode: as a sentence, or as `{"mode": "inserted"}`.
    fn say(&self, mode: Mode, sentence: &str) -> ExitCode {
        if self.json {
            println!("{:#}", json!({ "mode": mode }));
        } else {
            println!("{mode}: {sentence}");
        }
        ExitCode::SUCCESS
    }
}

/// Inserts a box.
pub fn insert(args: &ControlArgs) -> Result<ExitCode> {
    Client::connect(&args.socket)?.insert()?;
    Ok(args.say(Mode::Inserted, "the box manages the traffic"))
}

/// Makes a box observe.
pub fn observe(args: &ControlArgs) -> Result<ExitCode> {
    Client::connect(&args.socket)?.observe()?;
    Ok(args.say(Mode::Observing, "the bridge carries the traffic, and the box looks on"))
}

/// Arguments of `evenair bypass`.
#[derive(Args)]
pub struct BypassArgs {
    #[command(flatten)]
    control: ControlArgs,
    /// Bypass even if the bridge cannot carry the traffic, so that no traffic passes
    #[arg(long)]
    force: bool,
}

/// Bypasses a box.
pub fn bypass(args: &BypassArgs) -> Result<ExitCode> {
    let mut client = Client::connect(&args.control.socket)?;
    if args.force {
        client.force_bypass()?;
        return Ok(args.control.say(Mode::Bypassed, "the queues have drained, and the box has let go of the traffic"));
    }
    client.bypass()?;
    Ok(args.control.say(Mode::Bypassed, "the queues have drained and the bridge carries the traffic"))
}

/// Arguments of `evenair reload`.
#[derive(Args)]
pub struct ReloadArgs {
    /// The box's control socket
    #[arg(long, default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// The configuration file [default: the one that the box was started with]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only say whether the box would accept the file; nothing changes
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reloads a box's configuration. Queued packets stay queued; an invalid file changes nothing.
pub fn reload(args: &ReloadArgs) -> Result<ExitCode> {
    // The box may run in another directory.
    let file = args.config.as_ref().map(std::path::absolute).transpose()?;
    let mut client = Client::connect(&args.socket)?;
    let (answer, sentence) = if args.check {
        (client.check_configuration(file.as_deref()), "the box would take it")
    } else {
        (client.reconfigure(file.as_deref()), "reloaded: the new configuration is in force")
    };
    if args.json {
        return say_answer_in_json(file.as_deref(), answer);
    }
    answer?;
    println!("{sentence}");
    Ok(ExitCode::SUCCESS)
}

/// Prints a refusal by the box as JSON; any other failure is an error. `file`: null for the box's own file.
fn say_answer_in_json(file: Option<&Path>, answer: Result<(), ClientError>) -> Result<ExitCode> {
    let refusal = match answer {
        Ok(()) => None,
        Err(ClientError::Refused(why)) => Some(why),
        Err(error) => return Err(error.into()),
    };
    println!("{:#}", json!({ "file": file, "accepted": refusal.is_none(), "error": refusal }));
    Ok(if refusal.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
