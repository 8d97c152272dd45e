//! A1 to A17: Hegde et al., "Experiences With a Centralized Scheduling Approach for Performance Management of IEEE 802.11
//! Wireless LANs", IEEE/ACM ToN 21(2), 2013.
//!
//! Results published for a real access point are in [`super::adwiser_physical`].

use evenair_workload::Direction;

use evenair_wifi::adwiser_80211b;

use super::formula;
use super::judge::{Bound, BoundCheck, Judge, Ours};
use super::runs::{Run, Runs, Variant, mean, min_over_max};
use super::{Experiment, experiment};

pub(super) const BYPASSED: &str = "bypassed";
pub(super) const INSERTED: &str = "inserted";

/// Buffer of the stations' MAC. The sources of the published runs simulate it, too, without its size. 50 packets are usual in
/// simulators (ns-2).
const STATION_BUFFER: &str = "radio.station_buffer";
const SMALL: &str = "station buffers of 50 packets";
const SMALL_BUFFER: &str = "50 packets";

/// Every experiment published for the hybrid testbed.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(a01, "adwiser/a01-mixed-rates-alike.toml", false),
        experiment!(a02, "adwiser/a02-uploads-starve-downloads.toml", false),
        experiment!(a03, "adwiser/a03-uploads-unequal.toml", false),
        experiment!(a07, "adwiser/a07-calls.toml", false),
        experiment!(a08, "adwiser/a08-open-loop.toml", false),
        experiment!(a09, "adwiser/a09-adaptation.toml", false),
        experiment!(a10, "adwiser/a10-mixed-rates.toml", true),
        experiment!(a11, "adwiser/a11-equal-up-and-down.toml", false),
        experiment!(a14, "adwiser/a14-five-to-one.toml", true),
        experiment!(a17, "adwiser/a17-numbers-of-calls.toml", false),
    ]
}

/// The published box: its rule for the service rate, (virtual) bits as packet cost, and short tail-drop queues that are served
/// by start tags alone. Evenair's defaults differ in all of these.
pub(super) fn published_box(label: impl Into<String>) -> Variant {
    let variant = Variant::new(label).set("manager.controller.kind", "published").set("manager.charge", "bits");
    let plain = variant.set("manager.aqm", "none").set("manager.sparse_first", false);
    plain.set("manager.queue_limit", "100 packets")
}

/// The limit of its queues is not published. By default they are as short as the access point's.
pub(super) const LONG: &str = "queues of the box of 1000 packets";

pub(super) fn with_long_queues() -> Variant {
    published_box(LONG).set("manager.queue_limit", "1000 packets")
}

/// Inserts the box at 300 s, as published. Starved connections retry after back-offs that have doubled up to 120 s, so the
/// settled state is measured from 300 s later.
pub(super) fn inserted_late(label: &str) -> Variant {
    published_box(label)
        .set("duration", "900 s")
        .set("event.1.at", "300 s")
        .set("phase.bypassed.from", "100 s")
        .set("phase.bypassed.to", "300 s")
        .set("phase.inserted.from", "600 s")
        .set("phase.inserted.to", "900 s")
}

/// Section IV-A: bulk transfers to and from the Web server, beyond an Internet link of 8 Mb/s with 300 ms, which this section
/// calls the propagation delay.
fn behind_internet(variant: Variant) -> Variant {
    behind_link(variant, "300 ms")
}

/// Another section calls the 300 ms the round-trip time.
const ROUND_TRIP: &str = "300 ms there and back";

fn behind_link(variant: Variant, delay: &str) -> Variant {
    let link = |variant: Variant, way: &str| {
        variant.set(&format!("wan.{way}.rate"), "8 Mb/s").set(&format!("wan.{way}.delay"), delay)
    };
    link(link(variant.set("server.server.at", "wan"), "down"), "up")
}

pub(super) fn total(phase: &'static str) -> impl Fn(&Run) -> f64 {
    move |run| run.phase(phase).total_ip_mbps
}

pub(super) fn up(phase: &'static str) -> impl Fn(&Run) -> f64 {
    move |run| run.phase(phase).directions.up_ip_mbps
}

pub(super) fn down(phase: &'static str) -> impl Fn(&Run) -> f64 {
    move |run| run.phase(phase).directions.down_ip_mbps
}

pub(super) fn capacity(phase: &'static str) -> impl Fn(&Run) -> f64 {
    move |run| run.phase(phase).capacity_cstar_mbps.unwrap_or(f64::NAN)
}

