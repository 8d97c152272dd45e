//! The commands around a box: to set it up, to a running one, and to read what it left.

mod config;
mod dialogue;
mod doctor;
mod history;
mod init;
mod name;
mod stations;
mod telemetry;
mod top;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use evenair_api::causes::in_lines;
use evenair_api::health::{HealthStatus, Reason};
use evenair_api::{Carrier, Mode, Status};
use evenair_live::CONFIG;
use evenair_live::control::Client;
use evenair_live::doctor::not_inserted;

pub use config::{ConfigCommand, config};
pub use doctor::{DoctorArgs, doctor};
pub use history::{HistoryArgs, history};
pub use init::{InitArgs, init};
pub use name::{NameArgs, name};
pub use telemetry::{TelemetryArgs, telemetry};
pub use top::{TopArgs, top};

/// Default path of the box's control socket.
const SOCKET: &str = "/run/evenair/control.sock";
/// Number of printed connections, the largest first.
const MOST_FLOWS: usize = 20;

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

/// Inserts a box.
pub fn insert(args: &ControlArgs) -> Result<ExitCode> {
    Client::connect(&args.socket)?.insert()?;
    println!("inserted: the box manages the traffic");
    Ok(ExitCode::SUCCESS)
}

/// Makes a box observe.
pub fn observe(args: &ControlArgs) -> Result<ExitCode> {
    Client::connect(&args.socket)?.observe()?;
    println!("observing: the bridge carries the traffic, and the box looks on");
    Ok(ExitCode::SUCCESS)
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
        println!("bypassed: the queues have drained, and the box has let go of the traffic");
        return Ok(ExitCode::SUCCESS);
    }
    client.bypass()?;
    println!("bypassed: the queues have drained and the bridge carries the traffic");
    Ok(ExitCode::SUCCESS)
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
}

/// Reloads a box's configuration. Queued packets stay queued; an invalid file changes nothing.
pub fn reload(args: &ReloadArgs) -> Result<ExitCode> {
    // The box may run in another directory.
    let file = args.config.as_ref().map(std::path::absolute).transpose()?;
    let mut client = Client::connect(&args.socket)?;
    if args.check {
        client.check_configuration(file.as_deref())?;
        println!("the box would take it");
        return Ok(ExitCode::SUCCESS);
    }
    client.reconfigure(file.as_deref())?;
    println!("reloaded: the new configuration is in force");
    Ok(ExitCode::SUCCESS)
}

