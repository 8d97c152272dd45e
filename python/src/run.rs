//! A run, its numbers and its tables.

use std::path::PathBuf;
use std::sync::Arc;

use evenair_cli::VERSION;
use evenair_results::{RunResult, measures, summary};
use evenair_scenario::measures::Kind;
use evenair_scenario::sweep::Settings;
use evenair_sim::{SimError, SimOptions};
use evenair_study::Made;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use serde::Serialize;

use crate::errors;
use crate::folder;
use crate::frame::{Frame, escaped};
use crate::policy::Chosen;
use crate::progress::Watch;
use crate::scenario::{self, Scenario, Written};
use crate::tables;

/// The results of one run.
#[pyclass(frozen, module = "evenair")]
pub struct Run {
    pub result: RunResult,
    pub scenario: Arc<evenair_scenario::Scenario>,
    /// Provenance of the run.
    pub made: Made,
}

/// A scenario, or anything from which one can be made.
pub enum Source<'py> {
    Scenario(Bound<'py, Scenario>),
    Written(Written<'py>),
}

impl<'py> FromPyObject<'_, 'py> for Source<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<Scenario>() {
            Ok(scenario) => Ok(Self::Scenario(scenario.to_owned())),
            Err(_) => Written::extract(given).map(Self::Written),
        }
    }
}

impl Source<'_> {
    pub fn scenario(self, python: Python<'_>) -> PyResult<Arc<evenair_scenario::Scenario>> {
        match self {
            Self::Scenario(scenario) => Ok(Arc::clone(&scenario.get().inner)),
            Self::Written(written) => Ok(Scenario::of(python, &written)?.inner),
        }
    }
}

/// Runs a scenario to its end, without holding the interpreter.
#[pyfunction]
#[pyo3(signature = (scenario, *, policy=None, seed=None, set=None, trace=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn run(
    python: Python<'_>,
    scenario: Source<'_>,
    policy: Option<Chosen<'_>>,
    seed: Option<u64>,
    set: Option<Bound<'_, PyMapping>>,
    trace: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Run> {
    let scenario = prepared(python, scenario, policy, seed, set)?;
    let options = SimOptions { trace, ..SimOptions::default() };
    let mut watch = Watch::new(progress, scenario.duration.as_secs_f64());
    let ran = python.detach(|| evenair_sim::run_with(&scenario, &options, |now| watch.look(now)));
    match (ran, watch.stopped_by) {
        (_, Some(error)) => Err(error),
        (Ok(result), None) => Ok(Run::new(result, scenario)),
        (Err(error), None) => Err(of_sim(&error)),
    }
}

/// Prepares a scenario under a policy, then with settings and a seed.
pub fn prepared(
    python: Python<'_>,
    source: Source<'_>,
    policy: Option<Chosen<'_>>,
    seed: Option<u64>,
    set: Option<Bound<'_, PyMapping>>,
) -> PyResult<Arc<evenair_scenario::Scenario>> {
    let mut scenario = Scenario { inner: source.scenario(python)? };
    let mut settings: Settings = scenario::settings(set.as_ref())?;
    settings.extend(seed.map(|seed| ("seed".to_owned(), seed.to_string())));
    if let Some(policy) = policy {
        scenario = scenario.under(python, &policy.policy(python)?)?;
    }
    if !settings.is_empty() {
        scenario = scenario.and_set(python, settings)?;
    }
    Ok(scenario.inner)
}

pub fn of_sim(error: &SimError) -> PyErr {
    errors::RunError::new_err(error.to_string())
}

impl Run {
    pub fn new(mut result: RunResult, scenario: Arc<evenair_scenario::Scenario>) -> Self {
        VERSION.clone_into(&mut result.version);
        Self { result, scenario, made: Made::now(VERSION) }
    }

    /// Refuses the numbers of an invalid run, unless they are explicitly requested.
    fn judge(&self, allow_invalid: bool) -> PyResult<()> {
        if self.result.valid || allow_invalid {
            return Ok(());
        }
        let why = self.why_invalid().join("; ");
        Err(errors::InvalidRun::new_err(format!("the run is not valid: {why}; allow_invalid=True gives its tables")))
    }

    fn frame(&self, allow_invalid: bool, table: evenair_results::Table) -> PyResult<Frame> {
        self.judge(allow_invalid)?;
        Ok(Frame::new(table))
    }
}

