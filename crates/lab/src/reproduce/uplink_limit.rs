//! R5 to R8 and R15 to R17: the upload limiter. Source: see [`super::uplink`]. R19 is Evenair's own, on a question
//! that the source leaves open.

use evenair_workload::Direction;

use super::judge::{Bound, BoundCheck, Judge, Ours};
use super::runs::{Run, Runs, Variant, mean, min_over_max, sigma_over_mean};
use super::uplink::{COMPARABLE, CRITICAL, PHASE, STARVED, pairs, reno};
use super::{Experiment, experiment};

/// Every experiment of the source with the limit.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(r05, "uplink-rate-control/r05-static-limit.toml", false),
        experiment!(r06, "uplink-rate-control/r06-unequal-numbers.toml", false),
        experiment!(r07, "uplink-rate-control/r07-changing-numbers.toml", false),
        experiment!(r08, "uplink-rate-control/r08-far-host.toml", false),
        experiment!(r19, "uplink-rate-control/r19-datagrams.toml", false),
    ]
}

pub(super) fn up(run: &Run) -> f64 {
    run.phase(PHASE).directions.up_ip_mbps
}

pub(super) fn total(run: &Run) -> f64 {
    run.phase(PHASE).total_ip_mbps
}

/// The source does not state whether packets that the limiter drops count as throughput.
pub(super) const BEHIND: &str = "uploads counted behind the limit";

/// Throughput of uploads behind the limiter, with headers and ACKs.
pub(super) fn behind(run: &Run, phase: &str) -> f64 {
    run.flows(phase, Direction::Up).map(|flow| flow.goodput_mbps * 1540.0 / 1460.0).sum()
}

/// A limit that has no effect.
pub(super) const NO_LIMIT: &str = "1 Gb/s";

mod r05 {
    use super::*;

    const NUMBERS: [u32; 6] = [1, 2, 3, 5, 10, 15];

    fn label(n: u32) -> String {
        format!("N={n}")
    }

    const PLAIN: &str = "N=10, plain bucket";
    /// A buffer that holds every window of ten uploads and ten downloads: 2 N 43 packets.
    const NO_LOSS: &str = "N=10, buffer of 860 packets";

    /// Label of a variant with windows that prevent losses in the access point, without the upload limiter.
    fn lossless(n: u32) -> String {
        format!("lossless, {}", label(n))
    }

    fn free(n: u32) -> String {
        format!("free, {}", label(n))
    }

    fn unlimited(label: String, n: u32) -> Variant {
        pairs(label, n).set("manager.uplink_limit.rate", NO_LIMIT).seeds(10)
    }

    pub fn variants() -> Vec<Variant> {
        let windows = |n: u32| unlimited(lossless(n), n).set("manager.receiver.ap_buffer", "100 packets");
        let limited = NUMBERS.map(|n| pairs(label(n), n).seeds(10)).into_iter();
        let plain = pairs(PLAIN.into(), 10).set("manager.uplink_limit.threshold", "0 %").seeds(10);
        let large = unlimited(NO_LOSS.into(), 10).set("radio.ap_buffer", "860 packets");
        let free = NUMBERS.map(|n| unlimited(free(n), n));
        limited.chain(NUMBERS.map(windows)).chain(free).chain([plain, large]).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for n in NUMBERS {
            let share = runs.mean(&label(n), |run| run.down_share(PHASE));
            judge.finding("comparable", &format!("downloads' part at N = {n}:"), share, COMPARABLE);
            if (2..=5).contains(&n) {
                let over = runs.mean(&label(n), |run| up(run) / (total(run) - up(run)));
                judge.finding("lower", &format!("up : down at N = {n}:"), over, Bound::AtMost(1.0));
            }
            for (way, word) in [(Direction::Up, "up"), (Direction::Down, "down")] {
                let unfairness = runs.mean(&label(n), |run| sigma_over_mean(&run.rates(PHASE, way)));
                // As small as in r02.
                judge.finding("alike", &format!("sigma/mean {word} at N = {n}:"), unfairness, Bound::AtMost(0.15));
            }
        }
        judge.figure("total", runs.mean(&label(10), total));
        beside_lossless(runs, judge);
        let index = |label: &str| runs.mean(label, |run| sigma_over_mean(&run.rates(PHASE, Direction::Up)));
        for n in NUMBERS {
            let less = index(&label(n)).mean - index(&free(n)).mean;
            let what = format!("sigma/mean at N = {n}, less that without control:");
            judge.finding("index", &what, Ours::exactly(less), Bound::AtMost(0.0));
        }
        let rise = Ours::exactly(index(&label(15)).mean / index(&label(3)).mean);
        judge.finding("index", "sigma/mean at N = 15 over that at 3:", rise, Bound::AtLeast(1.0));
        let step = Ours::exactly(
            runs.mean(&label(10), |run| run.uploads_in_step).mean / runs.mean(PLAIN, |run| run.uploads_in_step).mean,
        );
        judge.finding("smoothed", "smoothed over plain:", step, Bound::AtMost(1.0));
    }

