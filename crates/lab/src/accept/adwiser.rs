//! A4 to A7, A9, A11, A12 and A15 of Hegde et al., "Experiences With a Centralized Scheduling Approach for Performance
//! Management of IEEE 802.11 Wireless LANs", IEEE/ACM ToN 21(2), 2013, with kernel TCP: the files of `scenarios/adwiser`, with
//! shorter phases. A9 and A11 run the published box with its rule for the service rate, the others Evenair's.
//!
//! The bounds are the published findings, or 15 % around values published for a real access point. Findings that DCF does not
//! show, such as an upload that starves a download, fail here as in docs/reproduction.md.

use anyhow::{Context, Result};
use evenair_results::{CallResult, PhaseResult, RunResult, scalar};
use evenair_scenario::Scenario;
use evenair_units::Span;
use evenair_workload::Phase;

use super::case::{Case, Run};
use super::check::{Bound, Figure};
use super::figures::{BYPASSED, INSERTED, conservation, phase, share_of_capacity, up_down_inequality, zero};
use super::promises::{data_mbps, mean, rates};

/// Rate of the Internet link, and the rate that the box allows over it, in Mb/s.
const LINK_MBPS: f64 = 8.0;
const SERVED_MBPS: f64 = 7.2;
/// Bound for values published for a real access point.
const REAL: Bound = Bound::within(0.15);
/// Phase before the disturbing transfer and before the box.
const ALONE: &str = "alone";

/// The cases, in the order of measuring.
pub fn cases() -> Vec<Case> {
    let case = |name, title, make, figures| Case { name, title, in_short: false, runs_each: 1, make, figures };
    vec![
        case(
            "a04",
            "two downloads of the LAN and two over the Internet link, then with the box",
            |_| a04(),
            a04_figures,
        ),
        case("a05", "pages over the Internet link beside a download of the LAN", |_| a05(), a05_figures),
        case("a06", "pages over the Internet link beside an upload to the LAN", |_| a06(), a06_figures),
        case("a07", "a download and twelve calls, one more every 5 s", |_| a07(), a07_figures),
        case("a12", "a download at 54 Mb/s, joined by an upload, then with the box", |_| a12(), a12_figures),
        case("a15", "gold with 300 ms and bronze with 200 ms over the Internet link", |_| a15(), a15_figures),
        case("a09-published", "the published box while the population changes", |_| a09(), a09_figures),
        case("a11-published", "5 up + 5 down at 11 Mb/s, the published box", |_| a11(), a11_figures),
    ]
}

macro_rules! scenario_file {
    ($path:literal, $sets:expr) => {
        Scenario::parse_with(include_str!(concat!("../../../../scenarios/adwiser/", $path)), $path, $sets)
            .context(concat!("scenarios/adwiser/", $path))
    };
}

fn a04() -> Result<Scenario> {
    let sets = [
        ("duration", "280 s"),
        ("event.1.at", "100 s"),
        ("phase.bypassed.from", "40 s"),
        ("phase.bypassed.to", "100 s"),
        ("phase.inserted.from", "160 s"),
        ("phase.inserted.to", "280 s"),
    ];
    scenario_file!("a04-lan-starves-internet.toml", &sets)
}

fn a04_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let (bypassed, inserted) = (phase(run.result, BYPASSED), phase(run.result, INSERTED));
    let sum = |phase, app| rates(phase, &[app]).iter().sum::<f64>();
    println!(
        "    bypassed: Internet {:.2}, LAN {:.2} Mb/s; inserted: {:.2}, {:.2}",
        sum(bypassed, "wan"),
        sum(bypassed, "lan"),
        sum(inserted, "wan"),
        sum(inserted, "lan")
    );
    let varies = |app: &str| {
        let flows = inserted.flows.iter().filter(|flow| flow.app.starts_with(app));
        flows.map(|flow| flow.variation.unwrap_or(f64::NAN)).fold(0.0, larger)
    };
    Ok(vec![
        Figure {
            what: "bypassed: used part of the Internet link",
            value: sum(bypassed, "wan") / LINK_MBPS,
            bound: Bound::AtMost { limit: 0.50, single: 0.75 },
        },
        Figure {
            what: "inserted: DATA over the link, from 7.2 Mb/s",
            value: (data_mbps(inserted, &["wan"]) / SERVED_MBPS - 1.0).abs(),
            bound: Bound::within(0.05),
        },
        Figure {
            what: "inserted: sigma over mean, second by second, Internet",
            value: varies("wan"),
            bound: Bound::within(0.10),
        },
        Figure { what: "inserted: the same, LAN", value: varies("lan"), bound: Bound::within(0.20) },
        Figure {
            what: "the LAN's rates, inserted over bypassed",
            value: sum(inserted, "lan") / sum(bypassed, "lan"),
            bound: Bound::AtMost { limit: 0.95, single: 1.0 },
        },
        conservation(run.result),
    ])
}

