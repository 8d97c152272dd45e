//! The compiled part of the Python package `evenair`.
//!
//! Scenarios, their checks, runs and measures are those of the Rust crates: the output of `evenair sim run FILE` and that of
//! `evenair.run(FILE)` are byte for byte equal. This crate only has their Python interface: structured exceptions (`errors`), scenarios and
//! policies (`scenario`, `policy`, `library`), runs (`run`, `folder`, `progress`), stepped runs (`simulation`), experiments of many runs
//! (`sweep`, `sweep_frames`, `sweep_run`, `jobs`), tables as Arrow (`frame`, `imported`, `tables`), closed forms (`models`), and texts of
//! figures and citations (`catalogue`, `cite`). Names, types and descriptions for editors are in `package/evenair/_evenair.pyi`.

// PyO3's macros generate items without comments and unsafe code.
#![allow(missing_docs, unsafe_code, clippy::undocumented_unsafe_blocks)]

mod catalogue;
mod cite;
mod errors;
mod folder;
mod frame;
mod imported;
mod jobs;
mod library;
mod models;
mod policy;
mod progress;
mod run;
mod scenario;
mod simulation;
mod sweep;
mod sweep_frames;
mod sweep_run;
mod tables;

use pyo3::prelude::*;

#[pymodule]
fn _evenair(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let python = module.py();
    module.add("__version__", evenair_cli::VERSION)?;
    module.add("ScenarioError", python.get_type::<errors::ScenarioError>())?;
    module.add("InvalidRun", python.get_type::<errors::InvalidRun>())?;
    module.add("RunError", python.get_type::<errors::RunError>())?;
    module.add("StoreError", python.get_type::<errors::StoreError>())?;
    module.add("WorkerMismatch", python.get_type::<errors::WorkerMismatch>())?;
    module.add_class::<errors::Problem>()?;
    module.add_class::<frame::Frame>()?;
    module.add_class::<policy::Policy>()?;
    module.add_class::<progress::Progress>()?;
    module.add_class::<progress::Status>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<sweep::Experiment>()?;
    module.add_function(wrap_pyfunction!(sweep::check_measure, module)?)?;
    module.add_function(wrap_pyfunction!(cite::cite, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::run_batch, module)?)?;
    module.add_function(wrap_pyfunction!(sweep_frames::paired, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::interval, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::column_label, module)?)?;
    module.add_function(wrap_pyfunction!(models::anomaly, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(folder::load, module)?)
}
