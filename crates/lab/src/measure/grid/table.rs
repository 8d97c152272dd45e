//! The cases and their bars.

use anyhow::Result;

use super::cases::Case;
use super::cmax::Best;
use super::figures::{self, Figures};

/// Bar: goodput relative to C_max.
const OF_CMAX: f64 = 0.97;

/// Bar: goodput relative to that without a box, if that is fair.
const OF_BYPASS: f64 = 0.95;

/// A network is fair without a box if each station gets this part of its equal share, in each direction with transfers.
const FAIR: f64 = 0.5;

/// Results of one case.
#[derive(Clone, Debug)]
pub struct Row {
    name: String,
    bound: f64,
    best: Option<Best>,
    bypass: Figures,
    boxed: Figures,
}

/// A bar: its text, and whether a case meets it; `None` if it does not apply to the case.
type Bar = (&'static str, fn(&Row) -> Option<bool>);

const BARS: [Bar; 3] = [
    ("goodput at least 97 % of C_max", |row| row.of_cmax().map(|part| part >= OF_CMAX)),
    ("goodput at least 95 % of that without a box, where that is fair", |row| {
        row.bypass_is_fair().then(|| row.of_bypass() >= OF_BYPASS)
    }),
    ("95 % of the packets in the access point for 5 ms at most, 10 ms at 11 Mb/s, 15 ms with 3 access points", |row| {
        Some(row.boxed.p95 <= row.bound)
    }),
];

/// Short names of the bars in the status of a case.
const SHORT: [&str; 3] = ["C_max", "bypass", "delay"];

impl Row {
    /// Simulates a case without and with the box.
    pub fn measure(case: &Case, best: Option<Best>, seeds: u32) -> Result<Self> {
        let (bypass, boxed) = (figures::of(case, seeds, "")?, figures::of(case, seeds, figures::DEFAULT)?);
        Ok(Self { name: case.to_string(), bound: case.delay_bound_ms(), best, bypass, boxed })
    }

    fn of_cmax(&self) -> Option<f64> {
        self.best.map(|best| self.boxed.goodput / best.goodput)
    }

    fn of_bypass(&self) -> f64 {
        self.boxed.goodput / self.bypass.goodput
    }

    fn bypass_is_fair(&self) -> bool {
        self.bypass.least >= FAIR
    }

    /// The bars that the case misses, or "met".
    fn verdict(&self) -> String {
        let missed = BARS.iter().zip(SHORT).filter(|((_, met), _)| met(self) == Some(false));
        let missed: Vec<&str> = missed.map(|(_, name)| name).collect();
        if missed.is_empty() { "met".to_owned() } else { format!("MISSED: {}", missed.join(", ")) }
    }

    fn columns(&self) -> [String; 11] {
        let delays = |figures: &Figures| format!("{:.1} / {:.1}", figures.p50, figures.p95);
        [
            self.name.clone(),
            format!("{:.2}", self.boxed.goodput),
            self.of_cmax().map_or("-".to_owned(), |part| format!("{part:.3}")),
            format!("{:.3}", self.of_bypass()),
            (if self.bypass_is_fair() { "yes" } else { "no" }).to_owned(),
            delays(&self.boxed),
            delays(&self.bypass),
            format!("{:.3}", self.boxed.jain),
            format!("{:.1}", self.boxed.idle * 100.0),
            format!("{:.0}", self.boxed.guard * 100.0),
            self.verdict(),
        ]
    }
}

const HEADS: [&str; 11] = [
    "case",
    "goodput, Mb/s",
    "of C_max",
    "of bypass",
    "fair bypass",
    "AP p50 / p95, ms",
    "without box, ms",
    "Jain",
    "idle, %",
    "guard acted, % of runs",
    "verdict",
];

/// Number of cases that meet each bar.
fn summary(rows: &[Row]) -> Vec<String> {
    let line = |(what, met): &Bar| {
        let verdicts: Vec<bool> = rows.iter().filter_map(met).collect();
        format!("{what}: {} of {} cases", verdicts.iter().filter(|met| **met).count(), verdicts.len())
    };
    BARS.iter().map(line).collect()
}

/// Legend of the table.
const LEGEND: &str = "\
Each case names the queue of the access point, the direction of the transfers (\"both\": one each way per station), the stations of
each access point, the access points (three: on one channel), the congestion control of the senders, the round-trip time of the
Internet, and the standard (802.11g at 54 Mb/s, 802.11b at 11 Mb/s; the box does not know these rates). The box is inserted under
load; figures are of the 25 s from 10 s after that, means over the seeds.

- of C_max: goodput over the best that a constant service rate achieves within the bound of delay and with a Jain's index of at
  least 0.95 (`--search` finds it); \"-\" if none does. It is no upper bound: a controller that adapts can exceed it.
- of bypass: goodput over that without the box; it is fair if each station gets at least half of an equal share in each direction.
- AP: how long packets are in the access point; of three, in the one with the largest 95th percentile.
- Jain: of the stations' goodput; of two directions, the lower one.

";

/// The table.
pub fn markdown(rows: &[Row]) -> String {
    let line = |columns: [String; 11]| format!("| {} |\n", columns.join(" | "));
    let mut text = LEGEND.to_owned();
    text += &(line(HEADS.map(str::to_owned)) + &line(HEADS.map(|_| "---".to_owned())));
    rows.iter().for_each(|row| text += &line(row.columns()));
    text.push('\n');
    summary(rows).iter().for_each(|bar| text += &format!("- {bar}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(goodput: f64, p95: f64, least: f64) -> Row {
        let best = Best { rate: 22.0, goodput: 20.0, p95: 4.0, jain: 1.0 };
        let bypass = Figures { goodput: 20.0, p95: 60.0, least, ..Figures::default() };
        let boxed = Figures { goodput, p95, ..Figures::default() };
        Row { name: "one".to_owned(), bound: 5.0, best: Some(best), bypass, boxed }
    }

    #[test]
    fn the_status_names_the_missed_bars() {
        assert_eq!(row(19.5, 5.0, 0.9).verdict(), "met");
        assert_eq!(row(19.2, 5.0, 0.9).verdict(), "MISSED: C_max");
        assert_eq!(row(18.9, 5.1, 0.9).verdict(), "MISSED: C_max, bypass, delay");
        // Without a box one station starves: the total is no reference.
        assert_eq!(row(18.9, 5.0, 0.4).verdict(), "MISSED: C_max");
        let without = Row { best: None, ..row(18.9, 5.0, 0.4) };
        assert_eq!(without.verdict(), "met");
    }

    #[test]
    fn the_summary_counts_only_cases_to_which_a_bar_applies() {
        let rows = [row(19.5, 5.0, 0.9), row(18.9, 5.1, 0.4)];
        let counts: Vec<String> =
            summary(&rows).iter().map(|line| line.rsplit(": ").next().unwrap().to_owned()).collect();
        assert_eq!(counts, ["1 of 2 cases", "1 of 1 cases", "1 of 2 cases"]);
        assert!(markdown(&rows).contains("\n| case | ") && markdown(&rows).contains("MISSED: C_max, delay"));
    }
}
