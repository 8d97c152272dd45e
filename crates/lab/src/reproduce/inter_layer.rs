//! I1, I3, I4 and I7 to I10: Choi, Park, Kim, "Performance Impact of Inter-Layer Dependence in Infrastructure WLANs".
//!
//! Shares of stations by location are in [`super::location`]; I12 and I13, control at the receiver, in [`super::receiver`].

use evenair_results::Backlog;
use evenair_results::backlog::BacklogState;
use evenair_workload::Direction;

use super::judge::{Bound, Judge, Mark, Ours};
use super::runs::{Run, Runs, Variant, mean};
use super::{Experiment, experiment};

pub(super) const PHASE: &str = "measured";

/// Every experiment of the source that can be run.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(i01, "inter-layer/i01-udp-load.toml", true),
        experiment!(i03, "inter-layer/i03-auto-rate.toml", false),
        experiment!(i04, "inter-layer/i04-arrivals-and-errors.toml", false),
        experiment!(i07, "inter-layer/i07-tcp-downloads.toml", false),
        experiment!(i08, "inter-layer/i08-tcp-as-open-loop.toml", false),
        experiment!(i09, "inter-layer/i09-backlog.toml", false),
        experiment!(i10, "inter-layer/i10-heavy-tails.toml", false),
    ]
}

/// Proportion of UDP payload in a frame body of 1000 bytes, which has 28 bytes of headers and 8 of LLC.
const PAYLOAD_PART: f64 = 0.964;

/// `n` stations that together offer `load_kbps` kb/s of frame bodies.
pub(super) fn offering(label: String, n: u32, load_kbps: u32) -> Variant {
    let payload = f64::from(load_kbps) * PAYLOAD_PART / f64::from(n);
    Variant::new(label).set("station.sta.count", n).set("udp.load.rate", format!("{payload:.3} kb/s"))
}

/// Throughput in Mb/s of frame bodies.
pub(super) fn bodies(run: &Run) -> f64 {
    run.phase(PHASE).total_goodput_mbps / PAYLOAD_PART
}

/// The TCP half of a file that has both.
pub(super) fn with_tcp(variant: Variant) -> Variant {
    variant.set("udp.load.stop", "1 ms").set("bulk.download.start", "0 s")
}

/// A statistic of the number of backlogged nodes at successful transmissions, including the access point.
fn backlog(run: &Run, what: &str) -> f64 {
    run.measure(&format!("phase.{PHASE}.backlog.{what}"))
}

/// Proportion of transmissions that collided.
fn collisions(run: &Run) -> f64 {
    run.measure("run.medium.collisions") / run.measure("run.medium.transmissions")
}

mod i01 {
    use super::*;

    /// Offered loads in kb/s of frame bodies; the last one saturates.
    const LOADS: [u32; 13] = [4000, 4500, 4800, 4900, 5000, 5100, 5200, 5300, 5400, 5600, 6000, 6500, 7000];
    const NUMBERS: [u32; 4] = [2, 5, 16, 50];
    const SATURATED: u32 = 7000;

    fn label(n: u32, load: u32) -> String {
        format!("n={n}, {load} kb/s")
    }