/// The larger number; NaN if one is NaN.
const fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn a05() -> Result<Scenario> {
    let sets = [
        ("duration", "450 s"),
        ("bulk.bulk.start", "150 s"),
        ("event.1.at", "300 s"),
        ("phase.alone.to", "150 s"),
        ("phase.bypassed.from", "150 s"),
        ("phase.bypassed.to", "300 s"),
        ("phase.inserted.from", "300 s"),
        ("phase.inserted.to", "450 s"),
    ];
    scenario_file!("a05-pages-beside-download.toml", &sets)
}

/// A statistic of the pages begun in a phase: "mean_s", "p50_s", "p90_s", "max_s".
fn page(result: &RunResult, phase: &str, what: &str) -> f64 {
    scalar(result, &format!("phase.{phase}.page.{what}")).unwrap_or(f64::NAN)
}

/// Mean load times of pages, in seconds: without the transfer, beside it, and with the box.
fn page_means(result: &RunResult) -> [f64; 3] {
    let means = [ALONE, BYPASSED, INSERTED].map(|phase| page(result, phase, "mean_s"));
    let counts = [ALONE, BYPASSED, INSERTED].map(|phase| page(result, phase, "count"));
    println!("    pages alone, bypassed, inserted: {counts:?}, of {means:.3?} s");
    means
}

fn a05_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let [alone, bypassed, inserted] = page_means(run.result);
    let spread = |phase| page(run.result, phase, "p90_s") - page(run.result, phase, "p50_s");
    let at_least = |what, value, limit, single| Figure { what, value, bound: Bound::AtLeast { limit, single } };
    Ok(vec![
        Figure { what: "alone: mean time of a page, from 1.76 s", value: (alone / 1.76 - 1.0).abs(), bound: REAL },
        at_least("bypassed: mean time of a page over that alone", bypassed / alone, 1.2, 1.0),
        at_least("bypassed: the longest over the mean", page(run.result, BYPASSED, "max_s") / bypassed, 3.0, 2.0),
        Figure {
            what: "inserted: mean time of a page over 2 s",
            value: inserted / 2.0,
            bound: Bound::within_times(1.15),
        },
        Figure {
            what: "inserted: median to 90th percentile, over that bypassed",
            value: spread(INSERTED) / spread(BYPASSED),
            bound: Bound::AtMost { limit: 1.0, single: 1.25 },
        },
        conservation(run.result),
    ])
}

fn a06() -> Result<Scenario> {
    let sets = [
        ("duration", "430 s"),
        ("bulk.bulk.start", "170 s"),
        ("event.1.at", "270 s"),
        ("phase.alone.to", "170 s"),
        ("phase.bypassed.from", "170 s"),
        ("phase.bypassed.to", "270 s"),
        ("phase.inserted.from", "270 s"),
        ("phase.inserted.to", "430 s"),
    ];
    scenario_file!("a06-pages-beside-upload.toml", &sets)
}

fn a06_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let [alone, bypassed, inserted] = page_means(run.result);
    Ok(vec![
        Figure { what: "alone: mean time of a page, from 1.85 s", value: (alone / 1.85 - 1.0).abs(), bound: REAL },
        Figure {
            what: "bypassed: mean time of a page, s",
            value: bypassed,
            bound: Bound::AtLeast { limit: 10.0, single: 5.0 },
        },
        Figure {
            what: "inserted: mean time of a page over that alone",
            value: inserted / alone,
            bound: Bound::within_times(1.25),
        },
        Figure {
            what: "inserted: mean time of a page over that bypassed",
            value: inserted / bypassed,
            bound: Bound::AtMost { limit: 0.5, single: 0.75 },
        },
        conservation(run.result),
    ])
}

