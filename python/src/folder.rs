//! The folder of a run.

use std::path::{Path, PathBuf};

use evenair_results::RunResult;
use evenair_scenario::sweep::Settings;
use evenair_study::Made;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;
use crate::run::Run;
use crate::scenario::Scenario;

/// Writes a run as `evenair sim run` does, into a new folder; with `pictures`, also plots.
pub fn write(run: &Run, folder: &Path, pictures: bool) -> PyResult<()> {
    std::fs::create_dir_all(folder)?;
    let pictures = if pictures { evenair_report::run_pictures(&run.result) } else { Vec::new() };
    let written = evenair_report::write_run(folder, &run.scenario, &run.result, &pictures);
    written.map_err(|error| errors::of_results(&error))?;
    run.made.write(folder).map_err(|error| errors::of_folder(&error))
}

/// Reads the folder of a run, of the simulator or of the testbed, which this package or the program has written.
#[pyfunction]
pub fn load(python: Python<'_>, folder: PathBuf) -> PyResult<Run> {
    let result = RunResult::read(&folder.join("result.json")).map_err(|error| errors::of_results(&error))?;
    let about = std::fs::read_to_string(folder.join("run.json"))?;
    let about: serde_json::Value =
        serde_json::from_str(&about).map_err(|error| PyValueError::new_err(format!("run.json: {error}")))?;
    let settings = about["settings"].as_array().into_iter().flatten();
    let settings = settings.filter_map(|setting| setting.as_str()?.split_once('='));
    let settings: Settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let file = folder.join("scenario.toml");
    let text = evenair_scenario::text_of(&file).map_err(|error| errors::of_config(python, &error, true))?;
    let scenario = Scenario::parse(python, &text, &file.to_string_lossy(), &settings)?;
    let made = Made::read(&folder).map_err(|error| errors::of_folder(&error))?.or_of(&about);
    Ok(Run { result, scenario: scenario.inner, made })
}
