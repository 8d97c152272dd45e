//! R5 to R8, R10 and R12: the upload limiter. Source: see [`super::uplink`]. R13 is Evenair's own, for a question that the
//! source leaves open.

use evenair_workload::Direction;

use super::judge::{Bound, Judge, Ours};
use super::runs::{Run, Runs, Variant, mean, sigma_over_mean};
use super::uplink::{CRITICAL, PHASE, STARVED, pairs, reno};
use super::{Experiment, experiment};

/// Every experiment of the source with the limit.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(r05, "uplink-rate-control/r05-static-limit.toml", true),
        experiment!(r06, "uplink-rate-control/r06-unequal-numbers.toml", false),
        experiment!(r07, "uplink-rate-control/r07-changing-numbers.toml", true),
        experiment!(r08, "uplink-rate-control/r08-far-host.toml", false),
        experiment!(r10, "uplink-rate-control/r10-rate.toml", false),
        experiment!(r12, "uplink-rate-control/r12-bucket.toml", false),
        experiment!(r13, "uplink-rate-control/r13-datagrams.toml", false),
    ]
}

fn up(run: &Run) -> f64 {
    run.phase(PHASE).directions.up_ip_mbps
}

fn total(run: &Run) -> f64 {
    run.phase(PHASE).total_ip_mbps
}

/// What limits nothing.
const NO_LIMIT: &str = "1 Gb/s";

mod r05 {
    use super::*;

    const NUMBERS: [u32; 6] = [1, 2, 3, 5, 10, 15];

    fn label(n: u32) -> String {
        format!("N={n}")
    }

    pub fn variants() -> Vec<Variant> {
        NUMBERS.map(|n| pairs(label(n), n).seeds(10)).into()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for n in NUMBERS {
            let share = runs.mean(&label(n), |run| run.down_share(PHASE));
            // A quarter more than an equal part, or less.
            judge.finding("comparable", &format!("downloads' part at N = {n}:"), share, Bound::Between(0.375, 0.625));
            if (2..=5).contains(&n) {
                let over = runs.mean(&label(n), |run| up(run) / (total(run) - up(run)));
                judge.finding("lower", &format!("up : down at N = {n}:"), over, Bound::AtMost(1.0));
            }
            for (way, word) in [(Direction::Up, "up"), (Direction::Down, "down")] {
                let unfairness = runs.mean(&label(n), |run| sigma_over_mean(&run.rates(PHASE, way)));
                // As small as r02 has it.
                judge.finding("alike", &format!("sigma/mean {word} at N = {n}:"), unfairness, Bound::AtMost(0.15));
            }
        }
        judge.figure("total", runs.mean(&label(10), total));
    }
}

mod r06 {
    use super::*;

    fn cases() -> Vec<(u32, u32)> {
        let of = |fixed: u32| [1, 5, 10, 15].into_iter().flat_map(move |n| [(fixed, n), (n, fixed)]);
        let mut cases: Vec<_> = [3, 10].into_iter().flat_map(of).collect();
        cases.sort_unstable();
        cases.dedup();
        cases
    }

    fn label(up: u32, down: u32) -> String {
        format!("{up} up, {down} down")
    }

    pub fn variants() -> Vec<Variant> {
        let of = |case: (u32, u32)| {
            let variant =
                Variant::new(label(case.0, case.1)).set("station.u.count", case.0).set("station.d.count", case.1);
            reno(variant).seeds(5)
        };
        cases().into_iter().map(of).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for (up, down) in cases() {
            let label = label(up, down);
            for (direction, word) in [(Direction::Up, "uploads"), (Direction::Down, "downloads")] {
                let part = |run: &Run| 2.0 * run.rates(PHASE, direction).iter().sum::<f64>() / total(run);
                let what = format!("{label}: {word} over an equal part:");
                judge.finding("none-starves", &what, runs.mean(&label, part), Bound::AtLeast(CRITICAL));
                let slowest = |run: &Run| {
                    let rates = run.rates(PHASE, direction);
                    rates.iter().copied().fold(f64::INFINITY, f64::min) / mean(&rates)
                };
                let what = format!("{label}: the slowest of the {word} over their mean:");
                judge.finding("none-starves", &what, runs.mean(&label, slowest), Bound::AtLeast(STARVED));
            }
        }
    }
}

