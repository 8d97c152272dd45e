//! Web pages: the start and the load time of each.
//!
//! A run may have millions of pages. The first ones are listed individually; beyond that, distributions by phase cover all.

use std::collections::BTreeMap;

use evenair_scenario::Scenario;
use evenair_units::Span;
use serde::{Deserialize, Serialize};

use super::histogram::Times;
use super::period::Periods;
use super::stats::{mean, percentile};
use super::{Distribution, LISTED, PageRecord, PhaseResult, RunResult};

/// Times of all pages that were begun in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageTimes {
    /// Name of the phase.
    pub phase: String,
    /// From the first connection to the last object; absent where none was read.
    pub time: Option<Distribution>,
}

/// What the pages of a phase say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PageSummary {
    /// How many were read.
    pub count: u64,
    /// Mean time that one took.
    pub mean_s: Option<f64>,
    /// Median.
    pub p50_s: Option<f64>,
    /// 90th percentile.
    pub p90_s: Option<f64>,
    /// The longest.
    pub max_s: Option<f64>,
}

impl RunResult {
    /// The pages that were begun in a phase: exactly, or where not all are listed to the width of a histogram's bucket.
    pub fn pages_of(&self, phase: &PhaseResult) -> PageSummary {
        if let Some(times) = self.page_times.iter().find(|times| times.phase == phase.name) {
            return times.time.as_ref().map_or_else(PageSummary::default, |time| PageSummary {
                count: time.count,
                mean_s: Some(time.mean_ms / 1e3),
                p50_s: Some(time.p50_ms / 1e3),
                p90_s: Some(time.p90_ms / 1e3),
                max_s: Some(time.max_ms / 1e3),
            });
        }
        let inside = self.pages.iter().filter(|page| (phase.from_s..phase.to_s).contains(&page.at_s));
        let times: Vec<_> = inside.map(|page| page.took_s).collect();
        PageSummary {
            count: times.len() as u64,
            mean_s: mean(times.iter().copied()),
            p50_s: percentile(&times, 500),
            p90_s: percentile(&times, 900),
            max_s: percentile(&times, 1000),
        }
    }
}

/// Pages as they are read.
#[derive(Clone, Debug)]
pub struct PageLog {
    loads: Vec<PageLoad>,
    /// How many are listed.
    most: usize,
    left_out: u64,
    periods: Periods,
    /// By the period in which they began.
    times: BTreeMap<usize, Times>,
}

/// The load of one page.
#[derive(Clone, Copy, Debug)]
pub struct PageLoad {
    /// Number of the application.
    pub app: u32,
    /// When it began, since the run's start.
    pub began: Span,
    /// Until its last object was there.
    pub took: Span,
    /// How many objects it has.
    pub objects: u32,
    /// Of all objects.
    pub bytes: u64,
}

impl PageLog {
    /// For the applications of a scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let (periods, times) = (Periods::new(scenario), BTreeMap::new());
        Self { loads: Vec::new(), most: LISTED, left_out: 0, periods, times }
    }

    /// The same with so many listed one by one.
    pub fn listing(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// A page is complete.
    pub fn record(&mut self, load: PageLoad) {
        self.times.entry(self.periods.of(load.began)).or_default().record(load.took);
        if self.loads.len() < self.most {
            self.loads.push(load);
        } else {
            self.left_out += 1;
        }
    }

    /// The form of the results: the list, and where that has not all of them the times by phase.
    pub fn finish(self, scenario: &Scenario, phases: &[PhaseResult]) -> (Vec<PageRecord>, Vec<PageTimes>) {
        let record = |load: &PageLoad| PageRecord {
            app: scenario.apps[load.app as usize].name.clone(),
            at_s: load.began.as_secs_f64(),
            took_s: load.took.as_secs_f64(),
            objects: load.objects,
            bytes: load.bytes,
        };
        let times = |phase: &PhaseResult| {
            let within = self.times.range(self.periods.within(phase)).map(|(_, times)| times);
            PageTimes { phase: phase.name.clone(), time: Times::sum(within).distribution() }
        };
        let times = if self.left_out > 0 { phases.iter().map(times).collect() } else { Vec::new() };
        (self.loads.iter().map(record).collect(), times)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// Pages that take 1 to 10 ms in turns, one each 10 ms; phases are 0 to 5 s and 5 to 10 s.
    fn run(listed: usize) -> RunResult {
        let (scenario, mut run) = sample::two_flows();
        let mut log = PageLog::new(&scenario).listing(listed);
        for k in 0..1_000 {
            let (began, took) = (Span::from_millis(10 * k), Span::from_millis(1 + k % 10));
            log.record(PageLoad { app: 1, began, took, objects: 3, bytes: 5_000 });
        }
        (run.pages, run.page_times) = log.finish(&scenario, &run.phases);
        run
    }

    #[test]
    fn all_count_whether_they_are_listed_or_not() {
        let (all, some) = (run(1_000), run(7));
        assert_eq!((all.pages.len(), all.page_times.len()), (1_000, 0));
        assert_eq!((some.pages.len(), some.page_times.len()), (7, 2));
        assert_eq!(all.pages[..7], some.pages);
        for (phase, of_some) in all.phases.iter().zip(&some.phases) {
            let (exact, near) = (all.pages_of(phase), some.pages_of(of_some));
            assert_eq!((exact.count, exact.p50_s, exact.max_s), (500, Some(0.005), Some(0.010)));
            assert_eq!((near.count, near.max_s), (exact.count, exact.max_s));
            for (near, exact) in [(near.mean_s, exact.mean_s), (near.p50_s, exact.p50_s), (near.p90_s, exact.p90_s)] {
                assert!((near.unwrap() / exact.unwrap() - 1.0).abs() < 0.01, "{near:?}, not {exact:?}");
            }
        }
    }

    #[test]
    fn a_run_without_pages_says_nothing() {
        let (scenario, run) = sample::two_flows();
        assert_eq!(PageLog::new(&scenario).finish(&scenario, &run.phases), (Vec::new(), Vec::new()));
        assert_eq!(run.pages_of(&run.phases[0]), PageSummary::default());
    }
}
