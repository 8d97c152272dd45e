//! Station fairness of the default policy in both directions, and a path delay that must not count as a queue.

use anyhow::Result;
use evenair_results::PhaseResult;
use evenair_scenario::Scenario;

use super::case::{NO_TELEMETRY, Run};
use super::check::{Bound, Figure};
use super::figures::{BYPASSED, INSERTED, conservation, phase};

/// Stations at the same rate have equal throughput to within this proportion of the mean.
const ALIKE: f64 = 0.05;
/// Minimum total with the box, relative to that without.
const KEPT: f64 = 0.90;

fn parse(text: &str) -> Result<Scenario> {
    Ok(Scenario::parse(text, "stations")?)
}

/// Ten stations, one connection each.
pub fn tenth(up: u32, down: u32) -> Result<Scenario> {
    loaded(&format!(
        r#"
station = [{{ name = "u", count = {up}, rate = "11 Mb/s" }}, {{ name = "d", count = {down}, rate = "11 Mb/s" }}]
bulk = [
    {{ name = "up", stations = ["u"], server = "server", direction = "up" }},
    {{ name = "down", stations = ["d"], server = "server", direction = "down" }},
]"#
    ))
}

/// Five stations with a connection each way.
pub fn both_ways() -> Result<Scenario> {
    loaded(
        r#"
station = [{ name = "s", count = 5, rate = "11 Mb/s" }]
bulk = [
    { name = "up", stations = ["s"], server = "server", direction = "up" },
    { name = "down", stations = ["s"], server = "server", direction = "down" },
]"#,
    )
}

fn loaded(who: &str) -> Result<Scenario> {
    parse(&format!(
        r#"
version = 1
name = "stations"
title = "Ten connections at 11 Mb/s, then with the box"
duration = "60 s"
radio = {{ standard = "802.11b", preamble = "short", basic_rates = ["1 Mb/s", "2 Mb/s"], rts_threshold = "500 bytes", ap_buffer = "150 kB" }}
server = [{{ name = "server" }}]
{who}
event = [{{ at = "2 s", do = "insert" }}]
phase = [{{ name = "inserted", from = "20 s", to = "60 s" }}]
{NO_TELEMETRY}"#
    ))
}

/// The path of scenarios/box/b17-late-answers.toml, with a phase without the box.
pub fn late_answers() -> Result<Scenario> {
    parse(&format!(
        r#"
version = 1
name = "late-answers"
title = "Downloads whose answers come 5 ms late, then with the box"
duration = "40 s"
radio = {{ standard = "802.11g", ap_buffer = "150 kB" }}
ap_path = {{ up = {{ delay = "5 ms" }} }}
station = [{{ name = "d", count = 4, rate = "54 Mb/s" }}]
server = [{{ name = "server" }}]
bulk = [{{ name = "down", stations = ["d"], server = "server", direction = "down" }}]
event = [{{ at = "14 s", do = "insert" }}]
phase = [{{ name = "bypassed", from = "4 s", to = "14 s" }}, {{ name = "inserted", from = "20 s", to = "40 s" }}]
{NO_TELEMETRY}"#
    ))
}

pub fn tenth_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    Ok(vec![alike(inserted), conservation(run.result)])
}

pub fn both_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    let ways = |station: &str| -> [f64; 2] {
        let of = |app: &str| {
            let flows = inserted.flows.iter().filter(|flow| flow.station == station && flow.app.starts_with(app));
            flows.map(|flow| flow.ip_mbps).sum()
        };
        [of("up"), of("down")]
    };
    let apart =
        inserted.stations.iter().map(|station| ways(&station.station)).map(|[up, down]| (up / down - 1.0).abs());
    Ok(vec![
        alike(inserted),
        Figure {
            what: "inserted: a station's two directions, from equal (the worst)",
            value: apart.fold(0.0, f64::max),
            bound: Bound::within(ALIKE),
        },
        conservation(run.result),
    ])
}

pub fn late_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let (bypassed, inserted) = (phase(run.result, BYPASSED), phase(run.result, INSERTED));
    Ok(vec![
        Figure {
            what: "inserted: total over that without the box",
            value: inserted.total_ip_mbps / bypassed.total_ip_mbps,
            bound: Bound::short_by_at_most(1.0 - KEPT),
        },
        conservation(run.result),
    ])
}

fn alike(phase: &PhaseResult) -> Figure {
    let rates: Vec<f64> = phase.stations.iter().map(|station| station.ip_mbps).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let farthest = rates.iter().map(|rate| (rate / mean - 1.0).abs()).fold(0.0, f64::max);
    Figure { what: "inserted: stations, from their mean (the farthest)", value: farthest, bound: Bound::within(ALIKE) }
}
