//! `evenair-web token`: tokens of the API. `evenair-web history`: the stored history.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use evenair_cli::moment_s;
use evenair_web::{
    Clock, Role, SeriesPoint, SeriesRequest, TokenEntry, TokenGrant, WebConfig, add_token, list_tokens, remove_token,
    series_of,
};

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

/// Does what a command says. The token alone goes to standard output, for scripts.
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
fn date(unix_s: u64) -> String {
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_secs(unix_s)).to_string()
}
