//! The limit of calls (A7 of the published box): twelve calls are admitted beside a download, and a thirteenth is refused and
//! affects neither. Scenario and bounds are those of `crates/sim/tests/world/calls.rs` for the simulator.
//!
//! A refused call is not blocked: its packets use airtime without priority, which the download's tolerance of 4 % covers.

use anyhow::{Context, Result};
use evenair_results::{CallResult, PhaseResult, RunResult};
use evenair_scenario::Scenario;

use super::case::{Case, Run};
use super::check::{Bound, Figure};
use super::figures::{conservation, phase, zero};

/// Number of calls admitted at once.
const LIMIT: usize = 12;
/// Packet rate of G.711 in one direction.
const PACKETS_PER_SECOND: f64 = 50.0;
/// Minimum proportion of packets sent for a direction to count as a call.
const LEAST_SENT: f64 = 0.9;
/// The phases with the admitted calls: alone, and beside the refused one.
const WITH_12: &str = "calls12";
const WITH_13: &str = "calls13";

pub(super) fn case() -> Case {
    Case {
        name: "calls",
        title: "a download and 13 calls, of which 12 are admitted",
        in_short: false,
        runs_each: 1,
        make: |_| scenario(),
        figures,
    }
}

fn scenario() -> Result<Scenario> {
    const FILE: &str = include_str!("../../../../scenarios/box/b05-calls.toml");
    Scenario::parse(FILE, "b05-calls.toml").context("scenarios/box/b05-calls.toml")
}

fn figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let result = run.result;
    let [before, alone, beside] = ["calls0", WITH_12, WITH_13].map(|name| download(phase(result, name)));
    let (before, alone, beside) = (before?, alone?, beside?);
    println!("    download {before:.3} Mb/s, {alone:.3} beside 12 calls, {beside:.3} beside 13");
    let events = |what: &str| result.events.iter().filter(|event| event.what == what).count() as f64;
    let worst = |of: fn(&CallResult) -> f64, pick: fn(f64, f64) -> f64| {
        admitted(result).and_then(|calls| calls.into_iter().map(of).reduce(pick)).unwrap_or(f64::NAN)
    };
    Ok(vec![
        Figure {
            what: "calls admitted, from 12",
            value: (events("call admitted") - LIMIT as f64).abs(),
            bound: zero(),
        },
        Figure { what: "calls refused, from one", value: (events("call refused") - 1.0).abs(), bound: zero() },
        Figure {
            what: "packets lost in the worst direction of an admitted call",
            value: worst(|call| call.heard.lost as f64 / call.heard.sent.max(1) as f64, f64::max),
            bound: Bound::AtMost { limit: 0.01, single: 0.01 },
        },
        Figure {
            what: "its rating R",
            value: worst(|call| call.heard.r_factor, f64::min),
            bound: Bound::AtLeast { limit: 80.0, single: 80.0 },
        },
        Figure {
            what: "download beside 13 calls over that beside 12",
            value: beside / alone,
            bound: Bound::short_by_at_most(0.04),
        },
        Figure {
            what: "download beside 12 calls over that without calls",
            value: alone / before,
            bound: Bound::AtLeast { limit: 0.5, single: 0.5 },
        },
        conservation(result),
    ])
}

fn download(phase: &PhaseResult) -> Result<f64> {
    Ok(phase.flows.iter().find(|flow| flow.app == "download").context("the scenario has a download")?.ip_mbps)
}

/// Both directions of the calls that began before the limit was reached, in both phases; `None` if one was silent.
fn admitted(result: &RunResult) -> Option<Vec<&CallResult>> {
    let mut found = Vec::new();
    for name in [WITH_12, WITH_13] {
        let PhaseResult { from_s, to_s, .. } = phase(result, name);
        let least = LEAST_SENT * PACKETS_PER_SECOND * (to_s - from_s);
        for app in (1..=LIMIT).flat_map(|n| [format!("up{n}"), format!("down{n}")]) {
            let call = result.calls.iter().find(|call| call.phase == name && call.app == app)?;
            found.push(Some(call).filter(|call| call.heard.sent as f64 >= least)?);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::super::check::judge;
    use super::*;

    fn holds(result: &RunResult) -> Vec<bool> {
        let scenario = scenario().expect("sound");
        let testbed = |_: &Scenario, _: &str| unreachable!("it compares with no other run");
        let run = Run { scenario: &scenario, result, cpu_share: 0.0, testbed: &testbed };
        judge(&[figures(&run).expect("it has all phases")]).iter().map(|figure| figure.holds).collect()
    }

    #[test]
    fn each_figure_fails_when_its_promise_is_broken() {
        let right = evenair_sim::run(&scenario().expect("sound"), |_| ()).expect("it can be simulated");
        assert_eq!(holds(&right), [true; 7]);
        let spoilt = |spoil: &dyn Fn(&mut RunResult)| {
            let mut result = right.clone();
            spoil(&mut result);
            holds(&result)
        };
        let second = |of: &mut RunResult, name: &str| {
            of.calls.iter().position(|call| call.phase == WITH_13 && call.app == name).expect("it spoke")
        };
        let all_admitted = spoilt(&|run| {
            run.events
                .iter_mut()
                .filter(|event| event.what == "call refused")
                .for_each(|e| e.what = "call admitted".into());
        });
        assert_eq!(all_admitted, [false, false, true, true, true, true, true]);
        let lossy = spoilt(&|run| {
            let at = second(run, "down12");
            run.calls[at].heard.lost = run.calls[at].heard.sent / 50;
            run.calls[at].heard.r_factor = 70.0;
        });
        assert_eq!(lossy, [true, true, false, false, true, true, true]);
        let silent = spoilt(&|run| {
            let at = second(run, "up1");
            run.calls.remove(at);
        });
        assert_eq!(silent, [true, true, false, false, true, true, true]);
        let slow = spoilt(&|run| {
            let phase = run.phases.iter_mut().find(|phase| phase.name == WITH_13).expect("it has it");
            phase.flows.iter_mut().filter(|flow| flow.app == "download").for_each(|flow| flow.ip_mbps *= 0.93);
        });
        assert_eq!(slow, [true, true, true, true, false, true, true]);
    }
}
