//! The cases: their scenarios and figures.

use anyhow::{Context, Result};
use evenair_results::{CallResult, PhaseResult};
use evenair_scenario::{Action, Event, Measure, Place, Scenario};
use evenair_units::{Bytes, Span};
use evenair_wifi::{TcpShape, tcp_capacity};
use evenair_workload::{Direction, Phase};

use super::case::{Case, Run};
use super::check::{Bound, Figure};
use super::figures::{
    BYPASSED, INSERTED, conservation, deviation_from_shares, phase, ratio_deviation, share_of_capacity,
    slowest_over_mean, up_down_inequality, zero,
};
use super::{adwiser, best, calls, load, pages, promises, radio, receiver, simulated};

/// Every case, in the order of measuring.
pub fn all() -> Vec<Case> {
    let case = |name, title, in_short, make, figures| Case { name, title, in_short, runs_each: 1, make, figures };
    let mut cases = vec![
        case("a11", "5 up + 5 down at 11 Mb/s, bypassed and inserted", true, a11, a11_figures),
        case("a10", "one up + one down at each of 11, 5.5 and 2 Mb/s", true, a10, a10_figures),
        case("a03", "10 uploads at 11 Mb/s", false, a03, a03_figures),
        case("a13", "two uploads at 54 Mb/s", false, a13, a13_figures),
        case("a14", "two downloads at 11 Mb/s, 5:1", false, a14, a14_figures),
        case("r11", "5 up + 5 down at 11 Mb/s, uploads limited to 2.7 Mb/s", true, r11, r11_figures),
        case("quic", "one upload over QUIC among transfers over TCP", false, quic, quic_figures),
        case("telephone", "a call by baresip beside downloads", false, telephone, telephone_figures),
        case("radio-1", "saturated UDP from 1 station", false, |_| radio::saturated(1), radio::figures),
        case("radio-5", "saturated UDP from 5 stations", true, |_| radio::saturated(5), radio::figures),
        case("radio-10", "saturated UDP from 10 stations", false, |_| radio::saturated(10), radio::figures),
        case("sim-a11", "a11, and the same in the simulator", false, a11, simulated::figures),
        case("sim-a10", "a10, and the same in the simulator", false, a10, simulated::figures),
        case("sim-a13", "a13, and the same in the simulator", false, a13, simulated::figures),
        case("sim-r1", "4 up + 4 down without the box, and the same in the simulator", false, r1, simulated::figures),
        case(
            "sim-r1-2",
            "2 up + 2 down without the box, and the same in the simulator",
            false,
            r1_2,
            simulated::figures,
        ),
        case("late", "12 stations at 54 Mb/s: does the testbed keep up", false, late, late_figures),
        case("idle", "nobody sends: what do testbed and box themselves take", false, idle, idle_figures),
        case("flips", "A11, inserted and bypassed 100 times", false, flips, flips_figures),
    ];
    cases.extend(receiver::cases());
    cases.extend(promises::cases());
    cases.push(calls::case());
    cases.push(pages::case());
    cases.extend(best::cases());
    cases.extend(adwiser::cases());
    cases.push(load::case());
    cases
}

macro_rules! scenario_file {
    ($path:literal) => {
        Scenario::parse(include_str!(concat!("../../../../scenarios/", $path)), concat!("scenarios/", $path))
            .context(concat!("scenarios/", $path))
    };
}

fn a11(short: bool) -> Result<Scenario> {
    Ok(shortened(scenario_file!("adwiser/a11-equal-up-and-down.toml")?, short))
}

fn a10(short: bool) -> Result<Scenario> {
    Ok(shortened(scenario_file!("adwiser/a10-mixed-rates.toml")?, short))
}

fn a03(short: bool) -> Result<Scenario> {
    Ok(shortened(scenario_file!("adwiser/a03-uploads-unequal.toml")?, short))
}

fn a13(short: bool) -> Result<Scenario> {
    Ok(shortened(scenario_file!("adwiser/a13-two-uploads.toml")?, short))
}

fn a14(short: bool) -> Result<Scenario> {
    Ok(shortened(scenario_file!("adwiser/a14-five-to-one.toml")?, short))
}

fn r11(short: bool) -> Result<Scenario> {
    Ok(shortened(scenario_file!("uplink-rate-control/r11-kernel-tcp.toml")?, short))
}

fn r1(_short: bool) -> Result<Scenario> {
    simulated::uplink_rate_control(4)
}

fn r1_2(_short: bool) -> Result<Scenario> {
    simulated::uplink_rate_control(2)
}

