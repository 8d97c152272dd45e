//! Transfers of known size: start, response time and outcome of each.
//!
//! A run may have millions of transfers. All are counted; the first ones are also listed individually, with the number of
//! the others.

use std::collections::BTreeMap;

use evenair_scenario::Scenario;
use evenair_units::{Bytes, Span};
use evenair_workload::Direction;
use serde::{Deserialize, Serialize};

use super::histogram::Times;
use super::period::Periods;
use super::{Distribution, LISTED, PhaseResult};

/// Classes of sizes: up to so many bytes, and their names.
const CLASSES: [(u64, &str); 6] = [
    (1_000, "to_1_kB"),
    (10_000, "to_10_kB"),
    (100_000, "to_100_kB"),
    (1_000_000, "to_1_MB"),
    (10_000_000, "to_10_MB"),
    (u64::MAX, "over_10_MB"),
];
/// The class of all sizes.
const ALL_SIZES: &str = "all";

/// Transfers of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transfers {
    /// For each application that had any.
    pub counts: Vec<TransferCount>,
    /// One by one, in the order of their ends; those cut at the end of the run come last.
    pub records: Vec<TransferRecord>,
    /// How many are counted but not listed.
    pub left_out: u64,
    /// Response times by phase, direction and class of sizes: all transfers, those included that are not listed.
    #[serde(default)]
    pub by_size: Vec<TransferSizes>,
}

/// Transfers of one direction and of one class of sizes that were begun in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferSizes {
    /// Name of the phase.
    pub phase: String,
    /// "up" or "down".
    pub direction: String,
    /// The class: `to_10_kB` has those above 1 kB and up to 10 kB; `all` has all.
    pub sizes: String,
    /// How many came to their end, whenever that was.
    pub complete: u64,
    /// How many failed, or were under way when their application or the run ended.
    pub unfinished: u64,
    /// Response times of the complete ones.
    pub time: Option<Distribution>,
}

/// What became of an application's transfers: `started = complete + failed + cut`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferCount {
    /// Name of the application.
    pub app: String,
    /// How many began.
    pub started: u64,
    /// How many came to their end.
    pub complete: u64,
    /// How many TCP gave up.
    pub failed: u64,
    /// How many were under way when the application or the run ended.
    pub cut: u64,
    /// How many never began, since as many as are allowed at once were under way.
    pub refused: u64,
    /// Bytes of the complete ones.
    pub complete_bytes: u64,
}

/// One transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferRecord {
    /// Name of the application.
    pub app: String,
    /// Name of the station.
    pub station: String,
    /// Which way the data flow.
    pub direction: Direction,
    /// When it began: when the connection was opened, or the file was written to one that stood.
    pub at_s: f64,
    /// Its size.
    pub bytes: u64,
    /// Response time: from then until its receiver had the last byte; absent of one that is not complete.
    pub took_s: Option<f64>,
    /// What became of it.
    pub end: TransferEnd,
}

/// What became of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferEnd {
    /// Its receiver has all of it.
    Complete,
    /// TCP gave up: no connection, or no answer any more.
    Failed,
    /// It was under way when the application or the run ended.
    Cut,
}

/// Transfers as they end.
#[derive(Clone, Debug, Default)]
pub struct TransferLog {
    counts: Vec<TransferCount>,
    ended: Vec<Ended>,
    /// How many are listed.
    most: usize,
    left_out: u64,
    directions: Vec<Direction>,
    periods: Periods,
    /// By the period in which they began, whether down, and class.
    sizes: BTreeMap<(usize, bool, usize), SizeLog>,
}

#[derive(Clone, Debug, Default)]
struct SizeLog {
    times: Times,
    unfinished: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ended {
    app: u32,
    began: Span,
    bytes: Bytes,
    took: Option<Span>,
    end: TransferEnd,
}

impl TransferLog {
    /// For the applications of a scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let count = |app: &evenair_scenario::App| TransferCount { app: app.name.clone(), ..TransferCount::default() };
        Self {
            counts: scenario.apps.iter().map(count).collect(),
            directions: scenario.apps.iter().map(|app| app.direction).collect(),
            most: LISTED,
            periods: Periods::new(scenario),
            ..Self::default()
        }
    }

