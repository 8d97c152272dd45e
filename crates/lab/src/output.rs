//! The folders of results that commands write.

use std::path::Path;

use anyhow::Result;
pub use evenair_cli::VERSION;
pub use evenair_report::{new_directory, write_file, write_pictures, write_table};
use evenair_report::{run_pictures, to_compressed_parquet, write_run};
use evenair_results::{RunResult, SeriesKind};
use evenair_scenario::Scenario;
use evenair_study::{Made, Plan, Store, SweepResult, point_rows, run_rows, series_rows};

/// Writes everything about a run into `directory`.
pub fn write(directory: &Path, scenario: &Scenario, result: &RunResult) -> Result<()> {
    write_run(directory, scenario, result, &run_pictures(result))?;
    Ok(Made::now(VERSION).write(directory)?)
}

/// The same without plots, for programs that make many runs.
pub fn write_without_pictures(directory: &Path, scenario: &Scenario, result: &RunResult) -> Result<()> {
    write_run(directory, scenario, result, &[])?;
    Ok(Made::now(VERSION).write(directory)?)
}

/// Writes the tables with a row per number: `runs.parquet` for the runs, `points_long.parquet` for the points.
pub fn write_rows(directory: &Path, plan: &Plan, store: &Store, result: &SweepResult) -> Result<()> {
    let tables: [(&str, Option<Vec<u8>>); 2] = [
        ("runs.parquet", to_compressed_parquet(run_rows(plan, store))),
        ("points_long.parquet", to_compressed_parquet([point_rows(result)])),
    ];
    for (name, bytes) in tables {
        if let Some(bytes) = bytes {
            write_file(directory, name, &bytes)?;
        }
    }
    Ok(())
}

/// The file name of a table of series.
pub fn series_file(kind: SeriesKind) -> String {
    format!("series_{kind}.parquet")
}

/// Writes the series of all runs that have them: `series_flow.parquet` and so on. Returns the file names.
pub fn write_series(directory: &Path, plan: &Plan, store: &Store) -> Result<Vec<String>> {
    let write = |&kind: &SeriesKind| {
        let mut failed = None;
        let parts = series_rows(plan, store, kind).map_while(|part| part.map_err(|error| failed = Some(error)).ok());
        let bytes = to_compressed_parquet(parts);
        if let Some(error) = failed {
            return Err(error.into());
        }
        let name = series_file(kind);
        write_file(directory, &name, &bytes.unwrap_or_default())?;
        Ok(name)
    };
    plan.series.iter().map(write).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn directories_are_numbered_and_never_reused() {
        let parent = tempfile::tempdir().expect("temporary directory");
        let first = new_directory(parent.path(), "a11").expect("first");
        let second = new_directory(parent.path(), "a11").expect("second");
        assert_ne!(first, second);
        assert!(second.ends_with("a11-2"));
    }

    #[test]
    fn a_result_folder_has_all_inputs_of_the_run() {
        let text = include_str!("../../../scenarios/smoke.toml");
        let scenario = Scenario::parse_with(text, "smoke.toml", &[("seed", "7"), ("radio.ap_buffer", "50 packets")]);
        let scenario = scenario.expect("a sound scenario");
        let first = evenair_sim::run(&scenario, |_| ()).expect("it can be simulated");
        let directory = tempfile::tempdir().expect("temporary directory");
        write(directory.path(), &scenario, &first).expect("written");

        let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("it is there");
        let about: Value = serde_json::from_str(&read("run.json")).expect("JSON");
        let settings = about["settings"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|setting| setting.as_str()?.split_once('='));
        let again =
            Scenario::parse_with(&read("scenario.toml"), "again", &settings.collect::<Vec<_>>()).expect("sound");
        assert_eq!(evenair_sim::run(&again, |_| ()).expect("it can be simulated"), first);
        assert_eq!((&about["seed"], &about["version"]), (&json!(7), &json!(first.version)));
    }
}
