//! Calibration of a channel-aware scheduler: goodput as a function of the signal, measured on a saturated link.
//!
//! The station is measured at one signal after the other. At each, the goodput is measured over windows of n packets or a few
//! more, `n * length / time`, which gives pairs of signal and goodput. The table has the mean goodput at each signal, smoothed
//! over neighbours and never falling as the signal rises. A signal at which nothing arrived is not in the table: below its
//! first point a scheduler uses the goodput of that point.
//!
//! Source: Garroppo, Giordano, Lucetti, Valori, "The Wireless Hierarchical Token Bucket: a Channel Aware Scheduler for 802.11
//! Networks", n = 100. They do not state how they smooth; here it is a quarter, a half and a quarter of three neighbours.
//!
//! In a simulation the scenario sets the signal. For a real link, pairs of signal and goodput come from elsewhere
//! ([`Calibration::of_pairs`]).

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenair_results::estimate::{CONFIDENCE, Estimate};
use evenair_results::{Curve, Curves, Table, Values};
use evenair_results::{FlowSeries, RunResult};
use evenair_scenario::{AppKind, Scenario};
use evenair_workload::Direction;

/// Packets per window, as published.
pub const WINDOW: u64 = 100;
/// Mean queue length, in packets, below which the link was not saturated.
const SATURATED: f64 = 1.0;
/// Intervals at the start of a run that are ignored.
const SKIPPED: usize = 1;

/// A calibration to run.
#[derive(Clone, Copy, Debug)]
pub struct Calibrator<'a> {
    /// The scenario's text. It has one application, which sends datagrams.
    pub text: &'a str,
    /// The scenario's name in errors.
    pub file: &'a str,
    /// Keys to set, with their values.
    pub settings: &'a [(String, String)],
    /// Packets per window.
    pub window: u64,
}

/// Why there is no calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The scenario is invalid, or has no such signal.
    #[error(transparent)]
    Scenario(#[from] evenair_reader::ConfigError),
    /// The scenario cannot be run.
    #[error(transparent)]
    Run(#[from] evenair_sim::SimError),
    /// The scenario is no calibration.
    #[error("{file}: {what}; a calibration has one application, a [[udp]] that sends more than the medium carries")]
    NoCalibration {
        /// The scenario.
        file: String,
        /// What is wrong with it, as a clause.
        what: String,
    },
    /// Nothing arrived at any signal.
    #[error("nothing arrived at any of the signals")]
    Nothing,
}

/// The measurements at one signal.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Signal-to-noise ratio, in decibels.
    pub snr_db: f64,
    /// Goodput of each window, in kb/s. If the channel carries less than a window in the whole run, the goodput of the
    /// incomplete one.
    pub windows_kbps: Vec<f64>,
}

/// A point of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Signal-to-noise ratio, in decibels.
    pub snr_db: f64,
    /// Goodput, in kb/s, smoothed.
    pub goodput_kbps: f64,
    /// Mean of the measured goodputs before smoothing, in kb/s.
    pub measured_kbps: f64,
    /// Half-width of that mean's 95 % confidence interval, in kb/s; absent with one window.
    pub half_width_kbps: Option<f64>,
    /// Number of windows.
    pub windows: usize,
}

/// All measurements, by rising signal.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// One step per signal.
    pub steps: Vec<Step>,
}

