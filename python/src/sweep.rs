//! Experiments of many runs, which crate `study` plans, runs and stores. `package/evenair/sweeps.py` presents them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use evenair_cli::VERSION;
use evenair_results::write_whole;
use evenair_scenario::Axis;
use evenair_study as study;
use evenair_study::{
    FolderError, Lock, Made, Plan, Record, Store, Until, is_measure, kept_experiment, near_measure, open_folder,
    sweep_description,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping};

use crate::errors;
use crate::frame::Frame;
use crate::jobs;
use crate::policy::Chosen;
use crate::progress::{Status, Tally};
use crate::run::Source;
use crate::scenario::{MAPPING, Scenario, setting, settings};
use crate::sweep_frames::{self, Asked};
use crate::sweep_run;
use crate::tables::series_kind;

/// A plan of runs and the folder where they are kept.
#[pyclass(frozen, module = "evenair._evenair")]
pub struct Experiment {
    source: study::Experiment,
    folder: PathBuf,
    held: Mutex<Held>,
}

/// State of an experiment.
pub struct Held {
    pub plan: Plan,
    pub store: Store,
    /// Lock of the folder, while runs are made.
    lock: Option<Lock>,
}

impl Held {
    /// Whether every run of the plan has ended.
    fn is_complete(&self) -> bool {
        let has_ended =
            |run: &study::PlannedRun| self.store.get(&run.key).is_some() || self.store.failure(&run.key).is_some();
        self.plan.runs().iter().all(has_ended)
    }

    /// Writes the document of `evenair sim sweep`.
    fn write_results(&self, folder: &Path) -> Result<(), FolderError> {
        let table = study::SweepResult::collect(&self.plan, &self.store).table();
        let file = folder.join("sweep.json");
        let text = study::document(&self.plan, VERSION, self.is_complete(), "points", &table);
        let text = text.map_err(|source| FolderError::Format { file: file.clone(), source })?;
        Ok(write_whole(&file, text.as_bytes())?)
    }
}

/// A key, its values, and whether it advances together with the previous one.
#[derive(FromPyObject)]
struct Varied<'py>(String, Vec<Bound<'py, PyAny>>, bool);

/// The requested runs of a scenario.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Wanted<'py> {
    /// Varied keys; if absent, those of the scenario's own `[[sweep]]`.
    axes: Option<Vec<Varied<'py>>>,
    policies: Vec<Chosen<'py>>,
    /// Number of runs per point.
    seeds: u32,
    /// Kinds of series to store.
    series: Vec<String>,
}

impl Varied<'_> {
    fn axis(&self) -> PyResult<Axis> {
        let values = self.1.iter().map(|value| Ok(setting(&self.0, value)?.1)).collect::<PyResult<_>>()?;
        Ok(Axis { key: self.0.replace("__", "."), values, together: self.2 })
    }
}

impl Experiment {
    pub fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, record: Record) -> PyResult<bool> {
        let mut held = self.held();
        if !held.lock.as_ref().is_some_and(Lock::is_held) {
            return Err(lost());
        }
        let is_well = record.failed.is_none();
        held.store.add(record).map_err(|error| errors::of_folder(&error.into()))?;
        Ok(is_well)
    }

    /// Whether a person wrote the scenario's text, so that positions in it are useful.
    fn has_places(source: &study::Experiment) -> bool {
        source.policies.is_empty() && source.source.file != MAPPING
    }
}

