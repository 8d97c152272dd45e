//! `evenair-web alert`: tests of receivers, and mutes.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use evenair_web::{Mute, MuteRequest, WebConfig, list_mutes, mute, test_alerts, unmute};
use serde_json::json;

use super::date;

/// Commands about alerts.
#[derive(Subcommand)]
pub enum AlertCommand {
    /// Send a test through each receiver of web.toml, or through one, and print what became of it
    Test {
        /// The name of the receiver
        name: Option<String>,
    },
    /// Keep quiet about a code for a time: no alert, no repeat
    Mute {
        #[command(flatten)]
        what: MuteArgs,
        /// For how long, such as "2 h" or "3 days"
        #[arg(long = "for", value_name = "TIME", value_parser = time)]
        time: Duration,
    },
    /// End a mute
    Unmute {
        #[command(flatten)]
        what: MuteArgs,
    },
    /// List receivers and mutes
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What is muted.
#[derive(Args)]
pub struct MuteArgs {
    /// The code, such as slow-link
    code: String,
    /// Of this station (name or MAC address), contention domain, access point or source alone
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
}

impl MuteArgs {
    fn request(self) -> MuteRequest {
        MuteRequest { code: self.code, subject: self.subject }
    }
}

/// Longest mute, in days.
const LONGEST_DAYS: u64 = 366;

/// Parses a time of a minute to a year.
fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| format!("{error}; right: \"2 h\" or \"3 days\""))?;
    let range = Duration::from_secs(60)..=Duration::from_secs(LONGEST_DAYS * 24 * 60 * 60);
    if range.contains(&time) { Ok(time) } else { Err(format!("right: 1 min to {LONGEST_DAYS} days")) }
}

/// Executes a command.
pub fn alert(command: AlertCommand, config: &WebConfig) -> Result<ExitCode> {
    match command {
        AlertCommand::Test { name } => {
            let mut code = ExitCode::SUCCESS;
            for (receiver, sent) in test_alerts(config, name.as_deref())? {
                match sent {
                    Ok(()) => println!("{receiver}: sent"),
                    Err(why) => {
                        println!("{receiver}: {why}");
                        code = ExitCode::FAILURE;
                    }
                }
            }
            return Ok(code);
        }
        AlertCommand::Mute { what, time } => {
            let Mute { code, subject, until_s } = mute(config, &what.request(), time.as_secs())?;
            println!("{} is muted until {}", muted(code.word(), subject.as_deref()), date(until_s));
        }
        AlertCommand::Unmute { what } => {
            let text = muted(&what.code, what.subject.as_deref());
            unmute(config, &what.request())?;
            println!("{text} is no longer muted");
        }
        AlertCommand::List { json: true } => {
            let receivers: Vec<_> = config.alerts.iter().map(|receiver| receiver.name()).collect();
            println!("{:#}", json!({ "alerts": receivers, "mutes": list_mutes(config)? }));
        }
        AlertCommand::List { json: false } => {
            for receiver in &config.alerts {
                println!("{}  {}", receiver.name(), receiver.in_words());
            }
            for Mute { code, subject, until_s } in list_mutes(config)? {
                println!("{} is muted until {}", muted(code.word(), subject.as_deref()), date(until_s));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn muted(code: &str, subject: Option<&str>) -> String {
    subject.map_or_else(|| code.to_owned(), |subject| format!("{code} of {subject}"))
}
