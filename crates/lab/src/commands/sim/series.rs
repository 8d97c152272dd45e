//! Time series of many runs, for `evenair sim sweep` and `evenair compare`.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use evenair_results::SeriesKind;
use evenair_study::{Plan, Store};

use crate::output;

/// The time series to keep.
#[derive(Args)]
pub struct KeptSeries {
    /// Keep the time series of each run too, of these kinds (flow, station, sender, access_point, domain, medium, place), and write
    /// them all as series_KIND.parquet. Runs that are kept without them are made again
    #[arg(long = "series", value_name = "KINDS", value_delimiter = ',')]
    kinds: Vec<SeriesKind>,
}

impl KeptSeries {
    /// The kinds of series for a plan without a folder, each once.
    pub fn kinds(&self) -> Vec<SeriesKind> {
        SeriesKind::ALL.into_iter().filter(|kind| self.kinds.contains(kind)).collect()
    }

    /// The kinds of series, including those of the folder's existing tables, so that new runs are added to these.
    pub fn kinds_in(&self, directory: &Path) -> Vec<SeriesKind> {
        let has = |kind: &SeriesKind| self.kinds.contains(kind) || directory.join(output::series_file(*kind)).exists();
        SeriesKind::ALL.into_iter().filter(has).collect()
    }
}

/// Prints how many runs are repeated because they were stored without the requested series.
pub fn note_without_series(plan: &Plan, store: &Store) {
    let known = plan.missing(store).iter().filter(|run| store.get(&run.key).is_some()).count();
    if known > 0 {
        eprintln!("note: {known} runs were kept without these series, and are made again");
    }
}

/// Writes the series. Returns the file names, each after a comma, for a list of results.
pub fn write_series(directory: &Path, plan: &Plan, store: &Store) -> Result<String> {
    Ok(output::write_series(directory, plan, store)?.iter().map(|name| format!(", {name}")).collect())
}
