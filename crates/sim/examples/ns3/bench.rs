//! Cost of a simulated second here and in ns-3, on the same set-up and in the same run.
//!
//! The time is the CPU time of the thread that runs the event loop. On a shared machine the same work takes up to twice as
//! long from one minute to the next; so the two take turns, each turn gives a ratio, and the median of the ratios is reported.
//! It is valid only if the two simulate the same: in each turn ours runs once more, for as long as ns-3, and the goodput of
//! the two is compared. ns-3 is its wheel from PyPI; a build of ns-3 with more optimisation is some 1.5 times faster.

use evenair_scenario::Scenario;
use evenair_sim::run;

use super::case::{Case, Group, Traffic, What};
use super::ns3::Ns3;
use super::{Args, cases, ours};

/// Number of turns.
const TIMES: usize = 7;
/// Tolerance of the difference in mean goodput, in percent of ns-3's.
const APART_PERCENT: f64 = 5.0;

struct Speed {
    case: Case,
    /// Required ratio of our speed to ns-3's.
    goal: f64,
    /// Length of our run.
    our_seconds: u32,
}

fn speeds() -> Vec<Speed> {
    let mut speeds = dot11b();
    speeds.extend(aggregates());
    speeds
}

/// Datagrams at twice the rate that the medium carries, so that ns-3 makes and drops few of them.
fn dot11b() -> Vec<Speed> {
    let saturated = |count, mbps| Group { name: "up", count, rate: "11", traffic: Traffic::UpUdp(964, mbps) };
    let downloads = |count| Group { name: "down", count, rate: "11", traffic: Traffic::DownTcp };
    let speed = |name: &str, group, seconds, goal| {
        let case = Case { name: name.into(), groups: vec![group], seconds, delay_ms: 10, ..cases::plain() };
        Speed { case, goal, our_seconds: 8_000 }
    };
    vec![
        speed("datagrams, 10 stations", saturated(10, 1.0), 10, 1_500.0),
        speed("datagrams, 50 stations", saturated(50, 0.2), 4, 1_500.0),
        speed("TCP downloads, 10 stations", downloads(10), 10, 450.0),
        speed("TCP downloads, 50 stations", downloads(50), 6, 1_200.0),
    ]
}

/// Datagrams at one and a half times the rate that the medium carries, so that queues are full before goodput is compared and
/// neither side makes many only to drop them. ns-3 takes 4 to 9 s of CPU time per turn: with less, the goodput of a case is not
/// known to a few per cent.
fn aggregates() -> Vec<Speed> {
    let case = |name: &str, group, seconds, plain: Case| Case {
        name: name.into(),
        groups: vec![group],
        seconds,
        delay_ms: 10,
        ..plain
    };
    let he = || cases::aggregating("802.11ax", 20);
    let vht = || cases::aggregating("802.11ac", 80);
    let up = |count, rate, mbps| Group { name: "up", count, rate, traffic: Traffic::UpUdp(1_472, mbps) };
    let down = Group { name: "down", count: 5, rate: "HeMcs7", traffic: Traffic::DownTcp };
    // The first seconds of the downloads, whose slow start overflows the access point's queue, are not compared.
    let downloads = Case { warmup: 6, ..case("TCP, HE MCS 7, 5 downloads", down, 16, he()) };
    let ten = case("UDP, HE MCS 7, 10 stations up", up(10, "HeMcs7", 8.5), 12, he());
    let five = case("UDP, VHT MCS 8 x2 80 MHz, 5 stations up", up(5, "VhtMcs8:2", 140.0), 4, vht());
    vec![
        Speed { case: ten, goal: 500.0, our_seconds: 2_000 },
        Speed { case: five, goal: 500.0, our_seconds: 300 },
        Speed { case: downloads, goal: 300.0, our_seconds: 800 },
    ]
}

