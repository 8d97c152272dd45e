//! R1 to R4, R9 and R18: Blefari-Melazzi, Detti, Habib, Ordine, Salsano, "Detailed Analysis of TCP Fairness Issues in IEEE 802.11
//! Networks and their Solution using a Rate Control Approach", University of Roma Tor Vergata.
//!
//! Experiments with the upload limiter are in [`super::uplink_limit`], except R9's controlled half; the appendices are in
//! [`super::uplink_appendix`].

use evenair_workload::Direction;

use super::judge::{Bound, BoundCheck, Judge, Ours};
use super::runs::{Run, Runs, Variant, first_where, mean, min_over_max, sigma_over_mean};
use super::{Experiment, experiment};

pub(super) const PHASE: &str = "measured";

/// Every experiment of the source without the limiter.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(r01, "uplink-rate-control/r01-uploads-against-downloads.toml", true),
        experiment!(r02, "uplink-rate-control/r02-uploads-among-themselves.toml", false),
        experiment!(r03, "uplink-rate-control/r03-losses-and-thresholds.toml", false),
        experiment!(r04, "uplink-rate-control/r04-no-loss.toml", false),
        experiment!(r09, "uplink-rate-control/r09-short-transfers.toml", false),
    ]
}

/// The source simulates Reno; the files do not set a version, so that the testbed can run them with Linux's TCP.
pub(super) fn reno(variant: Variant) -> Variant {
    variant.set("tcp.stack", "textbook").set("tcp.fast_recovery", "reno")
}

/// N uploads and N downloads.
pub(super) fn pairs(label: String, n: u32) -> Variant {
    reno(Variant::new(label).set("station.u.count", n).set("station.d.count", n))
}

/// Limit of starvation, relative to an equal share; not defined by the source ...
pub(super) const STARVED: f64 = 1.0 / 8.0;
/// ... and limit of critical unfairness.
pub(super) const CRITICAL: f64 = 1.0 / 3.0;

/// The source does not state the initial window; here ten segments.
const SLOW_START: &str = "an initial window of one segment, as ns-2 has it";

/// Comparable: downloads' proportion of the total is a half, plus or minus a quarter of that.
pub(super) const COMPARABLE: Bound = Bound::Between(0.375, 0.625);

/// Downloads together, relative to N equal flows of N pairs.
fn downloads_over_equal(run: &Run) -> f64 {
    2.0 * run.down_share(PHASE)
}

/// Proportion of packets lost at the access point's buffer.
fn loss_rate(run: &Run) -> f64 {
    run.measure("phase.measured.ap.loss_rate")
}

mod r01 {
    use super::*;

    fn wired(n: u32) -> String {
        format!("N={n}, wire of 2 Mb/s")
    }

    pub fn variants() -> Vec<Variant> {
        let wired = |n: u32| pairs(wired(n), n).set("lan.rate", "2 Mb/s").seeds(5);
        let all = [1, 2, 4, 10, 20].map(|n| pairs(format!("N={n}"), n).seeds(5));
        all.into_iter().chain([4, 10].map(wired)).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let total = |run: &Run| run.phase(PHASE).total_ip_mbps;
        let ratio = |run: &Run| {
            let directions = run.phase(PHASE).directions;
            directions.down_ip_mbps / directions.up_ip_mbps
        };
        judge.finding("fair", "down : up", runs.mean("N=1", ratio), Bound::Between(0.9, 1.1));
        let share = runs.mean("N=4", |run| run.down_share(PHASE));
        judge.finding("starved", "downloads' part of the total:", share, Bound::AtMost(0.02));
        judge.figure("lossless", runs.mean("N=1", total));
        judge.figure("rises", runs.mean("N=20", total));
        for n in [4, 10] {
            let share = runs.mean(&wired(n), |run| run.down_share(PHASE));
            judge.finding("wired", &format!("downloads' part at N = {n}:"), share, COMPARABLE);
        }
    }
}

mod r02 {
    use super::*;

    const NUMBERS: [u32; 6] = [1, 3, 5, 10, 15, 20];

    fn slow(n: u32) -> String {
        format!("N={n}, {SLOW_START}")
    }