mod r07 {
    use super::*;

    const FREE: &str = "without control";
    const STATIC: &str = "static";
    const PUBLISHED: &str = "published, losses reported";
    const PUBLISHED_SEEN: &str = "published, inferred";
    const REPORTED: &str = "adaptive, losses reported";
    const SEEN: &str = "adaptive, inferred";
    /// When intervals begin with flows of both directions, of uploads alone, and of downloads alone.
    const BOTH: [u32; 8] = [0, 50, 150, 200, 250, 300, 350, 500];
    const UP: [u32; 1] = [100];
    const DOWN: [u32; 2] = [400, 450];
    /// A direction has its part within this of an equal one.
    const SPLIT: Bound = Bound::Between(0.45, 0.55);

    pub fn variants() -> Vec<Variant> {
        let rule = |label: &str, rule: &str| reno(Variant::new(label)).set("manager.uplink_limit.rule", rule).seeds(10);
        let reported = |variant: Variant| variant.set("telemetry.ap_losses", true);
        let limit = |variant: Variant, rate: &str| variant.set("manager.uplink_limit.rate", rate);
        vec![
            limit(rule(FREE, "static"), NO_LIMIT),
            limit(rule(STATIC, "static"), "2.3 Mb/s"),
            reported(rule(PUBLISHED, "published")),
            rule(PUBLISHED_SEEN, "published"),
            reported(rule(REPORTED, "adaptive")),
            rule(SEEN, "adaptive"),
        ]
    }

    fn share(run: &Run, from: u32) -> f64 {
        run.down_share(&format!("from{from}"))
    }

    fn total(run: &Run, from: u32) -> f64 {
        run.phase(&format!("from{from}")).total_ip_mbps
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for from in BOTH {
            let part = runs.mean(FREE, |run| 2.0 * share(run, from));
            let what = format!("from {from} s, downloads over an equal part:");
            judge.finding("uncontrolled", &what, part, Bound::AtMost(STARVED));
        }
        let over_free =
            |label: &str, from: u32| runs.mean_of_both(label, FREE, |run, free| total(run, from) / total(free, from));
        let [up_alone] = UP;
        let of_free = |what: &str| format!("{what}, uploads alone over what they have without control:");
        judge.finding("static-wastes", &of_free("static"), over_free(STATIC, up_alone), Bound::Between(0.4, 0.6));
        for label in [PUBLISHED, PUBLISHED_SEEN] {
            // Without control their ACKs are lost, which costs no medium time: the total of all cases without loss is
            // what is to be had.
            let lossless = |run: &Run| total(run, up_alone) / total(run, DOWN[0]);
            let what = format!("{label}: uploads alone over downloads alone:");
            judge.finding("adaptive-uses", &what, runs.mean(label, lossless), Bound::AtLeast(0.95));
            let back = runs.mean(label, |run| 2.0 * share(run, 150));
            let what = format!("{label}: downloads that come back over an equal part:");
            judge.finding("adaptive-recovers", &what, back, Bound::AtLeast(CRITICAL));
        }
        ours(runs, judge);
    }

    fn ours(runs: &Runs, judge: &mut Judge<'_>) {
        for label in [REPORTED, SEEN] {
            for from in BOTH {
                let part = runs.mean(label, |run| share(run, from));
                judge.finding("split", &format!("{label}, from {from} s, downloads' part:"), part, SPLIT);
            }
            for from in BOTH.into_iter().chain(UP).chain(DOWN) {
                let waste = runs.mean(label, |run| 1.0 - total(run, from) / total(run, DOWN[0]));
                judge.finding("waste", &format!("{label}, from {from} s, wasted:"), waste, Bound::AtMost(0.05));
            }
        }
    }
}

