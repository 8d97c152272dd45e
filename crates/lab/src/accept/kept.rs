//! Reuse of runs of an earlier call of `evenair accept`: completed runs of the same scenario, seed and version. The
//! version of modified sources does not identify their state, so their runs are repeated.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use evenair_results::{RunResult, write_whole};
use evenair_scenario::Scenario;
use serde_json::Value;

use crate::output;

/// File that is written last, once a run is complete.
const WHOLE: &str = "report.html";
const CPU_SHARE: &str = "cpu-share.txt";

/// The stored result of the same run, if it is complete.
pub fn result(directory: &Path, scenario: &Scenario) -> Result<Option<RunResult>> {
    if !directory.join(WHOLE).exists() {
        return Ok(None);
    }
    let file = directory.join("run.json");
    let about = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let about: Value = serde_json::from_str(&about).with_context(|| format!("{} is no JSON", file.display()))?;
    let same_text = fs::read_to_string(directory.join("scenario.toml")).is_ok_and(|text| text == scenario.source.text);
    if !same_text
        || about["seed"] != scenario.seed
        || about["version"] != output::VERSION
        || output::VERSION.ends_with(".dirty")
    {
        // The new run replaces it.
        fs::remove_file(directory.join(CPU_SHARE)).or_else(|error| match error.kind() {
            ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        return Ok(None);
    }
    println!("  kept: {}", directory.display());
    Ok(Some(RunResult::read(&directory.join("result.json"))?))
}

/// CPU time of a run, relative to its length: the stored value of an earlier run, else `measured`, which it stores.
pub fn cpu_share(directory: &Path, measured: f64) -> Result<f64> {
    let file = directory.join(CPU_SHARE);
    if let Ok(text) = fs::read_to_string(&file) {
        return text.trim().parse().with_context(|| format!("{} holds no number", file.display()));
    }
    write_whole(&file, format!("{measured}\n").as_bytes())?;
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_run_is_kept_and_no_other_is_taken_for_it() {
        let text = include_str!("../../../../scenarios/smoke.toml");
        let scenario = Scenario::parse(text, "smoke.toml").expect("sound");
        let mut ran = evenair_sim::run(&scenario, |_| ()).expect("it can be simulated");
        output::VERSION.clone_into(&mut ran.version);
        let directory = tempfile::tempdir().expect("temporary directory");
        let directory = directory.path();
        assert!(result(directory, &scenario).expect("nothing is wrong").is_none());
        output::write(directory, &scenario, &ran).expect("written");
        if !output::VERSION.ends_with(".dirty") {
            assert_eq!(result(directory, &scenario).expect("the same run"), Some(ran));
        }
        let other = Scenario { seed: 9, ..scenario.clone() };
        assert!(result(directory, &other).expect("nothing is wrong").is_none(), "another seed");
        fs::remove_file(directory.join(WHOLE)).expect("it was written");
        assert!(result(directory, &scenario).expect("nothing is wrong").is_none(), "it was cut short");
    }

    #[test]
    fn the_cpu_time_of_a_kept_run_is_its_own() {
        let directory = tempfile::tempdir().expect("temporary directory");
        assert!((cpu_share(directory.path(), 0.25).expect("written") - 0.25).abs() < 1e-9);
        assert!((cpu_share(directory.path(), 0.01).expect("read") - 0.25).abs() < 1e-9);
    }
}
