//! `evenair status`: a screen of 80 columns and 24 lines, from the status of the box and a line of its watch feed.
//!
//! First come problems with their remedies, then sums, then as many access points and stations as fit. `--all` prints the whole
//! status as text (`all.rs`), `--json` as JSON.

mod all;
mod stations;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use evenair_api::health::{HealthStatus, Reason};
use evenair_api::watch::{Line, Part};
use evenair_api::{Carrier, Status};
use evenair_client::control::Client;
use evenair_client::watch::Feed;
use evenair_site::doctor::not_inserted;

use super::top::head::{activity, sums, wrapped};
use super::top::samples::Samples;
use super::top::table::{self, Order, Row};
use super::top::text::{duration, shortened};

/// Columns and lines of the screen.
const WIDTH: usize = 80;
const HEIGHT: usize = 24;
/// Maximum number of reasons of the health.
const MOST_REASONS: usize = 3;
/// Maximum number of access points, and of stations: those with the most airtime.
const MOST_ROWS: usize = 5;
/// Maximum number of lines of a sentence or a remedy.
const MOST_LINES: usize = 2;
/// Parts of the watch feed to request.
const PARTS: [Part; 4] = [Part::Totals, Part::Domains, Part::AccessPoints, Part::Stations];
/// Hint to further commands.
const HINT: &str = "evenair top: live   evenair status --all: packets, ports, flows   --json: all";

/// Arguments of `evenair status`.
#[derive(Args)]
pub struct StatusArgs {
    /// The box's control socket
    #[arg(long, default_value = super::SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Print all in words: packets, ports, classes, calls, domains, shards, telemetry, twenty stations, connections
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Print JSON: everything
    #[arg(long)]
    json: bool,
    /// Print the meaning of every field of --json and of the history, in Markdown, without a box
    #[arg(long, exclusive = true)]
    fields: bool,
}

/// Prints the status of a box.
pub fn status(args: &StatusArgs) -> Result<ExitCode> {
    if args.fields {
        print!("{}", evenair_api::reference::fields());
        return Ok(ExitCode::SUCCESS);
    }
    let status = Client::connect(&args.socket)?.status()?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&status)?);
    } else if args.all {
        all::print(&status);
    } else {
        short(&status, &line(&args.socket)).iter().for_each(|line| println!("{line}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// A line of the watch feed, or why there is none.
fn line(control: &Path) -> Result<Line, String> {
    let socket = evenair_boxfile::watch_socket_beside(control);
    let line = Feed::open(&socket, &PARTS, 1).and_then(|mut feed| feed.read());
    line.map(|(_, line)| line).map_err(|error| error.to_string())
}

/// The status in at most [`HEIGHT`] lines.
fn short(status: &Status, line: &Result<Line, String>) -> Vec<String> {
    let mut lines = vec![mode(status, line.as_ref().ok())];
    let not_inserted = not_inserted(status).map(|text| format!("WARNING: {text}: run evenair insert"));
    lines.extend(not_inserted.iter().flat_map(|text| wrapped(text, WIDTH, MOST_LINES)));
    lines.extend(status.guard.in_short());
    lines.extend(status.fail_open.why.iter().take(1).map(|why| format!("NO FAIL-OPEN: {why}")));
    lines.extend(status.health.iter().flat_map(health));
    match line {
        Ok(line) => {
            lines.extend([activity(line), sums(line)]);
            // One line is reserved for the hint.
            lines.extend(tables(line, HEIGHT.saturating_sub(lines.len() + 1)));
        }
        Err(why) => {
            lines.push(format!("{} stations known", status.stations_known));
            lines.extend(wrapped(&format!("rates and latency are unknown: {why}"), WIDTH, MOST_LINES));
        }
    }
    lines.push(HINT.into());
    lines.iter().map(|line| shortened(line.trim_end(), WIDTH)).collect()
}

fn mode(status: &Status, line: Option<&Line>) -> String {
    let the = if status.carrier == Carrier::Nobody { "" } else { "the " };
    let totals = line.and_then(|line| line.totals.as_ref()).filter(|totals| totals.mode == status.mode);
    let since = totals.map_or_else(String::new, |totals| format!(" for {}", duration(totals.since_s)));
    format!("{}, carried by {the}{}{since}, up {}", status.mode, status.carrier, duration(status.uptime_s))
}

/// The first reasons, each with its remedy.
fn health(health: &HealthStatus) -> Vec<String> {
    let reason = |reason: &Reason| {
        let sentence =
            wrapped(&format!("{}: {}: {}", reason.level, reason.code, reason.sentence), WIDTH - 2, MOST_LINES);
        let remedy = wrapped(&format!("-> {}", reason.remedy), WIDTH - 4, MOST_LINES);
        let sentence = sentence.into_iter().map(|line| format!("  {line}"));
        sentence.chain(remedy.into_iter().map(|line| format!("    {line}"))).collect::<Vec<_>>()
    };
    let more = health.reasons.len().saturating_sub(MOST_REASONS);
    let more = if more > 0 { format!(" (and {more} more in --all)") } else { String::new() };
    let first = format!("health: {}{more}", health.level);
    std::iter::once(first).chain(health.reasons.iter().take(MOST_REASONS).flat_map(reason)).collect()
}

/// Access points, if there are any, and stations, in the last second, in at most `room` lines.
fn tables(line: &Line, room: usize) -> Vec<String> {
    let mut samples = Samples::default();
    samples.take(line.clone());
    let stations = table::stations(&samples, "", Order::Air);
    let mut points: Vec<_> = line.access_points.iter().flatten().map(Row::of_access_point).collect();
    points.sort_by(|a, b| b.air().total_cmp(&a.air()));
    let known = line.totals.as_ref().map_or(0, |totals| totals.stations).max(stations.len());
    // Each table has headings and possibly a line with the number of the others; stations have precedence.
    let for_stations = (2 + stations.len().min(MOST_ROWS)).min(room);
    let mut lines = part(&points, points.len(), ["access point", "domain"], room - for_stations);
    lines.extend(part(&stations, known, table::STATIONS, for_stations));
    lines
}

/// The first rows in at most `room` lines, and the number of the others.
fn part(rows: &[Row], known: usize, names: [&str; 2], room: usize) -> Vec<String> {
    let shown = rows.len().min(MOST_ROWS).min(room.saturating_sub(2));
    if shown == 0 {
        return vec![];
    }
    let headings = table::headings(WIDTH, names);
    let others = (known > shown).then(|| format!("and {} more", known - shown));
    std::iter::once(headings).chain(rows[..shown].iter().map(|row| table::row(row, WIDTH))).chain(others).collect()
}
