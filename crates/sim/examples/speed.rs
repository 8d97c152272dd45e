//! Simulated seconds per second of CPU time, on the scenarios whose speed is promised: saturated datagram uploads and
//! TCP downloads at 11 Mb/s, with 10 and with 50 stations; and 50 downloads to 10 stations with the box inserted.
//!
//! `cargo run --release -p evenair-sim --example speed [part of a name]`

use std::error::Error;

use evenair_scenario::Scenario;
use evenair_sim::{SimOptions, run_with, tcp};

/// What all have in common; the settings are those of the comparison with ns-3.
fn scenario(stations: u32, seconds: u32, traffic: &str) -> Result<Scenario, Box<dyn Error>> {
    let text = format!(
        r#"version = 1
name = "speed"
duration = "{seconds} s"
[radio]
standard = "802.11b"
basic_rates = ["1 Mb/s", "2 Mb/s"]
after_collision = "difs"
ap_buffer = "200 packets"
station_buffer = "100 packets"
[lan]
rate = "100 Mb/s"
delay = "10 ms"
[[station]]
name = "sta"
count = {stations}
rate = "11 Mb/s"
[[server]]
name = "server"
{traffic}
"#
    );
    Ok(Scenario::parse(&text, "speed.toml")?)
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

/// Time that this thread has run so far; Linux tells it in nanoseconds.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let run_ns: f64 = schedstat.split(' ').next().unwrap_or_default().parse()?;
    Ok(run_ns / 1e9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let runs = [
        ("datagrams, 10 stations", 10, 10_000, DATAGRAMS),
        ("datagrams, 50 stations", 50, 4_000, DATAGRAMS),
        ("TCP downloads, 10 stations", 10, 4_000, DOWNLOADS),
        ("TCP downloads, 50 stations", 50, 4_000, DOWNLOADS),
        ("50 downloads, box inserted", 10, 4_000, MANAGED_DOWNLOADS),
    ];
    let options = SimOptions { tcp: Some(tcp::Config::ns3()), ..SimOptions::default() };
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for (name, stations, seconds, traffic) in runs.into_iter().filter(|(name, ..)| name.contains(&wanted)) {
        let scenario = scenario(stations, seconds, traffic)?;
        let before = cpu_seconds()?;
        let mut total = 0.0;
        run_with(&scenario, &options, |progress| total += progress.total_ip_mbps)?;
        let cpu_s = cpu_seconds()? - before;
        let rate = f64::from(seconds) / cpu_s;
        println!("{name:28} {rate:7.0} simulated s a CPU s, {:.3} Mb/s", total / f64::from(seconds));
    }
    Ok(())
}
