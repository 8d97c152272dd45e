//! A run that Python steps, commands and observes.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use evenair_sim::{CommandError, SimOptions};
use evenair_units::Span;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::errors;
use crate::policy::Chosen;
use crate::progress::Watch;
use crate::run::{Run, Source, of_sim, prepared};

/// A run in virtual time, which does nothing by itself. Its result is that of `run`, however it is stepped and observed.
#[pyclass(frozen, module = "evenair")]
pub struct Simulation {
    /// `None` after the result was taken.
    held: Mutex<Option<evenair_sim::Simulation>>,
    /// Whether the result may depend on more than the scenario.
    is_commanded: AtomicBool,
    scenario: Arc<evenair_scenario::Scenario>,
}

impl Simulation {
    fn with<T>(&self, does: impl FnOnce(&mut evenair_sim::Simulation) -> PyResult<T>) -> PyResult<T> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        does(held.as_mut().ok_or_else(|| errors::RunError::new_err("the simulation has given its result"))?)
    }

    /// Steps without holding the interpreter; signals of the process stop it between two events.
    fn advance(&self, python: Python<'_>, until: Span) -> PyResult<()> {
        let mut watch = Watch::new(None, self.scenario.duration.as_secs_f64());
        let stepped = python.detach(|| {
            self.with(|simulation| Ok(simulation.step_while(until, |now| watch.look(now)) == ControlFlow::Continue(())))
        })?;
        if stepped { Ok(()) } else { Err(watch.stopped_by.expect("it was stopped by an exception")) }
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (scenario, seed=None, *, policy=None, set=None, has_box=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        python: Python<'_>,
        scenario: Source<'_>,
        seed: Option<u64>,
        policy: Option<Chosen<'_>>,
        set: Option<Bound<'_, PyMapping>>,
        has_box: bool,
    ) -> PyResult<Self> {
        let scenario = prepared(python, scenario, policy, seed, set)?;
        let options = SimOptions { has_box, ..SimOptions::default() };
        let held = evenair_sim::Simulation::new(Arc::clone(&scenario), &options).map_err(|error| of_sim(&error))?;
        Ok(Self { held: Mutex::new(Some(held)), is_commanded: has_box.into(), scenario })
    }

    /// Runs until `until`, in seconds since the start; all that is due before it has happened then.
    fn step(&self, python: Python<'_>, until: f64) -> PyResult<()> {
        if !(0.0..=1e9).contains(&until) {
            return Err(PyValueError::new_err(format!("until: {until} is no time of a run; allowed: 0 to 1e9 s")));
        }
        self.advance(python, Span::from_nanos((until * 1e9).round() as u64))
    }

    /// Does now what an `[[event]]` with these keys does: `command(do="rate", station="near", rate="6 Mb/s")`.
    #[pyo3(signature = (**keys))]
    fn command(&self, python: Python<'_>, keys: Option<Bound<'_, pyo3::types::PyDict>>) -> PyResult<()> {
        let keys =
            keys.ok_or_else(|| PyTypeError::new_err("command(do=..., ...): the keys of an [[event]] without `at`"))?;
        let table: toml::Table =
            pythonize::depythonize(keys.as_any()).map_err(|error| PyTypeError::new_err(error.to_string()))?;
        let text = toml::to_string(&table).map_err(|error| PyTypeError::new_err(error.to_string()))?;
        self.with(|simulation| {
            simulation.command(&text).map_err(|error| match &error {
                CommandError::Wrong(wrong) => errors::of_config(python, wrong, false),
                other => errors::RunError::new_err(other.to_string()),
            })
        })?;
        self.is_commanded.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The state now, as a `dict`: `at_s`, `mode`, `held_packets`, `ap_queue_packets`, `stations`, `flows` ...
    fn observe<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.with(|simulation| Ok(pythonize::pythonize(python, &simulation.observe())?))
    }

    /// Virtual time, in seconds since the start.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        self.with(|simulation| Ok(simulation.now().as_secs_f64()))
    }

    /// Whether the end of the scenario has come.
    #[getter]
    fn is_over(&self) -> PyResult<bool> {
        self.with(|simulation| Ok(simulation.is_over()))
    }

    /// Runs to the end and gives the result, once.
    fn result(&self, python: Python<'_>) -> PyResult<Run> {
        self.advance(python, self.scenario.duration)?;
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        let simulation = held.ok_or_else(|| errors::RunError::new_err("the simulation has given its result"))?;
        let result = python.detach(|| simulation.result()).map_err(|error| of_sim(&error))?;
        let mut run = Run::new(result, Arc::clone(&self.scenario));
        run.made.is_commanded = self.is_commanded.load(Ordering::Relaxed);
        Ok(run)
    }
}
