//! Effect of an insertion under load, second by second: transfers have run for 20 s behind a bloated access point when the box is
//! inserted.
//!
//! `cargo run --release -p evenair-sim --example insertion [part of a name] [seed]`

use std::error::Error;

use evenair_results::PhaseResult;
use evenair_scenario::Scenario;
use evenair_sim::run;
use evenair_workload::Direction;

/// Time of the insertion, and number of seconds shown after it.
const AT: u32 = 20;
const SHOWN: u32 = 14;

struct Case {
    name: &'static str,
    radio: &'static str,
    stations: &'static str,
    traffic: &'static str,
}

const DOWN: &str = "[[bulk]]\nname = \"d\"\nstations = [\"s\"]\nserver = \"server\"\ndirection = \"down\"\n";
const UP: &str = "[[bulk]]\nname = \"u\"\nstations = [\"s\"]\nserver = \"server\"\ndirection = \"up\"\n";
const BOTH: &str = "[[bulk]]\nname = \"d\"\nstations = [\"s\"]\nserver = \"server\"\ndirection = \"down\"\n[[bulk]]\nname = \"u\"\nstations = [\"t\"]\nserver = \"server\"\ndirection = \"up\"\n";
const FOUR_G: &str = "[[station]]\nname = \"s\"\ncount = 4\nrate = \"54 Mb/s\"\n";
const EIGHT_G: &str = "[[station]]\nname = \"s\"\ncount = 4\nrate = \"54 Mb/s\"\n[[station]]\nname = \"t\"\ncount = 4\nrate = \"54 Mb/s\"\n";
const TEN_B: &str = "[[station]]\nname = \"s\"\ncount = 5\nrate = \"11 Mb/s\"\n[[station]]\nname = \"t\"\ncount = 5\nrate = \"11 Mb/s\"\n";
const G_1000: &str = "standard = \"802.11g\"\nap_buffer = \"1000 packets\"";
const G_100: &str = "standard = \"802.11g\"\nap_buffer = \"100 packets\"";
const B_100: &str = "standard = \"802.11b\"\nap_buffer = \"100 packets\"";

const CASES: [Case; 5] = [
    Case { name: "11b both, 100 packets", radio: B_100, stations: TEN_B, traffic: BOTH },
    Case { name: "down, 1000 packets", radio: G_1000, stations: FOUR_G, traffic: DOWN },
    Case { name: "up, 1000 packets", radio: G_1000, stations: FOUR_G, traffic: UP },
    Case { name: "both, 1000 packets", radio: G_1000, stations: EIGHT_G, traffic: BOTH },
    Case { name: "both, 100 packets", radio: G_100, stations: EIGHT_G, traffic: BOTH },
];

fn scenario(case: &Case, seed: u32) -> String {
    let phase = |name: String, from: u32, to: u32| {
        format!("[[phase]]\nname = \"{name}\"\nfrom = \"{from} s\"\nto = \"{to} s\"\n")
    };
    let seconds: String = (0..SHOWN).map(|s| phase(format!("s{s}"), AT + s, AT + s + 1)).collect();
    format!(
        "version = 1\nseed = {seed}\nname = \"insertion\"\nduration = \"{} s\"\n[telemetry]\nstations = false\nrates = false\n\
         [radio]\n{}\n{}[[server]]\nname = \"server\"\n{}[[event]]\nat = \"{AT} s\"\ndo = \"insert\"\n{}{seconds}",
        AT + SHOWN,
        case.radio,
        case.stations,
        case.traffic,
        phase("before".to_owned(), AT - 10, AT),
    )
}

fn mbps(phase: &PhaseResult, direction: Direction) -> f64 {
    phase.flows.iter().filter(|flow| flow.direction == direction).map(|flow| flow.ip_mbps).sum()
}

fn line(phase: &PhaseResult, before: f64) -> String {
    let (down, up) = (mbps(phase, Direction::Down), mbps(phase, Direction::Up));
    let rtt = |direction| {
        let of = phase.flows.iter().filter(|flow| flow.direction == direction).filter_map(|flow| flow.rtt_ms);
        of.fold(0.0, f64::max)
    };
    let delay = phase.nodes.first().and_then(|ap| ap.sojourn.as_ref()).map_or((0.0, 0.0), |s| (s.p50_ms, s.p95_ms));
    let idle = phase.medium.as_ref().map_or(0.0, |medium| medium.idle_share);
    format!(
        "{:>7} {:5.2} of before: down {down:5.1} up {up:5.1} | idle {:4.1} % | AP p50 {:6.1} p95 {:6.1} ms | longest mean RTT down {:6.0} \
         up {:6.0} ms",
        phase.name,
        (down + up) / before,
        idle * 100.0,
        delay.0,
        delay.1,
        rtt(Direction::Down),
        rtt(Direction::Up),
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let part = std::env::args().nth(1).unwrap_or_default();
    let seed: u32 = std::env::args().nth(2).map_or(Ok(1), |seed| seed.parse())?;
    for case in CASES.iter().filter(|case| case.name.contains(&part)) {
        let scenario = Scenario::parse(&scenario(case, seed), case.name).map_err(|error| format!("{error:?}"))?;
        let result = run(&scenario, |_| ()).map_err(|error| error.to_string())?;
        println!("{}", case.name);
        let before = mbps(&result.phases[0], Direction::Down) + mbps(&result.phases[0], Direction::Up);
        result.phases.iter().for_each(|phase| println!("{}", line(phase, before)));
        let events = result.events.iter().filter(|event| event.what.starts_with("guard"));
        events.for_each(|event| println!("{:.0} s: {}", event.at_s - f64::from(AT), event.what));
    }
    Ok(())
}
