//! Charged compared with measured airtime, at access points that aggregate. Back-off, which is charged, is not part of the measured
//! airtime of a station: some 3 % of the time here.

use evenair_results::{PhaseResult, RunResult};

use crate::site::Site;

/// A kind of access point, as a key of `[radio]`, a direction, and the modes of the 802.11ax stations.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: &'static str,
    direction: &'static str,
    reported: bool,
}

const MODES: [u32; 3] = [11, 5, 0];
const DEEP: &str = "";
const NEIGHBOURS: &str = "aggregation = { order = 'neighbours' }";
const SINGLE: &str = "aggregation = { bytes = '0 bytes' }";

fn run(case: Case) -> RunResult {
    let Case { kind, direction, reported } = case;
    Site::new("charged", 30)
        .with(&format!("[telemetry]\nstations = {reported}\nrates = {reported}"))
        .radio("802.11ax", "ap_buffer = '1000 packets'")
        .and(kind)
        .lan("1 Gb/s", "5 ms")
        .each(MODES.into_iter().enumerate(), |site, (at, mcs)| {
            let name = format!("s{at}");
            site.station(&name, &format!("mcs = {mcs}")).bulk(&format!("b{at}"), &name, direction)
        })
        .insert(2)
        .phase("steady", 20, 30)
        .run()
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
    let result = Site::new("charged", 30)
        .without_telemetry()
        .radio("802.11g", "ap_buffer = '150 kB'")
        .each(["up", "down", "down"].into_iter().enumerate(), |site, (at, direction)| {
            let name = format!("s{at}");
            site.station(&name, "rate = '54 Mb/s'").bulk(&format!("b{at}"), &name, direction)
        })
        .insert(2)
        .phase("steady", 20, 30)
        .run();
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
