//! The program of the page. Prints an error as one line with its remedy.

mod commands;
mod state_commands;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use evenair_web::{
    CONFIG, Clock, Grant, Role, TlsConfig, WebConfig, check_alerts, check_certificate, self_signed_fingerprint,
    setup_link,
};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::{AlertCommand, AuditArgs, HistoryArgs, TokenCommand, alert, audit, history, permit, token};
use crate::state_commands::{AccountCommand, BackupArgs, RestoreArgs, account, backup, restore};

/// Threads for hashing passwords and reading files and the database: fewer than the service's task limit (`TasksMax=` of its unit).
const BLOCKING_THREADS: usize = 16;

/// Serve the page of a box to browsers. It only reads; the box does not notice whether it runs.
#[derive(Parser)]
#[command(name = "evenair-web", version = evenair_cli::VERSION)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// The page's configuration file; that at the usual place may be missing
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// The directory of accounts and of the self-signed certificate, instead of the configured one
    #[arg(long, value_name = "PATH", global = true)]
    state: Option<PathBuf>,
    /// The watch socket of the box, instead of the configured one
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Address and port of the page, instead of the configured one
    #[arg(long, value_name = "ADDRESS:PORT", global = true)]
    listen: Option<SocketAddr>,
    /// The box ends once and for all, as that of the demo: what the page says then, above its last numbers
    #[arg(long, value_name = "TEXT")]
    farewell: Option<String>,
    /// Only validate the configuration
    #[arg(long)]
    check: bool,
    /// Only print where a browser finds the page
    #[arg(long = "where", conflicts_with = "check")]
    only_where: bool,
    /// Print that as JSON, and whether the program was built with its page
    #[arg(long, requires = "only_where")]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Print a link that makes an account in a browser, once and within 15 minutes, or gives one a new password
    ///
    /// With the first account, every browser has to log in. A further link replaces the one before. The page must be running.
    Setup {
        /// What the account may do
        #[arg(long, value_enum, default_value = "admin")]
        role: Role,
        /// Whose account it is; the browser chooses otherwise, a new one unless the role is admin
        #[arg(long)]
        name: Option<String>,
    },
    /// Make, list and remove tokens, with which programs use the API
    #[command(subcommand)]
    Token(TokenCommand),
    /// Print the audit log: who logged in, and who changed what, the newest line last
    Audit(AuditArgs),
    /// Print a measure of the stored history over any time
    History(HistoryArgs),
    /// Test the receivers of alerts, and mute what they hear of
    #[command(subcommand)]
    Alert(AlertCommand),
    /// Change accounts
    #[command(subcommand)]
    Account(AccountCommand),
    /// Write accounts, tokens, certificate, audit log and history to one file, while evenair-web may run
    Backup(BackupArgs),
    /// Put a backup in the place of what is in the state directory, which is kept; evenair-web must not run
    Restore(RestoreArgs),
}

