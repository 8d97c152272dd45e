//! Where results go.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evenair_report::{Picture, Table, measures_table, run_page, run_pictures, series_table};
use evenair_scenario::results::{RunResult, write_whole};

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

/// Writes everything about a run into `directory`: JSON, tables, plots, and one page that shows them all.
pub fn write(directory: &Path, result: &RunResult) -> Result<()> {
    let json = directory.join("result.json");
    result.write(&json).with_context(|| format!("cannot write {}", json.display()))?;
    write_file(directory, "series.parquet", &series_table(result).to_parquet())?;
    write_file(directory, "measures.parquet", &measures_table(result).to_parquet())?;
    let pictures = run_pictures(result);
    write_pictures(directory, &pictures)?;
    write_file(directory, "report.html", run_page(result, &pictures).as_bytes())
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
    write_file(directory, &format!("{name}.parquet"), &table.to_parquet())
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
}
