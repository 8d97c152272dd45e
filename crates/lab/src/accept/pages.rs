//! Web pages over the Internet link beside a LAN transfer, with kernel TCP and a box without telemetry (the
//! publication's A5 and A6): several clients, so that one run has enough pages in a quarter of an hour.

use anyhow::{Result, ensure};
use evenair_results::RunResult;
use evenair_results::stats::{mean, percentile};
use evenair_scenario::Scenario;
use evenair_units::{Rng, Streams};

use super::case::{Case, Run};
use super::check::{Bound, Figure};
use super::figures::{conservation, phase};

/// Bound of the mean load time of a page, relative to that without the transfer.
const MEAN: f64 = 1.15;
/// Bound of the 95th percentile, relative to that without the transfer.
const P95: f64 = 1.5;
/// Minimum number of pages per phase: their sizes are heavy-tailed.
const FEWEST: usize = 400;
/// Number of bootstrap samples.
const DRAWS: usize = 2_000;

/// The case.
pub fn case() -> Case {
    Case {
        name: "pages",
        title: "pages over the Internet link, alone and beside a download and an upload of the LAN",
        runs_each: 1,
        in_short: false,
        make: |_| scenario(),
        figures,
    }
}

fn scenario() -> Result<Scenario> {
    const TEXT: &str = r#"
version = 1
name = "pages"
title = "Five readers of web pages over the Internet link; a transfer of the LAN joins, down, then up"
duration = "780 s"
radio = { standard = "802.11a", rts_threshold = "500 bytes", ap_buffer = "150 kB" }
wan = { down = { rate = "8 Mb/s", delay = "150 ms", buffer = "400 kB" }, up = { rate = "8 Mb/s", delay = "150 ms" } }
station = [{ name = "reader", count = 5, rate = "54 Mb/s" }, { name = "near", rate = "54 Mb/s" }]
server = [{ name = "server" }, { name = "internet", at = "wan" }]
web = [{ name = "pages", stations = ["reader"], server = "internet", size_cap = "2 MB" }]
bulk = [
    { name = "down", stations = ["near"], server = "server", direction = "down", start = "260 s", stop = "520 s" },
    { name = "up", stations = ["near"], server = "server", direction = "up", start = "520 s" },
]
tcp = { initial_window = 3 }
event = [{ at = "2 s", do = "insert" }]
phase = [
    { name = "alone", from = "10 s", to = "260 s" },
    { name = "download", from = "270 s", to = "520 s" },
    { name = "upload", from = "530 s", to = "780 s" },
]
[telemetry]
stations = false
rates = false
[manager.wan]
share = "90 %"
"#;
    Ok(Scenario::parse(TEXT, "promise")?)
}

fn figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let alone = times(run.result, "alone")?;
    let mut figures = Vec::new();
    for (name, means, tails) in [
        ("download", "mean time beside a download, over that alone", "95th percentile beside it, over that alone"),
        ("upload", "mean time beside an upload, over that alone", "95th percentile beside that, over that alone"),
    ] {
        let beside = times(run.result, name)?;
        let [low, high] = interval(&beside, &alone);
        let transfer: f64 = phase(run.result, name).flows.iter().map(|flow| flow.ip_mbps).sum();
        println!(
            "    {name}: {} pages of {:.3} s beside {} of {:.3} s alone, 95 % of such ratios {low:.3} to {high:.3}; in all \
             {transfer:.2} Mb/s",
            beside.len(),
            average(&beside),
            alone.len(),
            average(&alone)
        );
        figures.push(Figure {
            what: means,
            value: average(&beside) / average(&alone),
            bound: Bound::within_times(MEAN),
        });
        figures.push(Figure { what: tails, value: p95(&beside) / p95(&alone), bound: Bound::within_times(P95) });
    }
    figures.push(conservation(run.result));
    Ok(figures)
}

/// Load times of the pages begun in a phase, in seconds.
fn times(result: &RunResult, name: &str) -> Result<Vec<f64>> {
    let phase = phase(result, name);
    let inside = result.pages.iter().filter(|page| (phase.from_s..phase.to_s).contains(&page.at_s));
    let times: Vec<_> = inside.map(|page| page.took_s).collect();
    ensure!(times.len() >= FEWEST, "only {} pages were read in phase {name}: {FEWEST} are needed", times.len());
    Ok(times)
}

fn average(times: &[f64]) -> f64 {
    mean(times.iter().copied()).unwrap_or(f64::NAN)
}

fn p95(times: &[f64]) -> f64 {
    percentile(times, 950).unwrap_or(f64::NAN)
}

/// 95 % interval of the ratio of two means by the percentile bootstrap (Efron and Tibshirani, "An Introduction to the
/// Bootstrap", 1993, chapter 13), which resamples both.
fn interval(beside: &[f64], alone: &[f64]) -> [f64; 2] {
    let mut rng = Streams::new(1).stream("bootstrap");
    let ratios: Vec<_> = (0..DRAWS).map(|_| drawn(beside, &mut rng) / drawn(alone, &mut rng)).collect();
    [25, 975].map(|permille| percentile(&ratios, permille).unwrap_or(f64::NAN))
}

/// Mean of a resample of the same size, drawn with replacement.
fn drawn(times: &[f64], rng: &mut Rng) -> f64 {
    let count = times.len();
    let sum: f64 = (0..count).map(|_| times[rng.below(count as u64) as usize]).sum();
    sum / count as f64
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn the_interval_is_around_the_ratio_and_as_wide_as_theory_says() {
        // Uniform on 1 to 3: mean 2, variance 1/3. The ratio's standard error is sqrt(2 * 1/3 / n) / 2.
        let mut rng = Streams::new(7).stream("pages");
        let mut sample = || (0..1_000).map(|_| 1.0 + 2.0 * rng.unit()).collect::<Vec<_>>();
        let (beside, alone) = (sample(), sample());
        let [low, high] = interval(&beside, &alone);
        let ratio = average(&beside) / average(&alone);
        assert!(low < ratio && ratio < high, "{low} {ratio} {high}");
        let expected = 2.0 * 1.96 * (2.0 / 3.0 / 1_000.0_f64).sqrt() / 2.0;
        assert!(((high - low) / expected - 1.0).abs() < 0.1, "{} {expected}", high - low);
    }

    #[test]
    fn the_simulator_reads_enough_pages_of_it_and_keeps_the_promise() {
        let scenario = scenario().expect("it is right");
        let result = evenair_sim::run(&scenario, |_| {}).expect("it runs");
        let testbed = |_: &Scenario, _: &str| Err(anyhow!("nothing else is run"));
        let run = Run { scenario: &scenario, result: &result, cpu_share: 0.0, testbed: &testbed };
        let figures = figures(&run).expect("enough pages");
        assert_eq!(figures.len(), 5);
        for figure in figures {
            let Bound::AtMost { limit, .. } = figure.bound else { panic!("{figure:?}") };
            assert!(figure.value <= limit, "{figure:?}");
        }
    }
}