/// Seconds of the short form: when the box is inserted, and the end. The managed phase is at least twice as long as the
/// bypassed one plus 40 s, because starved flows retry after exponential back-offs.
const SHORT_INSERT_S: u64 = 6;
const SHORT_END_S: u64 = 60;
const SHORT_MEASURED_S: u64 = 20;

/// The short form of a scenario whose only event is the insertion.
fn shortened(mut scenario: Scenario, short: bool) -> Scenario {
    let insertions = scenario.events.iter().filter(|event| event.action == Action::Insert).count();
    if !short || insertions != 1 || scenario.events.len() != 1 {
        return scenario;
    }
    let (insert, end) = (Span::from_secs(SHORT_INSERT_S), Span::from_secs(SHORT_END_S));
    scenario.duration = end;
    scenario.events[0].at = insert;
    scenario.measure.phases = vec![
        Phase { name: BYPASSED.into(), from: Span::from_secs(2), to: insert },
        Phase { name: INSERTED.into(), from: end.saturating_sub(Span::from_secs(SHORT_MEASURED_S)), to: end },
    ];
    scenario
}

fn a11_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let bypassed = phase(run.result, BYPASSED);
    let inserted = phase(run.result, INSERTED);
    Ok(vec![
        Figure {
            what: "bypassed: downloads' part of the total",
            value: bypassed.directions.down_ip_mbps / bypassed.total_ip_mbps,
            bound: Bound::AtMost { limit: 0.20, single: 0.40 },
        },
        Figure {
            what: "inserted: up : down, from equal",
            value: up_down_inequality(inserted),
            bound: Bound::within(0.05),
        },
        Figure {
            what: "inserted: Jain's index of the ten flows",
            value: inserted.jain_flows.unwrap_or(f64::NAN),
            bound: Bound::short_by_at_most(0.02),
        },
        total_over_capacity(inserted),
        conservation(run.result),
    ])
}

/// The source states that no flow starves. Here: neither direction has less than a third of an equal share, and no flow less
/// than an eighth of its direction's mean.
fn r11_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let (bypassed, inserted) = (phase(run.result, BYPASSED), phase(run.result, INSERTED));
    let down = |phase: &PhaseResult| phase.directions.down_ip_mbps / phase.total_ip_mbps;
    let no_less = |what, value, limit| Figure { what, value, bound: Bound::AtLeast { limit, single: limit * 0.75 } };
    Ok(vec![
        Figure {
            what: "without the limit: downloads' part of the total",
            value: down(bypassed),
            bound: Bound::AtMost { limit: 0.20, single: 0.40 },
        },
        no_less("limited: downloads' part of the total", down(inserted), 1.0 / 6.0),
        no_less("limited: uploads' part of the total", 1.0 - down(inserted), 1.0 / 6.0),
        no_less("limited: slowest upload over the mean", slowest_over_mean(inserted, Direction::Up), 0.125),
        no_less("limited: slowest download over the mean", slowest_over_mean(inserted, Direction::Down), 0.125),
        total_over_capacity(inserted),
        conservation(run.result),
    ])
}

fn a10_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    Ok(vec![
        Figure {
            what: "inserted: shares of 11, 5.5, 2 Mb/s, from C1:C2:C3",
            value: deviation_from_shares(inserted, &capacities(run.scenario, inserted)),
            bound: Bound::within(0.06),
        },
        Figure {
            what: "inserted: up : down, from equal",
            value: up_down_inequality(inserted),
            bound: Bound::within(0.06),
        },
        total_over_capacity(inserted),
        conservation(run.result),
    ])
}

fn a03_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    Ok(vec![
        Figure {
            what: "inserted: slowest upload over the mean",
            value: slowest_over_mean(inserted, Direction::Up),
            bound: Bound::short_by_at_most(0.10),
        },
        conservation(run.result),
    ])
}

fn a13_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    Ok(vec![
        Figure {
            what: "inserted: one upload to the other, from equal",
            value: ratio_deviation(inserted, 1.0),
            bound: Bound::within(0.05),
        },
        conservation(run.result),
    ])
}

fn a14_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    Ok(vec![
        Figure { what: "inserted: ratio, from 5:1", value: ratio_deviation(inserted, 5.0), bound: Bound::within(0.04) },
        conservation(run.result),
    ])
}

fn quic(short: bool) -> Result<Scenario> {
    Ok(shortened(scenario_file!("box/b10-quic.toml")?, short))
}

