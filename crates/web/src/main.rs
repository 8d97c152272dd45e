//! The program of the page. Errors end here: one line with the error and its remedy.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use evenair_web::{CONFIG, WebConfig};
use serde_json::{Value, json};

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
    config.farewell = cli.farewell;
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
    if cli.only_where {
        let ssh = std::env::var("SSH_CONNECTION").ok();
        if cli.json {
            println!("{:#}", directions_in_json(config.listen, ssh.as_deref()));
        } else {
            print!("{}", directions(config.listen, ssh.as_deref()));
        }
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

/// Where a browser finds the page; `ssh`: the variable SSH_CONNECTION of a login through SSH (client, its port, this machine, its
/// port).
fn directions(listen: SocketAddr, ssh: Option<&str>) -> String {
    let page = format!("http://{listen}/\n");
    let Some(tunnel) = tunnel(listen, ssh) else { return page };
    let local = listen.port();
    format!("{page}On the machine with the browser: {tunnel}, then http://127.0.0.1:{local}/\n")
}

/// The same for programs; `evenair web --json` prints the same keys if this program is not installed.
fn directions_in_json(listen: SocketAddr, ssh: Option<&str>) -> Value {
    json!({
        "program": std::env::current_exe().ok(),
        "page": evenair_web::has_page(),
        "address": format!("http://{listen}/"),
        "ssh": tunnel(listen, ssh),
    })
}

/// The command that makes the page reachable from the machine that the operator has logged in from; `None`: not through SSH.
fn tunnel(listen: SocketAddr, ssh: Option<&str>) -> Option<String> {
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
    fn who_has_come_through_ssh_is_told_of_the_tunnel() {
        let listen = SocketAddr::from(([127, 0, 0, 1], 9471));
        assert_eq!(directions(listen, None), "http://127.0.0.1:9471/\n");
        assert_eq!(directions(listen, Some("nonsense")), "http://127.0.0.1:9471/\n");
        let text = directions(listen, Some("192.0.2.9 50000 192.0.2.1 22"));
        assert!(text.contains("ssh -L 9471:127.0.0.1:9471 ") && text.contains("192.0.2.1, then"), "{text}");
        let text = directions(listen, Some("192.0.2.9 50000 192.0.2.1 2222"));
        assert!(text.contains("ssh -p 2222 -L"), "{text}");
    }

    #[test]
    fn directions_in_json_have_the_address_and_the_command_of_the_tunnel() {
        let listen = SocketAddr::from(([127, 0, 0, 1], 9471));
        let local = directions_in_json(listen, None);
        assert_eq!((&local["address"], &local["ssh"]), (&"http://127.0.0.1:9471/".into(), &Value::Null));
        assert!(local["program"].is_string() && local["page"].is_boolean(), "{local}");
        let remote = directions_in_json(listen, Some("192.0.2.9 50000 192.0.2.1 22"));
        let command = remote["ssh"].as_str().expect("through SSH");
        assert!(command.starts_with("ssh -L 9471:127.0.0.1:9471 ") && command.ends_with("192.0.2.1"), "{command}");
    }
}