/// Shows what a box does.
pub fn status(args: &ControlArgs) -> Result<ExitCode> {
    let status = Client::connect(&args.socket)?.status()?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&status)?);
    } else {
        print_status(&status);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a recording again and compares.
pub fn replay(file: &Path) -> Result<ExitCode> {
    let replayed = evenair_live::replay(file).with_context(|| format!("cannot replay {}", file.display()))?;
    println!("replayed decisions:  {}", replayed.digest);
    println!("recorded decisions:  {}", replayed.recorded.as_deref().unwrap_or("none: the box did not end in order"));
    if let Some(cut) = &replayed.cut {
        println!("the recording is cut short: {cut}");
    }
    println!("{}", if replayed.is_identical() { "identical to the byte" } else { "NOT IDENTICAL" });
    Ok(if replayed.is_identical() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The health of the network: what is wrong, each with its remedy, that which matters most first.
fn health_lines(health: &HealthStatus) -> Vec<String> {
    let line =
        |reason: &Reason| format!("  {}: {}: {}\n    -> {}", reason.level, reason.code, reason.sentence, reason.remedy);
    std::iter::once(format!("health: {}", health.level)).chain(health.reasons.iter().map(line)).collect()
}

fn print_status(status: &Status) {
    let the = if status.carrier == Carrier::Nobody { "" } else { "the " };
    println!("{}, carried by {the}{}, up {:.0} s", status.mode, status.carrier, status.uptime_s);
    if let Some(text) = not_inserted(status) {
        println!("WARNING: {text}: run evenair insert");
    }
    status.health.iter().for_each(|health| health_lines(health).iter().for_each(|line| println!("{line}")));
    if let Some(guard) = status.guard.in_short() {
        println!("{guard}");
    }
    for why in &status.fail_open.why {
        println!("NO FAIL-OPEN: {why}");
    }
    println!("service rate C {:.3} Mb/s of C* {:.3} Mb/s", status.service_rate_mbps, status.capacity_mbps);
    println!("{}", status.packets.in_short());
    if status.packets.unread() >= 0.01 {
        println!(
            "  {:.0} % of the traffic cannot be read (not IP, or unknown tunnels): it is queued by MAC or outer addresses",
            status.packets.unread() * 100.0
        );
    }
    in_lines(&status.packets.drops, &status.packets.losses).iter().for_each(|line| println!("  {line}"));
    for port in [&status.wlan, &status.wire] {
        let why = port.io_why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        println!("  {:<16} {}{why}", port.interface, port.io);
    }
    for class in &status.classes {
        println!(
            "  class {:<16} {:>8.1} s charged airtime, {} kB to, {} kB from the WLAN, {} held, {} dropped{}",
            class.parent.as_ref().map_or_else(|| class.name.clone(), |parent| format!("{parent} > {}", class.name)),
            class.charged_airtime_s,
            class.released_bytes / 1000,
            class.from_wlan_bytes / 1000,
            class.held,
            class.dropped,
            if class.at_ceiling { ", at its ceiling" } else { "" }
        );
    }
    for call in &status.calls {
        println!(
            "  call {} with {} ({}, {:.0} s){}",
            call.station,
            call.peer,
            call.codec,
            call.lasts_s,
            call.refused.as_ref().map_or_else(String::new, |why| format!(", refused: {why}"))
        );
        println!("    to the station: {}", call.down.in_short());
        println!("    from it:        {}", call.up.in_short());
    }
    for domain in status.domains.iter().filter(|_| status.domains.len() > 1) {
        println!(
            "  domain {:<16} C {:.3} of C* {:.3} Mb/s, {} stations, {} held, {} roamed to it; {}{}",
            domain.name,
            domain.service_rate_mbps,
            domain.capacity_mbps,
            domain.stations,
            domain.held,
            domain.roamed,
            if domain.learned { "learned " } else { "" },
            domain.access_points.join(", ")
        );
    }
    for domain in status.domains.iter().filter(|_| status.mode == Mode::Inserted) {
        let name = if status.domains.len() > 1 { format!("{}: ", domain.name) } else { String::new() };
        domain.path.iter().for_each(|path| println!("  {name}{}", path.in_short()));
        domain.groups.iter().for_each(|groups| println!("  {name}{}", groups.in_short()));
    }
    for (number, shard) in status.shards.iter().enumerate() {
        println!(
            "  shard {number}: {:.1} s of CPU time, {} received, {} sent, {} held, {} lost or dropped; {}",
            shard.cpu_s,
            shard.received,
            shard.sent,
            shard.held,
            shard.lost,
            shard.domains.join(", ")
        );
    }
    for source in &status.telemetry {
        let age = source.age_s.map_or("never answered".into(), |age| format!("answered {age:.0} s ago"));
        let error = source.error.as_ref().map_or_else(String::new, |error| format!("; now: {error}"));
        println!("telemetry: {} ({}): {} stations, {age}{error}", source.name, source.from, source.stations);
    }
    stations::lines(status).iter().for_each(|line| println!("{line}"));
    let mut flows: Vec<_> = status.flows.iter().collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.released_bytes + flow.from_wlan_bytes));
    for flow in flows.iter().take(MOST_FLOWS) {
        println!(
            "  {} {:<4} {} - {}  d {:.2}  {} kB to, {} kB from the WLAN{}, {} resent, {} held, {} dropped",
            flow.station,
            flow.direction,
            flow.low,
            flow.high,
            flow.d,
            flow.released_bytes / 1000,
            flow.from_wlan_bytes / 1000,
            flow.wlan_rtt_ms.map_or_else(String::new, |rtt| format!(", RTT over it {rtt:.1} ms")),
            flow.resent_down + flow.resent_up,
            flow.backlog_packets,
            flow.dropped
        );
    }
    if flows.len() > MOST_FLOWS {
        println!("  and {} smaller connections (--json shows up to 1000)", flows.len() - MOST_FLOWS);
    }
}

#[cfg(test)]
mod tests {
    use evenair_api::health::Code;

    use super::*;

    #[test]
    fn health_is_a_line_for_each_reason_with_what_to_do() {
        assert_eq!(health_lines(&HealthStatus::default()), ["health: good"]);
        let reason = Reason {
            code: Code::Starving,
            level: Code::Starving.level(),
            sentence: "anne gets 0.4 Mb/s".into(),
            remedy: "evenair insert".into(),
            ..Reason::default()
        };
        let lines = health_lines(&HealthStatus::of(vec![reason]));
        assert_eq!(lines, ["health: bad", "  bad: starving: anne gets 0.4 Mb/s\n    -> evenair insert"]);
    }
}