/// Phases with all twelve calls.
const LIMIT: &str = "limit";
const CALLS: usize = 12;

fn a07() -> Result<Scenario> {
    scenario_file!("a07-calls.toml", &[])
}

fn a07_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let download = |name| rates(phase(run.result, name), &["download"]).iter().sum::<f64>();
    let admitted = run.result.events.iter().filter(|event| event.what == "call admitted").count() as f64;
    println!("    download alone {:.2} Mb/s, beside twelve calls {:.2}", download(ALONE), download(LIMIT));
    Ok(vec![
        Figure { what: "calls admitted, from 12", value: (admitted - CALLS as f64).abs(), bound: zero() },
        Figure {
            what: "download beside them, from 14 Mb/s",
            value: (download(LIMIT) / 14.0 - 1.0).abs(),
            bound: Bound::within(0.15),
        },
        Figure {
            what: "the same, at 265 s from that at 120 s",
            value: (download("most") / download("early") - 1.0).abs(),
            bound: Bound::within(0.05),
        },
        Figure {
            what: "99 % of a call's delays are below, ms, of the worst",
            value: slowest_call_ms(run.result),
            bound: Bound::AtMost { limit: 20.0, single: 30.0 },
        },
        conservation(run.result),
    ])
}

/// Longest of the calls' 99th percentiles of delay, in milliseconds; NaN if a direction of a call is missing.
fn slowest_call_ms(result: &RunResult) -> f64 {
    let stretch = phase(result, LIMIT);
    // A call has at least nine of ten packets, one each 20 ms.
    let least = 0.9 * 50.0 * (stretch.to_s - stretch.from_s);
    let spoke = |call: &&CallResult| call.phase == LIMIT && call.heard.sent as f64 >= least;
    let delays: Vec<f64> = result.calls.iter().filter(spoke).map(|call| call.heard.delay_p99_ms).collect();
    if delays.len() == 2 * CALLS { delays.into_iter().fold(0.0, larger) } else { f64::NAN }
}

fn a12() -> Result<Scenario> {
    let sets = [
        ("duration", "220 s"),
        ("bulk.upload.start", "40 s"),
        ("event.1.at", "100 s"),
        ("phase.alone.from", "15 s"),
        ("phase.alone.to", "40 s"),
        ("phase.bypassed.from", "60 s"),
        ("phase.bypassed.to", "100 s"),
        ("phase.inserted.from", "160 s"),
        ("phase.inserted.to", "220 s"),
    ];
    scenario_file!("a12-real-access-point.toml", &sets)
}

fn a12_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let [alone, bypassed, inserted] = [ALONE, BYPASSED, INSERTED].map(|name| phase(run.result, name));
    let from = |what, value: f64, published: f64| Figure { what, value: (value / published - 1.0).abs(), bound: REAL };
    println!(
        "    alone {:.2} Mb/s; bypassed {:.2} up, {:.2} down; inserted {:.2}",
        alone.total_ip_mbps, bypassed.directions.up_ip_mbps, bypassed.directions.down_ip_mbps, inserted.total_ip_mbps
    );
    Ok(vec![
        from("alone: the download, from 18.56 Mb/s", alone.directions.down_ip_mbps, 18.56),
        from("bypassed: the upload, from 21.2 Mb/s", bypassed.directions.up_ip_mbps, 21.2),
        // Published: 0.34 Mb/s, less than 2 %.
        Figure {
            what: "bypassed: the download's part of the total",
            value: bypassed.directions.down_ip_mbps / bypassed.total_ip_mbps,
            bound: Bound::AtMost { limit: 0.20, single: 0.40 },
        },
        Figure {
            what: "inserted: up : down, from equal",
            value: up_down_inequality(inserted),
            bound: Bound::within(0.05),
        },
        from("inserted: total, from 19 Mb/s", inserted.total_ip_mbps, 19.0),
        conservation(run.result),
    ])
}

