//! A controller on many paths: throughput and time in the access point, compared with the same network without the box.
//!
//! If stations differ in their rates (`mixed`), which are unreported, also throughput and fairness of the stations' airtimes from 5
//! to 20 s after the insertion and later, compared with reported rates.
//!
//! `cargo run --release -p evenair-sim --example paths [part of a name] [seeds] [controller]`

use std::error::Error;

use evenair_results::{PhaseResult, RunResult};
use evenair_scenario::Scenario;
use evenair_sim::run;
use evenair_workload::Direction;
use rayon::prelude::*;

struct Case {
    name: String,
    text: String,
}

fn case(name: &str, stations: &str, traffic: &str, path: &str) -> Case {
    let text = format!(
        r#"version = 1
name = "paths"
duration = "40 s"
[telemetry]
stations = false
rates = false
{stations}
[[server]]
name = "server"
{traffic}
{path}
[[phase]]
name = "early"
from = "5 s"
to = "15 s"
[[phase]]
name = "late"
from = "15 s"
to = "40 s"
"#
    );
    Case { name: name.to_owned(), text }
}

fn bulk(name: &str, direction: &str, rest: &str) -> String {
    format!(
        "[[bulk]]\nname = \"{name}\"\nstations = [\"s\"]\nserver = \"server\"\ndirection = \"{direction}\"\n{rest}\n"
    )
}

fn equal(count: u32, radio: &str) -> String {
    format!(
        "[radio]\nstandard = \"802.11g\"\n{radio}\n[[station]]\nname = \"s\"\ncount = {count}\nrate = \"54 Mb/s\"\n"
    )
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let fifo = "ap_buffer = \"150 kB\"";
    let lags = [
        ("none", ""),
        ("lag 2", "[ap_path.up]\ndelay = \"2 ms\""),
        ("lag 5", "[ap_path.up]\ndelay = \"5 ms\""),
        ("lag 10+10", "[ap_path.up]\ndelay = \"10 ms\"\n[ap_path.down]\ndelay = \"10 ms\""),
        ("lag 25+25", "[ap_path.up]\ndelay = \"25 ms\"\n[ap_path.down]\ndelay = \"25 ms\""),
        ("batch 5", "[ap_path.up]\nbatch = \"5 ms\""),
        ("batch 5+5", "[ap_path.up]\nbatch = \"5 ms\"\n[ap_path.down]\nbatch = \"5 ms\""),
        ("jitter 2-7", "[ap_path.up]\ndelay = \"2 ms\"\njitter = \"5 ms\""),
        ("jitter 0-10", "[ap_path.up]\njitter = \"10 ms\""),
        ("jitter 5-15 down", "[ap_path.down]\ndelay = \"5 ms\"\njitter = \"10 ms\""),
    ];
    for stations in [1, 4] {
        for direction in ["down", "up"] {
            for (lag, path) in lags {
                let name = format!("{stations} {direction} {lag}");
                cases.push(case(&name, &equal(stations, fifo), &bulk("t", direction, ""), path));
            }
        }
    }
    let both = bulk("d", "down", "") + &bulk("u", "up", "");
    for (lag, path) in &lags[..6] {
        cases.push(case(&format!("4 both {lag}"), &equal(4, fifo), &both, path));
    }
    for (buffer, radio) in [
        ("fifo 20", "ap_buffer = \"20 packets\""),
        ("fifo 1000", "ap_buffer = \"1000 packets\""),
        ("by station", "ap_queue = { discipline = \"drr\", by = \"station\" }"),
        ("fq-codel", "ap_queue = { discipline = \"fq-codel\" }"),
    ] {
        for direction in ["down", "up"] {
            cases.push(case(&format!("4 {direction} {buffer}"), &equal(4, radio), &bulk("t", direction, ""), ""));
        }
        cases.push(case(&format!("4 both {buffer}"), &equal(4, radio), &both, ""));
    }
    cases.extend(mixed_cases(fifo, &both));
    cases.push(case("4 down quic", &equal(4, fifo), &bulk("t", "down", "tool = \"quic\""), ""));
    cases.push(case("4 up quic", &equal(4, fifo), &bulk("t", "up", "tool = \"quic\""), ""));
    cases.push(case("4 up no timestamps", &equal(4, fifo), &bulk("t", "up", ""), "[tcp]\ntimestamps = false"));
    cases.push(case("4 both no timestamps", &equal(4, fifo), &both, "[tcp]\ntimestamps = false"));
    for direction in ["down", "up"] {
        let quic = bulk("t", direction, "tool = \"quic\"");
        cases.push(case(&format!("1 {direction} quic"), &equal(1, fifo), &quic, ""));
        for (lag, path) in [lags[2], lags[3], lags[6]] {
            cases.push(case(&format!("4 {direction} quic {lag}"), &equal(4, fifo), &quic, path));
        }
        for (queue, radio) in
            [("drr", "{ discipline = \"drr\", by = \"station\" }"), ("fq-codel", "{ discipline = \"fq-codel\" }")]
        {
            let radio = equal(4, &format!("ap_queue = {radio}"));
            cases.push(case(&format!("4 {direction} quic {queue}"), &radio, &quic, ""));
        }
    }
    cases.extend(slow_networks());
    let half = bulk("d", "down", "") + &bulk("q", "down", "tool = \"quic\"");
    cases.push(case("4 down half quic", &equal(4, fifo), &half, ""));
    for (name, path) in [
        ("wan 10 ms", "[wan.down]\nrate = \"1 Gb/s\"\ndelay = \"5 ms\"\n[wan.up]\nrate = \"1 Gb/s\"\ndelay = \"5 ms\""),
        (
            "wan 100 ms",
            "[wan.down]\nrate = \"1 Gb/s\"\ndelay = \"50 ms\"\n[wan.up]\nrate = \"1 Gb/s\"\ndelay = \"50 ms\"",
        ),
    ] {
        for direction in ["down", "up"] {
            let traffic = bulk("t", direction, "");
            let path = format!("{path}\n");
            let mut case = case(&format!("4 {direction} {name}"), &equal(4, fifo), &traffic, &path);
            case.text = case.text.replace("name = \"server\"", "name = \"server\"\nat = \"wan\"");
            cases.push(case);
        }
    }
    cases
}