/// Measures and prints all cases.
pub fn bench(args: &Args) -> Result<(), String> {
    let times = args.times.unwrap_or(TIMES);
    let wanted = |speed: &Speed| args.cases.is_empty() || args.cases.iter().any(|part| speed.case.name.contains(part));
    let speeds: Vec<Speed> = speeds().into_iter().filter(wanted).collect();
    if speeds.is_empty() {
        return Err("nothing has that in its name".into());
    }
    let ns3 = Ns3::find();
    if ns3.is_none() {
        println!("ns-3 is not there (scripts/ns3 gets it): our simulator alone");
    }
    println!(
        "simulated seconds per second of CPU time, medians of {times} turns; of the ratio, the least and the greatest too; \
         and the goodput in Mb/s of both, which makes the comparison void if it differs by more than {APART_PERCENT} %"
    );
    for speed in &speeds {
        println!("{:40} {}", speed.case.name, measure(speed, ns3.as_ref(), times)?);
    }
    Ok(())
}

/// The printed lines of one case.
fn measure(speed: &Speed, ns3: Option<&Ns3>, times: usize) -> Result<String, String> {
    let Speed { case, goal, our_seconds } = speed;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut our_mbps, mut their_mbps) = (0.0, 0.0);
    for seed in (1..=times).map(|seed| seed as u32) {
        let our = our_rate(case, *our_seconds, seed)?;
        ours.push(our);
        let Some(ns3) = ns3 else { continue };
        let run = ns3.run_anew(case, seed)?;
        let their = f64::from(case.seconds) / run.cpu_s;
        theirs.push(their);
        ratios.push(our / their);
        our_mbps += What::Goodput.of(&ours::run(case, seed)?) / times as f64;
        their_mbps += What::Goodput.of(&run.got) / times as f64;
    }
    let ours = median(&mut ours);
    if ns3.is_none() {
        return Ok(format!("{ours:8.0}"));
    }
    let (theirs, ratio) = (median(&mut theirs), median(&mut ratios));
    let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
    let apart_percent = 100.0 * (our_mbps / their_mbps - 1.0);
    let verdict = verdict(ratio >= *goal, apart_percent);
    Ok(format!(
        "{ours:8.0}  ns-3 {theirs:6.2}  {ratio:7.0} times ({least:.0} to {most:.0}), goal {goal:5.0}: {verdict}; \
         {our_mbps:.2} and {their_mbps:.2} Mb/s ({apart_percent:+.1} %)"
    ))
}

/// NaN counts as different: ns-3 carried nothing.
fn verdict(is_reached: bool, apart_percent: f64) -> &'static str {
    match (apart_percent.abs() <= APART_PERCENT, is_reached) {
        (false, _) => "VOID",
        (true, true) => "reached",
        (true, false) => "NOT REACHED",
    }
}

fn our_rate(case: &Case, seconds: u32, seed: u32) -> Result<f64, String> {
    let case = Case { seconds, ..case.clone() };
    let scenario = Scenario::parse(&case.scenario(seed), &case.name).map_err(|error| error.to_string())?;
    let before = cpu_seconds()?;
    run(&scenario, |_| ()).map_err(|error| error.to_string())?;
    Ok(f64::from(seconds) / (cpu_seconds()? - before))
}

/// CPU time of this thread so far, which Linux reports in nanoseconds.
fn cpu_seconds() -> Result<f64, String> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").map_err(|error| error.to_string())?;
    let run_ns: f64 = schedstat.split(' ').next().and_then(|word| word.parse().ok()).ok_or("schedstat has no time")?;
    Ok(run_ns / 1e9)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_a_sound_scenario() {
        for Speed { case, .. } in speeds() {
            let scenario = Scenario::parse(&case.scenario(1), &case.name);
            let scenario = scenario.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let refused = evenair_sim::refusals(&scenario);
            assert!(refused.is_empty(), "{}: {refused:?}", case.name);
        }
    }

    #[test]
    fn a_ratio_counts_only_with_equal_goodput() {
        assert_eq!(verdict(true, 4.9), "reached");
        assert_eq!(verdict(false, -4.9), "NOT REACHED");
        assert_eq!(verdict(true, -5.1), "VOID");
        assert_eq!(verdict(true, f64::NAN), "VOID");
    }
}
