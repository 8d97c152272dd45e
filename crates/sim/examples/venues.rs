//! Venues of 802.11n, ac and ax on several kinds of access point, without a box and with several policies in it.
//!
//! `cargo run --release -p evenair-sim --example venues -- [--seeds N] [PART]` prints a Markdown table of the scenarios in
//! scenarios/venues, or of those with PART in their names.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use evenair_results::{RunResult, scalar};
use evenair_scenario::Policy;
use evenair_scenario::Scenario;

/// An error of any kind.
type Failure = Box<dyn Error>;

/// A kind of access point: its name and its keys.
struct Kind {
    name: &'static str,
    keys: &'static [(&'static str, &'static str)],
}

const KINDS: [Kind; 5] = [
    Kind { name: "one deep queue", keys: &[] },
    Kind { name: "a queue for each station", keys: &[("radio.aggregation.order", "\"stations\"")] },
    Kind { name: "a queue that aggregates neighbours", keys: &[("radio.aggregation.order", "\"neighbours\"")] },
    Kind { name: "mac80211", keys: MAC80211 },
    Kind {
        name: "mac80211, single frames",
        keys: &[MAC80211[0], MAC80211[1], ("radio.aggregation.bytes", "\"0 bytes\"")],
    },
];
const MAC80211: &[(&str, &str)] =
    &[("radio.ap_buffer", "\"8192 packets\""), ("radio.ap_queue", "{ discipline = \"mac80211\" }")];

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

fn main() -> Result<(), Failure> {
    let (mut seeds, mut part) = (3u32, String::new());
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seeds" => seeds = words.next().and_then(|n| n.parse().ok()).filter(|&n| n > 0).ok_or("--seeds N")?,
            other if other.starts_with('-') => return Err("usage: venues [--seeds N] [PART]".into()),
            _ => part = word,
        }
    }
    println!("| venue | access point | policy | Mb/s | airtime, Jain | AP 90 %, ms | echo 90 %, ms | page, s |");
    println!("|---|---|---|---|---|---|---|---|");
    for file in scenarios(&part)? {
        for kind in &KINDS {
            for policy in POLICIES {
                let Figures { mbps, jain, p90_ms, ping_ms, page_s } = figures(&file, kind, policy, seeds)?;
                let venue = file.file_stem().unwrap_or_default().to_string_lossy();
                let policy = if policy == "fifo" { "no box" } else { policy };
                println!(
                    "| {venue} | {} | {policy} | {mbps:.1} | {jain:.2} | {p90_ms:.0} | {ping_ms:.0} | {page_s:.2} |",
                    kind.name
                );
            }
        }
    }
    Ok(())
}

/// The scenario files of the venues.
fn scenarios(part: &str) -> Result<Vec<PathBuf>, Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/venues");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".toml") && name.contains(part) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn figures(file: &Path, kind: &Kind, policy: &str, seeds: u32) -> Result<Figures, Failure> {
    let text = Policy::named(policy)?.apply(&fs::read_to_string(file)?)?;
    let mut sum = Figures::default();
    for seed in 1..=seeds {
        let seed = seed.to_string();
        let sets: Vec<_> = kind.keys.iter().copied().chain([("seed", seed.as_str())]).collect();
        let scenario = Scenario::parse_with(&text, &file.to_string_lossy(), &sets)?;
        let run = evenair_sim::run(&scenario, |_| ())?;
        let value = |name: &str| scalar(&run, &format!("phase.steady.{name}")).unwrap_or(f64::NAN);
        let part = f64::from(seeds).recip();
        sum.mbps += part * value("total_ip_mbps");
        sum.jain += part * jain(&run, &scenario);
        sum.p90_ms += part * value("ap.sojourn_p90_ms");
        sum.ping_ms += part * value("flow.ping.rtt_p90_ms");
        sum.page_s += part * value("page.p50_s");
    }
    Ok(sum)
}

/// Jain's index of the measured airtime, in both directions, of the stations with an endless transfer.
fn jain(run: &RunResult, scenario: &Scenario) -> f64 {
    let bulk: Vec<&str> = scenario
        .apps
        .iter()
        .filter(|app| matches!(app.kind, evenair_scenario::AppKind::Bulk { .. }))
        .map(|app| scenario.hosts[app.station].name.as_str())
        .collect();
    let share = |station: &&str| {
        ["down", "up"]
            .iter()
            .filter_map(|way| scalar(run, &format!("phase.steady.measured_airtime.station.{station}.{way}_share")))
            .sum::<f64>()
    };
    let shares: Vec<f64> = bulk.iter().map(share).collect();
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    sum * sum / (shares.len() as f64 * squares)
}