/// Five downloads and five uploads at 11 Mb/s, with disturbances that could be taken for a queue or hide one.
fn slow_networks() -> Vec<Case> {
    let radio = "[radio]\nstandard = \"802.11b\"\npreamble = \"short\"\nbasic_rates = [\"1 Mb/s\", \"2 Mb/s\"]\n\
                 rts_threshold = \"500 bytes\"\nap_buffer = \"150 kB\"\n";
    let of = |name: &str| format!("[[station]]\nname = \"{name}\"\ncount = 5\nrate = \"11 Mb/s\"\n");
    let stations = |radio: &str| format!("{radio}{}{}", of("d"), of("u"));
    let traffic = [("d", "down"), ("u", "up")]
        .map(|(name, direction)| bulk(name, direction, "").replace("[\"s\"]", &format!("[\"{name}\"]")))
        .concat();
    let far = format!(
        "{radio}[[station]]\nname = \"d\"\nrate = \"11 Mb/s\"\nsnr = \"30 dB\"\n[[station]]\nname = \"u\"\nrate = \"11 Mb/s\"\nsnr = \"6.3 dB\"\n"
    );
    let far_traffic = bulk("t", "down", "").replace("[\"s\"]", "[\"d\", \"u\"]");
    let rate = |at: u32, to: &str| {
        format!("[[event]]\nat = \"{at} s\"\ndo = \"rate\"\nstations = [\"d\", \"u\"]\nrate = \"{to}\"\n")
    };
    vec![
        case("11b plain", &stations(radio), &traffic, ""),
        case("11b far station", &far, &far_traffic, ""),
        case("11b frame errors", &stations(&format!("{radio}ber = 1e-5\n")), &traffic, ""),
        case("11b no delayed ACKs", &stations(radio), &traffic, "[tcp]\ndelayed_ack = false"),
        case("11b then 2 Mb/s", &stations(radio), &traffic, &rate(15, "2 Mb/s")),
        case("11b from 2 Mb/s", &stations(radio), &traffic, &(rate(1, "2 Mb/s") + &rate(15, "11 Mb/s"))),
    ]
}

/// Stations at 54, 24 and 6 Mb/s.
fn mixed_cases(radio: &str, both: &str) -> Vec<Case> {
    let stations = |count: u32| {
        let group = |(name, rate)| format!("[[station]]\nname = \"{name}\"\ncount = {count}\nrate = \"{rate} Mb/s\"\n");
        let groups: String = [("s", 54), ("m", 24), ("l", 6)].map(group).concat();
        format!("[radio]\nstandard = \"802.11g\"\n{radio}\n{groups}")
    };
    let swap = |(name, rate)| {
        format!("[[event]]\nat = \"20 s\"\ndo = \"rate\"\nstations = [\"{name}\"]\nrate = \"{rate} Mb/s\"\n")
    };
    let changing: String = [("s", 6), ("l", 54)].map(swap).concat();
    let mut cases = Vec::new();
    for (name, count, path) in [("9 mixed", 3, ""), ("3 mixed", 1, ""), ("9 mixed, changing", 3, &changing)] {
        for (direction, traffic) in
            [("down", bulk("t", "down", "")), ("up", bulk("t", "up", "")), ("both", both.to_owned())]
        {
            let traffic = traffic.replace("[\"s\"]", "[\"s\", \"m\", \"l\"]");
            let mut case = case(&format!("{name} {direction}"), &stations(count), &traffic, path);
            case.text = case.text.replace("\"5 s\"", "\"7 s\"").replace("\"15 s\"", "\"22 s\"");
            cases.push(case);
        }
    }
    cases
}

