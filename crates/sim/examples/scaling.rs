//! Cost of a transmitted frame as the number of stations grows: datagram uploads that load an 802.11g medium to three
//! quarters with few stations, and TCP downloads to all. It must grow no faster than the logarithm of their number;
//! otherwise the program exits with 1. Every transmission counts as a frame, also a collided or repeated one: contention is
//! a property of the medium, not a cost of the program.
//!
//! `cargo run --release -p evenair-sim --example scaling`
//!
//! With arguments it makes one run without a check, for a profiler: `scaling datagrams|downloads|aggregates STATIONS SECONDS`.
//! `aggregates` are TCP downloads of 802.11ax at HE MCS 7; printed first is the cost of a segment of 1500 bytes
//! after 20 s. It calls itself in this way to measure memory per station, each time in a separate process.

use std::error::Error;
use std::ops::ControlFlow;
use std::process::{Command, ExitCode};

use evenair_scenario::Scenario;
use evenair_sim::{SimOptions, run_with, tcp};

use crate::networks::{HE_7, Network, cpu_seconds};

mod networks;

/// IP-level size of the packets.
const PACKET_BYTES: u32 = 1_000;
/// Size of a full TCP segment with its headers.
const SEGMENT_BITS: f64 = 12_000.0;
/// Time after which the first losses of all transfers are over.
const SETTLED_S: f64 = 20.0;
/// Numbers of stations.
const COUNTS: [u32; 4] = [10, 100, 1_000, 2_000];
/// Number of measurements of each.
const TIMES: usize = 9;

/// 802.11g: every frame is sent alone.
const DOT11G: Network = Network {
    radio: r#"standard = "802.11g"
ap_buffer = "5000 packets""#,
    lan: r#"rate = "100 Mb/s"
delay = "1 ms""#,
    station: r#"rate = "54 Mb/s""#,
};
/// All stations together send 15 Mb/s.
fn datagrams(stations: u32) -> String {
    let payload = PACKET_BYTES - 28;
    let each_bps = 15_000_000 / stations;
    format!(
        "[[udp]]\nname = \"up\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"up\"\n\
         rate = \"{each_bps} b/s\"\npayload = \"{payload} bytes\"\n"
    )
}

fn downloads(_: u32) -> String {
    "[[bulk]]\nname = \"down\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"down\"\nstagger = \"1 ms\"\n"
        .into()
}

/// Cost and results of a run.
struct Cost {
    cpu_s: f64,
    /// Transmissions, collided ones included.
    frames: u64,
    /// IP-level megabits that crossed the air.
    megabits: f64,
    /// CPU time after [`SETTLED_S`], and segments; none in a shorter run.
    settled_cpu_s: f64,
    settled_segments: f64,
    /// Memory at the end of the last interval, in bytes.
    resident: u64,
}

fn cost(scenario: &Scenario) -> Result<Cost, Box<dyn Error>> {
    let options = SimOptions { tcp: Some(tcp::Config::ns3()), ..SimOptions::default() };
    let before = cpu_seconds()?;
    let (mut megabits, mut resident) = (0.0, Ok(0));
    let (mut settled_megabits, mut settled_at) = (0.0, None);
    let result = run_with(scenario, &options, |progress| {
        megabits += progress.map_or(0.0, |progress| progress.total_ip_mbps);
        if settled_at.is_none() && progress.is_some_and(|progress| progress.at_s >= SETTLED_S) {
            (settled_megabits, settled_at) = (megabits, Some(cpu_seconds()));
        }
        if progress.is_some_and(|progress| progress.at_s >= scenario.duration.as_secs_f64()) {
            resident = resident_bytes();
        }
        ControlFlow::Continue(())
    })?;
    let after = cpu_seconds()?;
    let (cpu_s, settled_cpu_s) = (after - before, after - settled_at.unwrap_or(Ok(after))?);
    let settled_segments = if settled_cpu_s > 0.0 { (megabits - settled_megabits) * 1e6 / SEGMENT_BITS } else { 0.0 };
    let frames = result.medium.ok_or("the simulator counts what the medium is used for")?.attempts;
    Ok(Cost { cpu_s, frames, megabits, settled_cpu_s, settled_segments, resident: resident? })
}