impl Calibrator<'_> {
    /// Measures at these signal-to-noise ratios, in decibels, on all cores.
    ///
    /// # Errors
    /// The error of the first signal, in their order, that cannot be measured.
    pub fn run(&self, snrs_db: &[f64]) -> Result<Calibration, CalibrationError> {
        let mut snrs_db = snrs_db.to_vec();
        snrs_db.sort_by(f64::total_cmp);
        snrs_db.dedup();
        let (next, steps) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads.min(snrs_db.len()) {
                scope.spawn(|| {
                    while let at = next.fetch_add(1, Ordering::Relaxed)
                        && let Some(&snr_db) = snrs_db.get(at)
                    {
                        let step = self.step(snr_db);
                        steps.lock().expect("no holder of the lock panics").push((at, step));
                    }
                });
            }
        });
        let mut steps = steps.into_inner().expect("no holder of the lock panics");
        steps.sort_by_key(|&(at, _)| at);
        let steps = steps.into_iter().map(|(_, step)| step).collect::<Result<_, _>>()?;
        Ok(Calibration { steps })
    }

    fn step(&self, snr_db: f64) -> Result<Step, CalibrationError> {
        let station = self.station()?;
        let (key, value) = (format!("station.{station}.snr"), format!("{snr_db} dB"));
        let mut sets: Vec<_> = self.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        sets.push((&key, &value));
        let scenario = Scenario::parse_with(self.text, self.file, &sets)?;
        let result = evenair_sim::run(&scenario, |_| ())?;
        let [flow] = &result.series.flows[..] else { return Err(self.no_calibration("there is no flow")) };
        let windows_kbps = windows(flow, result.series.interval_s, self.window);
        if flow.direction == Direction::Down && standing(&result) < SATURATED {
            return Err(self.no_calibration(&format!("at {snr_db} dB the medium was not always busy")));
        }
        Ok(Step { snr_db, windows_kbps })
    }

    /// The name of the scenario's only station.
    fn station(&self) -> Result<String, CalibrationError> {
        let sets: Vec<_> = self.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let scenario = Scenario::parse_with(self.text, self.file, &sets)?;
        let [app] = &scenario.apps[..] else {
            return Err(self.no_calibration(&format!("{} applications", scenario.apps.len())));
        };
        if !matches!(app.kind, AppKind::Udp(_)) {
            return Err(self.no_calibration("an application that sends no datagrams"));
        }
        Ok(scenario.hosts[app.station].name.clone())
    }

    fn no_calibration(&self, what: &str) -> CalibrationError {
        CalibrationError::NoCalibration { file: self.file.to_owned(), what: what.to_owned() }
    }
}

/// Mean length of the access point's queue, in packets.
fn standing(result: &RunResult) -> f64 {
    let lengths = &result.series.ap_queue_packets;
    lengths.iter().sum::<f64>() / lengths.len().max(1) as f64
}

/// Goodput of windows of `window` packets or more, in kb/s. Windows end with an interval.
fn windows(flow: &FlowSeries, interval_s: f64, window: u64) -> Vec<f64> {
    let mut all = Vec::new();
    let (mut packets, mut kilobits, mut seconds) = (0, 0.0, 0.0);
    for (&mbps, &more) in flow.goodput_mbps.iter().zip(&flow.data_packets).skip(SKIPPED) {
        packets += more;
        kilobits += mbps * interval_s * 1e3;
        seconds += interval_s;
        if packets >= window {
            all.push(kilobits / seconds);
            (packets, kilobits, seconds) = (0, 0.0, 0.0);
        }
    }
    if all.is_empty() && kilobits > 0.0 {
        all.push(kilobits / seconds);
    }
    all
}

impl Calibration {
    /// From pairs of signal-to-noise ratio, in decibels, and goodput of a window, in kb/s. Pairs are rounded to the nearest
    /// multiple of `step_db`, each of which makes a step.
    pub fn of_pairs(pairs: &[(f64, f64)], step_db: f64) -> Self {
        let mut sorted = pairs.to_vec();
        sorted.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let mut steps: Vec<Step> = Vec::new();
        for (snr_db, kbps) in sorted {
            let snr_db = (snr_db / step_db).round() * step_db;
            match steps.last_mut().filter(|last| (last.snr_db - snr_db).abs() < step_db / 2.0) {
                Some(last) => last.windows_kbps.push(kbps),
                None => steps.push(Step { snr_db, windows_kbps: vec![kbps] }),
            }
        }
        Self { steps }
    }