fn a15() -> Result<Scenario> {
    let sets = [
        ("duration", "440 s"),
        ("event.1.at", "200 s"),
        ("phase.bypassed.from", "40 s"),
        ("phase.bypassed.to", "200 s"),
        ("phase.inserted.from", "280 s"),
        ("phase.inserted.to", "440 s"),
    ];
    scenario_file!("a15-gold-and-bronze.toml", &sets)
}

fn a15_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let (bypassed, inserted) = (phase(run.result, BYPASSED), phase(run.result, INSERTED));
    let ratio = |phase: &PhaseResult, ahead, behind| {
        let sum = |app| rates(phase, &[app]).iter().sum::<f64>();
        println!("    {}: gold {:.3}, bronze {:.3} Mb/s", phase.name, sum("gold"), sum("bronze"));
        sum(ahead) / sum(behind)
    };
    Ok(vec![
        // Losses at the link's buffer are random: in some runs the two are about equal.
        Figure {
            what: "bypassed: bronze over gold",
            value: ratio(bypassed, "bronze", "gold"),
            bound: Bound::AtLeast { limit: 1.05, single: 0.90 },
        },
        Figure {
            what: "inserted: gold : bronze, from 4:1",
            value: (ratio(inserted, "gold", "bronze") / 4.0 - 1.0).abs(),
            bound: Bound::within(0.10),
        },
        Figure {
            what: "inserted: DATA over the link, from 7.2 Mb/s",
            value: (data_mbps(inserted, &["gold", "bronze"]) / SERVED_MBPS - 1.0).abs(),
            bound: Bound::within(0.05),
        },
        conservation(run.result),
    ])
}

/// The published box: its rule for the service rate, bits as packet cost, and short tail-drop queues that are served by start
/// tags alone.
const PUBLISHED_BOX: [(&str, &str); 5] = [
    ("manager.controller.kind", "published"),
    ("manager.charge", "bits"),
    ("manager.aqm", "none"),
    ("manager.sparse_first", "false"),
    ("manager.queue_limit", "100 packets"),
];

/// Phases of the populations, and when each of the later ones begins, in seconds.
const POPULATIONS: [&str; 3] = ["first", "second", "third"];
const CHANGES_S: [f64; 2] = [140.0, 260.0];

fn a09() -> Result<Scenario> {
    let times = [
        ("duration", "380 s"),
        ("event.1.at", "40 s"),
        ("event.2.at", "140 s"),
        ("event.3.at", "260 s"),
        ("bulk.early.stop", "140 s"),
        ("bulk.late.start", "260 s"),
        ("phase.first.from", "80 s"),
        ("phase.first.to", "140 s"),
        ("phase.second.from", "210 s"),
        ("phase.second.to", "260 s"),
        ("phase.third.from", "330 s"),
        ("phase.third.to", "380 s"),
    ];
    let mut scenario = scenario_file!("a09-adaptation.toml", &[&PUBLISHED_BOX[..], &times].concat())?;
    let without = Phase { name: BYPASSED.into(), from: Span::from_secs(10), to: Span::from_secs(40) };
    scenario.measure.phases.insert(0, without);
    Ok(scenario)
}

fn a09_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let parts = POPULATIONS.map(|name| share_of_capacity(phase(run.result, name)));
    let [second, third] = [(0, "second"), (1, "third")].map(|(change, name)| adaptation_s(run.result, change, name));
    println!("    total over C* {parts:.3?}; {second} and {third} s until it follows");
    let at_most = |what, value, limit, single| Figure { what, value, bound: Bound::AtMost { limit, single } };
    Ok(vec![
        at_most("bypassed: total over C*", share_of_capacity(phase(run.result, BYPASSED)), 0.85, 0.90),
        Figure {
            what: "least total over C* of the three populations",
            value: -parts.map(|part| -part).into_iter().fold(f64::NEG_INFINITY, larger),
            bound: Bound::short_by_at_most(0.10),
        },
        at_most("greatest of them", parts.into_iter().fold(0.0, larger), 1.05, 1.10),
        // Published: 50 to 60 s.
        Figure {
            what: "adaptation after the slower change, from 55 s",
            value: (larger(second, third) / 55.0 - 1.0).abs(),
            bound: Bound::within(0.20),
        },
        conservation(run.result),
    ])
}

