//! `evenair-web token`: tokens of the API.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::Subcommand;
use evenair_web::{Clock, Role, TokenEntry, TokenGrant, WebConfig, add_token, list_tokens, remove_token};

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