    pub fn variants() -> Vec<Variant> {
        let sweep = NUMBERS.into_iter().flat_map(|n| LOADS.map(|load| offering(label(n, load), n, load).seeds(3)));
        let saturated = [1, 20, 100].map(|n| offering(label(n, SATURATED), n, SATURATED).seeds(3));
        sweep.chain(saturated).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let at = |n: u32, load: u32| runs.mean(&label(n, load), bodies);
        let peak = |n: u32| LOADS.into_iter().map(|load| at(n, load).mean).fold(0.0, f64::max);
        judge.figure("saturated-2", at(2, SATURATED));
        judge.figure("saturated-16", at(16, SATURATED));
        for id in ["one", "one-computed", "one-measured"] {
            judge.figure(id, at(1, SATURATED));
        }
        for n in [2, 5] {
            let ratio = runs.mean_of_both(&label(n, SATURATED), &label(1, SATURATED), |a, b| bodies(a) / bodies(b));
            judge.finding("more-than-one", &format!("n = {n} over n = 1:"), ratio, Bound::AtLeast(1.01));
        }
        let passes = |load: u32| at(16, load).mean > 0.995 * f64::from(load) / 1e3;
        let critical = LOADS.into_iter().filter(|&load| passes(load)).max().unwrap_or(0);
        judge.figure("critical", Ours::exactly(f64::from(critical) / 1e3));
        for load in [4000, 4500, 4800] {
            let part = at(16, load).mean / (f64::from(load) / 1e3);
            let what = format!("carried over offered, {load} kb/s:");
            judge.finding("linear", &what, Ours::exactly(part), Bound::Between(0.98, 1.02));
        }
        let fall = at(16, SATURATED).mean / peak(16);
        judge.finding("peak", "saturation over peak:", Ours::exactly(fall), Bound::AtMost(0.98));
        judge.figure("peak-16", Ours::exactly(peak(16) / peak(2)));
        let ratio = runs.mean_of_both(&label(16, SATURATED), &label(2, SATURATED), |a, b| bodies(a) / bodies(b));
        judge.figure("saturation-16", ratio);
        let (peaks, saturations) = (peak(50) / peak(16), at(50, SATURATED).mean / at(16, SATURATED).mean);
        judge.finding("fifty", "peak over that of 16:", Ours::exactly(peaks), Bound::AtMost(1.0));
        judge.finding("fifty", "saturation over that of 16:", Ours::exactly(saturations), Bound::AtMost(1.0));
        judge.finding("fifty", "the second over the first:", Ours::exactly(saturations / peaks), Bound::AtMost(1.0));
        for (n, fewer) in [(20, 5), (50, 20), (100, 50)] {
            let ratio = runs.mean_of_both(&label(n, SATURATED), &label(fewer, SATURATED), |a, b| bodies(a) / bodies(b));
            let what = format!("n = {n} over n = {fewer}:");
            judge.finding("declines", &what, ratio, Bound::AtMost(0.98));
        }
        let rate = |load| runs.mean(&label(16, load), collisions).mean;
        let rise = (rate(5600) - rate(4800)) / (rate(4800) - rate(4000));
        let what = "rise from 4.8 to 5.6 Mb/s over that from 4.0 to 4.8:";
        judge.finding("collisions", what, Ours::exactly(rise), Bound::AtLeast(2.0));
    }
}

mod i07 {
    use super::*;

    const NUMBERS: [u32; 6] = [1, 5, 10, 20, 50, 100];
    /// A second packet size, in bytes; the other sizes of the source are not published.
    const SMALL: u32 = 500;

    fn small(n: u32) -> String {
        format!("n={n}, {SMALL} bytes")
    }

    pub fn variants() -> Vec<Variant> {
        let of = |n: u32| Variant::new(format!("n={n}")).set("station.sta.count", n).seeds(3);
        let unlimited = |n: u32| {
            let variant = Variant::new(format!("n={n}, unlimited")).set("radio.ap_buffer", "unlimited");
            variant.set("station.sta.count", n).set("tcp.window", "43 packets").seeds(3)
        };
        let small = |n: u32| {
            let variant = Variant::new(small(n)).set("tcp.mss", format!("{SMALL} bytes"));
            variant.set("station.sta.count", n).seeds(3)
        };
        let all = NUMBERS.into_iter().map(of).chain([5, 20, 100].map(unlimited));
        all.chain(NUMBERS.map(small)).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let total = |run: &Run| run.phase(PHASE).total_ip_mbps;
        for n in NUMBERS.into_iter().skip(1) {
            let ratio = runs.mean_of_both(&format!("n={n}"), "n=10", |a, b| total(a) / total(b));
            judge.finding("flat", &format!("total at n = {n} over that at 10:"), ratio, Bound::Between(0.95, 1.05));
            let rate = runs.mean_of_both(&format!("n={n}"), "n=10", |a, b| collisions(a) / collisions(b));
            let what = format!("rate of collisions at n = {n} over that at 10:");
            judge.finding("collisions", &what, rate, Bound::Between(0.8, 1.25));
        }
        for n in [5, 20, 100] {
            let rate = runs.mean_of_both(&format!("n={n}, unlimited"), "n=10", |a, b| collisions(a) / collisions(b));
            let what = format!("n = {n}, over that of the file:");
            judge.finding("collisions-unlimited", &what, rate, Bound::Between(0.8, 1.25));
        }
        let frames = |run: &Run| run.phase(PHASE).total_goodput_mbps * 1e6 / 8.0 / 1460.0;
        judge.figure("rate", runs.mean("n=10", frames));
        let discards = |run: &Run| {
            let lost = run.result.losses.iter().filter(|loss| loss.reason == "retry limit");
            lost.map(|loss| loss.frames as f64).sum::<f64>()
        };
        judge.finding("no-discards", "frames discarded by the MAC:", runs.mean("n=100", discards), Bound::AtMost(0.0));
        beside_the_total(runs, judge);
    }