    /// The same with so many listed one by one.
    pub fn listing(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// A transfer of application `app` began at `began` and is complete after `took`.
    pub fn complete(&mut self, app: usize, began: Span, bytes: Bytes, took: Span) {
        let count = &mut self.counts[app];
        count.complete += 1;
        count.complete_bytes += bytes.0;
        self.list(Ended { app: app as u32, began, bytes, took: Some(took), end: TransferEnd::Complete });
    }

    /// One was given up by TCP.
    pub fn fail(&mut self, app: usize, began: Span, bytes: Bytes) {
        self.counts[app].failed += 1;
        self.list(Ended { app: app as u32, began, bytes, took: None, end: TransferEnd::Failed });
    }

    /// One was under way when its application or the run ended.
    pub fn cut(&mut self, app: usize, began: Span, bytes: Bytes) {
        self.counts[app].cut += 1;
        self.list(Ended { app: app as u32, began, bytes, took: None, end: TransferEnd::Cut });
    }

    /// One never began.
    pub fn refuse(&mut self, app: usize) {
        self.counts[app].refused += 1;
    }

    fn list(&mut self, ended: Ended) {
        self.counts[ended.app as usize].started += 1;
        let period = self.periods.of(ended.began);
        let class = CLASSES.iter().position(|&(most, _)| ended.bytes.0 <= most).unwrap_or(CLASSES.len() - 1);
        let is_down = self.directions[ended.app as usize] == Direction::Down;
        let sizes = self.sizes.entry((period, is_down, class)).or_default();
        match ended.took {
            Some(took) => sizes.times.record(took),
            None => sizes.unfinished += 1,
        }
        if self.ended.len() < self.most { self.ended.push(ended) } else { self.left_out += 1 }
    }

    /// The form of the results, with response times for these phases of the scenario.
    pub fn finish(self, scenario: &Scenario, phases: &[PhaseResult]) -> Transfers {
        let record = |ended: &Ended| {
            let app = &scenario.apps[ended.app as usize];
            TransferRecord {
                app: app.name.clone(),
                station: scenario.hosts[app.station].name.clone(),
                direction: app.direction,
                at_s: ended.began.as_secs_f64(),
                bytes: ended.bytes.0,
                took_s: ended.took.map(Span::as_secs_f64),
                end: ended.end,
            }
        };
        Transfers {
            by_size: phases.iter().flat_map(|phase| self.by_size(phase)).collect(),
            records: self.ended.iter().map(record).collect(),
            counts: self.counts.into_iter().filter(|count| count.started + count.refused > 0).collect(),
            left_out: self.left_out,
        }
    }

    /// Classes that have any, each direction's first of all sizes together.
    fn by_size(&self, phase: &PhaseResult) -> Vec<TransferSizes> {
        let periods = self.periods.within(phase);
        let mut classes: BTreeMap<(bool, usize), SizeLog> = BTreeMap::new();
        for (&(period, is_down, class), log) in &self.sizes {
            if periods.contains(&period) {
                for class in [0, class + 1] {
                    classes.entry((is_down, class)).or_default().add(log);
                }
            }
        }
        let result = |((is_down, class), log): ((bool, usize), SizeLog)| TransferSizes {
            phase: phase.name.clone(),
            direction: if is_down { "down" } else { "up" }.to_owned(),
            sizes: class.checked_sub(1).map_or(ALL_SIZES, |class| CLASSES[class].1).to_owned(),
            complete: log.times.count(),
            unfinished: log.unfinished,
            time: log.times.distribution(),
        };
        classes.into_iter().map(result).collect()
    }
}

impl SizeLog {
    fn add(&mut self, other: &Self) {
        self.times.add(&other.times);
        self.unfinished += other.unfinished;
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_are_listed() {
        let (scenario, _) = sample::two_flows();
        let mut log = TransferLog::new(&scenario);
        for k in 0..LISTED as u64 + 5 {
            log.complete(1, Span::from_millis(k), Bytes(1000), Span::from_millis(2));
        }
        log.cut(1, Span::from_secs(9), Bytes(1000));
        log.refuse(1);
        let transfers = log.finish(&scenario, &[]);
        assert_eq!((transfers.records.len(), transfers.left_out), (LISTED, 6));
        let [count] = &transfers.counts[..] else { panic!("{:?}", transfers.counts) };
        assert_eq!((count.app.as_str(), count.complete, count.cut, count.refused), ("download", 100_005, 1, 1));
        assert_eq!((count.started, count.complete_bytes), (100_006, 100_005_000));
        let first = &transfers.records[0];
        assert_eq!((first.at_s, first.took_s, first.end), (0.0, Some(0.002), TransferEnd::Complete));
    }

    #[test]
    fn response_times_are_of_their_phase_direction_and_class() {
        let (scenario, run) = sample::two_flows();
        let mut log = TransferLog::new(&scenario);
        // Phases are 0 to 5 s and 5 to 10 s.
        log.complete(1, Span::from_secs(1), Bytes(1_000), Span::from_secs(1));
        log.complete(1, Span::from_secs(2), Bytes(1_001), Span::from_secs(3));
        log.complete(1, Span::from_millis(4_999), Bytes(50_000), Span::from_secs(5));
        log.complete(1, Span::from_secs(5), Bytes(10_000), Span::from_secs(2));
        log.cut(0, Span::from_secs(6), Bytes(20_000_000));
        let by_size = log.finish(&scenario, &run.phases).by_size;
        let said: Vec<_> = by_size
            .iter()
            .map(|s| (s.phase.as_str(), s.direction.as_str(), s.sizes.as_str(), s.complete, s.unfinished))
            .collect();
        assert_eq!(
            said,
            [
                ("bypassed", "down", "all", 3, 0),
                ("bypassed", "down", "to_1_kB", 1, 0),
                ("bypassed", "down", "to_10_kB", 1, 0),
                ("bypassed", "down", "to_100_kB", 1, 0),
                ("inserted", "up", "all", 0, 1),
                ("inserted", "up", "over_10_MB", 0, 1),
                ("inserted", "down", "all", 1, 0),
                ("inserted", "down", "to_10_kB", 1, 0),
            ]
        );
        let all = by_size[0].time.as_ref().unwrap();
        assert_eq!((all.mean_ms, all.max_ms), (3_000.0, 5_000.0));
    }
}