/// The QUIC transfer compared with the mean of the others, each on a station of its own at the same rate.
fn quic_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    let (quic, others): (Vec<_>, Vec<_>) = inserted.flows.iter().partition(|flow| flow.app == "quic");
    let quic = quic.first().context("the scenario has the application")?.ip_mbps;
    let rates: Vec<f64> = others.iter().map(|flow| flow.ip_mbps).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let farthest = rates.iter().map(|rate| (rate / mean - 1.0).abs()).fold(0.0, f64::max);
    Ok(vec![
        Figure {
            what: "inserted: QUIC's part, from an equal one",
            value: (quic / mean - 1.0).abs(),
            bound: Bound::within(0.05),
        },
        Figure { what: "inserted: the others', from their mean", value: farthest, bound: Bound::within(0.05) },
        conservation(run.result),
    ])
}

fn telephone(short: bool) -> Result<Scenario> {
    Ok(shortened(scenario_file!("box/b15-telephone.toml")?, short))
}

/// Figures of the call in both directions, which the box must detect and admit, and of the downloads beside it.
fn telephone_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    let calls: Vec<_> = run.result.calls.iter().filter(|call| call.phase == INSERTED).collect();
    let admitted = run.result.events.iter().filter(|event| event.what == "call admitted").count();
    // A call has at least half of its packets, one each 20 ms.
    let spoke = |call: &&&CallResult| call.heard.sent as f64 >= 25.0 * (inserted.to_s - inserted.from_s);
    let both = if calls.iter().filter(spoke).count() == 2 { 1.0 } else { f64::NAN };
    let worst = |of: fn(&CallResult) -> f64, pick: fn(f64, f64) -> f64| calls.iter().map(|call| of(call)).reduce(pick);
    let r_factor = worst(|call| call.heard.r_factor, f64::min).unwrap_or(f64::NAN);
    let lost = worst(|call| call.heard.lost as f64 / call.heard.sent.max(1) as f64, f64::max).unwrap_or(f64::NAN);
    let downloads: Vec<f64> =
        inserted.flows.iter().filter(|flow| flow.app.starts_with("down")).map(|flow| flow.ip_mbps).collect();
    let mean = downloads.iter().sum::<f64>() / downloads.len() as f64;
    let least = downloads.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(vec![
        Figure {
            what: "inserted: the worse direction's rating R",
            value: r_factor * both,
            bound: Bound::AtLeast { limit: 80.0, single: 80.0 },
        },
        Figure {
            what: "inserted: packets lost in the worse direction",
            value: lost * both,
            bound: Bound::AtMost { limit: 0.01, single: 0.02 },
        },
        Figure {
            what: "calls that the box has found and admitted",
            value: admitted as f64,
            bound: Bound::AtLeast { limit: 1.0, single: 1.0 },
        },
        Figure {
            what: "inserted: least download over the mean",
            value: least / mean,
            bound: Bound::short_by_at_most(0.06),
        },
        conservation(run.result),
    ])
}

fn total_over_capacity(inserted: &PhaseResult) -> Figure {
    Figure { what: "inserted: total over C*", value: share_of_capacity(inserted), bound: Bound::short_by_at_most(0.05) }
}

/// C_i of each station's PHY rate, at the measured d of the phase.
fn capacities(scenario: &Scenario, phase: &PhaseResult) -> Vec<(f64, f64)> {
    let ratios: Vec<f64> = phase.flows.iter().filter_map(|flow| flow.d).collect();
    let mean_d = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let shape = TcpShape {
        data_ip: Bytes(1500),
        ack_ip: Bytes(52),
        d_milli: (mean_d * 1000.0) as u32,
        rts_threshold: scenario.radio.rts_threshold,
    };
    let mut rates: Vec<_> = scenario
        .hosts
        .iter()
        .filter_map(|host| match host.place {
            Place::Station { rate, .. } => Some(rate),
            _ => None,
        })
        .collect();
    rates.sort_unstable();
    rates.dedup();
    let capacity = |rate| tcp_capacity(&scenario.radio.phy, rate, &shape).as_mbps_f64();
    rates.into_iter().map(|rate| (rate.bit_rate().as_mbps_f64(), capacity(rate))).collect()
}

const LATE: &str = r#"
version = 1
name = "late"
title = "Six uploads and six downloads at 54 Mb/s"
duration = "30 s"
radio = { standard = "802.11g" }
station = [{ name = "s", count = 12, rate = "54 Mb/s" }]
server = [{ name = "server" }]
bulk = [
    { name = "upload", stations = ["s1", "s2", "s3", "s4", "s5", "s6"], server = "server", direction = "up" },
    { name = "download", stations = ["s7", "s8", "s9", "s10", "s11", "s12"], server = "server", direction = "down" },
]
phase = [{ name = "inserted", from = "10 s", to = "30 s" }]
event = [{ at = "1 s", do = "insert" }]
"#;

