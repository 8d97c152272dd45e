//! The folder of a run's results: the inputs of the run, its results as JSON, tables and plots, and a page.

use std::fs;
use std::path::{Path, PathBuf};

use evenair_results::{RunResult, SeriesKind, StoreError, Table, write_whole};
use evenair_scenario::{Scenario, Source};
use serde_json::{Value, json};

use crate::{Picture, measures_table, run_page, to_parquet};

/// Makes a new directory for results: `parent/name-N` with the first N that is free.
///
/// # Errors
/// The operating system returns an error.
pub fn new_directory(parent: &Path, name: &str) -> Result<PathBuf, StoreError> {
    let fail = |path: &Path, source| StoreError::Io { path: path.to_owned(), doing: "making the directory", source };
    fs::create_dir_all(parent).map_err(|source| fail(parent, source))?;
    for number in 1.. {
        let path = parent.join(format!("{name}-{number}"));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(fail(&path, source)),
        }
    }
    unreachable!("there are more numbers than directories")
}

/// Writes everything about a run into `directory`, with these pictures. The `version` of the result names the program.
///
/// # Errors
/// A file cannot be written.
pub fn write_run(
    directory: &Path,
    scenario: &Scenario,
    result: &RunResult,
    pictures: &[Picture],
) -> Result<(), StoreError> {
    write_file(directory, "scenario.toml", scenario.source.text.as_bytes())?;
    write_file(directory, "run.json", format!("{:#}\n", about(scenario, result)).as_bytes())?;
    result.write(&directory.join("result.json"))?;
    write_file(directory, "series.parquet", &to_parquet(&SeriesKind::Flow.table(&result.series)))?;
    write_file(directory, "measures.parquet", &to_parquet(&measures_table(result)))?;
    write_pictures(directory, pictures)?;
    write_file(directory, "report.html", run_page(result, pictures).as_bytes())
}

/// Facts about a run, in addition to the scenario file stored with it.
fn about(scenario: &Scenario, result: &RunResult) -> Value {
    let Source { file, settings, .. } = &scenario.source;
    let settings: Vec<_> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    json!({
        "file": file,
        "settings": settings,
        "seed": result.seed,
        "engine": result.engine,
        "version": result.version,
        "valid": result.valid,
    })
}

/// Writes pictures as SVG and as PNG.
///
/// # Errors
/// A file cannot be written.
pub fn write_pictures(directory: &Path, pictures: &[Picture]) -> Result<(), StoreError> {
    for picture in pictures {
        write_file(directory, &format!("{}.svg", picture.name), picture.svg().as_bytes())?;
        write_file(directory, &format!("{}.png", picture.name), &picture.png())?;
    }
    Ok(())
}

/// Writes a table as CSV and as Parquet.
///
/// # Errors
/// A file cannot be written.
pub fn write_table(directory: &Path, name: &str, table: &Table) -> Result<(), StoreError> {
    write_file(directory, &format!("{name}.csv"), table.to_csv().as_bytes())?;
    write_file(directory, &format!("{name}.parquet"), &to_parquet(table))
}

/// Writes a file atomically.
///
/// # Errors
/// It cannot be written.
pub fn write_file(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    write_whole(&directory.join(name), bytes)
}
