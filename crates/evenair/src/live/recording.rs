//! `evenair replay` and `evenair recording`: repeats recordings of a box's traffic, and redacts them for
//! others.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use evenair_live::Replay;
use serde_json::json;

/// Arguments of `evenair replay`.
#[derive(Args)]
pub struct ReplayArgs {
    /// The recording
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Replays a recording and compares the decisions.
pub fn replay(args: &ReplayArgs) -> Result<ExitCode> {
    let file = &args.file;
    let replayed = evenair_live::replay(file).with_context(|| format!("cannot replay {}", file.display()))?;
    let identical = replayed.is_identical();
    if args.json {
        let Replay { digest, recorded, cut } = replayed;
        let values = json!({ "replayed": digest, "recorded": recorded, "cut": cut, "identical": identical });
        println!("{values:#}");
    } else {
        print_replay(&replayed);
    }
    Ok(if identical { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_replay(replayed: &Replay) {
    println!("replayed decisions:  {}", replayed.digest);
    println!("recorded decisions:  {}", replayed.recorded.as_deref().unwrap_or("none: the box did not end in order"));
    if let Some(cut) = &replayed.cut {
        println!("the recording is cut short: {cut}");
    }
    println!("{}", if replayed.is_identical() { "identical to the byte" } else { "NOT IDENTICAL" });
}

/// Subcommands of `evenair recording`.
#[derive(Subcommand)]
pub enum RecordingCommand {
    /// Write a recording anew with other addresses and names, one for one, which replays to the same decisions
    Redact {
        /// The recording
        file: PathBuf,
        /// The file to write, which is not there yet
        to: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs a subcommand of `evenair recording`.
pub fn recording(command: &RecordingCommand) -> Result<ExitCode> {
    let RecordingCommand::Redact { file, to, json } = command;
    let cut = evenair_live::redact(file, to)?;
    if *json {
        println!("{:#}", json!({ "file": to, "cut": cut }));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(cut) = cut {
        println!("the recording is cut short: {cut}");
    }
    println!("{}: other addresses and names, the same decisions about each packet", to.display());
    println!("Times, sizes, ports, rates and signals are as they were.");
    Ok(ExitCode::SUCCESS)
}
