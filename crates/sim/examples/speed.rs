//! Simulated seconds per second of CPU time, on the scenarios with a documented speed: saturated datagram uploads and TCP
//! downloads at 11 Mb/s, with 10 and with 50 stations; 50 downloads to 10 stations with the box inserted; and datagram
//! uploads and TCP downloads with aggregates, the latter without the box and with it.
//!
//! `cargo run --release -p evenair-sim --example speed [part of a name]`

use std::error::Error;
use std::ops::ControlFlow;

use evenair_sim::{SimOptions, run_with, tcp};

use crate::networks::{HE_7, LAN_10_GB, Network, cpu_seconds};

mod networks;

const DOT11B: Network = Network {
    radio: r#"standard = "802.11b"
basic_rates = ["1 Mb/s", "2 Mb/s"]
after_collision = "difs"
ap_buffer = "200 packets"
station_buffer = "100 packets""#,
    lan: r#"rate = "100 Mb/s"
delay = "10 ms""#,
    station: r#"rate = "11 Mb/s""#,
};
const VHT_8: Network = Network {
    radio: r#"standard = "802.11ac"
width = "80 MHz"
profile = "ns-3"
ap_buffer = "1000 packets"
station_buffer = "500 packets""#,
    lan: LAN_10_GB,
    station: "mcs = 8\nstreams = 2",
};

/// A network and its traffic.
struct Case {
    name: &'static str,
    network: Network,
    stations: u32,
    seconds: u32,
    traffic: &'static str,
}

const DATAGRAMS: &str = r#"[[udp]]
name = "up"
stations = ["sta"]
server = "server"
direction = "up"
rate = "8 Mb/s"
payload = "964 bytes"
"#;

const DOWNLOADS: &str = r#"[[bulk]]
name = "down"
stations = ["sta"]
server = "server"
direction = "down"
"#;

/// One and a half times the capacity of ten stations at HE MCS 7.
const HE_DATAGRAMS: &str = r#"[[udp]]
name = "up"
stations = ["sta"]
server = "server"
direction = "up"
rate = "8.5 Mb/s"
payload = "1472 bytes"
"#;

/// One and a half times the capacity of five stations at VHT MCS 8, two streams and 80 MHz.
const VHT_DATAGRAMS: &str = r#"[[udp]]
name = "up"
stations = ["sta"]
server = "server"
direction = "up"
rate = "140 Mb/s"
payload = "1472 bytes"
"#;

/// Five downloads for each of 10 stations, through the box with its default policy.
const MANAGED_DOWNLOADS: &str = r#"[[bulk]]
name = "down"
stations = ["sta"]
server = "server"
direction = "down"
per_station = 5
[[event]]
at = "0 s"
do = "insert"
"#;

/// A download for each station, through the box with its default policy.
const SINGLE_MANAGED_DOWNLOADS: &str = r#"[[bulk]]
name = "down"
stations = ["sta"]
server = "server"
direction = "down"
[[event]]
at = "0 s"
do = "insert"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let case = |name, network, stations, seconds, traffic| Case { name, network, stations, seconds, traffic };
    let cases = [
        case("datagrams, 10 stations", DOT11B, 10, 10_000, DATAGRAMS),
        case("datagrams, 50 stations", DOT11B, 50, 4_000, DATAGRAMS),
        case("TCP downloads, 10 stations", DOT11B, 10, 4_000, DOWNLOADS),
        case("TCP downloads, 50 stations", DOT11B, 50, 4_000, DOWNLOADS),
        case("50 downloads, box inserted", DOT11B, 10, 4_000, MANAGED_DOWNLOADS),
        case("HE MCS 7, 5 TCP downloads", HE_7, 5, 400, DOWNLOADS),
        case("VHT MCS 8 x2, 80 MHz, 1 TCP", VHT_8, 1, 60, DOWNLOADS),
        case("HE MCS 7, 10 UDP uploads", HE_7, 10, 400, HE_DATAGRAMS),
        case("VHT MCS 8 x2, 80 MHz, 5 UDP", VHT_8, 5, 60, VHT_DATAGRAMS),
        case("HE MCS 7, 5 TCP, box", HE_7, 5, 200, SINGLE_MANAGED_DOWNLOADS),
        case("VHT MCS 8 x2, 1 TCP, box", VHT_8, 1, 30, SINGLE_MANAGED_DOWNLOADS),
    ];
    let options = SimOptions { tcp: Some(tcp::Config::ns3()), ..SimOptions::default() };
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for case in cases.iter().filter(|case| case.name.contains(&wanted)) {
        let Case { name, network, stations, seconds, traffic } = *case;
        let scenario = network.scenario("speed", stations, seconds, traffic)?;
        let before = cpu_seconds()?;
        let mut total = 0.0;
        run_with(&scenario, &options, |progress| {
            total += progress.map_or(0.0, |progress| progress.total_ip_mbps);
            ControlFlow::Continue(())
        })?;
        let cpu_s = cpu_seconds()? - before;
        let rate = f64::from(seconds) / cpu_s;
        println!("{name:28} {rate:7.0} simulated s a CPU s, {:.3} Mb/s", total / f64::from(seconds));
    }
    Ok(())
}
