//! `evenair measure venues`: venues of 802.11n, ac and ax on several kinds of access point, without a box and with several policies in
//! it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use evenair_results::scalar;
use evenair_scenario::{AppKind, Policy, Scenario};

use super::jobs::in_parallel;
use super::kinds::{self, Kind};
use super::page::Measured;
use crate::commands::library::scenarios_in;

/// Arguments of `evenair measure venues`.
#[derive(Args)]
pub struct VenuesArgs {
    /// Only scenarios of scenarios/venues with this in their names
    #[arg(value_name = "PART", default_value = "")]
    part: String,
    /// Seeds of each cell, whose figures are averaged
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
}

const KINDS: [Kind; 5] = [
    Kind { name: "one deep queue", keys: &[] },
    Kind { name: "a queue for each station", keys: kinds::STATIONS },
    Kind { name: "a queue that aggregates neighbours", keys: kinds::NEIGHBOURS },
    Kind { name: "mac80211", keys: kinds::MAC80211 },
    Kind { name: "mac80211, single frames", keys: kinds::MAC80211_SINGLE_FRAMES },
];

/// Names of the policies in a comparison; the first has no box.
const POLICIES: [&str; 5] = ["fifo", "adwiser", "las-ack", "fq-codel", "evenair"];

/// Means over the seeds.
#[derive(Default)]
struct Figures {
    mbps: f64,
    jain: f64,
    p90_ms: f64,
    ping_ms: f64,
    page_s: f64,
}

/// Measures each venue on each kind of access point with each policy.
pub fn measure(args: &VenuesArgs) -> Result<Measured> {
    let name = |file: &Path| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let files: Vec<PathBuf> =
        scenarios_in("venues")?.into_iter().filter(|file| name(file).contains(&args.part)).collect();
    let of_kind = |file| KINDS.iter().flat_map(move |kind| POLICIES.map(|policy| (file, kind, policy)));
    let cells: Vec<(&PathBuf, &Kind, &str)> = files.iter().flat_map(of_kind).collect();
    let all = in_parallel(&cells, |&(file, kind, policy)| figures(file, kind, policy, args.seeds))?;
    let mut text = "| venue | access point | policy | Mb/s | airtime, Jain | AP 90 %, ms | echo 90 %, ms | page, s |\n\
                    |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for ((file, kind, policy), Figures { mbps, jain, p90_ms, ping_ms, page_s }) in cells.into_iter().zip(all) {
        let (venue, policy) = (name(file), if policy == "fifo" { "no box" } else { policy });
        text += &format!(
            "| {venue} | {} | {policy} | {mbps:.1} | {jain:.2} | {p90_ms:.0} | {ping_ms:.0} | {page_s:.2} |\n",
            kind.name
        );
    }
    Ok(text.into())
}

fn figures(file: &Path, kind: &Kind, policy: &str, seeds: u32) -> Result<Figures> {
    let text = Policy::named(policy)?.apply(&fs::read_to_string(file)?)?;
    let mut sum = Figures::default();
    for seed in 1..=seeds {
        let seed = seed.to_string();
        let sets: Vec<_> = kind.keys.iter().copied().chain([("seed", seed.as_str())]).collect();
        let scenario = Scenario::parse_with(&text, &file.to_string_lossy(), &sets)?;
        let run = evenair_sim::run(&scenario, |_| ())?;
        let value = |name: &str| scalar(&run, &format!("phase.steady.{name}")).unwrap_or(f64::NAN);
        let airtime =
            run.phases.iter().find(|phase| phase.name == "steady").and_then(|phase| phase.measured_airtime.as_ref());
        let jain = airtime.and_then(|airtime| airtime.jain_of(|station| has_bulk(&scenario, station)));
        let part = f64::from(seeds).recip();
        sum.mbps += part * value("total_ip_mbps");
        sum.jain += part * jain.unwrap_or(f64::NAN);
        sum.p90_ms += part * value("ap.sojourn_p90_ms");
        sum.ping_ms += part * value("flow.ping.rtt_p90_ms");
        sum.page_s += part * value("page.p50_s");
    }
    Ok(sum)
}

/// Whether a station has a transfer without end.
fn has_bulk(scenario: &Scenario, station: &str) -> bool {
    let is_bulk = |kind: &AppKind| matches!(kind, AppKind::Bulk { .. });
    scenario.apps.iter().any(|app| is_bulk(&app.kind) && scenario.hosts[app.station].name == station)
}
