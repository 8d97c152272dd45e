//! Promises of the box beyond the publications, with kernel TCP and the default manager, without telemetry of stations,
//! rates or capacity (except weights where stations have them): a short access point queue, fast adaptation to a changing
//! population, weights, priority of the Internet link, and protection from a single station.

use anyhow::{Context, Result};
use evenair_results::{FlowResult, NodeResult, PhaseResult, RunResult};
use evenair_scenario::Scenario;
use evenair_units::Bytes;
use evenair_wifi::{Phy, Standard};

use super::case::{Case, NO_TELEMETRY, Run};
use super::check::{Bound, Figure};
use super::figures::{INSERTED, conservation, phase, ratio_deviation};
use super::stations::{both_figures, both_ways, late_answers, late_figures, tenth, tenth_figures};

/// The cases, in the order of measuring.
pub fn cases() -> Vec<Case> {
    let case = |name, title, make, figures| Case { name, title, in_short: false, runs_each: 1, make, figures };
    vec![
        case(
            "short-11",
            "4 down + 4 up at 11 Mb/s: what stands in the access point",
            |_| loaded(&B_11),
            |run| short_queue(run, &B_11),
        ),
        case(
            "short-54",
            "4 down + 4 up at 54 Mb/s: what stands in the access point",
            |_| loaded(&A_54),
            |run| short_queue(run, &A_54),
        ),
        case("weights-5", "two downloads at 11 Mb/s, 5:1, for 180 s", |_| weighted(5), |run| weights(run, 5)),
        case("weights-20", "two downloads at 11 Mb/s, 20:1, for 180 s", |_| weighted(20), |run| weights(run, 20)),
        case("gold", "four downloads over the Internet link, 4:1", |_| gold(), gold_figures),
        case("internet", "two downloads over the Internet link and two from the LAN", |_| internet(), internet_figures),
        case("population", "9, 6 and 12 downloads at 54, 24 and 6 Mb/s", |_| population(), population_figures),
        case("tenth-1-9", "one upload beside nine downloads at 11 Mb/s", |_| tenth(1, 9), tenth_figures),
        case("tenth-5-5", "five uploads beside five downloads at 11 Mb/s", |_| tenth(5, 5), tenth_figures),
        case("tenth-9-1", "nine uploads beside one download at 11 Mb/s", |_| tenth(9, 1), tenth_figures),
        case(
            "both-ways",
            "five stations at 11 Mb/s, each with an upload and a download",
            |_| both_ways(),
            both_figures,
        ),
        case("lag-5", "four downloads at 54 Mb/s, whose answers come 5 ms late", |_| late_answers(), late_figures),
        case("flood", "a flood of datagrams among 3 up + 3 down at 11 Mb/s", |_| flood(), flood_figures),
    ]
}

/// A network and its promised figures.
pub(super) struct Network {
    pub(super) radio: &'static str,
    rate: &'static str,
    /// Bound of the 95th percentile of sojourn times in the access point, in milliseconds.
    pub(super) sojourn_ms: f64,
    /// Bound of the 95th percentile of round-trip times of a station with no other traffic, in milliseconds.
    echo_ms: f64,
}

/// A figure with an upper bound; a single run may exceed it by half.
pub(super) const fn at_most(what: &'static str, value: f64, limit: f64) -> Figure {
    Figure { what, value, bound: Bound::AtMost { limit, single: 1.5 * limit } }
}

const B_11: Network = Network {
    radio: "{ standard = \"802.11b\", preamble = \"short\", basic_rates = [\"1 Mb/s\", \"2 Mb/s\"], \
            rts_threshold = \"500 bytes\", ap_buffer = \"150 kB\" }",
    rate: "11 Mb/s",
    sojourn_ms: 10.0,
    echo_ms: 20.0,
};
pub(super) const A_54: Network = Network {
    radio: "{ standard = \"802.11a\", rts_threshold = \"500 bytes\", ap_buffer = \"150 kB\" }",
    rate: "54 Mb/s",
    sojourn_ms: 5.0,
    echo_ms: 10.0,
};
/// Bound of the 95th percentile of round-trip times of a station with other traffic, in milliseconds.
const ECHO_BESIDE_MS: f64 = 20.0;
/// Largest proportion of the time in which the medium is idle while the box has packets for it.
const IDLE: f64 = 0.03;

fn parse(text: &str) -> Result<Scenario> {
    Ok(Scenario::parse(text, "promise")?)
}