impl Cli {
    /// Whether the command only prints, and so may exit on a closed pipe.
    const fn ends_with_its_reader(&self) -> bool {
        self.only_where || matches!(self.command, Some(Command::Audit(_) | Command::History(_)))
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.ends_with_its_reader() {
        evenair_sys::process::end_with_the_reader();
    }
    evenair_cli::end("evenair-web", run(cli))
}

fn run(cli: Cli) -> Result<ExitCode> {
    let mut config = match &cli.config {
        Some(path) => WebConfig::load(path)?,
        None if std::path::Path::new(CONFIG).exists() => WebConfig::load(CONFIG.as_ref())?,
        None => WebConfig::default(),
    };
    config.socket = cli.socket.unwrap_or(config.socket);
    config.farewell = cli.farewell;
    config.state = cli.state.unwrap_or(config.state);
    config.listen = cli.listen.unwrap_or(config.listen);
    let ssh = std::env::var("SSH_CONNECTION").ok();
    if let Some(command) = cli.command {
        let serves_only = cli.check || cli.only_where || config.farewell.is_some();
        ensure!(!serves_only, "--check, --where and --farewell go without a command");
        return run_command(command, &config, ssh.as_deref());
    }
    config.check_exposure()?;
    if cli.check {
        check_certificate(&config)?;
        check_alerts(&config)?;
        println!("the configuration is right: the page at {}, the box at {}", config.url(), config.socket.display());
        return Ok(ExitCode::SUCCESS);
    }
    if cli.only_where {
        if cli.json {
            println!("{:#}", directions_in_json(&config, ssh.as_deref()));
        } else {
            print!("{}", directions(&config, ssh.as_deref()));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(BLOCKING_THREADS).build().context("cannot start")?;
    runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate()).context("cannot hear of SIGTERM")?;
        tokio::select! {
            ended = evenair_web::serve(config) => ended,
            _ = tokio::signal::ctrl_c() => Ok(()),
            _ = terminated.recv() => Ok(()),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn run_command(command: Command, config: &WebConfig, ssh: Option<&str>) -> Result<ExitCode> {
    match command {
        Command::Alert(command) => return alert(command, config),
        Command::Setup { role, name } => setup(Grant { role, name }, config, ssh),
        Command::Token(command) => token(command, config),
        Command::Audit(args) => audit(&args, config),
        Command::History(args) => history(args, config),
        Command::Account(command) => account(command, config),
        Command::Backup(args) => backup(args, config),
        Command::Restore(args) => restore(&args, config),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a setup link, and permits the service to command the box if the account may.
fn setup(grant: Grant, config: &WebConfig, ssh: Option<&str>) -> Result<()> {
    let may_command = grant.role > Role::View;
    println!("{}", setup_link(config, &Clock::new(), grant)?);
    if may_command {
        permit(config);
    }
    print!("{}", directions(config, ssh).split_once('\n').map_or("", |(_, rest)| rest));
    println!("The link is valid once, for 15 minutes; keep it secret, since it makes an account.");
    Ok(())
}

/// Instructions to open the page and to verify it; `ssh`: the variable SSH_CONNECTION of an SSH login (client, its port, this
/// machine, its port).
fn directions(config: &WebConfig, ssh: Option<&str>) -> String {
    let mut text = config.url() + "\n";
    if let Some(tunnel) = tunnel(config.listen, ssh) {
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let local = config.listen.port();
        text += &format!(
            "On the machine with the browser: {tunnel}, then {scheme}://127.0.0.1:{local}{}/\n",
            config.base_path
        );
    }
    match fingerprint(config) {
        None => {}
        Some(Ok(fingerprint)) => text += &format!("SHA-256 of its self-signed certificate: {fingerprint}\n"),
        Some(Err(why)) => text += &format!("SHA-256 of its self-signed certificate: unknown ({why})\n"),
    }
    text
}

/// The fingerprint of a self-signed certificate, or why it is unknown; `None` without such a certificate.
fn fingerprint(config: &WebConfig) -> Option<Result<String, String>> {
    let is_self_signed = config.tls == Some(TlsConfig::SelfSigned);
    is_self_signed.then(|| match self_signed_fingerprint(config) {
        Ok(Some(fingerprint)) => Ok(fingerprint),
        Ok(None) => Err("it is made at the first start".into()),
        Err(error) => Err(format!("{error:#}")),
    })
}

/// The instructions as JSON; `evenair web --json` prints the same keys if this program is not installed.
fn directions_in_json(config: &WebConfig, ssh: Option<&str>) -> Value {
    json!({
        "program": std::env::current_exe().ok(),
        "page": evenair_web::has_page(),
        "address": config.url(),
        "fingerprint": fingerprint(config).and_then(Result::ok),
        "ssh": tunnel(config.listen, ssh),
    })
}

/// The command for an SSH tunnel from the operator's machine; `None` without SSH, or if the page is reachable anyway.
fn tunnel(listen: SocketAddr, ssh: Option<&str>) -> Option<String> {
    if !listen.ip().is_loopback() {
        return None;
    }
    let ssh: Vec<_> = ssh?.split(' ').collect();
    let [_, _, machine, port] = ssh[..] else { return None };
    let option = if port == "22" { String::new() } else { format!("-p {port} ") };
    let user = std::env::var("USER").map_or_else(|_| String::new(), |user| user + "@");
    Some(format!("ssh {option}-L {}:{listen} {user}{machine}", listen.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_users_get_the_command_of_a_tunnel() {
        let config = WebConfig::default();
        assert_eq!(directions(&config, None), "http://127.0.0.1:9471/\n");
        assert_eq!(directions(&config, Some("nonsense")), "http://127.0.0.1:9471/\n");
        let text = directions(&config, Some("192.0.2.9 50000 192.0.2.1 22"));
        assert!(text.contains("ssh -L 9471:127.0.0.1:9471 ") && text.contains("192.0.2.1, then"), "{text}");
        let text = directions(&config, Some("192.0.2.9 50000 192.0.2.1 2222"));
        assert!(text.contains("ssh -p 2222 -L"), "{text}");
    }

    #[test]
    fn directions_in_json_have_the_address_and_the_command_of_the_tunnel() {
        let config = WebConfig::default();
        let local = directions_in_json(&config, None);
        assert_eq!((&local["address"], &local["ssh"]), (&"http://127.0.0.1:9471/".into(), &Value::Null));
        assert!(local["program"].is_string() && local["page"].is_boolean(), "{local}");
        let remote = directions_in_json(&config, Some("192.0.2.9 50000 192.0.2.1 22"));
        let command = remote["ssh"].as_str().expect("through SSH");
        assert!(command.starts_with("ssh -L 9471:127.0.0.1:9471 ") && command.ends_with("192.0.2.1"), "{command}");
    }
}