/// Time from a change until the total over 15 s is within 5 % of that of the settled population, in seconds.
fn adaptation_s(result: &RunResult, change: usize, settled: &str) -> f64 {
    const WINDOW_S: f64 = 15.0;
    let interval = result.series.interval_s;
    let level = phase(result, settled).total_ip_mbps;
    let first = (CHANGES_S[change] / interval) as usize;
    let end = (phase(result, settled).to_s / interval) as usize;
    let total = |at: usize| result.series.flows.iter().filter_map(|flow| flow.ip_mbps.get(at)).sum::<f64>();
    let totals: Vec<f64> = (first..end).map(total).collect();
    let mut windows = totals.windows((WINDOW_S / interval) as usize);
    let follows = windows.position(|window| (mean(window) / level - 1.0).abs() <= 0.05);
    follows.map_or(f64::NAN, |at| at as f64 * interval)
}

fn a11() -> Result<Scenario> {
    let times = [("duration", "200 s"), ("phase.inserted.from", "140 s"), ("phase.inserted.to", "200 s")];
    scenario_file!("a11-equal-up-and-down.toml", &[&PUBLISHED_BOX[..], &times].concat())
}

fn a11_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let (bypassed, inserted) = (phase(run.result, BYPASSED), phase(run.result, INSERTED));
    println!("    bypassed {:.2} Mb/s, inserted {:.2}", bypassed.total_ip_mbps, inserted.total_ip_mbps);
    Ok(vec![
        Figure {
            what: "bypassed: downloads' part of the total",
            value: bypassed.directions.down_ip_mbps / bypassed.total_ip_mbps,
            bound: Bound::AtMost { limit: 0.20, single: 0.40 },
        },
        Figure {
            what: "inserted: up : down, from equal",
            value: up_down_inequality(inserted),
            bound: Bound::within(0.10),
        },
        Figure {
            what: "inserted: Jain's index of the ten flows",
            value: inserted.jain_flows.unwrap_or(f64::NAN),
            bound: Bound::short_by_at_most(0.02),
        },
        Figure {
            what: "inserted: total, from 4.8 Mb/s",
            value: (inserted.total_ip_mbps / 4.8 - 1.0).abs(),
            bound: Bound::within(0.10),
        },
        conservation(run.result),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::check::judge;
    use super::super::figures::tests::managed;
    use super::*;

    /// The simulator yields every value that the figures need, and the box accounts for every packet.
    #[test]
    fn the_simulator_yields_every_figure() {
        for case in cases() {
            let scenario = (case.make)(false).expect("a right scenario");
            let result = evenair_sim::run(&scenario, |_| ()).expect("it can be simulated");
            let testbed = |_: &Scenario, _: &str| unreachable!("it compares with no other run");
            let run = Run { scenario: &scenario, result: &result, cpu_share: 0.0, testbed: &testbed };
            let figures = (case.figures)(&run).expect("it has all phases");
            for figure in &figures {
                println!("{}: {figure:?}", case.name);
                assert!(!figure.value.is_nan(), "{}: {figure:?}", case.name);
            }
            let judged = judge(&[figures]);
            assert!(judged.last().is_some_and(|figure| figure.holds), "{}: {judged:?}", case.name);
        }
    }

    #[test]
    fn adaptation_ends_with_the_first_window_at_the_new_level() {
        let mut result = managed();
        result.phases.truncate(1);
        let settled = &mut result.phases[0];
        (settled.name, settled.to_s, settled.total_ip_mbps) = ("second".into(), 260.0, 10.0);
        result.series.interval_s = 5.0;
        result.series.flows.truncate(1);
        // The old level until 140 s, half of the new one for 40 s, then the new one.
        let totals = [vec![12.0; 28], vec![5.0; 8], vec![10.0; 16]].concat();
        result.series.flows[0].ip_mbps = totals;
        assert_eq!(adaptation_s(&result, 0, "second"), 40.0);
        result.series.flows[0].ip_mbps.fill(5.0);
        assert!(adaptation_s(&result, 0, "second").is_nan(), "it never gets there");
    }
}