    fn beside_the_total(runs: &Runs, judge: &mut Judge<'_>) {
        let total = |run: &Run| run.phase(PHASE).total_ip_mbps;
        let data_per_ack = |run: &Run| {
            let flows = run.phase(PHASE).flows.iter();
            mean(&flows.map(|flow| run.measure(&format!("phase.{PHASE}.flow.{}.d", flow.app))).collect::<Vec<_>>())
        };
        for n in NUMBERS {
            let ratio = runs.mean(&format!("n={n}"), data_per_ack);
            judge.finding("acks", &format!("DATA for an ACK, n = {n}:"), ratio, Bound::Between(0.98, 1.02));
        }
        for n in NUMBERS.into_iter().skip(1) {
            let ratio = runs.mean_of_both(&small(n), &small(10), |a, b| total(a) / total(b));
            judge.finding("sizes", &format!("total at n = {n} over that at 10:"), ratio, Bound::Between(0.95, 1.05));
        }
        for n in [10, 100] {
            let part = |run: &Run| {
                let medium = run.phase(PHASE).medium.as_ref();
                medium.map_or(f64::NAN, |medium| {
                    let (collisions, errors) = (medium.access.collisions as f64, medium.access.errors as f64);
                    collisions / (collisions + errors)
                })
            };
            let what = format!("collisions, of all failed attempts, n = {n}:");
            judge.finding("bulk", &what, runs.mean(&format!("n={n}"), part), Bound::AtLeast(0.5));
        }
    }
}

mod i08 {
    use super::*;

    /// Frames per second in each direction, of all stations together.
    const LOADS: [u32; 10] = [300, 340, 360, 370, 380, 390, 400, 420, 460, 500];
    const STATIONS: u32 = 10;
    /// Numbers of stations that are run at the published peak.
    const NUMBERS: [u32; 5] = [5, STATIONS, 20, 50, 100];
    const PEAK: u32 = 380;
    /// UDP payload of IP packets of 1500 and of 40 bytes, in bytes.
    const PAYLOADS: [(&str, f64); 2] = [("data", 1472.0), ("ack", 12.0)];

    fn label(n: u32, load: u32) -> String {
        format!("n={n}, {load} frames/s")
    }

    pub fn variants() -> Vec<Variant> {
        let of = |n: u32, load: u32| {
            let seeds = if load == PEAK { 10 } else { 3 };
            let variant = Variant::new(label(n, load)).set("station.sta.count", n).seeds(seeds);
            PAYLOADS.iter().fold(variant, |variant, (app, payload)| {
                let rate = f64::from(load) / f64::from(n) * payload * 8.0 / 1e3;
                variant.set(&format!("udp.{app}.rate"), format!("{rate:.3} kb/s"))
            })
        };
        let others = NUMBERS.into_iter().filter(|&n| n != STATIONS).map(|n| of(n, PEAK));
        LOADS.map(|load| of(STATIONS, load)).into_iter().chain(others).collect()
    }

