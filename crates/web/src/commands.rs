//! `evenair-web token`: tokens of the API; `audit`: the audit log; `history`: the stored history; and the permission that `setup`
//! gives to the service.

mod alert;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use evenair_cli::moment_s;
use evenair_web::{
    Actor, AuditEntry, Clock, Permit, Role, SeriesPoint, SeriesRequest, TokenEntry, TokenGrant, WebConfig, add_token,
    drop_in, list_tokens, newest_entries, permit_commands, remove_token, series_of, undo,
};

pub use self::alert::{AlertCommand, alert};

/// Commands about tokens.
#[derive(Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it, once; it is kept as a hash
    Add {
        /// What it is for, such as "Grafana"
        #[arg(long)]
        note: String,
        /// What who shows it may do
        #[arg(long, value_enum, default_value = "view")]
        role: Role,
        /// For how many days it is valid
        #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
    },
    /// List all tokens
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a token: it is refused from now on
    Remove {
        /// Its id, as the list has it
        id: String,
    },
}

/// Permits the service to command the box, for accounts of role operate and admin, and prints the result. If that fails, the page
/// still shows the box.
pub fn permit(config: &WebConfig) {
    match permit_commands(config, Path::new("/")) {
        Permit::Present => {}
        Permit::Other(why) => println!("evenair-web may not command the box yet: {why}"),
        Permit::Failed(error) => {
            let path = drop_in();
            println!(
                "evenair-web may not command the box yet: {}: {error}; run this command with sudo",
                path.display()
            );
        }
        Permit::Written => {
            println!("evenair-web may command the box from now on: wrote {}. To undo: {}", drop_in().display(), undo());
            for arguments in [&["daemon-reload"][..], &["try-restart", "evenair-web.service"]] {
                let done = Command::new("systemctl").args(arguments).status();
                if !done.as_ref().is_ok_and(|status| status.success()) {
                    let why = done.map_or_else(|error| error.to_string(), |status| status.to_string());
                    println!("systemctl {}: {why}: run it yourself", arguments.join(" "));
                }
            }
        }
    }
}

/// Arguments of `evenair-web audit`.
#[derive(Args)]
pub struct AuditArgs {
    /// How many of the newest lines
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    lines: u32,
    /// Print them as they are kept, a JSON object each
    #[arg(long)]
    json: bool,
}

/// Prints the newest lines of the audit log.
pub fn audit(args: &AuditArgs, config: &WebConfig) -> Result<()> {
    for entry in newest_entries(config, args.lines as usize)? {
        if args.json {
            println!("{}", serde_json::to_string(&entry)?);
        } else {
            println!("{}", in_words(&entry));
        }
    }
    Ok(())
}

/// Arguments of `evenair-web history`.
#[derive(Args)]
pub struct HistoryArgs {
    /// The measure, such as wlan-p95 or down-mbps; a wrong one lists all
    #[arg(long, value_name = "MEASURE")]
    measure: String,
    /// Of what: box, domain:NAME, access-point:NAME, class:NAME or station:MAC (or its name)
    #[arg(long, default_value = "box", value_name = "SUBJECT")]
    subject: String,
    /// Of this station, by MAC address or name
    #[arg(long, conflicts_with = "subject", value_name = "STATION")]
    station: Option<String>,
    /// Start of the period: "2026-03-01 08:00" (UTC), or how long ago: "2h", "30d"
    #[arg(long, default_value = "24h", value_parser = moment_s, value_name = "TIME")]
    from: f64,
    /// End of the period, in the same format
    #[arg(long, default_value = "0s", value_parser = moment_s, value_name = "TIME")]
    to: f64,
    /// Length of its steps, in whole minutes
    #[arg(long, default_value = "1h", value_name = "TIME")]
    every: String,
    /// Output format
    #[arg(long, default_value = "text", value_name = "FORM")]
    format: Format,
}

/// How a series is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each step
    Text,
    /// The same, as CSV
    Csv,
    /// One JSON object, as the API has it
    Json,
}

/// Prints a series of the stored history.
pub fn history(args: HistoryArgs, config: &WebConfig) -> Result<()> {
    let HistoryArgs { measure, subject, station, from: from_s, to: to_s, every, format } = args;
    let subject = station.map_or(subject, |station| format!("station:{station}"));
    let series = series_of(&config.state, &SeriesRequest { measure, subject, from_s, to_s, every })?;
    if let Some(begins) = series.begins.filter(|begins| *begins as f64 > from_s) {
        eprintln!("the history begins at {}", date(begins.unsigned_abs()));
    }
    let lines = series.points.iter().map(|SeriesPoint { at, value }| (date(at.unsigned_abs()), value));
    match format {
        Format::Json => println!("{}", serde_json::to_string(&series)?),
        Format::Csv => {
            println!("time,{}", series.measure);
            lines.for_each(|(at, value)| println!("{at},{value}"));
        }
        Format::Text => {
            println!("{:<20}  {} of {} {}", "time (UTC)", series.measure, series.subject, series.unit);
            lines.for_each(|(at, value)| println!("{at}  {value:.2}"));
        }
    }
    Ok(())
}

/// An entry as text. Control characters in values are escaped.
fn in_words(AuditEntry { at, doer, from, what, values, result, left_out, .. }: &AuditEntry) -> String {
    let who = match (doer.by, &*doer.who) {
        (Actor::Anonymous, _) => "anonymous".to_owned(),
        (Actor::Account, "") => "no account".to_owned(),
        (Actor::Account, name) => name.to_owned(),
        (Actor::Token, id) => format!("token {id}"),
        (Actor::Shell, user) => format!("{user} (shell)"),
    };
    let role = doer.role.map_or("-", Role::name);
    let from = from.as_deref().unwrap_or("-");
    let values = values.iter().filter(|(_, value)| !value.is_null());
    let values: String = values.map(|(key, value)| format!("  {key}={value}")).collect();
    let left_out =
        if *left_out > 0 { format!("  ({left_out} failures before it are left out)") } else { String::new() };
    let line = format!("{}  {who}  {role}  {from}  {what}{values}  {result}{left_out}", date(*at));
    line.chars()
        .flat_map(|c| if matches!(c, '"' | '\'' | '\\') { vec![c] } else { c.escape_debug().collect() })
        .collect()
}

/// Executes a command. Prints only the token to standard output, for scripts.
pub fn token(command: TokenCommand, config: &WebConfig) -> Result<()> {
    match command {
        TokenCommand::Add { note, role, days } => {
            let (token, TokenEntry { id, expires_s, .. }) =
                add_token(config, &Clock::new(), TokenGrant { role, days, note })?;
            println!("{token}");
            eprintln!(
                "This is the only time that it is shown: token {id}, valid until {}. For example:",
                date(expires_s)
            );
            eprintln!("curl -H \"Authorization: Bearer $TOKEN\" {}api/v1/health", config.url());
        }
        TokenCommand::List { json: true } => println!("{:#}", serde_json::to_value(list_tokens(config)?)?),
        TokenCommand::List { json: false } => {
            let now = date(Clock::new().unix());
            for TokenEntry { id, role, expires_s, note, .. } in list_tokens(config)? {
                let end = date(expires_s);
                let ends = if end <= now { "ended" } else { "until" };
                println!("{id}  {:<7}  {ends} {end}  {note}", role.name());
            }
        }
        TokenCommand::Remove { id } => {
            remove_token(config, &id)?;
            println!("token {id} is removed");
        }
    }
    Ok(())
}

/// Seconds since 1970 as a date of RFC 3339, UTC.
pub fn date(unix_s: u64) -> String {
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_secs(unix_s)).to_string()
}
