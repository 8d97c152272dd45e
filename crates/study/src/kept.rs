//! A sweep as its folder has it, without what made it: `experiment.json` has the scenario, what is set and varied, and the policies.

use std::path::Path;

use evenair_scenario::{Axis, Policy};
use serde_json::Value;

use crate::folder::of_folder;
use crate::{Experiment, FolderError, Plan, PlannedRun, RUNS, Source, Store, record_files};

/// Runs of a point that are under way at once, at most: as many as a large machine has cores.
const AT_ONCE: u32 = 256;

/// What a folder has the runs of: the experiment, its plan with as many runs of each point as are there, and the runs. Others may write
/// to it meanwhile.
///
/// # Errors
/// See [`FolderError`].
pub fn kept_experiment(folder: &Path) -> Result<(Experiment, Plan, Store), FolderError> {
    let no_plan = |what: &str| FolderError::NoPlan { folder: folder.to_owned(), what: what.to_owned() };
    let about = of_folder(folder)?.ok_or_else(|| no_plan("there is no experiment.json"))?;
    let experiment = experiment_of(&about).ok_or_else(|| no_plan("experiment.json has not all of the experiment"))?;
    let program = about["program"].as_str().unwrap_or_default();
    let mut plan = Plan::of(&experiment, 0, program).map_err(|error| no_plan(&error.to_string()))?;
    if about["identity"] != plan.identity() {
        return Err(no_plan("this version makes other runs of experiment.json"));
    }
    let runs = folder.join(RUNS);
    if !runs.exists() && !record_files(folder)?.is_empty() {
        return Err(FolderError::Parts(folder.to_owned()));
    }
    let store = Store::read(&runs)?;
    count_runs(&mut plan, &store);
    Ok((experiment, plan, store))
}

/// The experiment that [`sweep_description`] describes; `None` where something is missing.
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

/// Gives each point as many runs as a store has of it.
fn count_runs(plan: &mut Plan, store: &Store) {
    for at in 0..plan.points.len() {
        let first = plan.points[at].seed;
        let is_there = |run: &u32| {
            let run = PlannedRun { point: at, seed: first.wrapping_add(u64::from(*run)), key: String::new() };
            let key = plan.job(&run).key();
            store.get(&key).is_some() || store.failure(&key).is_some()
        };
        let mut runs = 0;
        // Of runs that are made at once some end before others that come first.
        while let Some(last) = (runs..runs + AT_ONCE).rev().find(is_there) {
            runs = last + 1;
        }
        plan.points[at].runs = runs;
    }
}
