//! A4 to A6, A12, A13 and A15, published for a real access point. Source: see [`super::adwiser`].

use evenair_workload::Direction;

use super::adwiser::{BYPASSED, INSERTED, LONG, down, inserted_late, published_box, total, up, with_long_queues};
use super::formula;
use super::judge::{Bound, BoundCheck, Judge, Ours};
use super::runs::{Run, Runs, Variant, min_over_max};
use super::{Experiment, experiment};

/// Every experiment published for the physical testbed.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(a04, "adwiser/a04-lan-starves-internet.toml", false),
        experiment!(a05, "adwiser/a05-pages-beside-download.toml", false),
        experiment!(a06, "adwiser/a06-pages-beside-upload.toml", false),
        experiment!(a12, "adwiser/a12-real-access-point.toml", false),
        experiment!(a13, "adwiser/a13-two-uploads.toml", false),
        experiment!(a15, "adwiser/a15-gold-and-bronze.toml", false),
    ]
}

/// The buffer of the real access point is not published. That of the emulated one is limited in bytes.
const IN_PACKETS: &str = "an access point buffer held in packets, not in bytes";

fn in_packets(variant: Variant) -> Variant {
    Variant { label: IN_PACKETS.to_owned(), ..variant }.set("radio.ap_buffer", "100 packets")
}

/// The smallest buffer of the source's sweep.
const SHORT: &str = "an access point buffer of 10 packets";

fn short(variant: Variant) -> Variant {
    Variant { label: SHORT.to_owned(), ..variant }.set("radio.ap_buffer", "10 packets")
}

/// Whether the laptops support WME, as the access point does, is not published.
const LAPTOPS: &str = "WME at the laptops, too";

fn laptops(variant: Variant) -> Variant {
    Variant { label: LAPTOPS.to_owned(), ..variant }.set("radio.ac.be.aifsn", 3)
}

mod a04 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![published_box("file").seeds(5), with_long_queues().seeds(5)]
    }

    fn sum(phase: &'static str, group: &'static str) -> impl Fn(&Run) -> f64 {
        move |run| run.rates_of(phase, group).iter().sum()
    }

    /// The larger of both flows' ratios of standard deviation over time to mean.
    fn variation(group: &'static str) -> impl Fn(&Run) -> f64 {
        move |run| {
            let of = |flow| run.measure(&format!("phase.inserted.flow.{group}{flow}.variation"));
            of(1).max(of(2))
        }
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let used = runs.mean("file", |run| sum(BYPASSED, "wan")(run) / 8.0);
        judge.finding("starved", "used part of the Internet link:", used, Bound::AtMost(0.5));
        judge.figure("internet", runs.mean("file", sum(INSERTED, "wan")));
        judge.figure_read("internet", LONG, runs.mean(LONG, sum(INSERTED, "wan")));
        let mut finding = |id: &str, what: &str, value: &dyn Fn(&Run) -> f64, bound: Bound| {
            judge.finding(id, what, runs.mean("file", value), bound);
            judge.finding_read(id, LONG, BoundCheck::new(what, runs.mean(LONG, value), bound));
        };
        let varies = "standard deviation of a second's rate over the mean, the worse flow:";
        finding("stable", varies, &variation("wan"), Bound::AtMost(0.10));
        finding("reduced", varies, &variation("lan"), Bound::AtMost(0.20));
        let left = |run: &Run| sum(INSERTED, "lan")(run) / sum(BYPASSED, "lan")(run);
        finding("reduced", "the LAN's rates, with over without:", &left, Bound::AtMost(0.95));
    }
}

/// Mean load time of the pages begun in a phase.
fn page_time(phase: &'static str) -> impl Fn(&Run) -> f64 {
    move |run| run.measure(&format!("phase.{phase}.page.mean_s"))
}

/// Which station has the bulk transfer is not published: in the files another one than the reader's.
const OWN: &str = "the bulk transfer of the reader's own station";
const OWN_IN_PACKETS: &str = "the bulk transfer of the reader's own station, an access point buffer held in packets";

