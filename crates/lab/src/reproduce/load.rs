//! I14: control of the offered load to just below the critical load. Choi, Park, Kim, "Performance Impact of Inter-Layer
//! Dependence in Infrastructure WLANs", leave it to future work. Without published figures, the controller is compared
//! with the best constant load.

use super::judge::{Bound, Judge, Ours};
use super::runs::{Run, Runs, Variant};
use super::{Experiment, experiment};

const PHASE: &str = "measured";

/// The experiment.
pub fn all() -> Vec<Experiment> {
    vec![experiment!(i14, "inter-layer/i14-load-shaper.toml", false)]
}

mod i14 {
    use super::*;

    const FILE: &str = "file";
    /// Constant loads, in kb/s of IP packets over the WLAN, DATA and ACKs together.
    const LOADS: [u32; 10] = [2_000, 2_400, 2_800, 3_000, 3_200, 3_300, 3_400, 3_600, 4_000, 5_000];

    /// All at the rate of I08, with its peak in DATA frames per second.
    const ALIKE: &str = "all at 11 Mb/s";
    const PEAK_OF_I08: f64 = 380.0;

    fn label(load: u32) -> String {
        format!("{load} kb/s")
    }

    pub fn variants() -> Vec<Variant> {
        let constant = LOADS.map(|load| {
            let variant = Variant::new(label(load)).set("manager.controller.kind", "fixed");
            variant.set("manager.controller.rate", label(load)).seeds(3)
        });
        let alike = Variant::new(ALIKE).set("station.slow.rate", "11 Mb/s").seeds(5);
        constant.into_iter().chain([Variant::new(FILE).seeds(5), alike]).collect()
    }

    fn total(run: &Run) -> f64 {
        run.phase(PHASE).total_ip_mbps
    }

    pub fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        let at = |load: u32| runs.mean(&label(load), total).mean;
        let peak = LOADS.into_iter().map(at).fold(0.0, f64::max);
        let over = |load: u32| Ours::exactly(at(load) / peak);
        judge.finding("curve", "at 2 Mb/s, over the peak:", over(2_000), Bound::AtMost(0.8));
        judge.finding("curve", "at 4 Mb/s, over the peak:", over(4_000), Bound::AtMost(0.9));
        judge.finding("curve", "at 5 Mb/s, over the peak:", over(5_000), Bound::AtMost(0.9));
        let shaped = runs.mean(FILE, |run| total(run) / peak);
        judge.finding("peak", "by the law, over the peak:", shaped, Bound::AtLeast(0.97));
        let wait = |label: &str| runs.mean(label, |run| run.measure(&format!("phase.{PHASE}.ap.sojourn_mean_ms")));
        judge.finding("peak", "from arrival at the access point to delivery, ms:", wait(FILE), Bound::AtMost(40.0));
        let frames = |run: &Run| run.phase(PHASE).total_goodput_mbps * 1e6 / 8.0 / 1460.0 / PEAK_OF_I08;
        judge.finding("of-tcp", "DATA frames over that peak:", runs.mean(ALIKE, frames), Bound::AtLeast(0.97));
        judge.finding("of-tcp", "from arrival to delivery, ms:", wait(ALIKE), Bound::AtMost(40.0));
        let without = wait(&label(5_000));
        judge.finding("peak", "the same at 5 Mb/s:", without, Bound::AtLeast(100.0));
    }
}
