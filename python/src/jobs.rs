//! Runs as bytes: jobs in, records out, for engines that run them elsewhere.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use evenair_study::{Job, Record, program, run_job};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::errors;
use crate::sweep::Held;

/// Interval of checks for signals of the process.
const LOOK: Duration = Duration::from_millis(50);

fn bytes<'py>(python: Python<'py>, thing: &impl Serialize) -> PyResult<Bound<'py, PyBytes>> {
    let text = serde_json::to_vec(thing).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyBytes::new(python, &text))
}

/// Jobs of the runs that have not succeeded, or lack wanted series, in the plan's order.
pub fn missing<'py>(python: Python<'py>, held: &Held) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    held.plan.missing(&held.store).iter().map(|run| bytes(python, &held.plan.job(run))).collect()
}

/// Parses a record made by [`run_batch`].
pub fn record(bytes: &[u8]) -> PyResult<Record> {
    serde_json::from_slice(bytes).map_err(|error| PyValueError::new_err(format!("no record of a run: {error}")))
}

/// Parses a job of [`missing`].
pub fn job(bytes: &[u8]) -> PyResult<Job> {
    serde_json::from_slice(bytes).map_err(|error| PyValueError::new_err(format!("no job: {error}")))
}

/// Makes the runs of some jobs, one after the other, without holding the interpreter: their records, in this order. A run that fails
/// has a record with the reason. No run is made where a job is for another build.
#[pyfunction]
pub fn run_batch<'py>(python: Python<'py>, jobs: Vec<Vec<u8>>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let jobs = jobs.iter().map(|bytes| job(bytes)).collect::<PyResult<Vec<_>>>()?;
    if let Some(other) = jobs.iter().find(|job| job.program != program()) {
        let text = format!("this worker has the simulator {}, and the job is for {}", program(), other.program);
        return Err(errors::WorkerMismatch::new_err(text));
    }
    jobs.iter().map(|job| bytes(python, &made(python, job)?)).collect()
}

fn made(python: Python<'_>, job: &Job) -> PyResult<Record> {
    let (mut looked, mut stopped) = (Instant::now(), Ok(()));
    let record = python.detach(|| {
        run_job(job, |_| {
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                stopped = Python::attach(|python| python.check_signals());
            }
            if stopped.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    stopped?;
    Ok(record.expect("a run that was not stopped has a record"))
}