    /// Compares the windows that prevent losses with the limiter.
    fn beside_lossless(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure("lossless-total", runs.mean(&lossless(10), total));
        let over = |a: &str, b: &str| runs.mean_of_both(a, b, |a, b| total(a) / total(b));
        let same = Bound::Between(0.9, 1.1);
        for n in NUMBERS {
            let what = format!("N = {n}, limit over windows:");
            judge.finding("lossless-same", &what, over(&label(n), &lossless(n)), same);
            judge.finding("constant", &format!("limit, N = {n} over 10:"), over(&label(n), &label(10)), same);
            let what = format!("windows, N = {n} over 10:");
            judge.finding("constant", &what, over(&lossless(n), &lossless(10)), same);
            let equal = |run: &Run| min_over_max(&run.phase(PHASE).flows.iter().map(|f| f.ip_mbps).collect::<Vec<_>>());
            let what = format!("N = {n}, slowest flow over fastest:");
            judge.finding("lossless-fair", &what, runs.mean(&lossless(n), equal), Bound::AtLeast(0.9));
        }
        judge.finding("lossless-buffer", "windows over buffer:", over(&lossless(10), NO_LOSS), same);
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
        let free = |case: (u32, u32)| {
            let limited = of(case);
            Variant { label: free(&limited.label), ..limited }.set("manager.uplink_limit.rate", NO_LIMIT)
        };
        cases().into_iter().flat_map(|case| [of(case), free(case)]).collect()
    }

    fn free(label: &str) -> String {
        format!("{label}, no limit")
    }

    fn down_over_equal(run: &Run) -> f64 {
        2.0 * run.down_share(PHASE)
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
            let share = runs.mean(&label, |run| run.down_share(PHASE));
            judge.finding("equal", &format!("{label}: downloads' part:"), share, COMPARABLE);
            if up >= 5 {
                let free = free(&label);
                let what = format!("{label}: downloads over an equal part:");
                judge.finding("uncontrolled", &what, runs.mean(&free, down_over_equal), Bound::AtMost(CRITICAL));
            }
        }
        for uploads in [3, 10] {
            let over = |value: fn(&Run) -> f64| {
                runs.mean_of_both(&label(uploads, 15), &label(uploads, 1), |many, one| value(many) / value(one))
            };
            let what = format!("{uploads} uploads, all downloads, 15 over 1:");
            judge.finding("slightly", &what, over(|run| total(run) - up(run)), Bound::Between(1.0, 1.25));
            let what = format!("{uploads} uploads, with 15 downloads over with 1:");
            judge.finding("slightly", &what, over(up), Bound::Between(0.75, 1.0));
        }
    }
}

mod r07 {
    use super::*;

    const FREE: &str = "without control";
    const STATIC: &str = "static";
    const PUBLISHED: &str = "published, losses reported";
    /// Half of the published step, and twice the step.
    const STEPS: [(&str, &str); 2] = [("half the step", "0.1 Mb/s"), ("twice the step", "0.4 Mb/s")];
    /// Starts of intervals with more than six active uploads.
    const MANY_UP: [u32; 4] = [50, 100, 150, 200];
    const PUBLISHED_SEEN: &str = "published, inferred";
    const REPORTED: &str = "adaptive, losses reported";
    const SEEN: &str = "adaptive, inferred";
    /// Starts of intervals with flows of both directions, of uploads alone, and of downloads alone.
    const BOTH: [u32; 8] = [0, 50, 150, 200, 250, 300, 350, 500];
    const UP: [u32; 1] = [100];
    const DOWN: [u32; 2] = [400, 450];
    /// Proportion of each direction within these bounds of an equal one.
    const SPLIT: Bound = Bound::Between(0.45, 0.55);

