//! Bulk TCP with iperf3 (<https://software.es.net/iperf/>), for users who prefer a familiar tool.
//!
//! iperf3 has a control connection beside its data connection. The control connection must not cross the radio, where it
//! would wait in the queues under test; the `management` module describes how the two are distinguished.

use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use evenair_sys::process::tie;

use super::state::{App, Times, sleep_until};

/// No interim reports: the agent does not read them, and a full pipe would block the transfer.
const NO_REPORTS: [&str; 2] = ["--interval", "0"];

/// Options of a client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) local: IpAddr,
    pub(super) server: SocketAddr,
    pub(super) data_port: u16,
    pub(super) reverse: bool,
    pub(super) bytes: Option<u64>,
    pub(super) congestion_control: Option<String>,
    /// The client sends it to the server, which marks its packets too.
    pub(super) dscp: u8,
}

/// Starts a server. It dies with the calling thread, which must live for the whole run.
pub(super) fn serve(listen: SocketAddr) -> Result<Child, String> {
    let mut command = Command::new("iperf3");
    command.args(["--server", "--bind", &listen.ip().to_string(), "--port", &listen.port().to_string()]);
    spawn(command.args(NO_REPORTS))
}

/// Reports a server that ends before its application.
pub(super) fn watch(app: &App, mut server: Child) {
    if let Some(_ended) = wait(app, &mut server) {
        app.note(format!("the iperf3 server ended: {}", last_words(&mut server)));
    }
}

pub(super) fn run_client(app: &Arc<App>, client: &Client, times: Times) {
    sleep_until(times.start_ns);
    while !app.is_stopped() {
        let seconds = times.stop_ns.saturating_sub(evenair_sys::rt::monotonic_ns()).div_ceil(1_000_000_000).max(1);
        let mut command = command(client, seconds);
        let mut child = match spawn(&mut command) {
            Ok(child) => child,
            Err(error) => return app.note(error),
        };
        match wait(app, &mut child) {
            Some(true) | None => return,
            Some(false) => app.note(format!("iperf3 failed: {}; trying again", last_words(&mut child))),
        }
        thread::sleep(Duration::from_secs(1));
    }
}

fn command(client: &Client, seconds: u64) -> Command {
    let mut command = Command::new("iperf3");
    command.args(["--client", &client.server.ip().to_string(), "--port", &client.server.port().to_string()]);
    command.args(["--bind", &client.local.to_string(), "--cport", &client.data_port.to_string()]);
    match client.bytes {
        Some(bytes) => command.args(["--bytes", &bytes.to_string()]),
        None => command.args(["--time", &seconds.to_string()]),
    };
    command.args(NO_REPORTS);
    if client.reverse {
        command.arg("--reverse");
    }
    if client.dscp != 0 {
        command.args(["--dscp", &client.dscp.to_string()]);
    }
    if let Some(name) = &client.congestion_control {
        command.args(["--congestion", name]);
    }
    command
}

fn spawn(command: &mut Command) -> Result<Child, String> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    tie(command, None).spawn().map_err(|e| format!("start iperf3: {e}"))
}

/// Whether it succeeded; `None` if the application stopped first.
fn wait(app: &App, child: &mut Child) -> Option<bool> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if app.is_stopped() => {
                // Both fail only if it has just ended by itself.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            Ok(None) => thread::sleep(Duration::from_millis(50)),
            Err(_) => return Some(false),
        }
    }
}

/// The child's output; iperf3 writes some of its errors to standard output.
fn last_words(child: &mut Child) -> String {
    let mut text = String::new();
    for pipe in [child.stderr.take().map(read_all), child.stdout.take().map(read_all)].into_iter().flatten() {
        text.push_str(&pipe);
    }
    text.lines().filter(|line| line.contains("error")).collect::<Vec<_>>().join("; ")
}

fn read_all(mut pipe: impl std::io::Read) -> String {
    let mut text = String::new();
    // Show whatever could be read.
    let _ = pipe.read_to_string(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_sends_no_interim_reports() {
        let client = Client {
            local: [127, 0, 0, 1].into(),
            server: ([127, 0, 0, 1], 5201).into(),
            data_port: 5202,
            reverse: true,
            bytes: None,
            congestion_control: None,
            dscp: 46,
        };
        let command = command(&client, 1000);
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        assert!(arguments.windows(2).any(|pair| pair == NO_REPORTS), "{arguments:?}");
        assert!(arguments.windows(2).any(|pair| pair == ["--dscp", "46"]), "{arguments:?}");
    }
}