mod a01 {
    use super::*;

    const NUMBERS: [u32; 4] = [3, 6, 9, 12];

    pub fn variants() -> Vec<Variant> {
        let of = |n: u32| {
            let third = n / 3;
            let counts = |variant: Variant| {
                ["fast", "mid", "slow"].iter().fold(variant, |v, name| v.set(&format!("station.{name}.count"), third))
            };
            counts(Variant::new(format!("n={n}")).seeds(10))
        };
        let fast = Variant::new("all at 54").set("station.mid.rate", "54 Mb/s").set("station.slow.rate", "54 Mb/s");
        let [slower, slowest] = ["24", "6"].map(|rate| {
            let stations = ["fast", "mid", "slow"].into_iter();
            let label = Variant::new(format!("all at {rate}")).seeds(5);
            stations.fold(label, |v, name| v.set(&format!("station.{name}.rate"), format!("{rate} Mb/s")))
        });
        NUMBERS.into_iter().map(of).chain([fast.seeds(5), slower, slowest]).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure("sum", runs.mean("n=12", total(BYPASSED)));
        judge.figure("sum-3", runs.mean("n=3", total(BYPASSED)));
        judge.figure("all-54", runs.mean("all at 54", total(BYPASSED)));
        for (rate, more) in [("24", "54"), ("6", "24")] {
            let sum = |rate: &str| runs.mean(&format!("all at {rate}"), total(BYPASSED));
            let what = format!("Mb/s at {rate}, with those at {more} as the bound:");
            judge.finding("slower", &what, sum(rate), Bound::AtMost(sum(more).mean));
        }
        for n in NUMBERS {
            let label = format!("n={n}");
            for class in ["fast", "mid", "slow"] {
                let sum = runs.mean(&label, |run| run.rates_of(BYPASSED, class).iter().sum());
                judge.finding("classes", &format!("{label}, {class}, Mb/s:"), sum, Bound::Between(2.7, 3.6));
            }
        }
    }
}

mod a02 {
    use super::*;

    const BUFFERS: [u32; 5] = [10, 50, 100, 200, 350];
    /// Upload windows grow to the hosts' send buffers, whose size is not published: with 1 MB they are as large as the largest
    /// published ones. So this reading says nothing about the uploads, from which it is derived, but it does about the
    /// downloads: how much of the access point's buffer the uploads leave them.
    const LIMITED: &str = "uploads with the published windows, by send buffers of 1 MB";
    pub fn variants() -> Vec<Variant> {
        let of = |packets: u32| {
            Variant::new(format!("{packets} packets"))
                .set("duration", "300 s")
                .set("radio.ap_buffer", format!("{} bytes", packets * 1500))
                .set("phase.bypassed.from", "100 s")
                .set("phase.bypassed.to", "300 s")
                .seeds(10)
        };
        let small = Variant { label: SMALL.to_owned(), ..of(100) }.set(STATION_BUFFER, SMALL_BUFFER);
        let limited = Variant { label: LIMITED.to_owned(), ..of(100) }.set("tcp.send_buffer", "1 MB");
        BUFFERS.into_iter().map(of).chain([small, limited]).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let share = |packets: u32| runs.mean(&format!("{packets} packets"), |run| run.down_share(BYPASSED));
        let part = "downloads' part of the total,";
        judge.finding("almost-all", &format!("{part} 100 packets:"), share(100), Bound::AtMost(0.05));
        for packets in BUFFERS {
            judge.finding("any-buffer", &format!("{part} {packets} packets:"), share(packets), Bound::AtMost(0.10));
        }
        for packets in BUFFERS.into_iter().filter(|&packets| packets != 100) {
            let uploads = runs.mean_of_both(&format!("{packets} packets"), "100 packets", |own, usual| {
                up(BYPASSED)(own) / up(BYPASSED)(usual)
            });
            let what = format!("uploads, {packets} packets, over those with 100:");
            judge.finding("any-buffer", &what, uploads, Bound::Between(0.90, 1.10));
        }
        let acks = "part of the buffer, at least, by the packets in it:";
        judge.finding("acks", acks, runs.mean("100 packets", acks_part), Bound::AtLeast(0.5));
        judge.finding_if("acks", SMALL, BoundCheck::new(acks, runs.mean(SMALL, acks_part), Bound::AtLeast(0.5)));
        let window = |label: &str, direction| {
            runs.mean(label, |run| {
                let windows: Vec<_> = run.flows(BYPASSED, direction).filter_map(|flow| flow.cwnd_segments).collect();
                mean(&windows)
            })
        };
        let bounds = [
            ("upload-windows", Direction::Up, Bound::Between(270.0, 770.0)),
            ("download-windows", Direction::Down, Bound::Between(4.5, 16.5)),
        ];
        for (id, direction, bound) in bounds {
            judge.finding(id, "segments:", window("100 packets", direction), bound);
            judge.finding_if(id, SMALL, BoundCheck::new("segments:", window(SMALL, direction), bound));
        }
        let (id, direction, bound) = bounds[1];
        judge.finding_if(id, LIMITED, BoundCheck::new("segments:", window(LIMITED, direction), bound));
    }