    pub fn variants() -> Vec<Variant> {
        let slow = |n: u32| pairs(slow(n), n).set("tcp.initial_window", 1).seeds(10);
        let all = NUMBERS.map(|n| pairs(format!("N={n}"), n).seeds(10));
        all.into_iter().chain([5, 10, 20].map(slow)).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let unfairness = |run: &Run| sigma_over_mean(&run.rates(PHASE, Direction::Up));
        let at = |n: u32| runs.mean(&format!("N={n}"), unfairness);
        for n in [1, 3, 5] {
            judge.finding("small", &format!("sigma/mean at N = {n}:"), at(n), Bound::AtMost(0.15));
        }
        judge.finding("steep", "sigma/mean at N = 10:", at(10), Bound::AtLeast(0.25));
        judge.finding("steep", "sigma/mean at N = 15:", at(15), Bound::AtLeast(0.5));
        judge.finding("steep", "sigma/mean at N = 20:", at(20), Bound::AtLeast(at(15).mean));
        let silent = |run: &Run| run.rates(PHASE, Direction::Up).iter().filter(|&&rate| rate < 0.001).count() as f64;
        for (n, bound) in [(10, Bound::AtLeast(2.0)), (20, Bound::AtLeast(2.0)), (5, Bound::AtMost(0.0))] {
            let what = format!("uploads without any at N = {n}:");
            judge.finding("never", &what, runs.mean(&format!("N={n}"), silent), bound);
            judge.finding_if("never", SLOW_START, BoundCheck::new(&what, runs.mean(&slow(n), silent), bound));
        }
    }
}

mod r03 {
    use super::*;

    /// Buffers in packets, and the numbers of pairs tried with each.
    const SWEEP: [(u32, &[u32]); 5] = [
        (50, &[1, 2, 3, 4, 6]),
        (100, &[1, 2, 3, 4, 6, 10]),
        (300, &[3, 4, 5, 6, 7, 8, 10, 12]),
        (500, &[5, 6, 7, 8, 9, 10, 11, 12, 14]),
        (1000, &[11, 12, 13, 14, 16, 18, 19, 20, 21, 22, 24]),
    ];
    /// Number of pairs that starve with any buffer.
    const MANY: u32 = 40;
    /// Loss rate at which an increase has begun, as read off a plot; the same for all buffers ...
    const ONSET: f64 = 0.005;
    /// ... or in the strict sense.
    const STRICT: &str = "any packet lost";

    fn label(buffer: u32, n: u32) -> String {
        format!("N={n}, buffer {buffer}")
    }

    pub fn variants() -> Vec<Variant> {
        // Buffer and pairs whose loss rate is published.
        let is_figure = |buffer: u32, n: u32| buffer == 100 && [3, 10].contains(&n);
        let of = |buffer: u32, n: u32| {
            let seeds = if is_figure(buffer, n) { 20 } else { 3 };
            pairs(label(buffer, n), n).set("radio.ap_buffer", format!("{buffer} packets")).seeds(seeds)
        };
        let sweep = SWEEP.iter().flat_map(|&(buffer, numbers)| numbers.iter().map(move |&n| of(buffer, n)));
        sweep.chain([of(100, 20)]).chain(SWEEP.map(|(buffer, _)| of(buffer, MANY))).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure("loss-3", runs.mean(&label(100, 3), loss_rate));
        judge.figure("loss-10", runs.mean(&label(100, 10), loss_rate));
        let first = |buffer: u32, value: fn(&Run) -> f64, is_so: &dyn Fn(f64) -> bool| {
            let (_, numbers) = SWEEP.iter().find(|(known, _)| *known == buffer).expect("it is in the sweep");
            first_where(numbers, |n| is_so(runs.mean(&label(buffer, n), value).mean))
        };
        for (id, buffer) in [("down-threshold-50", 50), ("down-threshold-300", 300)] {
            judge.figure(id, first(buffer, downloads_over_equal, &|share| share < STARVED));
        }
        for (id, buffer) in [("threshold-300", 300), ("threshold-500", 500), ("threshold-1000", 1000)] {
            judge.figure(id, first(buffer, loss_rate, &|lost| lost >= ONSET));
            judge.figure_read(id, STRICT, first(buffer, loss_rate, &|lost| lost > 0.0));
        }
        for (buffer, _) in SWEEP {
            let share = runs.mean(&label(buffer, MANY), downloads_over_equal);
            let what = format!("{buffer} packets, downloads over an equal part:");
            judge.finding("any-buffer", &what, share, Bound::AtMost(STARVED));
        }
        let lost = |n: u32| runs.mean(&label(100, n), loss_rate).mean;
        let slower = Ours::exactly((lost(20) - lost(10)) / 10.0 / ((lost(10) - lost(3)) / 7.0));
        judge.finding("asymptote", "for a pair, from 10 to 20 over from 3 to 10:", slower, Bound::AtMost(0.5));
        let losses_where = |is_so: &dyn Fn(&Run) -> bool| -> Vec<f64> {
            let labels = SWEEP.iter().flat_map(|&(buffer, numbers)| numbers.iter().map(move |&n| label(buffer, n)));
            labels.flat_map(|label| runs.of(&label).iter().filter(|run| is_so(run)).map(loss_rate)).collect()
        };
        let fed = losses_where(&|run| downloads_over_equal(run) >= STARVED);
        let what = "largest loss rate of a run whose downloads do not starve:";
        judge.finding("loss-starves-down", what, Ours::exactly(largest(&fed)), Bound::Between(0.18, 0.22));
        let starved = losses_where(&|run| downloads_over_equal(run) < STARVED);
        let what = "smallest loss rate of a run whose downloads starve:";
        judge.finding("loss-starves-down", what, Ours::exactly(-largest(&negated(&starved))), Bound::AtLeast(0.18));
        let waiting = losses_where(&|run| {
            let rates = run.rates(PHASE, Direction::Up);
            rates.iter().any(|rate| *rate < STARVED * mean(&rates))
        });
        let what = "smallest loss rate of a run in which an upload starves:";
        judge.finding("loss-starves-up", what, Ours::exactly(-largest(&negated(&waiting))), Bound::Between(0.45, 1.0));
    }