fn same_station() -> Variant {
    published_box(OWN).set("bulk.bulk.stations", "[\"reader\"]")
}

/// The two testbeds with pages: which station has the bulk transfer, and the unit of the access point's buffer.
fn pages() -> Vec<Variant> {
    let both = Variant { label: OWN_IN_PACKETS.to_owned(), ..in_packets(same_station()) };
    [published_box("file"), same_station(), in_packets(published_box("file")), both].map(|v| v.seeds(20)).into()
}

const PAGE_READINGS: [&str; 3] = [OWN, IN_PACKETS, OWN_IN_PACKETS];

/// Checks a finding on pages in the file and in all readings.
fn pages_finding(judge: &mut Judge<'_>, id: &str, what: &str, value: impl Fn(&str) -> Ours, bound: Bound) {
    judge.finding(id, what, value("file"), bound);
    for reading in PAGE_READINGS {
        judge.finding_read(id, reading, BoundCheck::new(what, value(reading), bound));
    }
}

/// As [`pages_finding`], for a figure.
fn pages_figure(judge: &mut Judge<'_>, id: &str, value: impl Fn(&str) -> Ours) {
    judge.figure(id, value("file"));
    for reading in PAGE_READINGS {
        judge.figure_read(id, reading, value(reading));
    }
}

mod a05 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        pages()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        pages_figure(judge, "alone", |label| runs.mean(label, page_time("alone")));
        pages_figure(judge, "beside", |label| runs.mean(label, page_time(BYPASSED)));
        let slower = |run: &Run| page_time(BYPASSED)(run) / page_time("alone")(run);
        let peak = |run: &Run| run.measure("phase.bypassed.page.max_s") / page_time(BYPASSED)(run);
        pages_finding(judge, "slower", "beside over alone:", |label| runs.mean(label, slower), Bound::AtLeast(1.2));
        pages_finding(judge, "slower", "longest over mean:", |label| runs.mean(label, peak), Bound::AtLeast(3.0));
        pages_figure(judge, "with", |label| runs.mean(label, page_time(INSERTED)));
        let spread = |run: &Run, phase: &str| {
            let of = |part: &str| run.measure(&format!("phase.{phase}.page.{part}_s"));
            of("p90") - of("p50")
        };
        let steadier = |run: &Run| spread(run, INSERTED) / spread(run, BYPASSED);
        let what = "from the median to the 90th percentile, with over without:";
        pages_finding(judge, "steadier", what, |label| runs.mean(label, steadier), Bound::AtMost(1.0));
    }
}

mod a06 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        pages().into_iter().chain([short(published_box("file")).seeds(20)]).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        pages_figure(judge, "alone", |label| runs.mean(label, page_time("alone")));
        let (what, bound) = ("mean time of a page, s:", Bound::AtLeast(10.0));
        let stalled = |label: &str| runs.mean(label, page_time(BYPASSED));
        pages_finding(judge, "stalled", what, stalled, bound);
        judge.finding_if("stalled", SHORT, BoundCheck::new(what, stalled(SHORT), bound));
        let near = |run: &Run| page_time(INSERTED)(run) / page_time("alone")(run);
        let better = |run: &Run| page_time(INSERTED)(run) / page_time(BYPASSED)(run);
        pages_finding(judge, "better", "over those alone:", |label| runs.mean(label, near), Bound::AtMost(1.25));
        pages_finding(judge, "better", "with over without:", |label| runs.mean(label, better), Bound::AtMost(0.5));
    }
}

/// The 300 ms to the Web server are the propagation delay in one section, and the round-trip time in another.
const ROUND_TRIP: &str = "300 ms there and back";

fn round_trip(variant: Variant) -> Variant {
    let variant = Variant { label: ROUND_TRIP.to_owned(), ..variant };
    variant.set("wan.down.delay", "150 ms").set("wan.up.delay", "150 ms")
}