    /// DATA frames delivered per second.
    fn carried(run: &Run) -> f64 {
        run.flows(PHASE, Direction::Down).map(|flow| flow.goodput_mbps * 1e6 / 8.0 / PAYLOADS[0].1).sum()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let at = |load: u32| runs.mean(&label(STATIONS, load), carried).mean;
        let peak = LOADS.into_iter().map(at).fold(0.0, f64::max);
        judge.figure("peak", Ours::exactly(peak));
        let fall = Ours::exactly(at(500) / peak);
        judge.finding("declines", "what arrives at 500 frames/s over the peak:", fall, Bound::AtMost(0.98));
        for n in NUMBERS {
            let state = |name: &'static str| runs.mean(&label(n, PEAK), move |run| backlog(run, name));
            judge.finding("state", &format!("n = {n}, mean:"), state("mean"), Bound::Between(2.5, 3.0));
            let most = state("mean_plus_2_sigma");
            judge.finding("state", &format!("n = {n}, mean + 2 sigma:"), most, Bound::Between(4.5, 6.6));
        }
    }
}

mod i03 {
    use super::*;

    const RATES: [&str; 4] = ["11 Mb/s", "5.5 Mb/s", "2 Mb/s", "1 Mb/s"];
    const TCP: [u32; 5] = [2, 5, 10, 14, 15];

    fn tcp(n: u32) -> String {
        format!("TCP, n = {n}")
    }

    fn fixed(rate: &str, n: u32) -> String {
        format!("{rate}, n = {n}")
    }

    pub fn variants() -> Vec<Variant> {
        let at = |rate: &'static str, n: u32| {
            let variant = offering(fixed(rate, n), n, 7000).set("radio.rate_control", "fixed");
            variant.set("station.sta.rate", rate).seeds(3)
        };
        let fixed = RATES.into_iter().flat_map(|rate| [at(rate, 5), at(rate, 15)]);
        let tcp = TCP.map(|n| with_tcp(Variant::new(tcp(n)).set("station.sta.count", n).seeds(3)));
        [Variant::new("file").seeds(10)].into_iter().chain(fixed).chain(tcp).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.finding("udp-falls", "total, Mb/s:", runs.mean("file", bodies), Bound::AtMost(1.0));
        for rate in RATES {
            let ratio = runs.mean_of_both(&fixed(rate, 15), &fixed(rate, 5), |a, b| bodies(a) / bodies(b));
            judge.finding("fixed-flat", &format!("{rate}, n = 15 over n = 5:"), ratio, Bound::Between(0.85, 1.05));
        }
        for n in TCP {
            let total = |run: &Run| run.phase(PHASE).total_ip_mbps;
            let ratio = runs.mean_of_both(&tcp(n), &tcp(10), |a, b| total(a) / total(b));
            judge.finding("tcp-flat", &format!("n = {n} over n = 10:"), ratio, Bound::Between(0.95, 1.05));
        }
        let part = |name: &'static str| {
            let counted =
                move |run: &Run| run.measure(&format!("run.medium.{name}")) / run.measure("run.medium.attempts");
            runs.mean(&tcp(14), counted)
        };
        judge.finding("tcp-slowed", "part of the attempts:", part("slowed"), Bound::AtMost(0.005));
        judge.finding("tcp-repeated", "part of the attempts:", part("repeated_failures"), Bound::AtMost(0.001));
    }
}

mod i04 {
    use super::*;

    /// Coefficient of determination of a linear least-squares fit.
    fn straightness(points: &[(f64, f64)]) -> f64 {
        let means = (
            mean(&points.iter().map(|p| p.0).collect::<Vec<_>>()),
            mean(&points.iter().map(|p| p.1).collect::<Vec<_>>()),
        );
        let sum = |of: fn(f64, f64) -> f64| points.iter().map(|&(x, y)| of(x - means.0, y - means.1)).sum::<f64>();
        sum(|x, y| x * y).powi(2) / (sum(|x, _| x * x) * sum(|_, y| y * y))
    }

