//! Evenair's own scenarios (not published): the default manager without telemetry under disturbances. Power save (B12),
//! group-addressed packets (B13), another network on the channel (B14).
//!
//! Each disturbed run has a twin without the disturbance. Throughput may be lower by the airtime that the disturbance
//! really took, as counted on the medium, and by a twentieth. Bounds of the access point's queue are those of undisturbed
//! media, at 95 %: 5 ms at 54 Mb/s, 10 ms at 11 Mb/s, plus the unavoidable delay.

use evenair_results::PhaseResult;
use evenair_units::{BitRate, Bytes};
use evenair_wifi::{Phy, Standard};
use evenair_workload::Direction;

use super::judge::{Bound, Judge};
use super::runs::{Run, Runs, Variant, mean};
use super::{Experiment, experiment};

/// Every experiment of this kind.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(b12, "box/b12-power-save.toml", false),
        experiment!(b13, "box/b13-groups.toml", false),
        experiment!(b14, "box/b14-neighbour.toml", false),
    ]
}

const SEEDS: u64 = 5;
/// Number of seeds for files: there are few of them, of many sizes, so that their mean times vary.
const ALONE_SEEDS: u64 = 40;
/// Minimum of the least rate among equal stations, relative to their mean.
const FAIR: f64 = 0.94;
/// Minimum throughput, relative to what the remaining time allows.
const KEPT: f64 = 0.95;
/// Bounds of the 95th percentile of sojourn times in the access point, in milliseconds, at 54 Mb/s and at 11 Mb/s.
const SHORT_MS: (f64, f64) = (5.0, 10.0);
/// Bound of the 95th percentile of delays of small datagrams from the server to their station, in milliseconds, at 54 Mb/s.
const QUICK_MS: f64 = 10.0;

/// Transfers of each direction have equal shares, and so have both directions: they have equal numbers, each on a station of
/// its own.
fn judge_shares(judge: &mut Judge<'_>, runs: &Runs, label: &str, phase: &str) {
    for (group, way) in [("up", Direction::Up), ("down", Direction::Down)] {
        let least = |run: &Run| {
            let rates: Vec<f64> =
                run.flows(phase, way).filter(|flow| flow.app.starts_with(group)).map(|flow| flow.ip_mbps).collect();
            rates.iter().copied().fold(f64::INFINITY, f64::min) / mean(&rates)
        };
        let what = format!("{label}: least {group}load over the mean");
        judge.finding("shares", &what, runs.mean(label, least), Bound::AtLeast(FAIR));
    }
    let up = |run: &Run| {
        let [up, down] = ["up", "down"].map(|way| run.rates_of(phase, way).iter().sum::<f64>());
        up / down
    };
    let what = format!("{label}: uploads over downloads");
    judge.finding("shares", &what, runs.mean(label, up), Bound::Between(0.95, 1.05));
}

/// IP-level throughput over the WLAN hop, in Mb/s.
fn total(run: &Run, phase: &str) -> f64 {
    run.phase(phase).total_ip_mbps
}

fn sojourn_p95(phase: &PhaseResult) -> f64 {
    let ap = phase.nodes.iter().find(|node| node.node == "ap");
    ap.and_then(|ap| ap.sojourn.as_ref()).map_or(f64::NAN, |times| times.p95_ms)
}

fn probe_p95(phase: &PhaseResult) -> f64 {
    let probe = phase.flows.iter().find(|flow| flow.app == "probe");
    probe.and_then(|probe| probe.delay.as_ref()).map_or(f64::NAN, |delay| delay.p95_ms)
}

/// Duration of one exchange with a full-size packet at this rate, in milliseconds.
fn exchange_ms(standard: Standard, mbps: u64) -> f64 {
    let rate = standard.rate(BitRate::from_mbps(mbps)).expect("a rate of the scenario");
    Phy::default_for(standard).access_cost(Bytes(1_500), rate, false).as_nanos() as f64 / 1e6
}

mod b12 {
    use super::*;

    const ASLEEP: &str = "asleep";
    const AWAKE: &str = "awake";
    /// Variants without the transfers, with the box and without it.
    const ALONE: [&str; 2] = ["alone, with the box", "alone, without"];
    const INSERTED: &str = "inserted";
    /// Number of stations besides those of the transfers, which are slower.
    const TELEPHONES: f64 = 4.0;

