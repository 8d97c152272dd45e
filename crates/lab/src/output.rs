//! The directory of the results.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
pub use evenair_cli::VERSION;
use evenair_report::{
    Picture, measures_table, run_page, run_pictures, series_table, to_compressed_parquet, to_parquet,
};
use evenair_results::{RunResult, Table, write_whole};
use evenair_scenario::{Scenario, Source};
use evenair_study::{Plan, Store, SweepResult, point_rows, run_rows};
use serde_json::{Value, json};

/// Makes a new directory for a run's results: `parent/name-N` with the first N that is free.
pub fn new_directory(parent: &Path, name: &str) -> Result<PathBuf> {
    fs::create_dir_all(parent).with_context(|| format!("cannot make the results directory {}", parent.display()))?;
    for number in 1.. {
        let path = parent.join(format!("{name}-{number}"));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make the results directory {}", path.display()));
            }
        }
    }
    unreachable!("there are more numbers than directories")
}

/// Writes everything about a run into `directory`: what it takes to make the run again, the results as JSON, tables and plots, and
/// one page that shows them all.
pub fn write(directory: &Path, scenario: &Scenario, result: &RunResult) -> Result<()> {
    write_with(directory, scenario, result, &run_pictures(result))
}

/// The same without plots, for programs that make many runs.
pub fn write_without_pictures(directory: &Path, scenario: &Scenario, result: &RunResult) -> Result<()> {
    write_with(directory, scenario, result, &[])
}

fn write_with(directory: &Path, scenario: &Scenario, result: &RunResult, pictures: &[Picture]) -> Result<()> {
    write_file(directory, "scenario.toml", scenario.source.text.as_bytes())?;
    write_file(directory, "run.json", format!("{:#}\n", about(scenario, result)).as_bytes())?;
    let json = directory.join("result.json");
    result.write(&json).with_context(|| format!("cannot write {}", json.display()))?;
    write_file(directory, "series.parquet", &to_parquet(&series_table(result)))?;
    write_file(directory, "measures.parquet", &to_parquet(&measures_table(result)))?;
    write_pictures(directory, pictures)?;
    write_file(directory, "report.html", run_page(result, pictures).as_bytes())
}

/// What a run was, beside the scenario file that is kept with it.
fn about(scenario: &Scenario, result: &RunResult) -> Value {
    let Source { file, settings, .. } = &scenario.source;
    let settings: Vec<_> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    json!({
        "file": file,
        "settings": settings,
        "seed": result.seed,
        "engine": result.engine,
        "version": VERSION,
        "valid": result.valid,
    })
}

/// Writes pictures as SVG and as PNG.
pub fn write_pictures(directory: &Path, pictures: &[Picture]) -> Result<()> {
    for picture in pictures {
        write_file(directory, &format!("{}.svg", picture.name), picture.svg().as_bytes())?;
        write_file(directory, &format!("{}.png", picture.name), &picture.png())?;
    }
    Ok(())
}

/// Writes a table as CSV and as Parquet.
pub fn write_table(directory: &Path, name: &str, table: &Table) -> Result<()> {
    write_file(directory, &format!("{name}.csv"), table.to_csv().as_bytes())?;
    write_file(directory, &format!("{name}.parquet"), &to_parquet(table))
}

/// Writes the tables with a row for each number: of each run, `runs.parquet`, and of each point, `points_long.parquet`.
pub fn write_rows(directory: &Path, plan: &Plan, store: &Store, result: &SweepResult) -> Result<()> {
    let tables: [(&str, Option<Vec<u8>>); 2] = [
        ("runs.parquet", to_compressed_parquet(run_rows(plan, store))),
        ("points_long.parquet", to_compressed_parquet([point_rows(result)])),
    ];
    let written = tables.iter().filter_map(|(name, bytes)| Some((name, bytes.as_ref()?)));
    written.into_iter().try_for_each(|(name, bytes)| write_file(directory, name, bytes))
}

/// Writes a file whole.
pub fn write_file(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = directory.join(name);
    write_whole(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
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
    fn a_result_folder_holds_what_makes_the_run_again() {
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
        assert_eq!((&about["seed"], &about["version"]), (&json!(7), &json!(VERSION)));
    }
}
