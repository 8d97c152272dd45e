//! I2, I5, I6, I11, I15 and I16: shares of stations by location, and the effect of capture. Source: Choi, Park, Kim,
//! "Performance Impact of Inter-Layer Dependence in Infrastructure WLANs".

use super::inter_layer::{PHASE, bodies, offering, with_tcp};
use super::judge::{Bound, BoundCheck, Judge, Mark, Ours};
use super::runs::{Run, Runs, Variant, mean, min_over_max};
use super::{Experiment, experiment};

/// Every experiment of this part of the source.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(i02, "inter-layer/i02-layouts.toml", false),
        experiment!(i05, "inter-layer/i05-fairness.toml", false),
        experiment!(i06, "inter-layer/i06-priorities.toml", false),
        experiment!(i11, "inter-layer/i11-location.toml", false),
        experiment!(i15, "inter-layer/i15-real-stations.toml", false),
        experiment!(i16, "inter-layer/i16-strong-and-weak.toml", false),
    ]
}

/// An office with 14 to 18 handheld stations, whose cards and positions are not published.
const ROOM: Mark = Mark::RealPlace("measured in an office; places, walls and cards of the stations are not published");
/// The positions of the stations in the office are not published.
const OFFICE: &str = "line";
const DISK: &str = "near-random";
/// The disk as a reading.
const AS_DISK: &str = "stations in a disk";

mod i02 {
    use super::*;

    const SHAPES: [&str; 5] = ["line", "near-random", "far-random", "circle", "point"];

    pub fn variants() -> Vec<Variant> {
        SHAPES.map(|shape| Variant::new(shape).set("radio.layout.shape", shape).seeds(10)).into()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let over = |a: &str, b: &str| runs.mean_of_both(a, b, |a, b| bodies(a) / bodies(b));
        judge.finding("line-best", "line over near random:", over("line", "near-random"), Bound::AtLeast(1.0));
        for shape in ["far-random", "circle", "point"] {
            let what = format!("near random over {shape}:");
            judge.finding("near-next", &what, over("near-random", shape), Bound::AtLeast(1.0));
            let what = format!("{shape} over circle:");
            judge.finding("others", &what, over(shape, "circle"), Bound::Between(0.95, 1.05));
        }
    }
}

/// Throughput of each station.
fn of_stations(run: &Run) -> Vec<f64> {
    run.phase(PHASE).stations.iter().map(|station| station.ip_mbps).collect()
}

/// Minimum over maximum of the stations' throughput.
fn equality(run: &Run) -> f64 {
    min_over_max(&of_stations(run))
}

/// The same of each station's throughput over all runs of a variant, where chance, which favours others in each run, averages
/// out.
fn persistent_equality(runs: &Runs, label: &str) -> Ours {
    let runs: Vec<_> = runs.of(label).iter().map(of_stations).collect();
    let sums: Vec<f64> = (0..runs[0].len()).map(|station| runs.iter().map(|run| run[station]).sum()).collect();
    Ours::exactly(min_over_max(&sums))
}

/// Standard deviation over mean of a station's throughput from second to second, averaged over stations whose names begin with
/// `group`.
fn jitter(run: &Run, group: &str) -> f64 {
    let stations = run.phase(PHASE).stations.iter().filter(|station| station.station.starts_with(group));
    mean(&stations.map(|station| station.variation.unwrap_or(f64::NAN)).collect::<Vec<_>>())
}

mod i05 {
    use super::*;

    const SATURATED: u32 = 7000;
    const LOADS: [u32; 6] = [4000, 4800, BELOW, ABOVE, 5600, SATURATED];
    /// Loads below and above the critical one, in kb/s.
    const BELOW: u32 = 5100;
    const ABOVE: u32 = 5200;

    fn label(shape: &str, load: u32) -> String {
        format!("{shape}, {load} kb/s")
    }