/// Throughput relative to that with reported rates, and fairness of airtimes in both runs.
fn beside_reported(case: &Case, seed: u32, with: &RunResult) -> Result<String, Box<dyn Error + Send + Sync>> {
    let text = case.text.replacen("stations = false\nrates = false", "stations = true\nrates = true", 1);
    let reported = simulate(&Case { name: case.name.clone(), text }, seed, true)?;
    let phase = |(own, reported): (&PhaseResult, &PhaseResult)| {
        let (own, reported) = (figures(own), figures(reported));
        format!("{:.3} Jain {:.3} ({:.3})", own.goodput / reported.goodput, own.jain, reported.jain)
    };
    let phases: Vec<String> = with.phases.iter().zip(&reported.phases).map(phase).collect();
    Ok(format!("of reported: {}", phases.join(", ")))
}

struct Figures {
    goodput: f64,
    up: f64,
    down: f64,
    idle: f64,
    delay: Option<(f64, f64)>,
    jain: f64,
}

fn figures(phase: &PhaseResult) -> Figures {
    let of = |up: bool| {
        phase.flows.iter().filter(|f| (f.direction == Direction::Up) == up).map(|f| f.goodput_mbps).sum::<f64>()
    };
    let delay = phase.nodes.first().and_then(|ap| ap.sojourn.as_ref()).map(|s| (s.p50_ms, s.p95_ms));
    let air: Vec<f64> =
        phase.measured_airtime.iter().flat_map(|m| &m.stations).map(|s| s.down_share + s.up_share).collect();
    let sum: f64 = air.iter().sum();
    let jain = sum * sum / (air.len() as f64 * air.iter().map(|a| a * a).sum::<f64>());
    Figures {
        goodput: of(true) + of(false),
        up: of(true),
        down: of(false),
        idle: phase.medium.as_ref().map_or(0.0, |m| m.idle_share),
        delay,
        jain,
    }
}

fn simulate(case: &Case, seed: u32, inserted: bool) -> Result<RunResult, Box<dyn Error + Send + Sync>> {
    let kind = std::env::args().nth(3).unwrap_or("queue".to_owned());
    let inserted_at_2 = format!("[[event]]\nat = \"2 s\"\ndo = \"insert\"\n[manager.controller]\nkind = \"{kind}\"\n");
    let infers = if case.name.contains("mixed") { "[manager]\ninfer_rates = true\n" } else { "" };
    let inserted_at_2 = inserted_at_2 + infers;
    let event = if inserted { inserted_at_2.as_str() } else { "" };
    let text = format!("{}{event}", case.text).replacen("version = 1", &format!("version = 1\nseed = {seed}"), 1);
    let scenario = Scenario::parse(&text, &case.name).map_err(|e| format!("{}: {e:?}", case.name))?;
    Ok(run(&scenario, |_| ()).map_err(|e| format!("{e}"))?)
}

fn judge(case: &Case, seed: u32) -> String {
    let results = (simulate(case, seed, false), simulate(case, seed, true));
    let (without, with) = match results {
        (Ok(a), Ok(b)) => (a, b),
        (Err(e), _) | (_, Err(e)) => return format!("{}: {e}", case.name),
    };
    let w = figures(&without.phases[1]);
    let (e, f) = (figures(&with.phases[0]), figures(&with.phases[1]));
    let delay = |d: Option<(f64, f64)>| d.map_or("-".to_owned(), |(a, b)| format!("{a:5.1}/{b:5.1}"));
    let events = with
        .events
        .iter()
        .filter(|e| e.what.starts_with("guard"))
        .map(|e| format!("{:.0}:{}", e.at_s, &e.what[7..]))
        .collect::<Vec<_>>();
    let beside = if case.name.contains("mixed") {
        beside_reported(case, seed, &with).unwrap_or_else(|error| error.to_string())
    } else {
        String::new()
    };
    format!(
        "{:24} {:5.1} {:5.1} | {:.3} {:.3} | up {:5.1} down {:5.1} | idle {:4.1} % | AP {} without {} | Jain {:.3} {beside} {}",
        case.name,
        w.goodput,
        f.goodput,
        e.goodput / w.goodput,
        f.goodput / w.goodput,
        f.up,
        f.down,
        f.idle * 100.0,
        delay(f.delay),
        delay(w.delay),
        f.jain,
        if events.is_empty() { String::new() } else { format!("guard {}", events.join(",")) }
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let part = std::env::args().nth(1).unwrap_or_default();
    let seeds: u32 = std::env::args().nth(2).map_or(Ok(1), |s| s.parse())?;
    let cases: Vec<Case> = cases().into_iter().filter(|case| case.name.contains(&part)).collect();
    let jobs: Vec<(usize, u32)> = (0..cases.len()).flat_map(|c| (1..=seeds).map(move |s| (c, s))).collect();
    let lines: Vec<String> = jobs.par_iter().map(|&(case, seed)| judge(&cases[case], seed)).collect();
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}
