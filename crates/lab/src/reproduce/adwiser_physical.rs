//! A4 to A6, A12, A13 and A15, published of a real access point. Source as of [`super::adwiser`].

use evenair_workload::Direction;

use super::adwiser::{BYPASSED, INSERTED, capacity, down, inserted_late, published_box, total, up};
use super::judge::{Bound, BoundCheck, Judge};
use super::runs::{Run, Runs, Variant, min_over_max};
use super::{Experiment, experiment};

/// Every experiment of the source that was published of the physical testbed.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(a04, "adwiser/a04-lan-starves-internet.toml", false),
        experiment!(a05, "adwiser/a05-pages-beside-download.toml", false),
        experiment!(a06, "adwiser/a06-pages-beside-upload.toml", false),
        experiment!(a12, "adwiser/a12-real-access-point.toml", false),
        experiment!(a13, "adwiser/a13-two-uploads.toml", true),
        experiment!(a15, "adwiser/a15-gold-and-bronze.toml", false),
    ]
}

mod a04 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![Variant::new("file").seeds(5)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let of_link = |run: &Run| run.rates_of(BYPASSED, "wan").iter().sum::<f64>() / 8.0;
        let used = runs.mean("file", of_link);
        judge.finding("starved", "used part of the Internet link:", used, Bound::AtMost(0.5));
    }
}

/// Mean time of the pages that were begun in a phase.
fn page_time(phase: &'static str) -> impl Fn(&Run) -> f64 {
    move |run| run.measure(&format!("phase.{phase}.page.mean_s"))
}

/// The source does not say whose station has the bulk transfer: another one than the reader's in the files.
const OWN: &str = "the bulk transfer of the reader's own station";

fn same_station() -> Variant {
    Variant::new(OWN).set("bulk.bulk.stations", "[\"reader\"]")
}

mod a05 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![Variant::new("file").seeds(20), same_station().seeds(20)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure("alone", runs.mean("file", page_time("alone")));
        judge.figure("beside", runs.mean("file", page_time(BYPASSED)));
        judge.figure_read("beside", OWN, runs.mean(OWN, page_time(BYPASSED)));
        let slower = |run: &Run| page_time(BYPASSED)(run) / page_time("alone")(run);
        let peak = |run: &Run| run.measure("phase.bypassed.page.max_s") / page_time(BYPASSED)(run);
        let (times, longest) = ("beside over alone:", "longest over mean:");
        judge.finding("slower", times, runs.mean("file", slower), Bound::AtLeast(1.2));
        judge.finding_read("slower", OWN, BoundCheck::new(times, runs.mean(OWN, slower), Bound::AtLeast(1.2)));
        judge.finding("slower", longest, runs.mean("file", peak), Bound::AtLeast(3.0));
        judge.finding_read("slower", OWN, BoundCheck::new(longest, runs.mean(OWN, peak), Bound::AtLeast(3.0)));
    }
}

mod a06 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![Variant::new("file").seeds(20), same_station().seeds(20)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure("alone", runs.mean("file", page_time("alone")));
        let (what, bound) = ("mean time of a page, s:", Bound::AtLeast(10.0));
        judge.finding("stalled", what, runs.mean("file", page_time(BYPASSED)), bound);
        judge.finding_read("stalled", OWN, BoundCheck::new(what, runs.mean(OWN, page_time(BYPASSED)), bound));
    }
}

/// Basic rates are not published. By the standard's own, control frames go at 24 Mb/s.
const LOWEST: &str = "control frames at 6 Mb/s";

fn lowest(variant: Variant) -> Variant {
    Variant { label: LOWEST.to_owned(), ..variant }.set("radio.basic_rates", r#"["6 Mb/s"]"#)
}

mod a12 {
    use super::*;

    const COMPUTED: &str = "computed with control frames at 6 Mb/s";

    pub fn variants() -> Vec<Variant> {
        vec![published_box("file").seeds(5), lowest(published_box("file")).seeds(5)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let mut figure = |id: &str, value: &dyn Fn(&Run) -> f64| {
            judge.figure(id, runs.mean("file", value));
            judge.figure_read(id, LOWEST, runs.mean(LOWEST, value));
        };
        figure("alone", &down("alone"));
        figure("up", &up(BYPASSED));
        figure("total", &total(INSERTED));
        // What the authors computed need not have the rates of the access point that they had.
        judge.figure("ceiling", runs.mean("file", capacity("alone")));
        judge.figure_read("ceiling", COMPUTED, runs.mean(LOWEST, capacity("alone")));
        let mut finding = |id: &str, what: &str, value: &dyn Fn(&Run) -> f64, bound: Bound| {
            judge.finding(id, what, runs.mean("file", value), bound);
            judge.finding_read(id, LOWEST, BoundCheck::new(what, runs.mean(LOWEST, value), bound));
        };
        finding("starved", "the download's part:", &|run| run.down_share(BYPASSED), Bound::AtMost(0.05));
        let ratio = |run: &Run| up(INSERTED)(run) / down(INSERTED)(run);
        finding("equal", "up : down", &ratio, Bound::Between(0.95, 1.05));
    }
}

mod a13 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![inserted_late("late").seeds(5), lowest(inserted_late("late")).seeds(5)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let ratio = |run: &Run| min_over_max(&run.rates(BYPASSED, Direction::Up));
        let (what, bound) = ("one upload over the other:", Bound::AtMost(0.2));
        judge.finding("starved", what, runs.mean("late", ratio), bound);
        judge.finding_read("starved", LOWEST, BoundCheck::new(what, runs.mean(LOWEST, ratio), bound));
        let jain = |run: &Run| run.phase(INSERTED).jain_flows.unwrap_or(f64::NAN);
        judge.figure("equal", runs.mean("late", jain));
        judge.figure_read("equal", LOWEST, runs.mean(LOWEST, jain));
        judge.figure("total", runs.mean("late", total(INSERTED)));
        judge.figure_read("total", LOWEST, runs.mean(LOWEST, total(INSERTED)));
    }
}

mod a15 {
    use super::*;

    pub fn variants() -> Vec<Variant> {
        vec![Variant::new("file").seeds(10)]
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let sum = |run: &Run, group: &str| run.rates_of(BYPASSED, group).iter().sum::<f64>();
        let ratio = runs.mean("file", |run| sum(run, "bronze") / sum(run, "gold"));
        judge.finding("bronze-ahead", "bronze over gold:", ratio, Bound::AtLeast(1.05));
    }
}