/// Nanoseconds per frame, and Mb/s at IP level.
fn a_frame(stations: u32, traffic: &str) -> Result<(f64, f64), Box<dyn Error>> {
    const SHORT_S: u32 = 20;
    const LONG_S: u32 = 220;
    // The difference of two durations excludes the set-up and the start.
    let short = cost(&DOT11G.scenario("scaling", stations, SHORT_S, traffic)?)?;
    let long = cost(&DOT11G.scenario("scaling", stations, LONG_S, traffic)?)?;
    let frames = (long.frames - short.frames) as f64;
    Ok(((long.cpu_s - short.cpu_s) / frames * 1e9, long.megabits / f64::from(LONG_S)))
}

/// Resident memory of this process, in bytes.
fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    const WHAT: &str = "VmRSS:";
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(WHAT)).ok_or("Linux tells the memory of a process")?;
    Ok(1024 * line.trim().trim_end_matches(" kB").parse::<u64>()?)
}

/// Memory per station with its traffic in bytes, from runs with a thousand and two thousand stations.
fn memory_of_a_station(kind: &str) -> Result<u64, Box<dyn Error>> {
    const SECONDS: &str = "5";
    let run = |stations: &str| -> Result<u64, Box<dyn Error>> {
        let output = Command::new(std::env::current_exe()?).args([kind, stations, SECONDS]).output()?;
        let text = String::from_utf8(output.stdout)?;
        Ok(text.split_whitespace().rev().nth(1).ok_or("a run tells its memory")?.parse()?)
    };
    Ok(run("2000")?.saturating_sub(run("1000")?) / 1_000)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let [kind, stations, seconds] = &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        let traffic = if kind == "datagrams" { datagrams } else { downloads };
        let (stations, seconds) = (stations.parse()?, seconds.parse()?);
        let network = if kind == "aggregates" { HE_7 } else { DOT11G };
        let cost = cost(&network.scenario("scaling", stations, seconds, &traffic(stations))?)?;
        if cost.settled_segments > 0.0 {
            let (segments, ns) = (cost.settled_segments, cost.settled_cpu_s * 1e9 / cost.settled_segments);
            println!("after {SETTLED_S} s: {segments:.0} segments, {ns:.0} ns each");
        }
        println!("{} frames, {:.3} s, {} bytes", cost.frames, cost.cpu_s, cost.resident);
        return Ok(ExitCode::SUCCESS);
    }
    type Traffic = (&'static str, &'static str, fn(u32) -> String);
    let kinds: [Traffic; 2] = [("datagrams up", "datagrams", datagrams), ("TCP down", "downloads", downloads)];
    println!("nanoseconds of CPU time for a frame, the least of {TIMES}");
    let mut keeps = true;
    for (name, kind, traffic) in kinds {
        let mut costs = COUNTS.map(|stations| (stations, f64::INFINITY, 0.0));
        // In turns, so that a busy machine affects all measurements alike.
        for _ in 0..TIMES {
            for (stations, ns, mbps) in &mut costs {
                let once = a_frame(*stations, &traffic(*stations))?;
                (*ns, *mbps) = (ns.min(once.0), once.1);
            }
        }
        let (few, few_ns, _) = costs[0];
        for (stations, ns, mbps) in costs {
            print!("{name:12} {stations:5} stations {ns:6.0} ns a frame, {mbps:.2} Mb/s");
            if stations == few {
                println!();
                continue;
            }
            let (grows, may) = (ns / few_ns, f64::from(stations).ln() / f64::from(few).ln());
            let verdict = if grows <= may { "holds" } else { "DOES NOT HOLD" };
            println!("; {grows:.2} times that of {few}, log {may:.2}: {verdict}");
            keeps &= grows <= may;
        }
        println!("{name:12} {} bytes of memory for a station more", memory_of_a_station(kind)?);
    }
    Ok(if keeps { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
