//! The program of the page. Errors end here: one line with the error and its remedy.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use evenair_web::{CONFIG, WebConfig};

/// Serve the page of a box to browsers. It only reads; the box does not notice whether it runs.
#[derive(Parser)]
#[command(name = "evenair-web", version = evenair_cli::VERSION)]
struct Cli {
    /// The page's configuration file; that at the usual place may be missing
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The watch socket of the box, instead of the configured one
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Address and port of the page, on loopback, instead of the configured one
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Only validate the configuration
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    evenair_cli::end("evenair-web", run(Cli::parse()))
}

fn run(cli: Cli) -> Result<ExitCode> {
    let mut config = match &cli.config {
        Some(path) => WebConfig::load(path)?,
        None if std::path::Path::new(CONFIG).exists() => WebConfig::load(CONFIG.as_ref())?,
        None => WebConfig::default(),
    };
    config.socket = cli.socket.unwrap_or(config.socket);
    if let Some(listen) = cli.listen {
        if !listen.ip().is_loopback() {
            bail!(
                "--listen {listen}: could be reached from other machines, and the page has no login: use 127.0.0.1 and a tunnel (ssh -L)"
            );
        }
        config.listen = listen;
    }
    if cli.check {
        println!(
            "the configuration is right: the page at http://{}/, the box at {}",
            config.listen,
            config.socket.display()
        );
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(async {
        tokio::select! {
            ended = evenair_web::serve(config) => ended,
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
