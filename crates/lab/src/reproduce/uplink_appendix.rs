//! R10 to R14: appendices. Source: see [`super::uplink`].

use evenair_workload::Direction;

use super::judge::{Bound, BoundCheck, Judge, Ours};
use super::runs::{Run, Runs, Variant, mean};
use super::uplink::{CRITICAL, PHASE, STARVED, pairs};
use super::uplink_limit::{BEHIND, NO_LIMIT, behind, total, up};
use super::{Experiment, experiment};

/// Every experiment of the appendices that is not with those of the text.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(r10, "uplink-rate-control/r10-rate.toml", false),
        experiment!(r11, "uplink-rate-control/r11-kernel-tcp.toml", false),
        experiment!(r12, "uplink-rate-control/r12-bucket.toml", false),
        experiment!(r13, "uplink-rate-control/r13-tcp-versions.toml", false),
        experiment!(r14, "uplink-rate-control/r14-round-trip.toml", false),
    ]
}

/// Equal to within 10 %.
const SAME: Bound = Bound::Between(0.9, 1.1);

mod r10 {
    use super::*;

    /// The source has 200 packets where it has these figures, and 500 elsewhere.
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
        bounds(runs, judge);
        judge.figure("up-15", runs.mean(&label(15, "2.3 Mb/s"), up));
        judge.figure("up-3", runs.mean(&label(3, "2.3 Mb/s"), up));
        for (id, n) in [("up-15", 15), ("up-3", 3)] {
            judge.figure_read(id, BEHIND, runs.mean(&label(n, "2.3 Mb/s"), behind));
        }
        judge.figure_if("up-3", LARGER, runs.mean(LARGER, up));
    }

    fn behind(run: &Run) -> f64 {
        super::behind(run, PHASE)
    }

    fn bounds(runs: &Runs, judge: &mut Judge<'_>) {
        // A DATA packet has 1500 bytes and its ACK 40.
        let of_limit = |n: u32, rate: &str, up: fn(&Run) -> f64| {
            let limit: f64 = rate.trim_end_matches(" Mb/s").parse().expect("a number of Mb/s");
            runs.mean(&label(n, rate), |run| up(run) / (limit * 1540.0 / 1500.0))
        };
        for rate in RATES {
            for n in [3, 15] {
                let (what, bound) = (format!("N = {n}, {rate}: uploads over the limit:"), Bound::AtMost(1.0));
                judge.finding("bounds", &what, of_limit(n, rate, up), bound);
                judge.finding_read("bounds", BEHIND, BoundCheck::new(&what, of_limit(n, rate, behind), bound));
            }
            let closer = |up| Ours::exactly(of_limit(15, rate, up).mean / of_limit(3, rate, up).mean);
            let (what, bound) = (format!("{rate}: N = 15 over N = 3:"), Bound::AtLeast(1.0));
            judge.finding("bounds", &what, closer(up), bound);
            judge.finding_read("bounds", BEHIND, BoundCheck::new(&what, closer(behind), bound));
        }
    }
}