    /// Minimum proportion of the access point's buffer (100 DATA packets) that ACKs occupy, from the number of packets in it: as
    /// many DATA packets as fit beside the rest.
    fn acks_part(run: &Run) -> f64 {
        const BUFFER: f64 = 150_000.0;
        const DATA: f64 = 1_500.0;
        // With timestamps, as Linux sends them.
        const ACK: f64 = 52.0;
        let packets = run.phase(BYPASSED).ap_queue_mean_packets;
        let data = ((BUFFER - ACK * packets) / (DATA - ACK)).clamp(0.0, packets);
        ACK * (packets - data) / BUFFER
    }
}

mod a03 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        let small = inserted_late(SMALL).set(STATION_BUFFER, SMALL_BUFFER);
        vec![inserted_late("late").seeds(10), small.seeds(10)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let half = |run: &Run| {
            let mut rates = run.rates(BYPASSED, Direction::Up);
            rates.sort_by(f64::total_cmp);
            rates[5..].iter().sum::<f64>() / rates.iter().sum::<f64>()
        };
        let last = |run: &Run| min_over_max(&run.rates(BYPASSED, Direction::Up));
        let (most, few) = ("part of the faster half:", "slowest over fastest:");
        judge.finding("unequal", most, runs.mean("late", half), Bound::AtLeast(0.60));
        judge.finding("unequal", few, runs.mean("late", last), Bound::AtMost(0.40));
        judge.finding_if("unequal", SMALL, BoundCheck::new(most, runs.mean(SMALL, half), Bound::AtLeast(0.60)));
        judge.finding_if("unequal", SMALL, BoundCheck::new(few, runs.mean(SMALL, last), Bound::AtMost(0.40)));
        judge.figure("equal", runs.mean("late", |run| run.phase(INSERTED).jain_flows.unwrap_or(f64::NAN)));
    }
}

/// Rate of the download beside calls.
fn download(phase: &'static str) -> impl Fn(&Run) -> f64 {
    move |run| run.measure(&format!("phase.{phase}.flow.download.ip_mbps"))
}

mod a07 {
    use super::*;

    /// The behaviour of refused calls is not published: in the file they do not take place.
    const SENDS_ON: &str = "refused calls that send on";
    const WITHOUT: &str = "without the box";

    pub fn variants() -> Vec<Variant> {
        let all = |variant: Variant| variant.set("station.phone.count", 40);
        let without = all(Variant::new(WITHOUT)).set("event.1.at", "264 s");
        vec![published_box("file").seeds(5), all(published_box(SENDS_ON)).seeds(5), without.seeds(5)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure("limit", runs.mean("file", download("limit")));
        judge.figure_read("limit", SENDS_ON, runs.mean(SENDS_ON, download("limit")));
        let twelve_calls = 17.0 - 2.0 * 0.45;
        let over = BoundCheck::new(
            "14 Mb/s over 17 less two calls more:",
            Ours::exactly(14.0 / twelve_calls),
            Bound::AtLeast(0.9),
        );
        judge.elsewhere("limit", "a17, where ten calls leave 17 Mb/s and one costs 0.45", over);
        let later = |run: &Run| download("most")(run) / download("early")(run);
        let (what, bound) = ("246 to 265 s, over 120 to 150 s:", Bound::Between(0.95, 1.05));
        judge.finding("stays", what, runs.mean("file", later), bound);
        judge.finding_read("stays", SENDS_ON, BoundCheck::new(what, runs.mean(SENDS_ON, later), bound));
        judge.figure("unlimited", runs.mean(WITHOUT, download("most")));
    }
}

mod a17 {
    use super::*;