    pub fn variants() -> Vec<Variant> {
        let rule = |label: &str, rule: &str| reno(Variant::new(label)).set("manager.uplink_limit.rule", rule).seeds(30);
        let reported = |variant: Variant| variant.set("telemetry.ap_losses", true);
        let limit = |variant: Variant, rate: &str| variant.set("manager.uplink_limit.rate", rate);
        vec![
            limit(rule(FREE, "static"), NO_LIMIT),
            limit(rule(STATIC, "static"), "2.3 Mb/s"),
            reported(rule(PUBLISHED, "published")),
            reported(rule(STEPS[0].0, "published")).set("manager.uplink_limit.step", STEPS[0].1),
            reported(rule(STEPS[1].0, "published")).set("manager.uplink_limit.step", STEPS[1].1),
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
            // Without control the ACKs of uploads are lost, which costs no airtime: the reference is the total of all
            // cases without loss.
            let lossless = |run: &Run| total(run, up_alone) / total(run, DOWN[0]);
            let what = format!("{label}: uploads alone over downloads alone:");
            judge.finding("adaptive-uses", &what, runs.mean(label, lossless), Bound::AtLeast(0.95));
            let back = runs.mean(label, |run| 2.0 * share(run, 150));
            let what = format!("{label}: downloads that come back over an equal part:");
            judge.finding("adaptive-recovers", &what, back, Bound::AtLeast(CRITICAL));
        }
        static_and_starved(runs, judge);
        for (label, _) in STEPS {
            for from in BOTH {
                let over = |value: fn(&Run, u32) -> f64| {
                    runs.mean_of_both(label, PUBLISHED, |other, run| value(other, from) / value(run, from))
                };
                let same = Bound::Between(0.9, 1.1);
                judge.finding("step", &format!("{label}, from {from} s, total:"), over(total), same);
                judge.finding("step", &format!("{label}, from {from} s, downloads' part:"), over(share), same);
            }
        }
        ours(runs, judge);
    }

    fn static_and_starved(runs: &Runs, judge: &mut Judge<'_>) {
        for from in MANY_UP {
            let starving = runs.mean(FREE, |run| {
                let rates = run.rates(&format!("from{from}"), Direction::Up);
                let active = &rates[..10];
                active.iter().filter(|&&rate| rate < STARVED * mean(active)).count() as f64
            });
            judge.finding("uploads-starve", &format!("from {from} s, of ten uploads:"), starving, Bound::AtLeast(1.0));
        }
        for from in BOTH {
            let part = runs.mean(STATIC, |run| share(run, from));
            judge.finding("static-fair", &format!("from {from} s, downloads' part:"), part, COMPARABLE);
        }
        // A DATA packet has 1500 bytes and its ACK 40.
        let (what, bound) = ("Mb/s:", Bound::AtMost(2.3 * 1540.0 / 1500.0));
        judge.finding("static-most", what, runs.mean(STATIC, |run| total(run, UP[0])), bound);
        let behind = runs.mean(STATIC, |run| behind(run, &format!("from{}", UP[0])));
        judge.finding_read("static-most", BEHIND, BoundCheck::new(what, behind, bound));
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
    /// One-way delay, half of the round trip.
    const DELAYS: [&str; 3] = ["1 ms", "100 ms", "200 ms"];

    fn label(n: u32, delay: &str) -> String {
        format!("N={n}, {delay}")
    }

    /// Label of a variant with windows that prevent losses in the access point, without the upload limiter.
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
                judge.finding("unaffected", &format!("{label}: downloads' part:"), share, COMPARABLE);
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

mod r19 {
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
        judge.finding("light", "downloads' part of the total:", down, COMPARABLE);
    }
}
