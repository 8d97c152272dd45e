//! Figures of a case: one simulation for each seed, and the mean of their figures.

use anyhow::{Context, Result};
use evenair_results::stats::jain;
use evenair_results::{Distribution, PhaseResult};
use evenair_scenario::Scenario;
use evenair_sim::run;
use evenair_workload::Direction;

use super::cases::Case;

/// Tables of the default box.
pub const DEFAULT: &str = "[manager.controller]\nkind = \"queue\"\n";

/// Means over the seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Total goodput, Mb/s.
    pub goodput: f64,
    /// Total IP-level rate, DATA and ACKs, Mb/s.
    pub ip: f64,
    /// Median time in the access point, ms. Of several access points, that of the one with the largest 95th percentile.
    pub p50: f64,
    /// 95th percentile of the time in the access point, ms.
    pub p95: f64,
    /// Jain's index of the stations' goodput: with two directions, the lower one of both.
    pub jain: f64,
    /// The lowest goodput of a station and direction, relative to an equal share of the total.
    pub least: f64,
    /// Part of the time in which no node had a frame to send.
    pub idle: f64,
    /// Part of the runs in which the box's guard acted.
    pub guard: f64,
}

/// The figures of a case, with these tables for a box (none: no box).
pub fn of(case: &Case, seeds: u32, tables: &str) -> Result<Figures> {
    let mut sum = Figures::default();
    for seed in 1..=seeds {
        let one = simulate(case, &case.scenario(seed, tables))?;
        for (sum, one) in sum.fields().into_iter().zip(one.clone().fields()) {
            *sum += *one / f64::from(seeds);
        }
    }
    Ok(sum)
}

impl Figures {
    fn fields(&mut self) -> [&mut f64; 8] {
        let Self { goodput, ip, p50, p95, jain, least, idle, guard } = self;
        [goodput, ip, p50, p95, jain, least, idle, guard]
    }
}

fn simulate(case: &Case, text: &str) -> Result<Figures> {
    let scenario = Scenario::parse(text, "grid.toml")?;
    let result = run(&scenario, |_| ())?;
    let phase = result.phases.first().context("no phase")?;
    let slowest = slowest_access_point(phase).context("no access point delivered anything")?;
    let directions: Vec<Vec<f64>> = case.directions().iter().map(|way| per_station(phase, way)).collect();
    let share = phase.total_goodput_mbps / (directions.len() * case.all_stations()) as f64;
    let least = directions.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    Ok(Figures {
        goodput: phase.total_goodput_mbps,
        ip: phase.total_ip_mbps,
        p50: slowest.p50_ms,
        p95: slowest.p95_ms,
        jain: directions.iter().map(|rates| jain(rates).unwrap_or(0.0)).fold(1.0, f64::min),
        least: if share > 0.0 { least / share } else { 0.0 },
        idle: phase.medium.as_ref().map_or(0.0, |medium| medium.idle_share),
        guard: f64::from(u8::from(result.events.iter().any(|event| event.what.starts_with("guard")))),
    })
}

fn slowest_access_point(phase: &PhaseResult) -> Option<&Distribution> {
    let points = phase.nodes.iter().filter(|node| node.is_access_point()).filter_map(|node| node.sojourn.as_ref());
    points.max_by(|a, b| a.p95_ms.total_cmp(&b.p95_ms))
}

/// Goodput of each station's transfer in this direction. Each station has one, so a flow is a station.
fn per_station(phase: &PhaseResult, way: &str) -> Vec<f64> {
    let direction = if way == "up" { Direction::Up } else { Direction::Down };
    phase.flows.iter().filter(|flow| flow.direction == direction).map(|flow| flow.goodput_mbps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short FIFO without a box lets uploads take most of the medium, and delays downloads: the figures show it.
    #[test]
    fn a_shared_fifo_without_a_box_is_unfair_and_slow() {
        let case =
            super::super::cases::all().into_iter().find(|case| case.to_string().starts_with("fifo-1000 both 4 sta"));
        let found = of(&case.expect("it is listed"), 1, "").expect("it can be simulated");
        assert!(found.p95 > 100.0 && found.goodput > 1.0 && found.ip > found.goodput, "{found:?}");
        assert!(found.p50 <= found.p95 && found.least < 1.0 && found.idle < 0.05, "{found:?}");
    }
}
