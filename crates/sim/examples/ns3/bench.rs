//! What a simulated second costs here and in ns-3, on the same set-up and in the same run.
//!
//! The time is the CPU time of the thread that runs the event loop. On a machine that is shared the same work takes up to
//! twice as long from one minute to the next; so the two take turns, each turn gives a ratio of its own, and the median of
//! the ratios counts. ns-3 is its wheel from PyPI; a build of ns-3 that is optimised further is some 1.5 times faster.

use evenair_scenario::Scenario;
use evenair_sim::run;

use super::case::{Case, Group, Traffic};
use super::cases;
use super::ns3::Ns3;

/// How many turns there are.
pub const TIMES: usize = 7;

struct Speed {
    case: Case,
    /// Ours is to be this many times as fast.
    goal: f64,
    /// Length of our run.
    our_seconds: u32,
}

fn speeds() -> Vec<Speed> {
    let saturated = |count, mbps| Group { name: "up", count, rate: "11", traffic: Traffic::UpUdp(964, mbps) };
    let downloads = |count| Group { name: "down", count, rate: "11", traffic: Traffic::DownTcp };
    let speed = |name: &str, group, seconds, goal| {
        let case = Case { name: name.into(), groups: vec![group], seconds, delay_ms: 10, ..cases::plain() };
        Speed { case, goal, our_seconds: 8_000 }
    };
    // Datagrams at twice the rate that the medium carries, so that ns-3 has few to make and to throw away.
    vec![
        speed("datagrams, 10 stations", saturated(10, 1.0), 10, 1_500.0),
        speed("datagrams, 50 stations", saturated(50, 0.2), 4, 1_500.0),
        speed("TCP downloads, 10 stations", downloads(10), 10, 450.0),
        speed("TCP downloads, 50 stations", downloads(50), 6, 1_200.0),
    ]
}

/// Measures and prints.
pub fn bench(times: usize) -> Result<(), String> {
    let ns3 = Ns3::find();
    if ns3.is_none() {
        println!("ns-3 is not there (scripts/ns3 gets it): our simulator alone");
    }
    println!(
        "simulated seconds per second of CPU time, medians of {times} turns; of the ratio, the least and the greatest too"
    );
    for Speed { case, goal, our_seconds } in speeds() {
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for seed in (1..=times).map(|seed| seed as u32) {
            let our = our_rate(&case, our_seconds, seed)?;
            ours.push(our);
            if let Some(ns3) = &ns3 {
                let their = f64::from(case.seconds) / ns3.run_anew(&case, seed)?.cpu_s;
                theirs.push(their);
                ratios.push(our / their);
            }
        }
        let ours = median(&mut ours);
        if ns3.is_none() {
            println!("{:28} {ours:8.0}", case.name);
            continue;
        }
        let (theirs, ratio) = (median(&mut theirs), median(&mut ratios));
        let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
        let verdict = if ratio >= goal { "reached" } else { "NOT REACHED" };
        println!(
            "{:28} {ours:8.0}  ns-3 {theirs:6.2}  {ratio:7.0} times ({least:.0} to {most:.0}), goal {goal:5.0}: {verdict}",
            case.name
        );
    }
    Ok(())
}

fn our_rate(case: &Case, seconds: u32, seed: u32) -> Result<f64, String> {
    let case = Case { seconds, ..case.clone() };
    let scenario = Scenario::parse(&case.scenario(seed), &case.name).map_err(|error| error.to_string())?;
    let before = cpu_seconds()?;
    run(&scenario, |_| ()).map_err(|error| error.to_string())?;
    Ok(f64::from(seconds) / (cpu_seconds()? - before))
}

/// Time that this thread has run so far; Linux tells it in nanoseconds.
fn cpu_seconds() -> Result<f64, String> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").map_err(|error| error.to_string())?;
    let run_ns: f64 = schedstat.split(' ').next().and_then(|word| word.parse().ok()).ok_or("schedstat has no time")?;
    Ok(run_ns / 1e9)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