mod r08 {
    use super::*;

    const NUMBERS: [u32; 4] = [5, 10, 15, 30];
    /// One way, half of the round trip.
    const DELAYS: [&str; 3] = ["1 ms", "100 ms", "200 ms"];

    fn label(n: u32, delay: &str) -> String {
        format!("N={n}, {delay}")
    }

    /// Windows that prevent losses in the access point, without the upload limiter.
    fn lossless(n: u32, delay: &str) -> String {
        format!("lossless, {}", label(n, delay))
    }

    pub fn variants() -> Vec<Variant> {
        let far = |label: String, n: u32, delay: &str| pairs(label, n).set("lan.delay", delay).seeds(5);
        let limited = |n: u32| DELAYS.map(|delay| far(label(n, delay), n, delay));
        let windows = |n: u32| {
            DELAYS.map(|delay| {
                let variant = far(lossless(n, delay), n, delay).set("manager.uplink_limit.rate", NO_LIMIT);
                variant.set("manager.receiver.ap_buffer", "100 packets")
            })
        };
        NUMBERS.into_iter().flat_map(|n| limited(n).into_iter().chain(windows(n))).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let [near, far @ ..] = DELAYS;
        for n in NUMBERS {
            for delay in far {
                let label = label(n, delay);
                let over = runs.mean_of_both(&label, &self::label(n, near), |far, near| total(far) / total(near));
                judge.finding("unaffected", &format!("{label}: total over that near by:"), over, Bound::AtLeast(0.9));
                let share = runs.mean(&label, |run| run.down_share(PHASE));
                judge.finding("unaffected", &format!("{label}: downloads' part:"), share, Bound::Between(0.375, 0.625));
                let over =
                    runs.mean_of_both(&lossless(n, delay), &lossless(n, near), |far, near| total(far) / total(near));
                let keeps = delay == far[0] && n < 30;
                let bound = if keeps { Bound::AtLeast(0.9) } else { Bound::AtMost(0.9) };
                let what = format!("{}: total over that near by:", lossless(n, delay));
                judge.finding("lossless-loses", &what, over, bound);
            }
            let lost = runs.mean(&lossless(n, near), |run| run.measure("phase.measured.ap.loss_rate"));
            judge.finding("lossless", &format!("N = {n}, near by: part lost:"), lost, Bound::AtMost(0.001));
        }
    }
}

mod r10 {
    use super::*;

    /// The source has 200 packets where it has these figures, and 500 in all the rest.
    const LARGER: &str = "a bucket of 500 packets, as the source's section 4 has it";
    const RATES: [&str; 5] = ["1.3 Mb/s", "1.8 Mb/s", "2.3 Mb/s", "2.8 Mb/s", "3.3 Mb/s"];

    fn label(n: u32, rate: &str) -> String {
        format!("N={n}, {rate}")
    }

    pub fn variants() -> Vec<Variant> {
        let of = |n: u32| RATES.map(|rate| pairs(label(n, rate), n).set("manager.uplink_limit.rate", rate).seeds(5));
        let larger = pairs(LARGER.into(), 3).set("manager.uplink_limit.rate", "2.3 Mb/s");
        let larger = larger.set("manager.uplink_limit.bucket", "500 packets").seeds(5);
        [3, 15].into_iter().flat_map(of).chain([larger]).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for n in [3, 15] {
            for rate in RATES {
                let over =
                    runs.mean_of_both(&label(n, rate), &label(n, "2.3 Mb/s"), |run, half| total(run) / total(half));
                judge.finding(
                    "constant",
                    &format!("N = {n}, {rate}: total over that at 2.3 Mb/s:"),
                    over,
                    Bound::Between(0.9, 1.1),
                );
            }
        }
        judge.figure("up-15", runs.mean(&label(15, "2.3 Mb/s"), up));
        judge.figure("up-3", runs.mean(&label(3, "2.3 Mb/s"), up));
        judge.figure_if("up-3", LARGER, runs.mean(LARGER, up));
    }
}

mod r12 {
    use super::*;

