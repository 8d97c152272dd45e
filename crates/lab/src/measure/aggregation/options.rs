//! What all measurements before access points that aggregate take.

use clap::Args;

use crate::commands::scenario_run::key_and_value;

/// Options of `evenair measure aggregation`.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// Seeds of each cell [default: 5, with --quick 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub seeds: Option<u32>,
    /// Length of a run, s [default: 20, with --quick 12; published: 200 after the insertion]; not of insertion, charged and live
    #[arg(long = "duration", value_name = "S")]
    pub duration_s: Option<u32>,
    /// When the box is inserted, s [default: 2, of populations 0 or 2]; not of insertion. 0 leaves out what stations queued before
    #[arg(long = "insert", value_name = "S")]
    pub insert_s: Option<u32>,
    /// Fewer cells
    #[arg(long)]
    pub quick: bool,
    /// The box gets the stations' PHY rates by telemetry
    #[arg(long)]
    pub reported: bool,
    /// Only cells with this in their names
    #[arg(long, value_name = "PART", default_value = "")]
    pub only: String,
    /// Replace a value of the scenario in runs with the box, such as manager.infer_rates=true
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub sets: Vec<(String, String)>,
}

impl Options {
    /// Seeds of each cell.
    pub fn seeds(&self) -> u32 {
        self.seeds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    /// Length of a run, s.
    pub fn duration_s(&self) -> u32 {
        self.duration_s.unwrap_or(if self.quick { 12 } else { 20 })
    }

    /// Levels of a factor: all, or the quick ones in a quick run.
    pub fn pick<T: Clone>(&self, all: &[T], quick: &[T]) -> Vec<T> {
        if self.quick { quick.to_vec() } else { all.to_vec() }
    }
}
