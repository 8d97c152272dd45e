//! Runs a part of a sweep in the folder of `evenair sim sweep --store`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use evenair_study::{Lock, Made, Part, Plan, PlannedRun, RUNS, ended_keys, open_folder};
use serde_json::Value;

use super::many::{Many, interrupted, print_status};
use crate::output::VERSION;

/// Fails if another process has taken over the file.
pub fn check_held(lock: &Lock, folder: &Path) -> Result<()> {
    if !lock.is_held() {
        bail!("another process writes to {} now: this one did not run for half a minute", folder.display());
    }
    Ok(())
}

/// Makes a part of a sweep.
pub fn run_part(many: &Many, plan: &Plan, part: Part, folder: &Path, experiment: &Value) -> Result<ExitCode> {
    let (mut store, lock) = open_folder(folder, Some(part), experiment)?;
    Made::now(VERSION).write_once(folder)?;
    let joined = ended_keys(&folder.join(RUNS), &plan.series)?;
    let runs = part.runs(plan);
    let missing: Vec<_> = runs.iter().filter(|run| !joined.contains(&run.key)).cloned().collect();
    let elsewhere = runs.len() - missing.len();
    let mut status = many.run_while(plan, missing, &mut store, || lock.is_held())?;
    status.runs += elsewhere;
    status.known += elsewhere;
    print!("{part}: ");
    print_status(&status);
    check_held(&lock, folder)?;
    if !status.is_complete() {
        return Ok(interrupted(folder));
    }
    println!("next, when all parts have ended: evenair sim merge {}", folder.display());
    let failure = |run: &PlannedRun| Some(format!("seed {}: {}", run.seed, store.failure(&run.key)?));
    if let Some(first) = runs.iter().find_map(failure) {
        bail!("{} runs failed; {first}", status.failed);
    }
    Ok(ExitCode::SUCCESS)
}