    pub fn variants() -> Vec<Variant> {
        let of = |shape, load| {
            let seeds = if load == SATURATED { 20 } else { 5 };
            offering(label(shape, load), 16, load).set("radio.layout.shape", shape).seeds(seeds)
        };
        ["circle", "line"].into_iter().flat_map(|shape| LOADS.map(|load| of(shape, load))).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        for shape in ["circle", "line"] {
            for load in [4000, 4800] {
                let what = format!("least over most, {}:", label(shape, load));
                judge.finding("equal-below", &what, runs.mean(&label(shape, load), equality), Bound::AtLeast(0.97));
            }
        }
        let all_runs = "least over most of what stations get over all runs, saturated:";
        let line = label("line", SATURATED);
        judge.finding("line-breaks", "least over most, saturated:", runs.mean(&line, equality), Bound::AtMost(0.7));
        judge.finding("line-breaks", all_runs, persistent_equality(runs, &line), Bound::AtMost(0.7));
        // In each run chance disadvantages some of the 16, different ones in each.
        let circle = persistent_equality(runs, &label("circle", SATURATED));
        judge.finding("circle-equal", all_runs, circle, Bound::AtLeast(0.9));
        for shape in ["circle", "line"] {
            let rise = runs.mean_of_both(&label(shape, 5600), &label(shape, 4800), |above, below| {
                jitter(above, "sta") / jitter(below, "sta")
            });
            let what = format!("{shape}, jitter at 5600 kb/s over that at 4800:");
            judge.finding("jitter", &what, rise, Bound::AtLeast(2.0));
        }
        let rise = runs.mean_of_both(&label("circle", ABOVE), &label("circle", BELOW), |above, below| {
            jitter(above, "sta") / jitter(below, "sta")
        });
        judge.finding("transition", "jitter above over that below:", rise, Bound::AtLeast(2.0));
    }
}

mod i06 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![Variant::new("file").seeds(5)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let ratio = runs.mean("file", |run| jitter(run, "normal") / jitter(run, "high"));
        judge.finding("steady", "jitter of the normal priority over that of the high one:", ratio, Bound::AtLeast(2.0));
    }
}

mod i11 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        let disk = Variant::new(DISK).set("radio.layout.shape", DISK).seeds(20);
        vec![Variant::new("file").seeds(20), disk, with_tcp(Variant::new("TCP").seeds(20))]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let kbps = |run: &Run| of_stations(run).iter().map(|rate| rate * 1e3).collect::<Vec<_>>();
        let slowest = |run: &Run| kbps(run).into_iter().fold(f64::INFINITY, f64::min);
        let fastest = |run: &Run| kbps(run).into_iter().fold(0.0, f64::max);
        let mut figure = |id: &str, value: &dyn Fn(&Run) -> f64| {
            judge.figure(id, runs.mean("file", value));
            judge.figure_read(id, AS_DISK, runs.mean(DISK, value));
        };
        figure("udp", &equality);
        figure("slowest", &slowest);
        figure("fastest", &fastest);
        for id in ["udp", "slowest", "fastest"] {
            judge.mark(id, ROOM);
        }
        // A single run would show TCP's random losses at the access point rather than location.
        let missing = |label| 1.0 - persistent_equality(runs, label).mean;
        let what = "what is missing to 1 over all runs, TCP over UDP:";
        judge.finding("tcp", what, Ours::exactly(missing("TCP") / missing("file")), Bound::AtMost(0.7));
    }
}

mod i15 {
    use super::*;

    const NUMBERS: [u32; 6] = [1, 2, 5, 10, 12, 16];
    const SATURATED: u32 = 7000;
    /// Loads of 16 stations, in kb/s of frame bodies; with capture more than 5 Mb/s get through.
    const LOADS: [u32; 10] = [4500, 4900, 5100, 5300, 5500, 5600, 5700, 5800, 6000, 6500];
    /// Powers differ less beside the access point than around it.
    const TABLE: &str = "far-random";
    const CIRCLE: &str = "circle";

    fn label(shape: &str, n: u32, load: u32) -> String {
        format!("{shape}, n={n}, {load} kb/s")
    }