    /// Bit error rates, in 1e-6.
    const ERRORS: [u32; 5] = [0, 30, 60, 90, 120];
    const LOADS: [u32; 6] = [2000, 3000, 4000, 4500, 5000, 7000];

    /// Loads around the peak, and a saturating one.
    const NEAR_PEAK: [u32; 7] = [4600, 4800, 4900, 5000, 5100, 5200, 7000];

    fn label(ber: u32) -> String {
        format!("BER {ber}e-6")
    }

    fn offered(load: u32) -> String {
        format!("BER 120e-6, {load} kb/s")
    }

    pub fn variants() -> Vec<Variant> {
        let with = |label: String, ber: u32, load| offering(label, 16, load).set("radio.ber", format!("{ber}e-6"));
        let saturated = ERRORS.into_iter().map(|ber| with(label(ber), ber, 7000).seeds(3));
        let with_errors = LOADS.into_iter().map(|load| with(offered(load), 120, load).seeds(3));
        let arrivals = |kind: &'static str, noise: &'static str| {
            NEAR_PEAK.map(|load| {
                offering(format!("{kind}, {load}"), 16, load)
                    .set("udp.load.arrivals", kind)
                    .set("udp.load.noise", noise)
                    .seeds(3)
            })
        };
        saturated.chain(with_errors).chain(arrivals("regular", "10 %")).chain(arrivals("poisson", "0 %")).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let at = |ber: u32| runs.mean(&label(ber), bodies).mean;
        let fall = at(0) - at(120);
        judge.finding("ber-linear", "loss at 1.2e-4, Mb/s:", Ours::exactly(fall), Bound::AtLeast(0.5));
        // With independent bit errors the proportion of intact frames falls exponentially, so "nearly" linear must be quantified.
        // A line through the two ends would have its largest error in the middle.
        let points = ERRORS.map(|ber| (f64::from(ber), at(ber)));
        let what = "part of the variation that a straight line accounts for:";
        judge.finding("ber-linear", what, Ours::exactly(straightness(&points)), Bound::AtLeast(0.98));
        let arrivals = |kind: &str, load: u32| runs.mean(&format!("{kind}, {load}"), bodies).mean;
        let highest = |kind: &str| NEAR_PEAK.into_iter().map(|load| arrivals(kind, load)).fold(0.0, f64::max);
        let saturation = Ours::exactly(arrivals("poisson", 7000) / arrivals("regular", 7000));
        judge.finding("same-saturation", "Poisson over constant rate:", saturation, Bound::Between(0.98, 1.02));
        judge.figure("peak", Ours::exactly(highest("poisson") / highest("regular")));
        let peak = LOADS.into_iter().map(|load| runs.mean(&offered(load), bodies).mean).fold(0.0, f64::max);
        let what = "saturation over peak:";
        judge.finding("ber-peak", what, Ours::exactly(at(120) / peak), Bound::AtLeast(0.99));
    }
}

mod i10 {
    use super::*;

    const NUMBERS: [u32; 5] = [2, 5, 10, 20, 50];

    pub fn variants() -> Vec<Variant> {
        let of = |n: u32| Variant::new(format!("n={n}")).set("station.sta.count", n).seeds(3);
        let greedy = Variant::new("greedy").set("onoff.files.stop", "1 ms").set("bulk.download.start", "0 s");
        NUMBERS.into_iter().map(of).chain([greedy.seeds(3)]).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let total = |run: &Run| run.phase(PHASE).total_ip_mbps;
        let below = runs.mean_of_both("greedy", "n=20", |greedy, files| total(greedy) - total(files));
        judge.figure("below", below);
        let over = |a: &str, b: &str| runs.mean_of_both(a, b, |a, b| total(a) / total(b));
        judge.finding("saturates", "n = 50 over n = 20:", over("n=50", "n=20"), Bound::Between(0.97, 1.03));
        judge.finding("saturates", "n = 5 over n = 20:", over("n=5", "n=20"), Bound::AtMost(0.97));
        let state =
            runs.mean_of_both("n=20", "greedy", |files, greedy| backlog(files, "mean") / backlog(greedy, "mean"));
        judge.finding("backlog", "mean state, files over greedy:", state, Bound::Between(0.9, 1.1));
        let most = |run: &Run| backlog(run, "mean_plus_2_sigma");
        let most = runs.mean_of_both("n=20", "greedy", |files, greedy| most(files) / most(greedy));
        judge.finding("backlog-2-sigma", "mean + 2 sigma, files over greedy:", most, Bound::Between(0.9, 1.1));
        let size = |run: &Run| {
            let phase = run.phase(PHASE);
            let bytes = phase.total_goodput_mbps * 1e6 / 8.0 * (phase.to_s - phase.from_s);
            bytes / 1e3 / run.measure(&format!("phase.{PHASE}.transfer.down.all.count"))
        };
        judge.figure("size", runs.mean("n=20", size));
    }
}

