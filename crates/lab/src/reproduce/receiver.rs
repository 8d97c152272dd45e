//! I12 and I13: control at the receiver, of Choi, Park, Kim, "Performance Impact of Inter-Layer Dependence in
//! Infrastructure WLANs".
//!
//! Their fairness is the minimum over the maximum of throughput. The window of short-term fairness is not published:
//! here one second, and ten in another reading, averaged over all windows; "near 1" means within 10 % of it.

use super::judge::{Bound, BoundCheck, Judge};
use super::runs::{Run, Runs, Variant, mean};
use super::{Experiment, experiment};

const PHASE: &str = "measured";
/// The box is inserted only at the end.
const NEVER: &str = "199.999 s";
const UNCONTROLLED: &str = "uncontrolled";

/// Every experiment of this part of the source.
pub fn all() -> Vec<Experiment> {
    vec![
        experiment!(i12, "inter-layer/i12-receiver-window.toml", true),
        experiment!(i13, "inter-layer/i13-virtual-delay.toml", false),
    ]
}

fn uncontrolled() -> Variant {
    Variant::new(UNCONTROLLED).set("event.1.at", NEVER).seeds(5)
}

fn total(run: &Run) -> f64 {
    run.phase(PHASE).total_ip_mbps
}

/// Mean sojourn time of a frame in the access point, in milliseconds.
fn queueing(run: &Run) -> f64 {
    run.measure(&format!("phase.{PHASE}.ap.sojourn_mean_ms"))
}

mod i12 {
    use super::*;

    const WINDOWS: [u32; 2] = [10, 5];

    fn label(window: u32) -> String {
        format!("window {window}")
    }

    pub fn variants() -> Vec<Variant> {
        let of =
            |window| Variant::new(label(window)).set("manager.receiver.window", format!("{window} packets")).seeds(5);
        WINDOWS.map(of).into_iter().chain([uncontrolled()]).collect()
    }

    /// Standard deviation over mean from second to second, of a station.
    fn fluctuation(run: &Run) -> f64 {
        let stations = run.phase(PHASE).stations.iter();
        mean(&stations.map(|station| station.variation.unwrap_or(f64::NAN)).collect::<Vec<_>>())
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        // Only for the delay without control the source says that it is the maximum.
        let longest = |run: &Run| run.measure(&format!("phase.{PHASE}.ap.sojourn_max_ms"));
        judge.digit("uncontrolled", runs.mean(UNCONTROLLED, longest));
        let over =
            |label: &str, none: &str| runs.mean_of_both(label, none, |with, without| total(with) / total(without));
        for label in WINDOWS.map(label) {
            let id = label.replace(' ', "-");
            judge.digit(&id, runs.mean(&label, queueing));
            let (what, bound) = (format!("{label} over none:"), Bound::Between(0.98, 1.02));
            judge.finding("same-total", &what, over(&label, UNCONTROLLED), bound);
        }
        let calm = runs.mean_of_both(&label(5), UNCONTROLLED, |with, without| fluctuation(with) / fluctuation(without));
        let [second, ten] = [0, 1];
        let better = runs.mean_of_both(&label(5), UNCONTROLLED, |with, without| {
            with.short_term[second] / without.short_term[second]
        });
        let small = runs.mean(UNCONTROLLED, |run| run.short_term[second] / run.short_term[ten]);
        // Better means by a tenth or more.
        judge.finding("short-windows", "of 1 s, window 5 over no control:", better, Bound::AtLeast(1.1));
        judge.finding("short-windows", "no control, of 1 s over of 10 s:", small, Bound::AtMost(1.0));
        judge.finding("no-fluctuation", "that of a second's throughput, over that without:", calm, Bound::AtMost(0.2));
    }
}

mod i13 {
    use super::*;

    const CONSTANT: [u32; 5] = [200, 400, 600, 800, 1000];
    const BEYOND: [u32; 2] = [1200, 1500];
    const BOTH: &str = "window 5, 50 ms";
    const TEN: &str = "windows of 10 s";

    fn label(delay: u32) -> String {
        format!("{delay} ms")
    }

    fn window_of_one(stations: u32) -> String {
        format!("n = {stations}, window 1")
    }

    pub fn variants() -> Vec<Variant> {
        let of = |delay| Variant::new(label(delay)).set("manager.receiver.delay", label(delay)).seeds(5);
        let both = Variant::new(BOTH).set("manager.receiver.window", "5 packets");
        let both = both.set("manager.receiver.delay", label(50)).seeds(5);
        let alone = [10, 20].map(|stations| {
            let variant = Variant::new(window_of_one(stations)).set("manager.receiver.window", "1 packets");
            // A negligible delay.
            variant.set("manager.receiver.delay", "1 us").set("station.sta.count", stations).seeds(5)
        });
        let delays = CONSTANT.into_iter().chain(BEYOND).map(of);
        delays.chain([both, uncontrolled()]).chain(alone).collect()
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let over = |delay| runs.mean_of_both(&label(delay), UNCONTROLLED, |with, without| total(with) / total(without));
        for delay in CONSTANT {
            let what = format!("{} over none:", label(delay));
            judge.finding("constant", &what, over(delay), Bound::Between(0.98, 1.02));
        }
        for delay in BEYOND {
            judge.finding("falls", &format!("{} over none:", label(delay)), over(delay), Bound::AtMost(0.98));
        }
        let even = [600, 800, 1000].map(|delay| (label(delay), Bound::AtLeast(0.9)));
        let below = [label(200), UNCONTROLLED.to_owned()].map(|label| (label, Bound::AtMost(0.9)));
        for (label, bound) in even.into_iter().chain(below) {
            let (what, [second, ten]) = (format!("{label}:"), [0, 1]);
            judge.finding("fair", &what, runs.mean(&label, |run| run.short_term[second]), bound);
            judge.finding_read(
                "fair",
                TEN,
                BoundCheck::new(&what, runs.mean(&label, |run| run.short_term[ten]), bound),
            );
        }
        judge.digit("window-5", runs.mean(BOTH, queueing));
        let more =
            runs.mean_of_both(&window_of_one(20), &window_of_one(10), |many, few| queueing(many) / queueing(few));
        judge.finding("more-stations", "AP queueing with 20 over that with 10:", more, Bound::AtLeast(2.0));
    }
}