#[pymethods]
impl Experiment {
    /// Plans the runs and takes the folder for this process.
    #[new]
    fn new(python: Python<'_>, scenario: Source<'_>, wanted: Wanted<'_>, store: PathBuf) -> PyResult<Self> {
        let Wanted { axes, policies, seeds, series } = wanted;
        let series = series.iter().map(|kind| series_kind(kind)).collect::<PyResult<_>>()?;
        let evenair_scenario::Source { file, text, settings } = scenario.scenario(python)?.source.clone();
        let axes = axes.map(|axes| axes.iter().map(Varied::axis).collect::<PyResult<Vec<_>>>()).transpose()?;
        let policies = policies.iter().map(|policy| policy.policy(python)).collect::<PyResult<_>>()?;
        let source = study::Experiment { source: study::Source { file, text }, sets: settings, axes, policies };
        let planned = python.detach(|| Plan::of(&source, seeds, study::program()));
        let mut plan = planned.map_err(|error| errors::of_plan(python, &error, Self::has_places(&source)))?;
        plan.series = series;
        let about = sweep_description(&plan, &source, VERSION);
        let opened = python.detach(|| open_folder(&store, None, &about));
        let of_folder = |error| errors::of_folder(&error);
        let (runs, lock) = opened.map_err(of_folder)?;
        Made::now(VERSION).write_once(&store).map_err(of_folder)?;
        let held = Held { plan, store: runs, lock: Some(lock) };
        Ok(Self { source, folder: store, held: Mutex::new(held) })
    }

    /// What a folder has the runs of, as far as they are there.
    #[staticmethod]
    fn of_folder(python: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let of_folder = |error| errors::of_folder(&error);
        let experiment = python.detach(|| kept_experiment(&folder)).map_err(of_folder)?;
        let (source, plan, store) = experiment;
        Ok(Self { source, folder, held: Mutex::new(Held { plan, store, lock: None }) })
    }

    /// The simulator that made the runs, as their keys have it.
    #[getter]
    fn program(&self) -> String {
        self.held().plan.program.clone()
    }

