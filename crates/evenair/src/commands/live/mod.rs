//! The box: `run`, and the commands to a running box.

mod config;
mod dialogue;
mod doctor;
mod history;
mod init;
mod stations;
mod telemetry;
mod top;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use evenair_api::causes::{Drops, Losses};
use evenair_live::control::{Client, Status};
use evenair_live::{BoxConfig, crash};
use tracing_subscriber::EnvFilter;

pub use config::{ConfigCommand, config};
pub use doctor::{DoctorArgs, doctor};
pub use history::{HistoryArgs, history};
pub use init::{InitArgs, init};
pub use telemetry::{TelemetryArgs, telemetry};
pub use top::{TopArgs, top};

/// Default paths of the box's configuration and its control socket.
pub(super) const CONFIG: &str = "/etc/evenair/box.toml";
const SOCKET: &str = "/run/evenair/control.sock";
/// Number of printed connections, the largest first.
const MOST_FLOWS: usize = 20;

/// Arguments of `evenair run`.
#[derive(Args)]
pub struct RunArgs {
    /// The box's configuration file
    #[arg(long, default_value = CONFIG, value_name = "FILE")]
    config: PathBuf,
    /// Wait for missing ports, and for ports that are not in the bridge, at the start and later, instead of exiting
    #[arg(long)]
    wait_for_ports: bool,
    /// Only validate the configuration, and summarize it
    #[arg(long)]
    check: bool,
    /// Format of log lines
    #[arg(long, default_value = "text", value_name = "FORM")]
    log_format: LogFormat,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line, for programs
    Json,
}

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

/// Runs the box until a signal or a command ends it.
pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let filter = EnvFilter::try_from_env("EVENAIR_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| crash::Log);
    match args.log_format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    let config = BoxConfig::load(&args.config)?;
    if args.check {
        println!("{}", in_short(&args.config, &config));
        return Ok(ExitCode::SUCCESS);
    }
    crash::report_crashes(&crash::state_directory(), &args.config);
    let last =
        if args.wait_for_ports { evenair_live::run_when_ready(config)? } else { Some(evenair_live::run(config)?) };
    if let Some(last) = last {
        println!("{}", account(&last));
    }
    Ok(ExitCode::SUCCESS)
}

/// Inserts a box.
pub fn insert(args: &ControlArgs) -> Result<ExitCode> {
    Client::connect(&args.socket)?.insert()?;
    println!("inserted: the box manages the traffic");
    Ok(ExitCode::SUCCESS)
}

/// A summary of a configuration.
fn in_short(file: &Path, config: &BoxConfig) -> String {
    let start = match (config.inserted, config.observing) {
        (true, _) => "inserted",
        (_, true) => "observing",
        _ => "bypassed",
    };
    let bridge =
        config.bridge.as_deref().map_or_else(|| "without a bridge".into(), |bridge| format!("bridge {bridge}"));
    let standards: Vec<_> = config.manager.standards().iter().map(ToString::to_string).collect();
    format!(
        "{} is right: access points behind {}, the network behind {}, {bridge}; {}; {} stations named; starts {start}",
        file.display(),
        config.wlan,
        config.wire,
        standards.join(" and "),
        config.manager.stations.len()
    )
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

fn print_status(status: &Status) {
    let the = if status.carrier == "nobody" { "" } else { "the " };
    println!("{}, carried by {the}{}, up {:.0} s", status.mode, status.carrier, status.uptime_s);
    if let Some(guard) = status.guard.in_short() {
        println!("{guard}");
    }
    for why in &status.fail_open.why {
        println!("NO FAIL-OPEN: {why}");
    }
    println!("service rate C {:.3} Mb/s of C* {:.3} Mb/s", status.service_rate_mbps, status.capacity_mbps);
    println!("{}", account(status));
    causes(&status.packets.drops, &status.packets.losses).iter().for_each(|line| println!("  {line}"));
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

/// Drops and losses of packets: a line for packets that the manager dropped and one for lost packets, each with the causes that
/// occurred; no line where there were none.
fn causes(drops: &Drops, losses: &Losses) -> Vec<String> {
    let dropped = (!drops.is_zero()).then(|| format!("dropped: {drops}"));
    let lost = (!losses.is_zero()).then(|| format!("LOST IN THE BOX: {losses}"));
    dropped.into_iter().chain(lost).collect()
}

/// The account of packets in one line.
fn account(status: &Status) -> String {
    let packets = &status.packets;
    let dropped = packets.dropped();
    let lost = packets.lost();
    let agrees = if packets.conserved { "the sum agrees" } else { "THE SUM DOES NOT AGREE" };
    format!(
        "packets: {} taken, {} copied, {} sent, {dropped} dropped by the manager, {} held, {lost} lost; {agrees}",
        packets.taken, packets.copied, packets.sent, packets.held
    )
}

#[cfg(test)]
mod tests {
    use evenair_api::causes::{Cause, DropReason, LossReason};

    use super::*;

    #[test]
    fn every_cause_is_shown_in_words_when_it_occurred() {
        assert!(causes(&Drops::default(), &Losses::default()).is_empty());
        let mut drops = Drops::default();
        let mut losses = Losses::default();
        for (number, &reason) in DropReason::ALL.iter().enumerate() {
            drops[reason] = 1000 + number as u64;
        }
        for (number, &reason) in LossReason::ALL.iter().enumerate() {
            losses[reason] = 2000 + number as u64;
        }
        let [dropped, lost] = &*causes(&drops, &losses) else { panic!("two lines") };
        assert!(dropped.starts_with("dropped: ") && lost.starts_with("LOST IN THE BOX: "), "{dropped} {lost}");
        for (reason, packets) in drops.iter() {
            assert!(dropped.contains(&format!("{} {packets}", reason.word())), "{dropped}");
        }
        for (reason, packets) in losses.iter() {
            assert!(lost.contains(&format!("{} {packets}", reason.word())), "{lost}");
        }
    }
}