    const CALLS: [u32; 4] = [10, 20, 30, MOST];
    const MOST: u32 = 40;

    fn label(calls: u32) -> String {
        format!("{calls} calls")
    }

    pub fn variants() -> Vec<Variant> {
        CALLS.map(|calls| Variant::new(label(calls)).set("station.phone.count", calls).seeds(5)).into()
    }

    fn slice(run: &Run) -> f64 {
        (download("none")(run) - download("calls")(run)) / f64::from(MOST)
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure("slice", runs.mean(&label(MOST), slice));
        judge.figure("ten", runs.mean(&label(10), download("calls")));
        for calls in [10, 20, 30] {
            let off = runs.mean_of_both(&label(calls), &label(MOST), |some, most| {
                let line = download("none")(most) - f64::from(calls) * slice(most);
                (download("calls")(some) - line) / download("none")(most)
            });
            let what = format!("{calls} calls, off the straight line, of what no call leaves:");
            judge.finding("linear", &what, off, Bound::Between(-0.05, 0.05));
        }
        for (calls, way) in CALLS.into_iter().flat_map(|calls| [(calls, "up"), (calls, "down")]) {
            let worst = |run: &Run| {
                let of = |call| run.measure(&format!("phase.calls.call.{way}{call}.delay_p99_ms"));
                (1..=calls).map(of).fold(0.0, f64::max)
            };
            let what = format!("99 % of the delays of each of {calls} calls {way} are below, ms:");
            judge.finding("delay", &what, runs.mean(&label(calls), worst), Bound::AtMost(20.0));
        }
    }
}

mod a08 {
    use super::*;

    /// Service rates, in Mb/s: dense where the aggregate may be largest, so that C* has neighbours within 5 %.
    const RATES: [f64; 19] =
        [8.0, 8.5, 9.0, 9.5, 10.0, 10.5, 11.0, 11.5, 12.0, 12.5, 13.0, 13.5, 14.0, 14.5, 15.0, 15.5, 16.0, 18.0, 22.0];
    /// Numbers of stations at 54, 24 and 6 Mb/s.
    const POPULATIONS: [[u32; 3]; 3] = [[3, 3, 3], [4, 4, 4], [1, 2, 3]];

    fn name([fast, mid, slow]: [u32; 3]) -> String {
        format!("{fast}/{mid}/{slow}")
    }

    fn label(population: [u32; 3], rate: f64) -> String {
        format!("{} at C = {rate}", name(population))
    }

    pub fn variants() -> Vec<Variant> {
        let of = |population: [u32; 3], rate: f64| {
            let variant = Variant::new(label(population, rate)).set("manager.controller.rate", format!("{rate} Mb/s"));
            let variant = variant.set("manager.charge", "bits");
            let groups = ["fast", "mid", "slow"].into_iter().zip(population);
            groups.fold(variant, |v, (name, count)| v.set(&format!("station.{name}.count"), count)).seeds(3)
        };
        POPULATIONS.into_iter().flat_map(|population| RATES.map(|rate| of(population, rate))).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure("capacity", runs.mean(&label([3, 3, 3], 12.0), capacity(INSERTED)));
        judge.formula("capacity", formula::mean_capacity(&formula::dot11a(), &[54.0, 24.0, 6.0]));
        for population in POPULATIONS {
            let name = name(population);
            let aggregate = |rate| runs.mean(&label(population, rate), total(INSERTED));
            let cstar = runs.mean(&label(population, RATES[0]), capacity(INSERTED)).mean;
            for rate in RATES.into_iter().filter(|&rate| rate < 0.95 * cstar) {
                let part = aggregate(rate).mean / rate;
                let what = format!("{name}, aggregate over C at {rate}:");
                judge.finding("follows", &what, Ours::exactly(part), Bound::Between(0.95, 1.05));
            }
            let peak = RATES.into_iter().max_by(|&a, &b| aggregate(a).mean.total_cmp(&aggregate(b).mean));
            let peak = peak.expect("there are rates");
            let what = format!("{name}, C of the largest aggregate over C*:");
            judge.finding("peak", &what, Ours::exactly(peak / cstar), Bound::Between(0.90, 1.10));
            let left = runs.mean_of_both(
                &label(population, RATES[RATES.len() - 1]),
                &label(population, peak),
                |beyond, best| total(INSERTED)(beyond) / total(INSERTED)(best),
            );
            judge.finding("collapses", &format!("{name}, at C = 22 over the peak:"), left, Bound::AtMost(0.90));
        }
    }
}

mod a09 {
    use super::*;

