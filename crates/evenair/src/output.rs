//! Where results go.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evenair_scenario::results::{RunResult, write_whole};
use evenair_scenario::{plots, report};

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

/// Writes everything about a run into `directory`: JSON, plots, and one page that shows them all.
pub fn write(directory: &Path, result: &RunResult) -> Result<()> {
    let json = directory.join("result.json");
    result.write(&json).with_context(|| format!("cannot write {}", json.display()))?;
    for plot in plots::all(result) {
        write_text(directory, &format!("{}.svg", plot.name), &plot.svg)?;
    }
    write_text(directory, "report.html", &report(result))
}

fn write_text(directory: &Path, name: &str, text: &str) -> Result<()> {
    let path = directory.join(name);
    write_whole(&path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
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