    /// The largest value; NaN if one is NaN, or without values.
    fn largest(values: &[f64]) -> f64 {
        let larger = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
        values.iter().copied().reduce(larger).unwrap_or(f64::NAN)
    }

    fn negated(values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| -value).collect()
    }
}

mod r04 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![
            pairs("N=8".into(), 8).seeds(5),
            pairs("N=15".into(), 15).set("radio.ap_buffer", "1290 packets").seeds(5),
            pairs("N=15, lossy".into(), 15).set("radio.ap_buffer", "100 packets").seeds(30),
            pairs(SLOW_START.into(), 15).set("radio.ap_buffer", "100 packets").set("tcp.initial_window", 1).seeds(30),
        ]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let alike = |run: &Run| run.phase(PHASE).flows.iter().map(|flow| flow.ip_mbps).collect::<Vec<_>>();
        let ratio = runs.mean("N=8", |run| min_over_max(&alike(run)));
        judge.finding("equal", "slowest flow over fastest:", ratio, Bound::AtLeast(0.9));
        let active = |run: &Run| run.measure("phase.measured.active_stations");
        judge.figure("active", runs.mean("N=15", active));
        let both =
            BoundCheck::new("these stations and the access point:", Ours::exactly(0.76 + 1.0), Bound::AtLeast(2.0));
        judge.elsewhere(
            "active",
            "the inter-layer study, where two to three nodes have a frame at any number of stations",
            both,
        );
        judge.figure("active-lossy", runs.mean("N=15, lossy", active));
        judge.figure_if("active-lossy", SLOW_START, runs.mean(SLOW_START, active));
    }
}

mod r09 {
    use super::*;

    const SEEDS: u64 = 30;
    const PUBLISHED: &str = "published rule";
    const ADAPTIVE: &str = "adaptive, inferred";
    const ALONE: &str = "alone, published rule";
    const GROUPS: [(&str, &str); 4] = [
        ("greedy_up", "greedy uploads"),
        ("greedy_down", "greedy downloads"),
        ("short_up", "short uploads"),
        ("short_down", "short downloads"),
    ];