fn loaded(network: &Network) -> Result<Scenario> {
    let Network { radio, rate, .. } = network;
    parse(&format!(
        r#"
version = 1
name = "short"
title = "Four downloads and four uploads; echoes of one that downloads and of one that does not"
duration = "100 s"
radio = {radio}
station = [
    {{ name = "reader", rate = "{rate}" }},
    {{ name = "quiet", rate = "{rate}" }},
    {{ name = "d", count = 3, rate = "{rate}" }},
    {{ name = "u", count = 4, rate = "{rate}" }},
]
server = [{{ name = "server" }}]
bulk = [
    {{ name = "down", stations = ["reader", "d"], server = "server", direction = "down" }},
    {{ name = "up", stations = ["u"], server = "server", direction = "up" }},
]
ping = [
    {{ name = "beside", stations = ["reader"], server = "server", interval = "100 ms" }},
    {{ name = "alone", stations = ["quiet"], server = "server", interval = "100 ms" }},
]
event = [{{ at = "15 s", do = "insert" }}]
phase = [{{ name = "bypassed", from = "5 s", to = "15 s" }}, {{ name = "inserted", from = "40 s", to = "100 s" }}]
{NO_TELEMETRY}"#
    ))
}

fn short_queue(run: &Run<'_>, network: &Network) -> Result<Vec<Figure>> {
    let (before, inserted) = (phase(run.result, "bypassed"), phase(run.result, INSERTED));
    println!(
        "    without the box: in the access point {:.0} ms, echoes {:.0} ms (95 %); with it {:.3} Mb/s, C* {:.3}",
        sojourn_p95(before)?,
        echo_p95(before, "alone")?,
        inserted.total_ip_mbps,
        inserted.capacity_cstar_mbps.unwrap_or(f64::NAN)
    );
    Ok(vec![
        at_most("p95 in the access point, ms", sojourn_p95(inserted)?, network.sojourn_ms),
        at_most("p95 of echoes of a station with nothing else, ms", echo_p95(inserted, "alone")?, network.echo_ms),
        at_most("p95 of echoes beside a download of the station, ms", echo_p95(inserted, "beside")?, ECHO_BESIDE_MS),
        at_most("medium idle, part of the time", idle(inserted)?, IDLE),
        Figure {
            what: "farthest of the bulk flows from their mean",
            value: farthest(&rates(inserted, &["up", "down"])),
            bound: Bound::within(0.05),
        },
        conservation(run.result),
    ])
}

fn weighted(weight: u32) -> Result<Scenario> {
    let radio = B_11.radio;
    parse(&format!(
        r#"
version = 1
name = "weights"
title = "Two downloads, one of which is to have {weight} times the other"
duration = "210 s"
radio = {radio}
station = [{{ name = "gold", rate = "11 Mb/s", weight = {weight} }}, {{ name = "plain", rate = "11 Mb/s" }}]
server = [{{ name = "server" }}]
bulk = [{{ name = "download", stations = ["gold", "plain"], server = "server", direction = "down" }}]
event = [{{ at = "5 s", do = "insert" }}]
phase = [{{ name = "inserted", from = "30 s", to = "210 s" }}]
"#
    ))
}

fn weights(run: &Run<'_>, weight: u32) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    Ok(vec![
        Figure {
            what: "ratio, from that of the weights",
            value: ratio_deviation(inserted, f64::from(weight)),
            bound: Bound::within(0.03),
        },
        conservation(run.result),
    ])
}

/// IP-level rate that the box allows over the Internet link, in Mb/s: 90 % of 8 Mb/s.
const LINK_MBPS: f64 = 7.2;
/// Delay of the testbed's link, which has only one: that of the publication's gold stations.
const LINK: &str = r#"
wan = { down = { rate = "8 Mb/s", delay = "150 ms", buffer = "400 kB" }, up = { rate = "8 Mb/s", delay = "150 ms" } }
"#;

fn gold() -> Result<Scenario> {
    let radio = A_54.radio;
    parse(&format!(
        r#"
version = 1
name = "gold"
title = "Two gold stations of weight 4 and two bronze ones"
duration = "240 s"
radio = {radio}
{LINK}
station = [
    {{ name = "gold", count = 2, rate = "54 Mb/s", weight = 4 }},
    {{ name = "bronze", count = 2, rate = "54 Mb/s" }},
]
server = [{{ name = "internet", at = "wan" }}]
bulk = [
    {{ name = "gold", stations = ["gold"], server = "internet", direction = "down" }},
    {{ name = "bronze", stations = ["bronze"], server = "internet", direction = "down" }},
]
event = [{{ at = "2 s", do = "insert" }}]
phase = [{{ name = "inserted", from = "60 s", to = "240 s" }}]
[manager.wan]
share = "90 %"
"#
    ))
}

