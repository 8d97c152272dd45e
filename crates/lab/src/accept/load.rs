//! Control of the offered load to just below the critical load, by a proportional-integral law (I14), with kernel TCP. Choi,
//! Park, Kim, "Performance Impact of Inter-Layer Dependence in Infrastructure WLANs", name the critical load and leave the
//! shaper to future work: the throughput must reach the peak of the same frames in open loop.

use anyhow::{Context, Result};
use evenair_results::{PhaseResult, scalar};
use evenair_scenario::Scenario;
use evenair_units::Span;
use evenair_workload::Phase;

use super::case::{Case, Run};
use super::check::{Bound, Figure};
use super::figures::{BYPASSED, INSERTED, conservation, phase};

/// The published peak in open loop, in DATA frames a second (I08).
const PEAK: f64 = 380.0;
const SEGMENT_BITS: f64 = 1460.0 * 8.0;

/// The case.
pub fn case() -> Case {
    Case {
        name: "i14",
        title: "10 downloads at 11 Mb/s behind a load below the critical one",
        in_short: false,
        runs_each: 1,
        make: |_| scenario(),
        figures,
    }
}

/// All stations at the rate of the published peak.
fn scenario() -> Result<Scenario> {
    const FILE: &str = include_str!("../../../../scenarios/inter-layer/i14-load-shaper.toml");
    let sets = [("station.slow.rate", "11 Mb/s"), ("event.1.at", "40 s")];
    let mut scenario = Scenario::parse_with(FILE, "i14-load-shaper.toml", &sets)
        .context("scenarios/inter-layer/i14-load-shaper.toml")?;
    let phase =
        |name: &str, from, to| Phase { name: name.into(), from: Span::from_secs(from), to: Span::from_secs(to) };
    scenario.duration = Span::from_secs(110);
    scenario.measure.phases = vec![phase(BYPASSED, 15, 40), phase(INSERTED, 70, 110)];
    Ok(scenario)
}

fn figures(run: &Run<'_>) -> Result<Vec<Figure>> {
    let wait = |name| scalar(run.result, &format!("phase.{name}.ap.sojourn_mean_ms")).unwrap_or(f64::NAN);
    let frames = |phase: &PhaseResult| phase.total_goodput_mbps * 1e6 / SEGMENT_BITS;
    let inserted = frames(phase(run.result, INSERTED));
    println!("    {inserted:.1} DATA frames a second, {:.1} without the box", frames(phase(run.result, BYPASSED)));
    Ok(vec![
        Figure {
            what: "inserted: DATA frames a second over 380",
            value: inserted / PEAK,
            bound: Bound::short_by_at_most(0.03),
        },
        Figure {
            what: "inserted: from arrival to delivery, mean, ms",
            value: wait(INSERTED),
            bound: Bound::AtMost { limit: 40.0, single: 60.0 },
        },
        Figure {
            what: "bypassed: the same",
            value: wait(BYPASSED),
            bound: Bound::AtLeast { limit: 100.0, single: 100.0 },
        },
        conservation(run.result),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::check::judge;
    use super::*;

    #[test]
    fn the_simulator_carries_the_peak_and_lets_little_wait() {
        let scenario = scenario().expect("it is right");
        let result = evenair_sim::run(&scenario, |_| ()).expect("it runs");
        let testbed = |_: &Scenario, _: &str| unreachable!("it compares with no other run");
        let run = Run { scenario: &scenario, result: &result, cpu_share: 0.0, testbed: &testbed };
        let judged = judge(&[figures(&run).expect("it has both phases")]);
        assert!(judged.iter().all(|figure| figure.holds), "{judged:?}");
    }
}