    pub fn variants() -> Vec<Variant> {
        let of = |shape: &str, n: u32, load: u32| {
            offering(label(shape, n, load), n, load).set("radio.layout.shape", shape).seeds(10)
        };
        let office = |shape: &'static str| {
            let saturated = NUMBERS.map(|n| of(shape, n, SATURATED));
            saturated.into_iter().chain(LOADS.map(|load| of(shape, 16, load)))
        };
        let circle = [10, 16].map(|n| of(CIRCLE, n, SATURATED));
        office(OFFICE).chain(office(DISK)).chain(circle).chain([of(TABLE, 16, SATURATED)]).collect()
    }

    /// Checks a number of the office: as the file has it, or read as a disk.
    fn judge_office(shape: &str, runs: &Runs, judge: &mut Judge<'_>) {
        let is_file = shape == OFFICE;
        let mut figure =
            |id: &str, ours: Ours| if is_file { judge.figure(id, ours) } else { judge.figure_read(id, AS_DISK, ours) };
        let at = |n: u32, load: u32| runs.mean(&label(shape, n, load), bodies);
        let mut rates = NUMBERS[1..].iter().map(|&n| at(n, SATURATED)).collect::<Vec<_>>();
        rates.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        figure("lowest", rates[0]);
        figure("highest", rates[rates.len() - 1]);
        let over = |n: u32, other: &str| {
            runs.mean_of_both(&label(shape, n, SATURATED), &label(other, n, SATURATED), |a, b| bodies(a) / bodies(b))
        };
        figure("above-10", over(10, CIRCLE));
        figure("above-16", over(16, CIRCLE));
        let peak = LOADS.into_iter().chain([SATURATED]).map(|load| at(16, load).mean).fold(0.0, f64::max);
        let gap = Ours::exactly(1.0 - at(16, SATURATED).mean / peak);
        let mut finding = |id: &str, what: &str, ours: Ours, bound: Bound| {
            let check = BoundCheck::new(what, ours, bound);
            if is_file { judge.finding(id, what, ours, bound) } else { judge.finding_read(id, AS_DISK, check) }
        };
        finding("gap", "saturation below the peak, as a part of it:", gap, Bound::AtMost(0.01));
        finding("table", "office over table top:", over(16, TABLE), Bound::AtLeast(1.0));
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge_office(OFFICE, runs, judge);
        judge_office(DISK, runs, judge);
        let gain = runs.mean_of_both(&label(TABLE, 16, SATURATED), &label(CIRCLE, 16, SATURATED), |table, circle| {
            bodies(table) / bodies(circle)
        });
        judge.finding("table", "table top over circle:", gain, Bound::AtLeast(1.0));
        for id in ["lowest", "highest", "above-10", "above-16", "gap"] {
            judge.mark(id, ROOM);
        }
    }
}

mod i16 {
    use super::*;

    const STATIONS: u32 = 8;
    const LIGHT: u32 = 4000;
    const HEAVY: u32 = 7400;

    fn label(shape: &str, load: u32) -> String {
        format!("{shape}, {load} kb/s")
    }

    pub fn variants() -> Vec<Variant> {
        let of = |shape: &'static str, load: u32| {
            offering(label(shape, load), STATIONS, load).set("radio.layout.shape", shape).seeds(10)
        };
        [OFFICE, DISK].into_iter().flat_map(|shape| [of(shape, LIGHT), of(shape, HEAVY)]).collect()
    }

    /// Largest share of a station.
    fn largest_share(run: &Run) -> f64 {
        let rates = of_stations(run);
        rates.iter().copied().fold(0.0, f64::max) / rates.iter().sum::<f64>()
    }

    /// Correlation of the stations' throughput in the two halves of 30 s.
    fn correlation(run: &Run) -> f64 {
        let [first, second] = ["first", "second"].map(|half| {
            let rates: Vec<f64> = run.phase(half).stations.iter().map(|station| station.ip_mbps).collect();
            let mean = mean(&rates);
            rates.into_iter().map(|rate| rate - mean).collect::<Vec<_>>()
        });
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        sum(&first, &second) / (sum(&first, &first) * sum(&second, &second)).sqrt()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let rise = |shape: &str| {
            runs.mean_of_both(&label(shape, HEAVY), &label(shape, LIGHT), |heavy, light| {
                largest_share(heavy) / largest_share(light)
            })
        };
        // A tenth more is beyond the random differences of equal stations.
        let (what, bound) = ("its share at 7.4 over that at 4 Mb/s:", Bound::AtLeast(1.1));
        judge.finding("grows", what, rise(OFFICE), bound);
        judge.finding_read("grows", AS_DISK, BoundCheck::new(what, rise(DISK), bound));
        let all_runs = persistent_equality(runs, &label(OFFICE, HEAVY));
        judge.finding("runs", "least over most of what stations get over all runs:", all_runs, Bound::AtMost(0.9));
        let (what, bound) = ("correlation:", Bound::AtLeast(0.8));
        judge.finding("time", what, runs.mean(&label(OFFICE, HEAVY), correlation), bound);
        let disk = runs.mean(&label(DISK, HEAVY), correlation);
        judge.finding_read("time", AS_DISK, BoundCheck::new(what, disk, bound));
        judge.mark("time", ROOM);
    }
}
