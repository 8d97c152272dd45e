//! Side by side with ns-3 3.44, an independent simulator: the same set-ups, and its means.
//!
//! Settings that are ns-3's and not the standard's: after a collision other nodes wait DIFS (its preamble detection), data
//! frames are never dropped, TCP is `Config::ns3`. Its runs began at random instants of the first second and were measured
//! after a warm-up; so are these. Bounds: 2 % for datagrams, 5 % for TCP.

use std::ops::ControlFlow;

use evenair_results::PhaseResult;
use evenair_sim::tcp::Config;
use evenair_sim::{SimOptions, run_with};
use evenair_units::Bytes;

use crate::site::Site;

/// One run's phase "all", from the end of the warm-up to the end.
fn phase(site: &Site, seed: u32, tcp: &Config) -> PhaseResult {
    let scenario = site.clone().seed(seed).scenario();
    let options = SimOptions { tcp: Some(tcp.clone()), ..SimOptions::default() };
    let result = run_with(&scenario, &options, |_| ControlFlow::Continue(())).expect("it can be simulated");
    result.phases.into_iter().next().expect("there is a phase")
}

/// Mean over seeds of a measure of a run's phase.
fn mean(site: &Site, seeds: u32, tcp: &Config, what: impl Fn(&PhaseResult) -> f64) -> f64 {
    (1..=seeds).map(|seed| what(&phase(site, seed, tcp))).sum::<f64>() / f64::from(seeds)
}

fn close(name: &str, got: f64, expected: f64, percent: f64) {
    let off = 100.0 * (got / expected - 1.0);
    println!("{name}: {got:.4}, ns-3 {expected}, {off:+.2} %");
    assert!(off.abs() <= percent, "{name}: {got}, ns-3 has {expected}, off by {off:.2} %");
}

/// Senders of single frames, with ns-3's waits after collisions; the tables end with the radio's.
fn single_frames(standard: &str, seconds: u32, ap_buffer: u32, delay_ms: u32) -> Site {
    Site::new("ns3", seconds)
        .lan("100 Mb/s", &format!("{delay_ms} ms"))
        .and("buffer = 'unlimited'")
        .phase("all", 10, seconds)
        .radio(standard, "after_collision = 'difs'\nstation_buffer = '500 packets'")
        .and(&format!("ap_buffer = '{ap_buffer} packets'"))
}

/// 802.11b at 11 Mb/s with long preambles and answers at 2 Mb/s.
fn dot11b(seconds: u32, ap_buffer: u32, delay_ms: u32) -> Site {
    single_frames("802.11b", seconds, ap_buffer, delay_ms).and("basic_rates = ['1 Mb/s', '2 Mb/s']")
}

fn stations(site: Site, name: &str, count: u32, mbps: u32) -> Site {
    site.stations(name, count, &format!("rate = '{mbps} Mb/s'"))
}

fn bulk(site: Site, direction: &str, stations: &str) -> Site {
    site.bulk(&format!("{direction}-{stations}"), stations, direction).and("stagger = '37 ms'")
}

/// Attempts of senders that hardly ever drop a frame.
const UNLIMITED: &str = "short_retry_limit = 100";

#[test]
fn saturated_datagrams() {
    for (n, throughput, seconds) in [(1, 5.138, 60), (5, 5.512, 200), (10, 5.318, 200)] {
        let site = stations(dot11b(seconds, 200, 1).and("short_retry_limit = 7"), "sta", n, 11);
        let site = site.udp("up", "sta", "up", "8 Mb/s").and("payload = '964 bytes'");
        // ns-3's figure counts bodies of 1000 bytes: IP packets of 992 bytes with LLC and SNAP.
        let got = mean(&site, 3, &Config::ns3(), |phase| phase.total_ip_mbps * 1000.0 / 992.0);
        close(&format!("A, n = {n}"), got, throughput, 2.0);
    }
}

#[test]
fn tcp_downloads() {
    let rows = [(1, 4.457, 5.201), (5, 4.517, 5.153), (10, 4.505, f64::NAN)];
    for (n, each_segment, delayed) in rows {
        let site = bulk(stations(dot11b(130, 200, 10).and(UNLIMITED), "sta", n, 11), "down", "sta");
        let goodput = |phase: &PhaseResult| phase.total_goodput_mbps;
        let got = mean(&site, 3, &Config::ns3().without_delayed_ack(), goodput);
        close(&format!("B, n = {n}, each segment"), got, each_segment, 5.0);
        if !delayed.is_nan() {
            close(&format!("B, n = {n}, delayed"), mean(&site, 3, &Config::ns3(), goodput), delayed, 5.0);
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
        let hosts = stations(stations(dot11b(310, 100, 1).and(UNLIMITED), "u", n, 11), "d", n, 11);
        let site = bulk(bulk(hosts, "up", "u"), "down", "d");
        let means = |tcp: &Config| {
            let sum = (1..=5).map(|seed| phase(&site, seed, tcp).directions);
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

/// Rates of answers of 802.11a, g and later.
const OFDM: &str = "basic_rates = ['6 Mb/s', '12 Mb/s', '24 Mb/s']";

/// 802.11a, a third of the stations each at 54, 24 and 6 Mb/s.
fn dot11a(rates: &[(&str, u32, u32)]) -> Site {
    single_frames("802.11a", 130, 200, 10)
        .and(OFDM)
        .and(UNLIMITED)
        .each(rates, |site, &(name, count, rate)| stations(site, name, count, rate))
        .each(rates, |site, &(name, ..)| bulk(site, "down", name))
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
        let radio =
            single_frames("802.11g", 60, 200, 1).and(OFDM).and(UNLIMITED).and("edca = true\nac.be.txop = '0 us'");
        let site = bulk(stations(radio, "sta", 1, 54), "down", "sta").when(calls > 0, |site| {
            let phones = stations(site, "phone", calls, 54);
            phones.app("voip", "call", "phone", "dscp = 'EF'\nstagger = '1.7 ms'")
        });
        let got = mean(&site, 3, &Config::ns3(), |phase| {
            phase.flows.iter().filter(|flow| flow.app.starts_with("down")).map(|flow| flow.goodput_mbps).sum()
        });
        close(&format!("E, k = {calls}"), got, goodput, 5.0);
    }
}

/// A third of the stations each at MCS 7, 3 and 0 at 20 MHz, all saturated with datagrams, with this TXOP limit of best effort.
fn txops(standard: &str, third: u32, txop_us: u32, seconds: u32) -> Site {
    Site::new("ns3", seconds)
        .radio(standard, OFDM)
        .and("profile = 'ns-3'\ncapture_threshold = 'off'\nap_buffer = '1000 packets'\nstation_buffer = '500 packets'")
        .and(&format!("ac.be.txop = '{txop_us} us'"))
        .lan("10 Gb/s", "1 ms")
        .and("buffer = 'unlimited'")
        .phase("all", 1, seconds)
        .each([("fast", 7, 40), ("middle", 3, 20), ("slow", 0, 6)], |site, (name, mcs, mbps)| {
            let each = f64::from(mbps) / f64::from(third);
            site.stations(name, third, &format!("mcs = {mcs}"))
                .udp(&format!("{name}-up"), name, "up", &format!("{each} Mb/s"))
                .and("payload = '1472 bytes'")
        })
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
