//! Loads a sweep or a comparison from its folder: `experiment.json` has the scenario, its settings, varied keys, and policies or variants.

use std::path::Path;

use evenair_scenario::{Axis, Policy};
use serde_json::Value;

use crate::folder::of_folder;
use crate::variants::variants_of;
use crate::{Experiment, FolderError, Plan, PlanError, PlannedRun, RUNS, Source, Store, record_files};

/// Largest number of concurrent runs of a point: the cores of a large machine.
const AT_ONCE: u32 = 256;

/// Loads a folder: the experiment, its plan with the number of runs that each point has, and the runs. Other processes may write to the
/// folder meanwhile.
///
/// # Errors
/// See [`FolderError`].
pub fn kept_experiment(folder: &Path) -> Result<(Experiment, Plan, Store), FolderError> {
    let about = about(folder)?;
    let experiment = experiment_of(&about)
        .ok_or_else(|| no_plan(folder, "experiment.json has not all of the experiment".to_owned()))?;
    let plan = Plan::of(&experiment, 0, program_of(&about));
    let (plan, store) = with_runs(folder, &about, plan)?;
    Ok((experiment, plan, store))
}

/// As [`kept_experiment`], without the experiment; also loads a comparison of two variants.
///
/// # Errors
/// See [`FolderError`].
pub fn kept_plan(folder: &Path) -> Result<(Plan, Store), FolderError> {
    let about = about(folder)?;
    match variants_of(&about["variants"]) {
        Some(variants) => with_runs(folder, &about, Plan::of_variants(variants, 0, program_of(&about))),
        None => kept_experiment(folder).map(|(_, plan, store)| (plan, store)),
    }
}

fn about(folder: &Path) -> Result<Value, FolderError> {
    of_folder(folder)?.ok_or_else(|| no_plan(folder, "there is no experiment.json".to_owned()))
}

fn no_plan(folder: &Path, what: String) -> FolderError {
    FolderError::NoPlan { folder: folder.to_owned(), what }
}

fn program_of(about: &Value) -> &str {
    about["program"].as_str().unwrap_or_default()
}

/// The plan with its runs, if it is the folder's.
fn with_runs(folder: &Path, about: &Value, plan: Result<Plan, PlanError>) -> Result<(Plan, Store), FolderError> {
    let mut plan = plan.map_err(|error| no_plan(folder, error.to_string()))?;
    if about["identity"] != plan.identity() {
        return Err(no_plan(folder, "this version makes other runs of experiment.json".to_owned()));
    }
    let runs = folder.join(RUNS);
    if !runs.exists() && !record_files(folder)?.is_empty() {
        return Err(FolderError::Parts(folder.to_owned()));
    }
    let store = Store::read(&runs)?;
    count_runs(&mut plan, &store);
    Ok((plan, store))
}

/// The experiment that [`sweep_description`] describes; `None` if something is missing.
fn experiment_of(about: &Value) -> Option<Experiment> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let axis = |axis: &Value| {
        let values = axis["values"].as_array()?.iter().map(text).collect::<Option<_>>()?;
        Some(Axis { key: text(&axis["key"])?, values, together: axis["together"].as_bool()? })
    };
    let setting = |pair: &Value| Some((text(&pair[0])?, text(&pair[1])?));
    let mut axes: Vec<Axis> = about["sweep"].as_array()?.iter().map(axis).collect::<Option<_>>()?;
    let names = axes.pop_if(|axis| axis.key == "policy").map_or_else(Vec::new, |axis| axis.values);
    let policy = |name: String| match about["policies"][name.as_str()].as_str() {
        Some(tables) => {
            let mut policy = Policy::written(&name, tables).ok()?;
            policy.name = name;
            Some(policy)
        }
        None => Policy::named(&name).ok(),
    };
    Some(Experiment {
        source: Source { file: text(&about["files"][0])?, text: text(&about["text"])? },
        sets: about["settings"].as_array()?.iter().map(setting).collect::<Option<_>>()?,
        axes: Some(axes),
        policies: names.into_iter().map(policy).collect::<Option<_>>()?,
    })
}

/// Sets the number of runs of each point to those in a store.
fn count_runs(plan: &mut Plan, store: &Store) {
    for at in 0..plan.points.len() {
        let first = plan.points[at].seed;
        let is_there = |run: &u32| {
            let run = PlannedRun { point: at, seed: first.wrapping_add(u64::from(*run)), key: String::new() };
            let key = plan.job(&run).key();
            store.get(&key).is_some() || store.failure(&key).is_some()
        };
        let mut runs = 0;
        // Concurrent runs may end out of order.
        while let Some(last) = (runs..runs + AT_ONCE).rev().find(is_there) {
            runs = last + 1;
        }
        plan.points[at].runs = runs;
    }
}