fn gold_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    let sum = |name| rates(inserted, &[name]).iter().sum::<f64>();
    let (gold, bronze) = (sum("gold"), sum("bronze"));
    println!("    gold {gold:.3}, bronze {bronze:.3} Mb/s");
    Ok(vec![
        Figure {
            what: "gold : bronze, from 4:1",
            value: (gold / bronze / 4.0 - 1.0).abs(),
            bound: Bound::within(0.03),
        },
        Figure {
            what: "DATA over the link, of what the box lets over it",
            value: data_mbps(inserted, &["gold", "bronze"]) / LINK_MBPS,
            bound: Bound::short_by_at_most(0.03),
        },
        conservation(run.result),
    ])
}

fn internet() -> Result<Scenario> {
    const FILE: &str = include_str!("../../../../scenarios/box/b02-internet-first.toml");
    let sets = [
        ("duration", "180 s"),
        ("phase.bypassed.from", "5 s"),
        ("phase.bypassed.to", "20 s"),
        ("phase.inserted.from", "60 s"),
        ("phase.inserted.to", "180 s"),
        ("telemetry.stations", "false"),
        ("telemetry.rates", "false"),
    ];
    let mut scenario = Scenario::parse_with(FILE, "b02-internet-first.toml", &sets)?;
    scenario.events.iter_mut().for_each(|event| event.at = evenair_units::Span::from_secs(20));
    Ok(scenario)
}

fn internet_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    let lan: f64 = rates(inserted, &["lan"]).iter().sum();
    let sums = sums_by_second(run.result, "wan", inserted.from_s..inserted.to_s);
    println!("    over the link {:.3} Mb/s, from the LAN {lan:.3}", mean(&sums));
    Ok(vec![
        Figure {
            what: "DATA over the link, of what the box lets over it",
            value: data_mbps(inserted, &["wan"]) / LINK_MBPS,
            bound: Bound::short_by_at_most(0.03),
        },
        Figure {
            what: "its variation from second to second (sigma over mean)",
            value: sigma(&sums) / mean(&sums),
            bound: Bound::within(0.05),
        },
        at_most("medium idle, part of the time", idle(inserted)?, IDLE),
        conservation(run.result),
    ])
}

fn population() -> Result<Scenario> {
    const FILE: &str = include_str!("../../../../scenarios/box/b11-changing-population.toml");
    Ok(Scenario::parse(FILE, "b11-changing-population.toml")?)
}

/// Phases of the populations, when each begins, in seconds, and its number of slow stations.
const POPULATIONS: [(&str, usize, u32); 3] = [("first", 1, 3), ("second", 60, 3), ("third", 120, 4)];

fn population_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let totals = sums_by_second(run.result, "", 0.0..run.result.duration_s);
    let level = |name| phase(run.result, name).total_ip_mbps;
    let changes = &POPULATIONS[1..];
    let soon = changes.iter().map(|&(name, began, _)| (mean(&totals[began + 2..began + 12]) / level(name) - 1.0).abs());
    let least = changes.iter().map(|&(name, began, _)| {
        totals[began + 2..began + 60].iter().copied().fold(f64::INFINITY, f64::min) / level(name)
    });
    let mut longest: f64 = 0.0;
    for (name, _, slow) in POPULATIONS {
        let found = phase(run.result, name);
        let part = found.total_ip_mbps / found.capacity_cstar_mbps.unwrap_or(f64::NAN);
        println!("    {name}: {:.3} Mb/s, {part:.3} of C*, {:.1} ms", found.total_ip_mbps, sojourn_p95(found)?);
        longest = longest.max(sojourn_p95(found)? / (A_54.sojourn_ms + f64::from(slow) * slowest_exchange_ms()));
    }
    Ok(vec![
        Figure {
            what: "seconds 2 to 12 after a change, from the new level",
            value: soon.fold(0.0, f64::max),
            bound: Bound::within(0.05),
        },
        Figure {
            what: "lowest second after that, over the new level",
            value: least.fold(f64::INFINITY, f64::min),
            bound: Bound::short_by_at_most(0.10),
        },
        at_most("p95 in the access point, over its bound", longest, 1.0),
        conservation(run.result),
    ])
}