/// The readings of the real access point, and its possible causes.
fn real(variant: impl Fn() -> Variant) -> Vec<Variant> {
    let all = [variant(), round_trip(variant()), in_packets(variant()), laptops(variant()), short(variant())];
    all.map(|variant| variant.seeds(5)).into()
}

/// Checks values in the variant of the file, `file`, and in all readings of the real access point.
struct Real<'a, 'b> {
    runs: &'a Runs,
    judge: &'a mut Judge<'b>,
    file: &'static str,
}

impl Real<'_, '_> {
    const READINGS: [&'static str; 3] = [ROUND_TRIP, IN_PACKETS, LAPTOPS];

    fn figure(&mut self, id: &str, value: impl Fn(&Run) -> f64) {
        self.judge.figure(id, self.runs.mean(self.file, &value));
        for reading in Self::READINGS {
            self.judge.figure_read(id, reading, self.runs.mean(reading, &value));
        }
    }

    fn finding(&mut self, id: &str, what: &str, value: impl Fn(&Run) -> f64, bound: Bound) {
        self.judge.finding(id, what, self.runs.mean(self.file, &value), bound);
        for reading in Self::READINGS {
            self.judge.finding_read(id, reading, BoundCheck::new(what, self.runs.mean(reading, &value), bound));
        }
    }

    /// As [`Real::figure`], also with the cause of a short buffer.
    fn caused(&mut self, id: &str, value: impl Fn(&Run) -> f64) {
        self.figure(id, &value);
        self.judge.figure_if(id, SHORT, self.runs.mean(SHORT, &value));
    }
}

mod a12 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        real(|| published_box("file"))
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let mut real = Real { runs, judge, file: "file" };
        real.figure("alone", down("alone"));
        real.caused("up", up(BYPASSED));
        real.caused("down", down(BYPASSED));
        real.figure("total", total(INSERTED));
        let ratio = |run: &Run| up(INSERTED)(run) / down(INSERTED)(run);
        real.finding("equal", "up : down", ratio, Bound::Between(0.95, 1.05));
        // Computed for DCF, whatever the access point uses.
        judge.figure("ceiling", Ours::exactly(formula::own_capacity(&formula::dot11g(), 54.0)));
        judge.formula("ceiling", formula::mean_capacity(&formula::dot11g(), &[54.0]));
    }
}

mod a13 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        real(|| inserted_late("late"))
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let ratio = |run: &Run| min_over_max(&run.rates(BYPASSED, Direction::Up));
        let (what, bound) = ("one upload over the other:", Bound::AtMost(0.2));
        let mut real = Real { runs, judge, file: "late" };
        real.finding("starved", what, ratio, bound);
        real.figure("equal", |run| run.phase(INSERTED).jain_flows.unwrap_or(f64::NAN));
        real.figure("total", total(INSERTED));
        judge.finding_if("starved", SHORT, BoundCheck::new(what, runs.mean(SHORT, ratio), bound));
    }
}

mod a15 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![published_box("file").seeds(10), with_long_queues().seeds(10)]
    }

    fn ratio(phase: &'static str, ahead: &'static str, behind: &'static str) -> impl Fn(&Run) -> f64 {
        let sum = move |run: &Run, group: &str| run.rates_of(phase, group).iter().sum::<f64>();
        move |run| sum(run, ahead) / sum(run, behind)
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let bronze = runs.mean("file", ratio(BYPASSED, "bronze", "gold"));
        judge.finding("bronze-ahead", "bronze over gold:", bronze, Bound::AtLeast(1.05));
        judge.figure("total", runs.mean("file", total(INSERTED)));
        judge.figure_read("total", LONG, runs.mean(LONG, total(INSERTED)));
        let gold = |label: &str| runs.mean(label, ratio(INSERTED, "gold", "bronze"));
        let (what, bound) = ("gold over bronze:", Bound::Between(3.6, 4.4));
        judge.finding("four", what, gold("file"), bound);
        judge.finding_read("four", LONG, BoundCheck::new(what, gold(LONG), bound));
    }
}