mod i09 {
    use super::*;

    const NUMBERS: [u32; 6] = [5, 10, 15, 20, 50, 100];
    const REAL: &str = "n=15, delayed ACKs";

    pub fn variants() -> Vec<Variant> {
        let of = |label: String, n: u32| Variant::new(label).set("station.sta.count", n).seeds(20);
        // Simulated stations acknowledge each segment; real hosts do not.
        let real = of(REAL.to_owned(), 15).set("tcp.delayed_ack", true);
        NUMBERS.map(|n| of(format!("n={n}"), n)).into_iter().chain([real]).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let of = |n: u32, name: &'static str| runs.mean(&format!("n={n}"), move |run| backlog(run, name));
        for n in NUMBERS {
            judge.finding("mean", &format!("n = {n}:"), of(n, "mean"), Bound::Between(2.0, 3.0));
            let two_sigma = of(n, "mean_plus_2_sigma");
            judge.finding("two-sigma", &format!("n = {n}:"), two_sigma, Bound::Between(3.6, 4.4));
            judge.finding("below", &format!("n = {n}:"), two_sigma, Bound::Between(2.7, 4.4));
            chain(n, runs, judge);
        }
        judge.figure("most", of(20, "max"));
        // From one run per number, as in the source; averaged over seeds.
        let largest = |seed: usize| {
            let most = NUMBERS.map(|n| backlog(&runs.of(&format!("n={n}"))[seed], "max"));
            most.into_iter().fold(0.0, f64::max)
        };
        judge.figure("most-100", Ours::over((0..runs.of("n=100").len()).map(largest).collect()));
        judge.figure("real", runs.mean(REAL, |run| backlog(run, "mean")));
        judge.mark(
            "real",
            Mark::RealPlace("15 handheld stations, whose cards and places are not published, from captures"),
        );
    }

    /// Findings on the states of the chain, apart from their mean.
    fn chain(n: u32, runs: &Runs, judge: &mut Judge<'_>) {
        let of = |value: fn(&Backlog) -> f64| {
            runs.mean(&format!("n={n}"), move |run| run.phase(PHASE).backlog.as_ref().map_or(f64::NAN, value))
        };
        let what = format!("n = {n}:");
        let drift =
            of(|chain| chain.states.iter().find(|state| state.nodes == 3).map_or(f64::NAN, |state| state.drift));
        judge.finding("drift", &what, drift, Bound::AtMost(-1.0 / 6.0));
        let share = |states: &mut dyn Iterator<Item = &BacklogState>| states.map(|state| state.share).sum::<f64>();
        let covered = runs.mean(&format!("n={n}"), |run| {
            let chain = run.phase(PHASE).backlog.as_ref();
            chain.map_or(f64::NAN, |c| share(&mut c.states.iter().filter(|s| s.nodes as f64 <= c.mean_plus_2_sigma)))
        });
        judge.finding("covered", &what, covered, Bound::AtLeast(0.95));
        let rare =
            of(|chain| chain.states.iter().filter(|state| state.nodes == chain.max).map(|state| state.share).sum());
        judge.finding("rare", &what, rare, Bound::AtMost(0.05));
    }
}