    /// Makes the runs that are missing, on so many threads. `report` is called several times a second with a `Status`.
    #[pyo3(signature = (threads, report=None))]
    fn run(&self, python: Python<'_>, threads: usize, report: Option<Py<PyAny>>) -> PyResult<()> {
        let mut tally = Tally::new(report);
        let mut is_lost = false;
        let ran = python.detach(|| {
            let mut held = self.held();
            let Held { plan, store, lock } = &mut *held;
            study::run(plan, store, threads, |status| {
                is_lost = !lock.as_ref().is_some_and(Lock::is_held);
                !is_lost && tally.look(status)
            })
        });
        match (tally.stopped_by, ran) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(errors::of_folder(&error.into())),
            (None, Ok(_)) if is_lost => Err(lost()),
            (None, Ok(_)) => Ok(()),
        }
    }

    /// The scenario of one of the runs, with its seed: that of the point where keys have these values.
    #[pyo3(signature = (keys, seed=None))]
    fn scenario_at(&self, python: Python<'_>, keys: &Bound<'_, PyMapping>, seed: Option<u64>) -> PyResult<Scenario> {
        let wanted = settings(Some(keys))?;
        let held = self.held();
        let at = sweep_run::point_of(&held.plan, &wanted)?;
        let seed = sweep_run::seed_of(&held.plan, at, seed)?;
        let point = &held.plan.points[at];
        let study::Source { file, text } = &held.plan.sources[point.source];
        let mut settings = point.settings.clone();
        settings.push(("seed".to_owned(), seed.to_string()));
        Scenario::parse(python, text, file, &settings)
    }

    /// Gives more runs to the points whose interval of a measure is wider than `half_width`, a part of the mean: to how many.
    fn raise_runs(&self, measure: String, half_width: f64, most: u32) -> PyResult<usize> {
        let until = Until { relative_half_width: half_width, measures: vec![measure], most };
        let mut held = self.held();
        let result = study::SweepResult::collect(&held.plan, &held.store);
        let raised = until.raise(&mut held.plan, &result);
        raised.map_err(|name| PyValueError::new_err(format!("until: no run has a measure {name:?}")))
    }

    /// The jobs of the runs that have not ended well, as bytes for `run_batch`.
    fn missing<'py>(&self, python: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        jobs::missing(python, &self.held())
    }

    /// Keeps a record that `run_batch` made: whether its run ended well.
    fn add(&self, record: &[u8]) -> PyResult<bool> {
        self.keep(jobs::record(record)?)
    }

    /// Keeps the reason why there is no record of a job.
    fn give_up(&self, job: &[u8], reason: String) -> PyResult<()> {
        self.keep(jobs::job(job)?.failed(reason)).map(|_| ())
    }

    /// Writes what was found, `sweep.json`, and lets other processes write to the folder.
    fn release(&self, python: Python<'_>) -> PyResult<()> {
        let written = python.detach(|| {
            let mut held = self.held();
            let Some(lock) = held.lock.take().filter(Lock::is_held) else { return Ok(()) };
            let written = held.write_results(&self.folder);
            drop(lock);
            written
        });
        written.map_err(|error| errors::of_folder(&error))
    }

    /// What made the folder: `command`, `version`, `program`, `host`, `date`. What the folder does not say is `None`.
    #[getter]
    fn made<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = Made::read(&self.folder).map_err(|error| errors::of_folder(&error))?;
        Ok(pythonize::pythonize(python, &made)?)
    }

    fn runs(&self, python: Python<'_>) -> Frame {
        python.detach(|| sweep_frames::of_runs(&self.held()))
    }

    fn series(&self, python: Python<'_>, kind: &str) -> PyResult<Frame> {
        let kind = series_kind(kind)?;
        python.detach(|| sweep_frames::of_series(&self.held(), kind))
    }

    fn points(&self, python: Python<'_>, confidence: f64) -> PyResult<Frame> {
        let confidence = sweep_frames::confidence(confidence)?;
        Ok(python.detach(|| sweep_frames::of_points(&self.held(), confidence)))
    }

    fn paired(&self, python: Python<'_>, asked: Asked) -> PyResult<Frame> {
        python.detach(|| sweep_frames::of_pairs(&self.held(), asked))
    }

    #[pyo3(signature = (by, constraint=None))]
    fn rank(&self, by: &str, constraint: Option<&str>) -> PyResult<Frame> {
        sweep_frames::of_ranks(&self.held(), by, constraint)
    }

    #[getter]
    fn failed(&self, python: Python<'_>) -> Frame {
        python.detach(|| sweep_frames::of_failures(&self.held()))
    }

    /// How many runs there are, and how they stand.
    #[getter]
    fn status(&self) -> Status {
        let held = self.held();
        let runs = held.plan.runs();
        let wrong: u32 = held.plan.points.iter().filter(|point| point.wrong.is_some()).map(|point| point.runs).sum();
        let known = runs.iter().filter(|run| held.store.get(&run.key).is_some()).count();
        let failed = runs.iter().filter(|run| held.store.failure(&run.key).is_some()).count();
        Status { planned: runs.len() + wrong as usize, known, failed: failed + wrong as usize, left_s: None }
    }

    /// The keys that vary, each with its values as the scenario format has them.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.held().plan.axes.iter().map(|axis| (axis.key.clone(), axis.values.clone())).collect()
    }

    /// The seeds of each point, in the plan's order: the first one, and how many.
    #[getter]
    fn seeds(&self) -> Vec<(u64, u32)> {
        self.held().plan.points.iter().map(|point| (point.seed, point.runs)).collect()
    }

    /// The scenario that is varied, with what is set everywhere.
    #[getter]
    fn scenario(&self, python: Python<'_>) -> PyResult<Scenario> {
        let study::Source { file, text } = &self.source.source;
        Scenario::parse(python, text, file, &self.source.sets)
    }
}

fn lost() -> PyErr {
    errors::StoreError::new_err("this process has not the lock of the store: another one may write to it now")
}

/// What is wrong with the name of a measure, full or without its phase.
#[pyfunction]
pub fn check_measure(name: &str) -> PyResult<()> {
    if is_measure(name) {
        return Ok(());
    }
    let hint = near_measure(name).map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
    Err(PyValueError::new_err(format!("there is no measure {name:?}{hint}")))
}