/// Duration of one exchange with a slow station, in milliseconds, for which packets behind it wait.
pub(super) fn slowest_exchange_ms() -> f64 {
    let phy = Phy::default_for(Standard::Dot11a);
    let slowest = phy.standard().rate(evenair_units::BitRate::from_bps(6_000_000)).expect("802.11a has it");
    phy.access_cost(Bytes(1_500), slowest, true).as_nanos() as f64 / 1e6
}

fn flood() -> Result<Scenario> {
    let radio = B_11.radio;
    parse(&format!(
        r#"
version = 1
name = "flood"
title = "One station sends datagrams as if it were alone; three upload and three download"
duration = "90 s"
radio = {radio}
station = [
    {{ name = "x", rate = "11 Mb/s" }},
    {{ name = "u", count = 3, rate = "11 Mb/s" }},
    {{ name = "d", count = 3, rate = "11 Mb/s" }},
]
server = [{{ name = "server" }}]
udp = [{{ name = "flood", stations = ["x"], server = "server", direction = "up", rate = "4 Mb/s", payload = "1400 bytes" }}]
bulk = [
    {{ name = "up", stations = ["u"], server = "server", direction = "up" }},
    {{ name = "down", stations = ["d"], server = "server", direction = "down" }},
]
event = [{{ at = "2 s", do = "insert" }}]
phase = [{{ name = "inserted", from = "30 s", to = "90 s" }}]
{NO_TELEMETRY}"#
    ))
}

fn flood_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    let reported: Vec<_> = run.result.events.iter().filter(|event| event.what == "over its share").collect();
    let others = rates(inserted, &["up", "down"]);
    println!("    flood {:.3} Mb/s, the others {others:.3?}", rates(inserted, &["flood"]).iter().sum::<f64>());
    let wrong = reported.iter().filter(|event| event.detail != "x").count() + usize::from(reported.is_empty());
    Ok(vec![
        Figure { what: "farthest of the others from their mean", value: farthest(&others), bound: Bound::within(0.05) },
        at_most("p95 in the access point, ms", sojourn_p95(inserted)?, B_11.sojourn_ms),
        Figure {
            what: "stations reported that should not be, or not that should",
            value: wrong as f64,
            bound: super::figures::zero(),
        },
        conservation(run.result),
    ])
}

/// Rates of the applications whose names equal or begin with one of these.
pub(super) fn rates(phase: &PhaseResult, names: &[&str]) -> Vec<f64> {
    flows(phase, names).map(|flow| flow.ip_mbps).collect()
}

/// Their DATA alone, at IP level, without ACKs.
pub(super) fn data_mbps(phase: &PhaseResult, names: &[&str]) -> f64 {
    const DATA: f64 = 1_500.0;
    const ACK: f64 = 52.0;
    flows(phase, names).map(|flow| flow.ip_mbps / (1.0 + ACK / DATA / flow.d.unwrap_or(2.0))).sum()
}

fn flows<'a>(phase: &'a PhaseResult, names: &[&str]) -> impl Iterator<Item = &'a FlowResult> {
    phase.flows.iter().filter(move |flow| names.iter().any(|name| flow.app.starts_with(name)))
}

/// Throughput of all applications whose names begin with `name`, in each second of an interval.
fn sums_by_second(result: &RunResult, name: &str, stretch: std::ops::Range<f64>) -> Vec<f64> {
    let seconds = stretch.start as usize..stretch.end as usize;
    let flows: Vec<_> = result.series.flows.iter().filter(|flow| flow.app.starts_with(name)).collect();
    seconds.map(|second| flows.iter().map(|flow| flow.ip_mbps.get(second).copied().unwrap_or(0.0)).sum()).collect()
}

pub(super) fn sojourn_p95(phase: &PhaseResult) -> Result<f64> {
    let point = phase.nodes.iter().find(|node| NodeResult::is_access_point(node)).context("the testbed has one")?;
    Ok(point.sojourn.as_ref().map_or(f64::NAN, |times| times.p95_ms))
}

fn echo_p95(phase: &PhaseResult, name: &str) -> Result<f64> {
    let flow = flows(phase, &[name]).next().context("the scenario has the application")?;
    Ok(flow.rtt.as_ref().map_or(f64::NAN, |times| times.p95_ms))
}

fn idle(phase: &PhaseResult) -> Result<f64> {
    Ok(phase.medium.as_ref().context("the testbed watches it")?.idle_share)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sigma(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// Largest relative deviation of a value from the mean.
fn farthest(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value / mean - 1.0).abs()).fold(f64::NAN, f64::max)
}
