//! Charged compared with measured airtime, at access points that aggregate. Back-off, which is charged, is not part of the measured
//! airtime of a station: some 3 % of the time here.

use evenair_results::{PhaseResult, RunResult};
use evenair_scenario::Scenario;

/// A kind of access point, as a key of `[radio]`, a direction, and the modes of the 802.11ax stations.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: &'static str,
    direction: &'static str,
    reported: bool,
}

const MODES: [u32; 3] = [11, 5, 0];
const DEEP: &str = "";
const NEIGHBOURS: &str = "aggregation = { order = \"neighbours\" }";
const SINGLE: &str = "aggregation = { bytes = \"0 bytes\" }";

fn run(case: Case) -> RunResult {
    let Case { kind, direction, reported } = case;
    let station = |(at, mcs): (usize, u32)| {
        format!(
            "[[station]]\nname = \"s{at}\"\nmcs = {mcs}\n[[bulk]]\nname = \"b{at}\"\nstations = [\"s{at}\"]\nserver = \"server\"\n\
             direction = \"{direction}\"\n"
        )
    };
    let text = format!(
        "version = 1\nname = \"charged\"\nduration = \"30 s\"\n[telemetry]\nstations = {reported}\nrates = {reported}\n\
         [radio]\nstandard = \"802.11ax\"\nap_buffer = \"1000 packets\"\n{kind}\n[lan]\nrate = \"1 Gb/s\"\ndelay = \"5 ms\"\n\
         [[server]]\nname = \"server\"\n{}[[event]]\nat = \"2 s\"\ndo = \"insert\"\n\
         [[phase]]\nname = \"steady\"\nfrom = \"20 s\"\nto = \"30 s\"\n",
        MODES.into_iter().enumerate().map(station).collect::<String>(),
    );
    let scenario = Scenario::parse(&text, "charged.toml").unwrap_or_else(|error| panic!("{error}"));
    evenair_sim::run(&scenario, |_| ()).expect("it runs")
}

/// Measured airtime of each station, and the ratio of charged to measured airtime.
fn figures(phase: &PhaseResult) -> Vec<(f64, f64)> {
    let measured = phase.measured_airtime.as_ref().expect("it is measured");
    let of = |at: &evenair_results::StationAirtime| at.down_share + at.up_share;
    let charged = |name: &str| {
        let charged = phase.charged_airtime.iter().find(|at| at.station == name).expect("the box knows the station");
        charged.down_share + charged.up_share
    };
    measured.stations.iter().map(|at| (of(at), charged(&at.station) / of(at))).collect()
}

fn check(case: Case) {
    let result = run(case);
    let figures = figures(&result.phases[0]);
    let all: f64 = figures.iter().map(|(measured, ratio)| measured * ratio).sum();
    println!("{case:?}: {figures:.3?}, all charged {all:.3}");
    assert!(all <= 1.01, "{case:?}: all charged are {all} of the time");
    for (measured, ratio) in figures {
        assert!(measured > 0.02 && (0.85..=1.15).contains(&ratio), "{case:?}: {ratio} of {measured}");
    }
}

#[test]
fn charged_airtime_is_near_the_measured_one_with_unreported_rates() {
    for kind in [DEEP, NEIGHBOURS, SINGLE] {
        check(Case { kind, direction: "down", reported: false });
    }
    check(Case { kind: DEEP, direction: "up", reported: false });
}

#[test]
fn charged_airtime_is_near_the_measured_one_with_reported_rates() {
    for direction in ["down", "up"] {
        check(Case { kind: DEEP, direction, reported: true });
        check(Case { kind: NEIGHBOURS, direction, reported: true });
    }
}

/// An upload and two downloads at 54 Mb/s of 802.11g, with unreported rates.
#[test]
fn charged_airtime_of_single_frames_includes_back_off() {
    let apps = ["up", "down", "down"].into_iter().enumerate().map(|(at, direction)| {
        format!(
            "[[station]]\nname = \"s{at}\"\nrate = \"54 Mb/s\"\n[[bulk]]\nname = \"b{at}\"\nstations = [\"s{at}\"]\n\
             server = \"server\"\ndirection = \"{direction}\"\n"
        )
    });
    let text = format!(
        "version = 1\nname = \"charged\"\nduration = \"30 s\"\n[telemetry]\nstations = false\nrates = false\n\
         [radio]\nstandard = \"802.11g\"\nap_buffer = \"150 kB\"\n[[server]]\nname = \"server\"\n{}\
         [[event]]\nat = \"2 s\"\ndo = \"insert\"\n[[phase]]\nname = \"steady\"\nfrom = \"20 s\"\nto = \"30 s\"\n",
        apps.collect::<String>(),
    );
    let scenario = Scenario::parse(&text, "charged.toml").unwrap_or_else(|error| panic!("{error}"));
    let result = evenair_sim::run(&scenario, |_| ()).expect("it runs");
    let phase = &result.phases[0];
    let figures = figures(phase);
    let all: f64 = figures.iter().map(|(measured, ratio)| measured * ratio).sum();
    println!("{figures:.3?}, all charged {all:.3}");
    assert!((0.85..=1.01).contains(&all), "all charged are {all} of the time");
    let back_off = phase.measured_airtime.as_ref().expect("it is measured").back_off_share / 3.0;
    for (measured, ratio) in figures {
        let of_all = measured * ratio / (measured + back_off);
        assert!((0.85..=1.15).contains(&of_all), "{of_all} of {measured} and {back_off} of back-off");
    }
}