    /// The table: rising signals with non-decreasing goodputs.
    ///
    /// # Errors
    /// Nothing arrived at any signal.
    pub fn points(&self) -> Result<Vec<Point>, CalibrationError> {
        let measured: Vec<_> = self.steps.iter().filter(|step| !step.windows_kbps.is_empty()).collect();
        let means: Vec<f64> = measured.iter().map(|step| mean(&step.windows_kbps)).collect();
        let mut highest = 0.0_f64;
        let points: Vec<_> = measured
            .iter()
            .zip(smooth(&means))
            .zip(&means)
            .map(|((step, smooth), &measured_kbps)| {
                highest = highest.max(smooth);
                let windows = step.windows_kbps.iter().copied().map(Some).collect();
                let half_width_kbps = Estimate::of("", windows, CONFIDENCE).and_then(|estimate| estimate.half_width);
                let windows = step.windows_kbps.len();
                Point { snr_db: step.snr_db, goodput_kbps: highest, measured_kbps, half_width_kbps, windows }
            })
            .collect();
        if points.is_empty() { Err(CalibrationError::Nothing) } else { Ok(points) }
    }

    /// A row per window: its signal and goodput.
    pub fn pairs_table(&self) -> Table {
        let pairs = || self.steps.iter().flat_map(|step| step.windows_kbps.iter().map(|&kbps| (step.snr_db, kbps)));
        let mut table = Table::default();
        table.push("snr_db", Values::Number(pairs().map(|(snr, _)| Some(snr)).collect()));
        table.push("goodput_kbps", Values::Number(pairs().map(|(_, kbps)| Some(kbps)).collect()));
        table
    }
}

/// The points as a table: `snr_db` and `goodput_kbps`, and the values they were computed from.
pub fn points_table(points: &[Point]) -> Table {
    let numbers = |of: fn(&Point) -> Option<f64>| Values::Number(points.iter().map(of).collect());
    let mut table = Table::default();
    table.push("snr_db", numbers(|point| Some(point.snr_db)));
    table.push("goodput_kbps", numbers(|point| Some(point.goodput_kbps.round())));
    table.push("measured_kbps", numbers(|point| Some(point.measured_kbps)));
    table.push("half_width_kbps", numbers(|point| point.half_width_kbps));
    table.push("windows", Values::Count(points.iter().map(|point| Some(point.windows as u64)).collect()));
    table
}

/// The table as the key `channel` of a scenario's queue.
pub fn channel_key(points: &[Point]) -> String {
    let line = |point: &Point| {
        let kbps = point.goodput_kbps.round().max(1.0);
        format!("    {{ snr = \"{} dB\", goodput = \"{kbps} kb/s\" }},\n", point.snr_db)
    };
    format!("channel = [\n{}]\n", points.iter().map(line).collect::<String>())
}