    const PHASES: [&str; 3] = ["first", "second", "third"];
    /// The tolerance of the source is not published. With a larger one, C decreases later when the access point's queue is full
    /// and the medium serves less.
    const TIGHT: &str = "a tolerance of 1 %";

    pub fn variants() -> Vec<Variant> {
        let tight = published_box(TIGHT).set("manager.controller.tolerance", "1 %");
        let without = Variant::new("without").set("event.1.at", "3599 s");
        vec![published_box("with").seeds(4), with_long_queues().seeds(4), tight.seeds(4), without.seeds(2)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let mut finding = |id: &str, what: &str, value: &dyn Fn(&Run) -> f64, bound: Bound| {
            judge.finding(id, what, runs.mean("with", value), bound);
            judge.finding_read(id, LONG, BoundCheck::new(what, runs.mean(LONG, value), bound));
            judge.finding_if(id, TIGHT, BoundCheck::new(what, runs.mean(TIGHT, value), bound));
        };
        let part = |run: &Run, phase| total(phase)(run) / capacity(phase)(run);
        let what = |phase| format!("aggregate over C*, {phase} population:");
        for phase in PHASES {
            finding("follows", &what(phase), &|run| part(run, phase), Bound::Between(0.90, 1.05));
        }
        finding("adapts", "s, after the slower of the two changes:", &adaptation, Bound::Between(45.0, 66.0));
        for phase in PHASES {
            judge.finding("low", &what(phase), runs.mean("without", |run| part(run, phase)), Bound::AtMost(0.85));
        }
        for (id, phase) in [("capacity", "first"), ("capacity-4", "third")] {
            judge.figure(id, runs.mean("with", capacity(phase)));
            judge.formula(id, formula::mean_capacity(&formula::dot11a(), &[54.0, 24.0, 6.0]));
        }
    }

    /// Time from a change until the aggregate over 15 s is within 3 % of that of the settled population; the longer of both. The
    /// source has 97 % of C* once it has adapted.
    fn adaptation(run: &Run) -> f64 {
        const INTERVAL_S: usize = 5;
        let after = |change_s: usize, phase: &'static str| {
            let (level, first) = (total(phase)(run), change_s / INTERVAL_S);
            let mut windows = run.totals[first..].windows(3);
            let settled = windows.position(|window| (mean(window) / level - 1.0).abs() <= 0.03);
            settled.map_or(f64::NAN, |intervals| (intervals * INTERVAL_S) as f64)
        };
        after(1_200, "second").max(after(2_400, "third"))
    }
}

mod a10 {
    use super::*;

    /// Number of seeds: a rate's share varies so much from run to run that with twenty its interval is as wide as its band.
    const SEEDS: u64 = 80;

    pub fn variants() -> Vec<Variant> {
        let small = behind_internet(inserted_late(SMALL)).set(STATION_BUFFER, SMALL_BUFFER);
        let round_trip = behind_link(inserted_late(ROUND_TRIP), "150 ms");
        vec![behind_internet(inserted_late("late")).seeds(SEEDS), round_trip.seeds(SEEDS), small.seeds(SEEDS)]
    }

