//! Access points with aggregation: Høiland-Jørgensen, Kazior, Täht, Hurtig, Brunstrom, "Ending the Anomaly: Achieving Low
//! Latency and Airtime Fairness in WiFi", USENIX ATC 2017. Two fast 802.11n stations and a slow one, with one deep buffer for
//! all, and with the queues that the source added to Linux.

use super::judge::{Bound, BoundCheck, Judge};
use super::runs::{Run, Runs, Variant};
use super::{Experiment, experiment};

/// The experiments with three stations.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(e01, "access-points/e01-three-stations-datagrams.toml", true),
        experiment!(e02, "access-points/e02-three-stations-tcp.toml", false),
    ]
}

const PHASE: &str = "steady";
const SEEDS: u64 = 5;
const DEEP: &str = "deep buffer";
const LINUX: &str = "Linux's queues";
const STATIONS: [&str; 3] = ["fast1", "fast2", "slow"];
/// A third, to within a tenth of it.
const THIRD: Bound = Bound::Between(0.30, 0.367);

fn linux(label: &str) -> Variant {
    let queues = Variant::new(label).set("radio.ap_queue.discipline", "\"mac80211\"");
    queues.set("radio.ap_buffer", "\"8192 packets\"").seeds(SEEDS)
}

fn variants() -> Vec<Variant> {
    vec![Variant::new(DEEP).seeds(SEEDS), linux(LINUX)]
}

/// A station's proportion of the airtime of all three, in both directions.
fn part(run: &Run, station: &str) -> f64 {
    let airtime = |name: &str| -> f64 {
        ["down_share", "up_share"]
            .map(|way| run.measure(&format!("phase.{PHASE}.measured_airtime.station.{name}.{way}")))
            .iter()
            .sum()
    };
    airtime(station) / STATIONS.iter().map(|name| airtime(name)).sum::<f64>()
}

fn thirds(runs: &Runs, judge: &mut Judge<'_>) {
    for station in STATIONS {
        let of = runs.mean(LINUX, |run| part(run, station));
        judge.finding("fairness", &format!("part of the airtime of {station}:"), of, THIRD);
    }
}

mod e01 {
    use super::*;

    /// The driver of the source's access point had a queue per station, which its text leaves open.
    const IN_TURN: &str = "a driver below the buffer that serves stations in turn";
    const ABOUT_80_PERCENT: Bound = Bound::Between(0.72, 0.88);

    pub fn variants() -> Vec<Variant> {
        let in_turn = Variant::new(IN_TURN).set("radio.aggregation.order", "\"stations\"").seeds(SEEDS);
        super::variants().into_iter().chain([in_turn]).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let what = "part of the airtime of the slow station:";
        let slow = |label: &str| runs.mean(label, |run| part(run, "slow"));
        judge.finding("anomaly", what, slow(DEEP), ABOUT_80_PERCENT);
        judge.finding_read("anomaly", IN_TURN, BoundCheck::new(what, slow(IN_TURN), ABOUT_80_PERCENT));
        thirds(runs, judge);
        let total = |run: &Run| run.phase(PHASE).total_ip_mbps;
        let before = runs.mean(DEEP, total).mean;
        let gain = runs.mean(LINUX, |run| total(run) / before);
        judge.finding("gain", "total over that behind the deep buffer:", gain, Bound::Between(3.6, 5.5));
    }
}

mod e02 {
    use super::*;

    /// The source measured the ath9k driver of 2017, whose aggregates have at most 32 frames (`ATH_AMPDU_SUBFRAME_DEFAULT`) and
    /// which prepares one while another is on the air. Airtime queue limits came with Linux 5.5 in 2020.
    const DRIVER_OF_2017: &str =
        "32 packets in the driver in place of airtime queue limits, which are younger than the source";

    pub fn variants() -> Vec<Variant> {
        let driver = linux(DRIVER_OF_2017).set("radio.ap_queue.aql", "false").set("radio.ap_queue.driver", 32);
        super::variants().into_iter().chain([driver]).collect()
    }

    /// Median round-trip time of the fast stations over the whole run, in milliseconds.
    fn echo(run: &Run) -> f64 {
        let echoes = &run.result.echoes;
        let fast: Vec<f64> = echoes.iter().filter(|of| of.app != "echo3").map(|of| of.p50_ms).collect();
        super::super::runs::mean(&fast)
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let short = runs.mean(LINUX, echo).mean;
        let times = runs.mean(DEEP, |run| echo(run) / short);
        judge.finding(
            "latency",
            "median of the fast stations' echoes over that with them:",
            times,
            Bound::AtLeast(9.0),
        );
        thirds(runs, judge);
        for station in STATIONS {
            let of = runs.mean(DRIVER_OF_2017, |run| part(run, station));
            let what = format!("part of the airtime of {station}:");
            judge.finding_if("fairness", DRIVER_OF_2017, BoundCheck::new(&what, of, THIRD));
        }
    }
}