/// The measurements and the table as curves.
pub fn curves(points: &[Point], facts: &str) -> Curves {
    let measured = points
        .iter()
        .map(|point| (point.snr_db, point.measured_kbps / 1e3, point.half_width_kbps.map(|half| half / 1e3)));
    let table = points.iter().map(|point| (point.snr_db, point.goodput_kbps / 1e3, None));
    Curves {
        name: "calibration".into(),
        title: "Goodput of a saturated link by its signal".into(),
        subtitle: facts.into(),
        x_label: "signal over noise, dB".into(),
        y_label: "goodput, Mb/s".into(),
        categories: None,
        curves: vec![
            Curve { name: Some("measured".into()), points: measured.collect() },
            Curve { name: Some("table".into()), points: table.collect() },
        ],
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Weights each value with its two neighbours (a quarter, a half, a quarter); the ends stay unchanged.
fn smooth(values: &[f64]) -> Vec<f64> {
    let inner = values.windows(3).map(|three| (three[0] + 2.0 * three[1] + three[2]) / 4.0);
    let (first, last) = (values.first().copied(), values.last().copied().filter(|_| values.len() > 1));
    first.into_iter().chain(inner).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "version = 1\nname = \"link\"\nduration = \"4 s\"\n\
        [radio]\nstandard = \"802.11b\"\nap_buffer = \"50 packets\"\nap_queue = { discipline = \"drr\" }\n\
        [[station]]\nname = \"sta\"\nrate = \"11 Mb/s\"\n[[server]]\nname = \"server\"\n\
        [[udp]]\nname = \"udp\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"down\"\n\
        payload = \"1024 bytes\"\nrate = \"8 Mb/s\"\n";

    fn calibrator(text: &str) -> Calibrator<'_> {
        Calibrator { text, file: "link.toml", settings: &[], window: WINDOW }
    }

    #[test]
    fn goodput_rises_with_the_signal_up_to_that_of_a_good_channel() {
        let calibration = calibrator(LINK).run(&[30.0, 0.0, 6.25, 7.0, 6.25]).unwrap();
        assert_eq!(calibration.steps.iter().map(|step| step.snr_db).collect::<Vec<_>>(), [0.0, 6.25, 7.0, 30.0]);
        assert!(calibration.steps[0].windows_kbps.is_empty(), "nothing arrives");
        let points = calibration.points().unwrap();
        assert!(points.windows(2).all(|pair| pair[0].goodput_kbps <= pair[1].goodput_kbps), "{points:?}");
        // 1024 bytes at 11 Mb/s with long preambles take 1.6 ms, back-off included.
        let best = points[2].goodput_kbps;
        assert!((5_000.0..5_200.0).contains(&best), "{best}");
        assert!(points[0].goodput_kbps < best / 2.0, "{points:?}");
        // A scenario accepts the key.
        let queue = format!("{}estimator = \"signal\"\ndiscipline = \"whtb\"\n", channel_key(&points));
        let class = "[[radio.ap_queue.class]]\nname = \"all\"\nrate = \"5 Mb/s\"\n";
        let text = LINK.replace("ap_queue = { discipline = \"drr\" }\n", &format!("[radio.ap_queue]\n{queue}{class}"));
        Scenario::parse(&text, "whtb.toml").unwrap();
    }

    #[test]
    fn other_scenarios_are_no_calibration() {
        let error = |text: &str| calibrator(text).run(&[20.0]).unwrap_err().to_string();
        assert!(error(&LINK.replace("8 Mb/s", "1 Mb/s")).contains("not always busy"));
        assert!(error(&LINK.replace("name = \"sta\"", "name = \"sta\"\ncount = 2")).contains("2 applications"));
        assert!(error(&LINK.replace("802.11b", "802.11z")).contains("802.11z"));
        let dead = calibrator(LINK).run(&[-20.0]).unwrap();
        assert!(matches!(dead.points(), Err(CalibrationError::Nothing)));
    }

    #[test]
    fn pairs_of_a_real_link_are_put_together_by_their_signals() {
        let pairs = [(20.4, 5000.0), (9.6, 1000.0), (10.4, 3000.0), (19.6, 4000.0), (30.0, 5000.0)];
        let calibration = Calibration::of_pairs(&pairs, 1.0);
        let steps: Vec<_> = calibration.steps.iter().map(|step| (step.snr_db, step.windows_kbps.len())).collect();
        assert_eq!(steps, [(10.0, 2), (20.0, 2), (30.0, 1)]);
        let points = calibration.points().unwrap();
        assert_eq!((points[0].measured_kbps, points[1].measured_kbps), (2000.0, 4500.0));
        assert!(matches!(Calibration::of_pairs(&[], 1.0).points(), Err(CalibrationError::Nothing)));
    }

    #[test]
    fn three_neighbours_are_smoothed_and_ends_kept() {
        assert_eq!(smooth(&[0.0, 4.0, 4.0, 8.0]), [0.0, 3.0, 5.0, 8.0]);
        assert_eq!(smooth(&[5.0]), [5.0]);
        assert!(smooth(&[]).is_empty());
    }
}