    /// PHY rates, as text and in Mb/s, and the published capacity for each, in Mb/s.
    const RATES: [(&str, f64, f64); 3] = [("11", 11.0, 4.89), ("5.5", 5.5, 3.33), ("2", 2.0, 1.58)];

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure_if("total-bypassed", SMALL, runs.mean(SMALL, total(BYPASSED)));
        let mut figure = |id: &str, value: &dyn Fn(&Run) -> f64| {
            judge.figure(id, runs.mean("late", value));
            judge.figure_read(id, ROUND_TRIP, runs.mean(ROUND_TRIP, value));
        };
        figure("total-bypassed", &total(BYPASSED));
        figure("capacity", &capacity(INSERTED));
        figure("total", &total(INSERTED));
        figure("up", &up(INSERTED));
        figure("down", &down(INSERTED));
        judge.formula("capacity", formula::mean_capacity(&adwiser_80211b(), &RATES.map(|(_, rate, _)| rate)));
        let mut finding = |id: &str, what: &str, value: &dyn Fn(&str) -> Ours, bound: Bound| {
            judge.finding(id, what, value("late"), bound);
            judge.finding_read(id, ROUND_TRIP, BoundCheck::new(what, value(ROUND_TRIP), bound));
        };
        let all: f64 = RATES.iter().map(|(.., capacity)| capacity).sum();
        for (place, (name, _, capacity)) in RATES.into_iter().enumerate() {
            // Which upload of a run wins is random: the mean over runs shows the effect of the PHY rate.
            let upload = |label: &str| runs.mean(label, |run| run.rates(BYPASSED, Direction::Up)[place]).mean;
            let bound = Bound::Between(0.72, 0.99);
            let what = format!("the upload at {name} Mb/s:");
            finding("packet-fair", &what, &|label| Ours::exactly(upload(label)), bound);
            let of = |run: &Run, way: &str| run.rates_of(INSERTED, way)[place];
            let part = |run: &Run| (of(run, "upload") + of(run, "download")) / total(INSERTED)(run) / (capacity / all);
            let what = format!("share of {name} Mb/s over its part of the three rates:");
            finding("shares", &what, &|label| runs.mean(label, part), Bound::Between(0.9, 1.1));
            // Ratio of the means: in a run in which one starves, its own ratio is arbitrary.
            let mean = |label: &str, way: &'static str| runs.mean(label, |run| of(run, way)).mean;
            let ratio = |label: &str| Ours::exactly(mean(label, "upload") / mean(label, "download"));
            finding("each", &format!("up over down at {name} Mb/s:"), &ratio, Bound::Between(0.9, 1.1));
        }
        let share = |label: &str| runs.mean(label, |run| run.down_share(BYPASSED));
        finding("packet-fair", "downloads' part:", &share, Bound::AtMost(0.10));
    }
}

mod a11 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        let small = behind_internet(inserted_late(SMALL)).set(STATION_BUFFER, SMALL_BUFFER);
        let round_trip = behind_link(inserted_late(ROUND_TRIP), "150 ms");
        vec![behind_internet(inserted_late("late")).seeds(10), round_trip.seeds(10), small.seeds(10)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure_if("up-bypassed", SMALL, runs.mean(SMALL, up(BYPASSED)));
        let mut figure = |id: &str, value: &dyn Fn(&Run) -> f64| {
            judge.figure(id, runs.mean("late", value));
            judge.figure_read(id, ROUND_TRIP, runs.mean(ROUND_TRIP, value));
        };
        figure("up-bypassed", &up(BYPASSED));
        figure("total", &total(INSERTED));
        figure("up", &up(INSERTED));
        figure("down", &down(INSERTED));
        figure("equal", &|run| run.phase(INSERTED).jain_flows.unwrap_or(f64::NAN));
        let mut finding = |id: &str, what: &str, value: &dyn Fn(&Run) -> f64, bound: Bound| {
            judge.finding(id, what, runs.mean("late", value), bound);
            judge.finding_read(id, ROUND_TRIP, BoundCheck::new(what, runs.mean(ROUND_TRIP, value), bound));
        };
        finding("starved", "downloads' part:", &|run| run.down_share(BYPASSED), Bound::AtMost(0.05));
        let flows = |run: &Run| [run.rates(INSERTED, Direction::Up), run.rates(INSERTED, Direction::Down)].concat();
        let (least, most) = (f64::INFINITY, f64::NEG_INFINITY);
        let band = Bound::Between(0.432, 0.528);
        finding("each", "the slowest flow, Mb/s:", &|run| flows(run).into_iter().fold(least, f64::min), band);
        finding("each", "the fastest flow, Mb/s:", &|run| flows(run).into_iter().fold(most, f64::max), band);
    }
}

mod a14 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![inserted_late("late").seeds(5), inserted_late(NINE).set("station.gold.weight", 9).seeds(5)]
    }

    const NINE: &str = "9 to 1";

    fn of(station: &'static str) -> impl Fn(&Run) -> f64 {
        move |run| run.measure(&format!("phase.inserted.station.{station}.ip_mbps"))
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure("gold", runs.mean("late", of("gold")));
        judge.figure("plain", runs.mean("late", of("plain")));
        judge.figure("total", runs.mean("late", total(INSERTED)));
        let ratio = |run: &Run| of("gold")(run) / of("plain")(run);
        judge.finding("nine", "one over the other:", runs.mean(NINE, ratio), Bound::Between(8.1, 9.9));
    }
}