#[pymethods]
impl Run {
    /// Whether the numbers may be used at all.
    #[getter]
    fn valid(&self) -> bool {
        self.result.valid
    }

    /// Why not; empty of a valid run.
    #[getter]
    fn why_invalid(&self) -> Vec<&str> {
        self.result.invalid_because.iter().chain(&self.result.box_faults).map(String::as_str).collect()
    }

    /// The scenario, with what was set.
    #[getter]
    fn scenario(&self) -> Scenario {
        Scenario { inner: Arc::clone(&self.scenario) }
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.result.seed
    }

    #[getter]
    fn engine(&self) -> &str {
        &self.result.engine
    }

    #[getter]
    fn version(&self) -> &str {
        &self.result.version
    }

    /// One number by its full name: `run["phase.all.total_goodput_mbps"]`.
    fn __getitem__(&self, name: &str) -> PyResult<f64> {
        self.judge(false)?;
        evenair_results::scalar(&self.result, name).ok_or_else(|| {
            let names: Vec<_> = measures(&self.result).iter().map(evenair_results::Measure::full_name).collect();
            let near = evenair_reader::nearest(name, names.iter().map(String::as_str), 3).join(", ");
            PyKeyError::new_err(format!("no measure {name:?} in this run; the nearest are {near}"))
        })
    }

    /// A row for each number: phase, kind, name, measure, unit, value.
    #[pyo3(signature = (kind=None, *, allow_invalid=false))]
    fn measures(&self, kind: Option<&str>, allow_invalid: bool) -> PyResult<Frame> {
        if let Some(wrong) = kind.filter(|kind| Kind::ALL.iter().all(|known| known.word() != *kind)) {
            let known: Vec<_> = Kind::ALL.iter().map(|kind| kind.word()).collect();
            return Err(PyValueError::new_err(format!("no kind {wrong:?}; allowed: {}", known.join(", "))));
        }
        self.frame(allow_invalid, tables::of_measures(&self.result, kind))
    }

    /// Where the time of the medium went in each phase, as parts of it.
    #[pyo3(signature = (*, allow_invalid=false))]
    fn airtime(&self, allow_invalid: bool) -> PyResult<Frame> {
        self.frame(allow_invalid, tables::of_airtime(&self.result))
    }

    /// Values of each flow, station or what else `kind` is in each interval.
    #[pyo3(signature = (kind="flow", *, allow_invalid=false))]
    fn series(&self, kind: &str, allow_invalid: bool) -> PyResult<Frame> {
        self.frame(allow_invalid, tables::series_kind(kind)?.table(&self.result.series))
    }

    /// The histogram of round-trip times of an application, by phase.
    #[pyo3(signature = (application, *, allow_invalid=false))]
    fn rtt(&self, application: &str, allow_invalid: bool) -> PyResult<Frame> {
        if self.scenario.apps.iter().all(|app| app.name != application) {
            let names = self.scenario.apps.iter().map(|app| app.name.as_str());
            let near = evenair_reader::nearest(application, names, 3).join(", ");
            return Err(PyKeyError::new_err(format!(
                "no application {application:?} in this run; the nearest are {near}"
            )));
        }
        self.frame(allow_invalid, tables::of_rtt(&self.result, application))
    }

    /// Transfers of known size, in the order of their ends.
    #[pyo3(signature = (*, allow_invalid=false))]
    fn transfers(&self, allow_invalid: bool) -> PyResult<Frame> {
        self.frame(allow_invalid, tables::of_transfers(&self.result))
    }

    /// Web pages, in the order of their ends.
    #[pyo3(signature = (*, allow_invalid=false))]
    fn pages(&self, allow_invalid: bool) -> PyResult<Frame> {
        self.frame(allow_invalid, tables::of_pages(&self.result))
    }

    /// Calls by direction and phase: what their listeners heard.
    #[pyo3(signature = (*, allow_invalid=false))]
    fn calls(&self, allow_invalid: bool) -> PyResult<Frame> {
        self.frame(allow_invalid, tables::of_calls(&self.result))
    }

    /// What happened when.
    fn events(&self) -> Frame {
        Frame::new(tables::of_events(&self.result))
    }

    /// The tables and sentences that `evenair sim run` prints.
    fn summary(&self) -> String {
        summary(&self.result)
    }

    /// All results: the document that `evenair sim run` writes as `result.json`.
    fn to_json(&self) -> PyResult<String> {
        json(&self.result)
    }

