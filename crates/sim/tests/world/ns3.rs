//! Side by side with ns-3 3.44, an independent simulator: the same set-ups, and its means.
//!
//! Settings that are ns-3's and not the standard's: after a collision other nodes wait DIFS (its preamble detection), data
//! frames are never dropped, TCP is `Config::ns3`. Its runs began at random instants of the first second and were measured
//! after a warm-up; so are these. Bounds: 2 % for datagrams, 5 % for TCP.

use std::ops::ControlFlow;

use evenair_results::PhaseResult;
use evenair_scenario::Scenario;
use evenair_sim::tcp::Config;
use evenair_sim::{SimOptions, run_with};
use evenair_units::Bytes;

/// One run's phase "all", from the end of the warm-up to the end.
fn phase(text: &str, seed: u32, tcp: &Config) -> PhaseResult {
    let scenario = Scenario::parse_with(text, "ns3.toml", &[("seed", &seed.to_string())]).expect("a sound scenario");
    let options = SimOptions { tcp: Some(tcp.clone()), ..SimOptions::default() };
    let result = run_with(&scenario, &options, |_| ControlFlow::Continue(())).expect("it can be simulated");
    result.phases.into_iter().next().expect("there is a phase")
}

/// Mean over seeds of a measure of a run's phase.
fn mean(text: &str, seeds: u32, tcp: &Config, what: impl Fn(&PhaseResult) -> f64) -> f64 {
    (1..=seeds).map(|seed| what(&phase(text, seed, tcp))).sum::<f64>() / f64::from(seeds)
}

fn close(name: &str, got: f64, expected: f64, percent: f64) {
    let off = 100.0 * (got / expected - 1.0);
    println!("{name}: {got:.4}, ns-3 {expected}, {off:+.2} %");
    assert!(off.abs() <= percent, "{name}: {got}, ns-3 has {expected}, off by {off:.2} %");
}

/// 802.11b at 11 Mb/s with long preambles and answers at 2 Mb/s; `more` are stations and applications.
fn dot11b(seconds: u32, ap_buffer: u32, delay_ms: u32, more: &str) -> String {
    format!(
        r#"version = 1
name = "ns3"
duration = "{seconds} s"
[radio]
standard = "802.11b"
basic_rates = ["1 Mb/s", "2 Mb/s"]
after_collision = "difs"
short_retry_limit = 100
ap_buffer = "{ap_buffer} packets"
station_buffer = "500 packets"
[lan]
rate = "100 Mb/s"
delay = "{delay_ms} ms"
buffer = "unlimited"
[[server]]
name = "server"
[[phase]]
name = "all"
from = "10 s"
to = "{seconds} s"
{more}"#
    )
}

fn stations(name: &str, count: u32, rate_mbps: u32) -> String {
    format!("[[station]]\nname = \"{name}\"\ncount = {count}\nrate = \"{rate_mbps} Mb/s\"\n")
}

fn bulk(direction: &str, stations: &str) -> String {
    format!(
        "[[bulk]]\nname = \"{direction}-{stations}\"\nstations = [\"{stations}\"]\nserver = \"server\"\n\
         direction = \"{direction}\"\nstagger = \"37 ms\"\n"
    )
}

#[test]
fn saturated_datagrams() {
    for (n, throughput, seconds) in [(1, 5.138, 60), (5, 5.512, 200), (10, 5.318, 200)] {
        let udp = "[[udp]]\nname = \"up\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"up\"\n\
                   rate = \"8 Mb/s\"\npayload = \"964 bytes\"\n";
        let text = dot11b(seconds, 200, 1, &(stations("sta", n, 11) + udp)).replace("limit = 100", "limit = 7");
        // ns-3's figure counts bodies of 1000 bytes: IP packets of 992 bytes with LLC and SNAP.
        let got = mean(&text, 3, &Config::ns3(), |phase| phase.total_ip_mbps * 1000.0 / 992.0);
        close(&format!("A, n = {n}"), got, throughput, 2.0);
    }
}

