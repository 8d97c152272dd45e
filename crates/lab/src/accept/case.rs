//! A case of the acceptance test, and the inputs of its figures.

use anyhow::Result;
use evenair_results::RunResult;
use evenair_scenario::Scenario;

use super::check::Figure;

/// Telemetry without stations and rates, as a table of a scenario.
pub const NO_TELEMETRY: &str = "[telemetry]\nstations = false\nrates = false\n";

/// A run with the inputs of its figures.
pub struct Run<'a> {
    /// The scenario that was run.
    pub scenario: &'a Scenario,
    /// Result of the run.
    pub result: &'a RunResult,
    /// CPU time of this process and its children (the box, the hosts' agents) during the run, relative to the run's
    /// length.
    pub cpu_share: f64,
    /// Runs another scenario on the same testbed; the second argument is part of the name of its results.
    pub testbed: &'a dyn Fn(&Scenario, &str) -> Result<RunResult>,
}

/// One case of the acceptance test.
pub struct Case {
    /// Name on the command line.
    pub name: &'static str,
    /// Title in output.
    pub title: &'static str,
    /// Whether the short acceptance includes it.
    pub in_short: bool,
    /// Maximum number of testbed runs of about this length per run of the case: more than one if it compares with
    /// others.
    pub runs_each: u32,
    /// Makes the scenario, in its short form if requested.
    pub make: fn(short: bool) -> Result<Scenario>,
    /// Computes the figures of a run.
    pub figures: fn(&Run<'_>) -> Result<Vec<Figure>>,
}