    /// Writes the page of the run, one file of HTML.
    fn report(&self, path: PathBuf) -> PyResult<()> {
        let page = evenair_report::run_page(&self.result, &evenair_report::run_pictures(&self.result));
        evenair_results::write_whole(&path, page.as_bytes()).map_err(|error| errors::of_results(&error))
    }

    /// Writes the folder that `evenair sim run` writes, into `folder`, which is made; with `pictures`, plots too.
    #[pyo3(signature = (folder, *, pictures=false))]
    fn save(&self, folder: PathBuf, pictures: bool) -> PyResult<()> {
        folder::write(self, &folder, pictures)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, pyo3::types::PyTuple>)> {
        let python = slf.py();
        let scenario = slf.get().scenario().into_pyobject(python)?;
        let arguments = (slf.get().to_json()?, scenario, json(&slf.get().made)?).into_pyobject(python)?;
        Ok((slf.get_type().getattr("_of")?, arguments))
    }

    #[staticmethod]
    fn _of(result: &str, scenario: &Bound<'_, Scenario>, made: &str) -> PyResult<Self> {
        let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
        let result = serde_json::from_str(result).map_err(wrong)?;
        let made = serde_json::from_str(made).map_err(wrong)?;
        Ok(Self { result, scenario: Arc::clone(&scenario.get().inner), made })
    }

    /// Scenario, its text and settings, seed, engine and version, and where and when the run was made (`None` where a folder does not
    /// say it): enough to cite the run and to make it again.
    #[getter]
    fn provenance<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(python);
        dict.set_item("scenario", &self.result.scenario)?;
        dict.set_item("text", &self.scenario.source.text)?;
        dict.set_item("settings", self.scenario.source.settings.clone())?;
        dict.set_item("seed", self.result.seed)?;
        dict.set_item("engine", &self.result.engine)?;
        dict.set_item("version", &self.result.version)?;
        dict.set_item("program", &self.made.program)?;
        dict.set_item("host", &self.made.host)?;
        dict.set_item("date", &self.made.date)?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        let valid = if self.result.valid { "" } else { ", not valid" };
        format!("Run({:?}, seed {}, {} s{valid})", self.result.scenario, self.result.seed, self.result.duration_s)
    }

    /// A card of the run: title, validity and the plots of rates, in a frame of its own so that no style leaks.
    fn _repr_html_(&self) -> String {
        let pictures = evenair_report::run_pictures(&self.result);
        let is_shown = |name: &str| name == "throughput" || name.contains("airtime");
        let plots: String = pictures
            .iter()
            .filter(|picture| is_shown(&picture.name))
            .take(2)
            .map(evenair_report::Picture::svg)
            .filter(|svg| svg.len() < MOST_SVG)
            .collect();
        let validity = if self.result.valid { "valid".to_owned() } else { self.why_invalid().join("; ") };
        let rows: String = self
            .result
            .phases
            .iter()
            .take(MOST_PHASES)
            .map(|phase| {
                let jain = phase.jain_flows.map_or_else(|| "–".to_owned(), |jain| format!("{jain:.2}"));
                let name = escaped(&phase.name);
                format!("<tr><td>{name}</td><td>{:.2}</td><td>{jain}</td></tr>", phase.total_goodput_mbps)
            })
            .collect();
        let document = format!(
            "<style>body{{font:14px sans-serif}}td,th{{padding:2px 8px;text-align:right}}svg{{max-width:100%;height:auto}}</style>\
             <b>{}</b><p>{}, seed {}, {} s, {validity}</p>\
             <table><tr><th>phase</th><th>goodput, Mb/s</th><th>Jain of flows</th></tr>{rows}</table>{plots}",
            escaped(&self.result.title),
            escaped(&self.result.scenario),
            self.result.seed,
            self.result.duration_s,
            validity = escaped(&validity),
        );
        let source = escaped(&document);
        format!("<iframe style=\"width:100%;height:480px;border:0\" sandbox srcdoc=\"{source}\"></iframe>")
    }
}

/// A document as JSON.
fn json(thing: &impl Serialize) -> PyResult<String> {
    let text = serde_json::to_string_pretty(thing);
    text.map(|text| text + "\n").map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Maximum size of a plot in a card, in bytes, since a card must be at most 60 kB.
const MOST_SVG: usize = 20_000;
/// Maximum number of phases that a card lists.
const MOST_PHASES: usize = 8;