    pub fn variants() -> Vec<Variant> {
        let awake =
            |variant: Variant| variant.set("station.phone.stays_awake", "60 s").set("station.deep.stays_awake", "60 s");
        let alone = |label: &str| {
            let sole = Variant::new(label).set("bulk.up.stop", "1 s").set("bulk.down.stop", "1 s");
            sole.set("udp.probe.stop", "1 s").seeds(ALONE_SEEDS)
        };
        let [with, without] = ALONE;
        vec![
            Variant::new(ASLEEP).seeds(SEEDS),
            awake(Variant::new(AWAKE)).seeds(SEEDS),
            alone(with),
            alone(without).set("event.1.at", "69.9 s"),
        ]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge_shares(judge, runs, ASLEEP, INSERTED);
        let part = |asleep: &Run, awake: &Run| {
            let more = asleep.measure("run.medium.management_share") - awake.measure("run.medium.management_share");
            total(asleep, INSERTED) / total(awake, INSERTED) / (1.0 - more)
        };
        judge.finding("total", "asleep over awake", runs.mean_of_both(ASLEEP, AWAKE, part), Bound::AtLeast(KEPT));
        let most = SHORT_MS.0 + TELEPHONES * exchange_ms(Standard::Dot11g, 24);
        let sojourn = runs.mean(ASLEEP, |run| sojourn_p95(run.phase(INSERTED)));
        judge.finding("short", "in the access point, ms", sojourn, Bound::AtMost(most));
        let quick = runs.mean(ASLEEP, |run| probe_p95(run.phase(INSERTED)));
        judge.finding("short", "a small datagram to a station that is awake, ms", quick, Bound::AtMost(QUICK_MS));
        let [with, without] = ALONE;
        let slower = runs.mean_of_both(with, without, |with, without| response(with) / response(without));
        judge.finding("alone", "with the box over without", slower, Bound::AtMost(1.05));
    }

    /// Mean transfer time of a file after the box was inserted.
    fn response(run: &Run) -> f64 {
        let records = run.result.transfers.records.iter().filter(|record| record.at_s >= 10.0);
        mean(&records.filter_map(|record| record.took_s).collect::<Vec<_>>())
    }
}

mod b13 {
    use super::*;

    const KEPT_BACK: &str = "a station sleeps";
    const AT_ONCE: &str = "all are awake";
    const WITHOUT: &str = "without packets to groups";
    const INSERTED: &str = "inserted";
    /// Group-addressed packets between two DTIM beacons.
    const IN_A_BURST: f64 = 20.0 * 0.2048;

    pub fn variants() -> Vec<Variant> {
        vec![
            Variant::new(KEPT_BACK).seeds(SEEDS),
            Variant::new(AT_ONCE).set("station.phone.stays_awake", "60 s").seeds(SEEDS),
            Variant::new(WITHOUT).set("udp.group.start", "69 s").seeds(SEEDS),
        ]
    }

    /// Airtime of one group-addressed packet at the lowest basic rate, 1 Mb/s, in milliseconds.
    fn one_ms(run: &Run) -> f64 {
        let share = run.measure("run.medium.group_share");
        share * run.result.duration_s * 1e3 / (20.0 * run.result.duration_s)
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for label in [KEPT_BACK, AT_ONCE] {
            judge_shares(judge, runs, label, INSERTED);
            let part = |with: &Run, without: &Run| {
                let groups = |run: &Run| run.rates_of(INSERTED, "group").iter().sum::<f64>();
                let [with_groups, alone] = [with, without].map(|run| total(run, INSERTED) - groups(run));
                with_groups / alone / (1.0 - with.measure("run.medium.group_share"))
            };
            let what = format!("{label}: over none");
            judge.finding("total", &what, runs.mean_of_both(label, WITHOUT, part), Bound::AtLeast(KEPT));
        }
        // Packets that are sent in one burst delay each other at least by its length.
        for (label, at_once) in [(KEPT_BACK, IN_A_BURST), (AT_ONCE, 1.0)] {
            let beyond = runs.mean(label, |run| sojourn_p95(run.phase(INSERTED)) - at_once * one_ms(run));
            let what = format!("{label}: in the access point, less {at_once:.1} packets to groups, ms");
            judge.finding("short", &what, beyond, Bound::AtMost(SHORT_MS.1));
        }
    }
}

mod b14 {
    use super::*;

    const FILE: &str = "as the file";
    /// Duration of the other network's traffic, in seconds.
    const LASTS: f64 = 35.0;
    /// Interval in which it ends.
    const END: usize = 75;

    pub fn variants() -> Vec<Variant> {
        vec![Variant::new(FILE).seeds(SEEDS)]
    }

    /// Measured proportion of the time that the other network used.
    fn taken(run: &Run) -> f64 {
        run.measure("run.medium.foreign_share") * run.result.duration_s / LASTS
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge_shares(judge, runs, FILE, "beside");
        judge.finding("taken", "part of the time", runs.mean(FILE, taken), Bound::AtLeast(0.28));
        let part = |run: &Run| total(run, "beside") / total(run, "alone") / (1.0 - taken(run));
        judge.finding("total", "beside over alone", runs.mean(FILE, part), Bound::AtLeast(KEPT));
        let again = |run: &Run| total(run, "again") / total(run, "alone");
        judge.finding("back", "afterwards over before", runs.mean(FILE, again), Bound::AtLeast(0.98));
        let second = |run: &Run| run.totals[END + 1] / total(run, "alone");
        judge.finding("back", "the second second afterwards", runs.mean(FILE, second), Bound::AtLeast(0.90));
        let sojourn = |run: &Run| sojourn_p95(run.phase("beside")) * (1.0 - taken(run));
        judge.finding("short", "in the access point, ms", runs.mean(FILE, sojourn), Bound::AtMost(SHORT_MS.0));
        let quick = runs.mean(FILE, |run| probe_p95(run.phase("beside")));
        judge.finding("short", "a small datagram, ms", quick, Bound::AtMost(QUICK_MS));
    }
}
