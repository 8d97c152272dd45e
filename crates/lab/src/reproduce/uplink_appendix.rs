//! R11, R13 and R14: appendices. Source: see [`super::uplink`].

use evenair_workload::Direction;

use super::judge::{Bound, Judge, Ours};
use super::runs::{Run, Runs, Variant, mean};
use super::uplink::{CRITICAL, PHASE, STARVED, pairs};
use super::uplink_limit::{NO_LIMIT, total};
use super::{Experiment, experiment};

/// Every experiment of the appendices that is not with those of the text.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(r11, "uplink-rate-control/r11-kernel-tcp.toml", false),
        experiment!(r13, "uplink-rate-control/r13-tcp-versions.toml", false),
        experiment!(r14, "uplink-rate-control/r14-round-trip.toml", false),
    ]
}

/// The same within 10 %.
const SAME: Bound = Bound::Between(0.9, 1.1);

mod r11 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![Variant::new("file").seeds(10)]
    }

    /// A direction's part of an equal one.
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

    /// N uploads and N downloads of a version of TCP, without the limit.
    fn of(version: &str, label: String, n: u32) -> Variant {
        let reno = pairs(label, n).seeds(10);
        match version {
            "NewReno" => reno.set("tcp.fast_recovery", "newreno"),
            // With SACK there is no choice of fast recovery.
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

    /// Uploads that got anything.
    fn started(run: &Run) -> f64 {
        run.rates(PHASE, Direction::Up).iter().filter(|&&rate| rate >= 0.001).count() as f64
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for version in VERSIONS {
            for n in NUMBERS {
                let over = runs.mean(&label(version, n), started).mean / runs.mean(&label(RENO, n), started).mean;
                let what = format!("{version}, N = {n}, uploads under way over those of Reno:");
                // Similar is within a quarter.
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

    /// Of the wire, half of a round trip, ms.
    const DELAYS: [u32; 7] = [1, 50, 100, 150, 200, 250, 300];
    /// What the buffer takes at the capacity is between these.
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
