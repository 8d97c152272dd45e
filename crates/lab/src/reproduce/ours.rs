//! Evenair's own promises in the simulator, beyond the sources: the default manager with a changing population.

use evenair_results::PhaseResult;
use evenair_units::{BitRate, Bytes};
use evenair_wifi::{Phy, PhyRate, Standard, TcpShape, tcp_capacity};

use super::judge::{Bound, Judge};
use super::runs::{Run, Runs, Variant, mean};
use super::{Experiment, experiment};

/// Every experiment on Evenair's promises.
pub fn all() -> Vec<Experiment> {
    vec![experiment!(b11, "box/b11-changing-population.toml", false)]
}

mod b11 {
    use super::*;

    /// Phases of the populations, when each begins, in seconds, and its number of slow stations.
    const POPULATIONS: [(&str, usize, u32); 3] = [("first", 1, 3), ("second", 60, 3), ("third", 120, 4)];
    const WITHOUT: &str = "without telemetry";
    const WITH: &str = "with telemetry";
    const FAR: &str = "without telemetry, 300 ms there and back";
    /// Minimum share of a station relative to the mean for a rate to count.
    const FAIR: f64 = 0.94;
    /// Bound of a packet's sojourn time in the access point without slow stations, in milliseconds.
    const SHORT_MS: f64 = 5.0;

    /// With or without rate reports: the label of a sweep, and its lowest service rate in Mb/s, from which it rises in
    /// steps of 1 %.
    const SWEEPS: [(&str, bool, f64); 2] = [(WITHOUT, false, 6.6), (WITH, true, 9.3)];
    const STEPS: i32 = 45;

    fn telemetry(variant: Variant, reported: bool) -> Variant {
        variant.set("telemetry.stations", reported).set("telemetry.rates", reported)
    }

    fn fixed(label: &str, step: i32) -> String {
        format!("{label}, step {step}")
    }

    pub fn variants() -> Vec<Variant> {
        let far = telemetry(Variant::new(FAR), false).set("lan.delay", "150 ms");
        let ours = [telemetry(Variant::new(WITHOUT), false), telemetry(Variant::new(WITH), true), far];
        let sweep = |(label, reported, from): (&'static str, bool, f64)| {
            (0..STEPS).map(move |step| {
                let rate = format!("{} b/s", (from * 1e6 * 1.01f64.powi(step)) as u64);
                telemetry(Variant::new(fixed(label, step)), reported)
                    .set("manager.controller.kind", "fixed")
                    .set("manager.controller.rate", rate)
                    .seeds(2)
            })
        };
        ours.into_iter().map(|variant| variant.seeds(5)).chain(SWEEPS.into_iter().flat_map(sweep)).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        // Eight round trips more are allowed where these are long.
        for (label, wait) in [(WITHOUT, 2), (WITH, 2), (FAR, 5)] {
            for (phase, began, _) in &POPULATIONS[1..] {
                let level = |run: &Run| run.phase(phase).total_ip_mbps;
                let after = |run: &Run, from: usize, to: usize| run.totals[began + from..began + to].to_vec();
                let soon = |run: &Run| mean(&after(run, wait, wait + 10)) / level(run);
                let what = format!("{label}, {phase} population:");
                judge.finding("soon", &what, runs.mean(label, soon), Bound::Between(0.95, 1.05));
                let least = |run: &Run| after(run, wait, 60).into_iter().fold(f64::INFINITY, f64::min) / level(run);
                judge.finding("steady", &what, runs.mean(label, least), Bound::AtLeast(0.90));
            }
        }
        for (label, reported, _) in SWEEPS {
            for (phase, _, slow) in POPULATIONS {
                let what = format!("{label}, {phase} population:");
                let part =
                    runs.mean(label, |run| run.phase(phase).total_ip_mbps / best(runs, label, reported, phase, slow));
                judge.finding("best", &what, part, Bound::AtLeast(0.98));
                let limit = Bound::AtMost(short_ms(slow));
                judge.finding("short", &what, runs.mean(label, |run| sojourn_p95(run.phase(phase))), limit);
            }
        }
    }

    /// The largest mean total of a phase among the constant service rates with shares and queue within bounds; NaN without
    /// any.
    fn best(runs: &Runs, label: &str, reported: bool, phase: &str, slow: u32) -> f64 {
        let totals = (0..STEPS).filter_map(|step| {
            let runs = runs.of(&fixed(label, step));
            let keeps = |run: &Run| {
                let phase = run.phase(phase);
                sojourn_p95(phase) <= short_ms(slow) && least_part(phase, reported) >= FAIR
            };
            let total = |run: &Run| run.phase(phase).total_ip_mbps;
            runs.iter().all(keeps).then(|| mean(&runs.iter().map(total).collect::<Vec<_>>()))
        });
        totals.fold(f64::NAN, f64::max)
    }

    /// Least share of a flow relative to the mean: of airtime if the rates are reported, of bits otherwise.
    fn least_part(phase: &PhaseResult, reported: bool) -> f64 {
        let flows = phase.flows.iter().filter(|flow| flow.ip_mbps > 0.0);
        let parts: Vec<_> = flows
            .map(|flow| if reported { flow.ip_mbps / capacity_mbps(flow.rate_mbps, flow.d) } else { flow.ip_mbps })
            .collect();
        parts.iter().copied().fold(f64::INFINITY, f64::min) / mean(&parts)
    }

    /// Capacity of the medium for one flow alone, in Mb/s.
    fn capacity_mbps(rate_mbps: f64, d: Option<f64>) -> f64 {
        let d_milli = (d.unwrap_or(2.0) * 1e3) as u32;
        let shape = TcpShape { data_ip: Bytes(1_500), ack_ip: Bytes(52), d_milli, rts_threshold: Some(RTS_THRESHOLD) };
        tcp_capacity(&phy(), phy_rate(rate_mbps), &shape).as_mbps_f64()
    }

    /// RTS threshold of the scenario: DATA exceed it, ACKs do not.
    const RTS_THRESHOLD: Bytes = Bytes(500);

    fn phy() -> Phy {
        Phy::default_for(Standard::Dot11a)
    }

    fn phy_rate(mbps: f64) -> PhyRate {
        phy()
            .standard()
            .rate(BitRate::from_bps((mbps * 1e6) as u64))
            .expect("a scenario's rates are those of its standard")
    }

    /// Bound of the 95th percentile of sojourn times in the access point with `slow` slow stations, in milliseconds.
    fn short_ms(slow: u32) -> f64 {
        let exchange = phy().access_cost(Bytes(1_500), phy_rate(6.0), true);
        SHORT_MS + f64::from(slow) * exchange.as_nanos() as f64 / 1e6
    }

    fn sojourn_p95(phase: &PhaseResult) -> f64 {
        let ap = phase.nodes.iter().find(|node| node.node == "ap");
        ap.and_then(|ap| ap.sojourn.as_ref()).map_or(f64::NAN, |times| times.p95_ms)
    }
}