    pub fn variants() -> Vec<Variant> {
        let alone = |variant: Variant| {
            // The end of the last transfer is not published.
            let variant = variant.set("duration", "300 s").seeds(SEEDS);
            variant.set("bulk.greedy_up.start", "299 s").set("bulk.greedy_down.start", "299 s")
        };
        let limited = |label: &str, rule: &str| {
            reno(Variant::new(label))
                .set("manager.uplink_limit.rule", rule)
                .set("manager.uplink_limit.rate", "2.3 Mb/s")
        };
        vec![
            reno(Variant::new("file")).seeds(SEEDS),
            alone(reno(Variant::new("alone"))),
            alone(limited(ALONE, "published").set("telemetry.ap_losses", true)),
            limited(PUBLISHED, "published").set("telemetry.ap_losses", true).seeds(SEEDS),
            limited(ADAPTIVE, "adaptive").seeds(SEEDS),
        ]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let sum = |run: &Run, group: &str| run.rates_of(PHASE, group).iter().sum::<f64>();
        let ratio = |run: &Run| sum(run, "short_down") / sum(run, "short_up");
        judge.finding("fair", "short transfers, down : up", runs.mean("alone", ratio), Bound::AtLeast(0.33));
        short_alone(runs, judge);
        let of_total =
            |group: &'static str| runs.mean("file", move |run| sum(run, group) / run.phase(PHASE).total_ip_mbps);
        judge.finding("starved", "greedy uploads, part of the total:", of_total("greedy_up"), Bound::AtLeast(0.5));
        for (group, words) in [("greedy_down", "greedy downloads"), ("short_down", "short downloads")] {
            judge.finding("starved", &format!("{words}, part of the total:"), of_total(group), Bound::AtMost(0.1));
            let each = runs.mean("file", |run| of_equal_share(run, group));
            let what = format!("{words}, a connection's rate over an equal share:");
            judge.finding("starved", &what, each, Bound::AtMost(STARVED));
        }
        // The source's index of unfairness is over connections, and the groups have 3 and some 75 active ones: so mean shares per
        // connection are compared, which must be at least a third of an equal share, as for critical unfairness. A dropper
        // without per-flow state cannot give three connections as much as seventy together.
        for (id, label) in [("restored", PUBLISHED), ("ours", ADAPTIVE)] {
            for (group, words) in GROUPS {
                let part = runs.mean(label, |run| of_equal_share(run, group));
                let what = format!("{words}, a connection's rate over an equal share:");
                judge.finding(id, &what, part, Bound::AtLeast(CRITICAL));
            }
        }
        let of = |run: &Run, kind: &str| sum(run, &format!("{kind}_up")) + sum(run, &format!("{kind}_down"));
        let short = runs.mean(PUBLISHED, |run| of(run, "short") / of(run, "greedy"));
        judge.finding("restored", "short transfers together over greedy ones:", short, Bound::AtLeast(1.0));
        let same = runs.mean(PUBLISHED, |run| sum(run, "greedy_down") / sum(run, "greedy_up"));
        judge.finding("same", "greedy downloads over greedy uploads:", same, Bound::Between(0.9, 1.1));
        let more = runs.mean_of_both(PUBLISHED, "file", |with, without| of(with, "short") / of(without, "short"));
        judge.finding("short-more", "short transfers over those without control:", more, Bound::AtLeast(1.0));
    }

    /// Short transfers without greedy ones beside them.
    fn short_alone(runs: &Runs, judge: &mut Judge<'_>) {
        let total = |run: &Run| run.phase(PHASE).total_ip_mbps;
        let (up, down) =
            (|run: &Run| total(run) * (1.0 - run.down_share(PHASE)), |run: &Run| total(run) * run.down_share(PHASE));
        judge.figure("capacity", runs.mean("alone", total));
        for way in ["up", "down"] {
            let of = |what: &str| {
                let name = format!("phase.transfers.transfer.{way}.all.{what}");
                runs.mean("alone", move |run| run.measure(&name))
            };
            judge.finding("complete", &format!("{way}, complete:"), of("count"), Bound::AtLeast(120.0));
            judge.finding("complete", &format!("{way}, not complete:"), of("unfinished"), Bound::AtMost(0.0));
        }
        let ahead = |label: &str| runs.mean(label, |run| up(run) / down(run));
        judge.finding("ahead", "up : down", ahead("alone"), Bound::Between(1.0, 1.25));
        // The stated limit is on the traffic that passes the limiter.
        judge.figure("limited-up", runs.mean(ALONE, |run| super::super::uplink_limit::behind(run, PHASE)));
        let effect = runs.mean_of_both(ALONE, "alone", |with, without| total(with) / total(without));
        judge.finding("limited-effect", "total over that without:", effect, Bound::Between(0.9, 1.1));
        let apart = |run: &Run| (up(run) / down(run)).ln().abs();
        let fairer = Ours::exactly(runs.mean(ALONE, apart).mean / runs.mean("alone", apart).mean);
        judge.finding("limited-effect", "distance of the directions over that without:", fairer, Bound::AtMost(1.0));
    }

    /// Mean rate of a connection of the group, relative to an equal share of all active ones.
    fn of_equal_share(run: &Run, group: &str) -> f64 {
        let under_way = |group: &str| {
            let rates: Vec<f64> = run.rates_of(PHASE, group).into_iter().filter(|rate| *rate > 0.0).collect();
            (rates.iter().sum::<f64>(), rates.len() as f64)
        };
        let (sum, count) = under_way(group);
        let (total, all) =
            GROUPS.iter().map(|(group, _)| under_way(group)).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        if count == 0.0 { 0.0 } else { sum / count / (total / all) }
    }
}