fn late(_short: bool) -> Result<Scenario> {
    Ok(Scenario::parse(LATE, "late")?)
}

fn late_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let late = run.result.lateness.context("a testbed's result has a lateness record")?;
    Ok(vec![
        Figure { what: "lateness p99, us", value: late.p99_us, bound: Bound::AtMost { limit: 1000.0, single: 1000.0 } },
        Figure {
            what: "lateness p99.9, us",
            value: late.p999_us,
            bound: Bound::AtMost { limit: 5000.0, single: 5000.0 },
        },
        Figure {
            what: "air idle for late frames, thousandths",
            value: late.idle_for_late_permille,
            bound: Bound::AtMost { limit: 1.0, single: 1.0 },
        },
    ])
}

const IDLE: &str = r#"
version = 1
name = "idle"
title = "Ten stations with one ping a second, and the box"
duration = "20 s"
radio = { standard = "802.11b" }
station = [{ name = "s", count = 10, rate = "11 Mb/s" }]
server = [{ name = "server" }]
ping = [{ name = "ping", stations = ["s1"], server = "server", interval = "1 s" }]
phase = [{ name = "idle", from = "1 s", to = "20 s" }]
event = [{ at = "1 s", do = "insert" }]
"#;

fn idle(_short: bool) -> Result<Scenario> {
    Ok(Scenario::parse(IDLE, "idle")?)
}

fn idle_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    Ok(vec![Figure {
        what: "part of one core",
        value: run.cpu_share,
        bound: Bound::AtMost { limit: 0.05, single: 0.10 },
    }])
}

const FLIPS: u64 = 100;
const FLIP_FROM: Span = Span::from_secs(5);
/// Period of insertion and bypass: half of it inserted; a bypass may drain for a second.
const FLIP_EVERY: Span = Span::from_millis(2_400);
const FLIP_AFTER: Span = Span::from_secs(40);

/// A11 with other events: inserted and bypassed repeatedly, then inserted for good.
fn flips(_short: bool) -> Result<Scenario> {
    let mut scenario = scenario_file!("adwiser/a11-equal-up-and-down.toml")?;
    let at = |number: u64, action| Event { at: FLIP_FROM + FLIP_EVERY * number / 2, action };
    scenario.events = (0..FLIPS).flat_map(|n| [at(2 * n, Action::Insert), at(2 * n + 1, Action::Bypass)]).collect();
    scenario.events.push(at(2 * FLIPS, Action::Insert));
    let end = FLIP_FROM + FLIP_EVERY * FLIPS + FLIP_AFTER;
    scenario.duration = end;
    let phase = Phase { name: INSERTED.into(), from: end.saturating_sub(Span::from_secs(10)), to: end };
    scenario.measure = Measure { phases: vec![phase], ..scenario.measure };
    Ok(scenario)
}

fn flips_figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let inserted = phase(run.result, INSERTED);
    let silent = inserted.flows.iter().filter(|flow| flow.goodput_mbps <= 0.0).count();
    let count = |what: &str| run.result.events.iter().filter(|event| event.what == what).count();
    Ok(vec![
        Figure {
            what: "switches that were not done",
            value: (2 * FLIPS + 1) as f64 - (count("inserted") + count("bypassed")) as f64,
            bound: zero(),
        },
        Figure {
            what: "connections broken, or silent at the end",
            value: (silent + count("note")) as f64,
            bound: zero(),
        },
        conservation(run.result),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_scenario_with_the_phases_it_reads() {
        for case in all() {
            for short in [false, true] {
                let scenario = (case.make)(short).unwrap_or_else(|error| panic!("{}: {error:#}", case.name));
                assert!(!scenario.measure.phases.is_empty(), "{}", case.name);
                assert!(scenario.measure.phases.iter().all(|phase| phase.to <= scenario.duration), "{}", case.name);
            }
        }
    }

    #[test]
    fn the_managed_stretch_outlasts_the_back_off_of_starved_flows() {
        for case in ["a11", "a10", "a03", "a13", "a14", "r11"] {
            for short in [false, true] {
                let case = all().into_iter().find(|c| c.name == case).expect("named above");
                let scenario = (case.make)(short).expect("a right scenario");
                let insert = scenario.events.iter().find(|event| event.action == Action::Insert).expect("an insertion");
                let managed = scenario.duration.saturating_sub(insert.at);
                assert!(managed >= insert.at * 2 + Span::from_secs(40), "{}: {managed}", case.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = all().iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
    }
}