#[test]
fn tcp_downloads() {
    let rows = [(1, 4.457, 5.201), (5, 4.517, 5.153), (10, 4.505, f64::NAN)];
    for (n, each_segment, delayed) in rows {
        let text = dot11b(130, 200, 10, &(stations("sta", n, 11) + &bulk("down", "sta")));
        let goodput = |phase: &PhaseResult| phase.total_goodput_mbps;
        let got = mean(&text, 3, &Config::ns3().without_delayed_ack(), goodput);
        close(&format!("B, n = {n}, each segment"), got, each_segment, 5.0);
        if !delayed.is_nan() {
            close(&format!("B, n = {n}, delayed"), mean(&text, 3, &Config::ns3(), goodput), delayed, 5.0);
        }
    }
}

/// 65 535 bytes are 44 segments, and ns-3 fills the rest with a small one, which our sender does not send (RFC 9293,
/// 3.8.6.2.1, silly windows). At N = 2 the uploads' ACKs leave the downloads a few places at the access point, and each
/// further packet of a window takes one: ns-3's downloads lie between ours for windows of 44 and of 45 segments.
#[test]
fn uploads_beside_downloads() {
    let window = |bytes| Config::ns3().with_window(Bytes(bytes)).without_delayed_ack();
    for (n, up, down) in [(1, 2.348, 2.349), (2, 4.175, 0.5071), (5, 5.376, 0.02299)] {
        let hosts = stations("u", n, 11) + &stations("d", n, 11);
        let text = dot11b(310, 100, 1, &(hosts + &bulk("up", "u") + &bulk("down", "d")));
        let means = |tcp: &Config| {
            let sum = (1..=5).map(|seed| phase(&text, seed, tcp).directions);
            let sum = sum.fold((0.0, 0.0), |sum, phase| (sum.0 + phase.up_ip_mbps, sum.1 + phase.down_ip_mbps));
            (sum.0 / 5.0, sum.1 / 5.0)
        };
        let got = means(&window(65_535));
        close(&format!("C, N = {n}, up"), got.0, up, 5.0);
        close(&format!("C, N = {n}, total"), got.0 + got.1, up + down, 5.0);
        if n == 2 {
            let less = means(&window(45 * 1460));
            println!("C, N = 2, down: {:.4} and {:.4}, ns-3 {down}", got.1, less.1);
            assert!((less.1..got.1).contains(&down), "{} to {}, ns-3 has {down}", less.1, got.1);
        } else {
            // Equal at N = 1, next to nothing at N = 5.
            assert!((got.1 - down).abs() < 0.05, "N = {n}: {}, ns-3 has {down}", got.1);
        }
    }
}

/// 802.11a, a third of the stations each at 54, 24 and 6 Mb/s.
fn dot11a(rates: &[(&str, u32, u32)]) -> String {
    let mut more = String::new();
    for &(name, count, rate) in rates {
        more += &stations(name, count, rate);
    }
    for &(name, ..) in rates {
        more += &bulk("down", name);
    }
    dot11b(130, 200, 10, &more)
        .replace("802.11b", "802.11a")
        .replace("[\"1 Mb/s\", \"2 Mb/s\"]", "[\"6 Mb/s\", \"12 Mb/s\", \"24 Mb/s\"]")
}

#[test]
fn mixed_rates() {
    let capped = Config::ns3().with_window(Bytes(65_535));
    let mixed = dot11a(&[("fast", 1, 54), ("middle", 1, 24), ("slow", 1, 6)]);
    for run in (1..=3).map(|seed| phase(&mixed, seed, &capped)) {
        close("D, n = 3, window 64 kB", run.total_goodput_mbps, 9.579, 5.0);
        run.flows.iter().for_each(|flow| close(&flow.app, flow.goodput_mbps, 3.19, 5.0));
    }
    let fast = dot11a(&[("fast", 3, 54)]);
    let got = mean(&fast, 3, &Config::ns3(), |phase| phase.total_goodput_mbps);
    close("D, n = 3, all at 54", got, 25.03, 5.0);
}

