//! A case of acceptance, and what its figures are read from.

use anyhow::Result;
use evenair_results::RunResult;
use evenair_scenario::Scenario;

use super::check::Figure;

/// Tables of the scenarios whose box gets no telemetry of stations and rates.
pub const NO_TELEMETRY: &str = "[telemetry]\nstations = false\nrates = false\n";

/// What a run yields besides its result.
pub struct Run<'a> {
    /// The scenario that was run.
    pub scenario: &'a Scenario,
    /// What came out.
    pub result: &'a RunResult,
    /// CPU time of this process and its children (the box, the hosts' agents) during the run, over the run's length.
    pub cpu_share: f64,
    /// Runs another scenario on the same testbed; the second argument says which, in the name of its results.
    pub testbed: &'a dyn Fn(&Scenario, &str) -> Result<RunResult>,
}

/// One case of acceptance.
pub struct Case {
    /// For the command line.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// Whether the short acceptance has it.
    pub in_short: bool,
    /// Runs of about this length that one of its runs takes, at most: more than one where it compares with others.
    pub runs_each: u32,
    /// Makes the scenario, the short form of it where that is asked for.
    pub make: fn(short: bool) -> Result<Scenario>,
    /// Reads the figures off a run.
    pub figures: fn(&Run<'_>) -> Result<Vec<Figure>>,
}
