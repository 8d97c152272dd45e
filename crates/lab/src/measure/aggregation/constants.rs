//! The default controller compared with the best constant in flight: goodput of the constants that meet the bar of the time in the
//! access point, with and without runs of packets to one station.

use anyhow::Result;

use super::commands::sites;
use super::options::Options;
use super::runs::{Series, measure};
use super::site::{Site, Traffic};

/// Constants to try, in ms of medium time in flight.
const IN_RUNS_MS: [u32; 5] = [1, 2, 4, 8, 16];
const WITHOUT_RUNS_MS: [u32; 5] = [2, 4, 8, 16, 48];
/// Bar: throughput of the default controller relative to the best constant with runs.
const LEAST_PART: f64 = 0.95;

/// Results of all sites with one constant.
struct Tried {
    in_flight_ms: u32,
    series: Vec<Series>,
}

/// The constant with the highest throughput of those that meet a site's bar.
struct Best {
    in_flight_ms: u32,
    mbps: f64,
}

fn mbps(series: &Series) -> f64 {
    series.mean(|window| window.mbps)
}

fn p95_ms(series: &Series) -> f64 {
    series.mean(|window| window.p95_ms)
}

/// Measures the sites with each constant, with runs of at most this many packets.
fn try_constants(
    sites: &[Site],
    constants_ms: &[u32],
    run_frames: Option<u32>,
    options: &Options,
) -> Result<Vec<Tried>> {
    let with_constant = |&in_flight_ms: &u32| {
        let mut options = options.clone();
        options.sets.push(("manager.in_flight".to_owned(), format!("\"{in_flight_ms} ms\"")));
        options.sets.extend(run_frames.map(|frames| ("manager.run_frames".to_owned(), frames.to_string())));
        Ok(Tried { in_flight_ms, series: measure(sites, true, &options)? })
    };
    constants_ms.iter().map(with_constant).collect()
}

/// The best constant for the site of this index.
fn best(tried: &[Tried], number: usize, p95_bar_ms: f64) -> Option<Best> {
    let short = tried.iter().filter(|tried| p95_ms(&tried.series[number]) <= p95_bar_ms);
    let bests = short.map(|tried| Best { in_flight_ms: tried.in_flight_ms, mbps: mbps(&tried.series[number]) });
    bests.max_by(|one, other| one.mbps.total_cmp(&other.mbps))
}

/// The table, and the number of cells in which the default controller misses the bar.
pub fn constants(options: &Options) -> Result<String> {
    let counts = options.pick(&[1, 10, 30], &[2, 10]);
    let mut sites = sites(options, &counts, &options.pick(&Traffic::BULK, &[Traffic::Down, Traffic::Both]));
    sites.retain(|site| site.name.contains(&options.only));
    let default = measure(&sites, true, options)?;
    let in_runs = try_constants(&sites, &IN_RUNS_MS, None, options)?;
    let without_runs = try_constants(&sites, &WITHOUT_RUNS_MS, Some(1), options)?;
    let shown = |best: &Option<Best>| match best {
        Some(Best { in_flight_ms, mbps }) => format!("{mbps:.1} | {in_flight_ms}"),
        None => "none | -".to_owned(),
    };
    let mut text = "Constants in flight whose p95 in the access point meets the bar: the one that carries most.\n\n\
         | cell | default, Mb/s | AP p95, ms | best in runs, Mb/s | in flight, ms | default / best | best without runs, Mb/s | in \
         flight, ms |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut missed = 0;
    for (number, site) in sites.iter().enumerate() {
        let best_in_runs = best(&in_runs, number, site.p95_bar_ms());
        let best_without = best(&without_runs, number, site.p95_bar_ms());
        let carried = mbps(&default[number]);
        let part = best_in_runs.as_ref().map(|best| carried / best.mbps);
        let is_missed = part.is_some_and(|part| part < LEAST_PART);
        missed += usize::from(is_missed);
        let part = part.map_or("-".to_owned(), |part| format!("{part:.3}{}", if is_missed { " MISSED" } else { "" }));
        text += &format!(
            "| {} | {carried:.1} | {:.1} | {} | {part} | {} |\n",
            site.name,
            p95_ms(&default[number]),
            shown(&best_in_runs),
            shown(&best_without)
        );
    }
    Ok(format!("{text}\nmissed {missed} of {}: default / best in runs: >= {LEAST_PART}\n", sites.len()))
}