    const BUCKETS: [u32; 6] = [10, 50, 100, 200, 500, 1000];
    const CASES: [(u32, u32); 4] = [(2, 3), (2, 15), (3, 3), (3, 15)];

    fn label(rate: u32, n: u32, bucket: u32) -> String {
        format!("{rate} Mb/s, N={n}, {bucket} packets")
    }

    pub fn variants() -> Vec<Variant> {
        let of = |(rate, n): (u32, u32)| {
            BUCKETS.map(|bucket| {
                let variant = pairs(label(rate, n, bucket), n).seeds(5);
                let variant = variant.set("manager.uplink_limit.rate", format!("{rate} Mb/s"));
                variant.set("manager.uplink_limit.bucket", format!("{bucket} packets"))
            })
        };
        CASES.into_iter().flat_map(of).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for (limit, n) in CASES {
            let rate = f64::from(limit);
            let label = |bucket: u32| label(limit, n, bucket);
            let reached = |bucket: u32| runs.mean(&label(bucket), |run| up(run) / rate);
            let [first, .., last] = BUCKETS;
            let what = |words: &str| format!("{rate} Mb/s, N = {n}: {words}:");
            let gain = runs.mean_of_both(&label(last), &label(first), |a, b| (up(a) - up(b)) / rate);
            judge.finding(
                "approaches",
                &what("more of the limit with 1000 packets than with 10"),
                gain,
                Bound::AtLeast(0.02),
            );
            judge.finding(
                "approaches",
                &what("of the limit with 1000 packets"),
                reached(last),
                Bound::Between(0.9, 1.1),
            );
            // For each packet of depth, to 100 packets and from there on.
            let per_packet =
                |small: u32, large: u32| (reached(large).mean - reached(small).mean) / f64::from(large - small);
            let steeper = Ours::exactly(per_packet(10, 100) - per_packet(100, 1000));
            judge.finding(
                "diminishing",
                &what("gain for a packet of depth, up to 100 less from 100 on"),
                steeper,
                Bound::AtLeast(0.0),
            );
        }
    }
}

mod r13 {
    use super::*;

    const ONE_BUCKET: &str = "static, flood";
    const FLOOD: &str = "adaptive, flood";
    const LIGHT: &str = "adaptive, 1 Mb/s";

    pub fn variants() -> Vec<Variant> {
        let one_bucket = Variant::new(ONE_BUCKET).set("manager.uplink_limit.rule", "static");
        vec![
            reno(one_bucket.set("manager.uplink_limit.rate", "2.3 Mb/s")).seeds(10),
            reno(Variant::new(FLOOD)).seeds(10),
            reno(Variant::new(LIGHT)).set("udp.flood.rate", "1 Mb/s").seeds(10),
        ]
    }

    fn sum(run: &Run, group: &str) -> f64 {
        run.rates_of(PHASE, group).iter().sum()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let tcp = |run: &Run| sum(run, "upload") / sum(run, "download");
        let what = |label: &str| format!("{label}: TCP's uploads over downloads:");
        judge.finding("one-bucket", &what(ONE_BUCKET), runs.mean(ONE_BUCKET, tcp), Bound::AtMost(STARVED));
        judge.finding("own-bucket", &what(FLOOD), runs.mean(FLOOD, tcp), Bound::AtLeast(CRITICAL));
        judge.finding("light", &what(LIGHT), runs.mean(LIGHT, tcp), Bound::AtLeast(CRITICAL));
        let arrived = |run: &Run| {
            run.phase(PHASE)
                .flows
                .iter()
                .find(|flow| flow.app.starts_with("flood"))
                .map_or(f64::NAN, |flow| flow.goodput_mbps)
        };
        judge.finding("light", "datagrams that arrive, Mb/s:", runs.mean(LIGHT, arrived), Bound::AtLeast(0.99));
        let down = runs.mean(LIGHT, |run| sum(run, "download") / total(run));
        judge.finding("light", "downloads' part of the total:", down, Bound::Between(0.375, 0.625));
    }
}