/// 802.11g with EDCA at 54 Mb/s: one TCP download beside bidirectional G.711 calls in AC_VO, best effort without TXOPs.
/// Every call has its own station. Bounds are those of TCP totals.
#[test]
fn calls_beside_a_download() {
    for (calls, goodput) in [(0, 24.36), (10, 20.35)] {
        let mut more = stations("sta", 1, 54) + &bulk("down", "sta");
        if calls > 0 {
            more += &stations("phone", calls, 54);
            more += "[[voip]]\nname = \"call\"\nstations = [\"phone\"]\nserver = \"server\"\ndscp = \"EF\"\n\
                     stagger = \"1.7 ms\"\n";
        }
        let text = dot11b(60, 200, 1, &more)
            .replace("802.11b", "802.11g")
            .replace("[\"1 Mb/s\", \"2 Mb/s\"]", "[\"6 Mb/s\", \"12 Mb/s\", \"24 Mb/s\"]")
            .replace("[lan]", "edca = true\n[radio.ac.be]\ntxop = \"0 us\"\n[lan]");
        let got = mean(&text, 3, &Config::ns3(), |phase| {
            phase.flows.iter().filter(|flow| flow.app.starts_with("down")).map(|flow| flow.goodput_mbps).sum()
        });
        close(&format!("E, k = {calls}"), got, goodput, 5.0);
    }
}

/// A third of the stations each at MCS 7, 3 and 0 at 20 MHz, all saturated with datagrams, with this TXOP limit of best effort.
fn txops(standard: &str, third: u32, txop_us: u32, seconds: u32) -> String {
    let mut more = String::new();
    for (name, mcs, mbps) in [("fast", 7, 40), ("middle", 3, 20), ("slow", 0, 6)] {
        more += &format!(
            "[[station]]\nname = \"{name}\"\ncount = {third}\nmcs = {mcs}\n[[udp]]\nname = \"{name}-up\"\n\
             stations = [\"{name}\"]\nserver = \"server\"\ndirection = \"up\"\nrate = \"{} Mb/s\"\n\
             payload = \"1472 bytes\"\n",
            f64::from(mbps) / f64::from(third)
        );
    }
    format!(
        r#"version = 1
name = "ns3"
duration = "{seconds} s"
[radio]
standard = "{standard}"
basic_rates = ["6 Mb/s", "12 Mb/s", "24 Mb/s"]
profile = "ns-3"
capture_threshold = "off"
ap_buffer = "1000 packets"
station_buffer = "500 packets"
ac.be.txop = "{txop_us} us"
[lan]
rate = "10 Gb/s"
delay = "1 ms"
buffer = "unlimited"
[[server]]
name = "server"
[[phase]]
name = "all"
from = "1 s"
to = "{seconds} s"
{more}"#
    )
}

/// Goodput of each third of the stations, means of ns-3 over 600 to 900 s in 18 to 23 runs: 95 % intervals are 0.7 to 1.7 % wide to
/// either side, and with six stations 0.8 to 2.5 %, so that the bound is wider there. Without a head start for the holder after a
/// TXOP whose rest was too short for a CF-End they are up to 56 % off (docs/simulator.md).
#[test]
fn txops_of_mixed_rates() {
    for (standard, third, txop_us, each) in [
        ("802.11ax", 1, 2_528, [25.86, 9.413, 1.608]),
        ("802.11ax", 1, 4_096, [21.64, 12.50, 1.641]),
        ("802.11ax", 2, 2_528, [24.86, 8.694, 1.460]),
        ("802.11ac", 1, 2_528, [12.90, 11.69, 0.982]),
        ("802.11ac", 1, 4_096, [19.89, 6.526, 1.689]),
        ("802.11ac", 2, 2_528, [14.31, 9.740, 1.021]),
    ] {
        let runs: Vec<_> =
            (1..=8).map(|seed| phase(&txops(standard, third, txop_us, 301), seed, &Config::ns3())).collect();
        for (name, expected) in ["fast", "middle", "slow"].into_iter().zip(each) {
            let of = |run: &PhaseResult| {
                let flows = run.flows.iter().filter(|flow| flow.app.starts_with(name));
                flows.map(|flow| flow.goodput_mbps).sum::<f64>()
            };
            let got = runs.iter().map(of).sum::<f64>() / runs.len() as f64;
            let percent = if third == 1 { 2.0 } else { 2.5 };
            close(&format!("T, {standard}, n = {}, {txop_us} us, {name}", 3 * third), got, expected, percent);
        }
    }
}