mod r11 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![Variant::new("file").seeds(10)]
    }

    /// A direction's share relative to an equal one.
    fn part(run: &Run, phase: &str, direction: Direction) -> f64 {
        2.0 * run.rates(phase, direction).iter().sum::<f64>() / run.phase(phase).total_ip_mbps
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let down = runs.mean("file", |run| part(run, "bypassed", Direction::Down));
        judge.finding("critical", "downloads over an equal part:", down, Bound::AtMost(CRITICAL));
        for (direction, words) in [(Direction::Up, "uploads"), (Direction::Down, "downloads")] {
            let part = runs.mean("file", |run| part(run, "inserted", direction));
            judge.finding("fair", &format!("{words} over an equal part:"), part, Bound::AtLeast(CRITICAL));
            let slowest = runs.mean("file", |run| {
                let rates = run.rates("inserted", direction);
                rates.iter().copied().fold(f64::INFINITY, f64::min) / mean(&rates)
            });
            let what = format!("the slowest of the {words} over their mean:");
            judge.finding("fair", &what, slowest, Bound::AtLeast(STARVED));
        }
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
            // Slope per packet of depth, up to 100 packets and beyond.
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

    const NUMBERS: [u32; 3] = [5, 10, 20];
    const RENO: &str = "Reno";
    const VERSIONS: [&str; 2] = ["NewReno", "SACK"];

    fn label(version: &str, n: u32) -> String {
        format!("{version}, N={n}")
    }

    fn limited(version: &str) -> String {
        format!("{version}, limit")
    }

    /// N uploads and N downloads with a version of TCP, without the limit.
    fn of(version: &str, label: String, n: u32) -> Variant {
        let reno = pairs(label, n).seeds(10);
        match version {
            "NewReno" => reno.set("tcp.fast_recovery", "newreno"),
            // SACK has no choice of fast recovery.
            "SACK" => {
                Variant { sets: reno.sets.into_iter().filter(|(key, _)| key != "tcp.fast_recovery").collect(), ..reno }
                    .set("tcp.sack", true)
            }
            _ => reno,
        }
    }

    pub fn variants() -> Vec<Variant> {
        let all = [RENO, VERSIONS[0], VERSIONS[1]];
        let free = all.into_iter().flat_map(|version| NUMBERS.map(|n| of(version, label(version, n), n)));
        let limited = all.map(|version| of(version, limited(version), 10).set("manager.uplink_limit.rate", "2.3 Mb/s"));
        free.chain(limited).collect()
    }

    /// Number of uploads that transferred data.
    fn started(run: &Run) -> f64 {
        run.rates(PHASE, Direction::Up).iter().filter(|&&rate| rate >= 0.001).count() as f64
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for version in VERSIONS {
            for n in NUMBERS {
                let over = runs.mean(&label(version, n), started).mean / runs.mean(&label(RENO, n), started).mean;
                let what = format!("{version}, N = {n}, uploads under way over those of Reno:");
                // Similar means within a quarter.
                judge.finding("started", &what, Ours::exactly(over), Bound::Between(0.75, 1.25));
            }
            let share = runs.mean(&label(version, 10), |run| 2.0 * run.down_share(PHASE));
            let what = format!("{version}, downloads over an equal part:");
            judge.finding("starved", &what, share, Bound::AtMost(STARVED));
            let over = |value: fn(&Run) -> f64| {
                runs.mean_of_both(&limited(version), &limited(RENO), |run, reno| value(run) / value(reno))
            };
            judge.finding("limited", &format!("{version}, total over that of Reno:"), over(total), SAME);
            let what = format!("{version}, downloads' part over that of Reno:");
            judge.finding("limited", &what, over(|run| run.down_share(PHASE)), SAME);
        }
    }
}

mod r14 {
    use super::*;

    /// One-way delays of the wire, in milliseconds.
    const DELAYS: [u32; 7] = [1, 50, 100, 150, 200, 250, 300];
    /// Delays around the drain time of the buffer at capacity.
    const NEAR: [u32; 2] = [50, 100];
    const FAR: [u32; 3] = [200, 250, 300];

    fn label(delay: u32) -> String {
        format!("{delay} ms")
    }

    fn lossless(delay: u32) -> String {
        format!("lossless, {}", label(delay))
    }

    pub fn variants() -> Vec<Variant> {
        let of = |label: String, delay: u32| pairs(label, 15).set("lan.delay", format!("{delay} ms")).seeds(5);
        let windows = |delay: u32| {
            let variant = of(lossless(delay), delay).set("manager.uplink_limit.rate", NO_LIMIT);
            variant.set("manager.receiver.ap_buffer", "100 packets")
        };
        DELAYS.map(|delay| of(label(delay), delay)).into_iter().chain(DELAYS.map(windows)).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let near = DELAYS[0];
        let over = |label: &str, near: &str| runs.mean_of_both(label, near, |far, near| total(far) / total(near));
        for delay in &DELAYS[1..] {
            let what = format!("round trip of {} ms, total over that near by:", 2 * delay);
            judge.finding("limit", &what, over(&label(*delay), &label(near)), SAME);
            let windows = over(&lossless(*delay), &lossless(near));
            if NEAR.contains(delay) {
                judge.finding("lossless-near", &what, windows, Bound::AtLeast(0.9));
            }
            if FAR.contains(delay) {
                judge.finding("lossless-falls", &what, windows, Bound::AtMost(0.9));
            }
        }
    }
}
