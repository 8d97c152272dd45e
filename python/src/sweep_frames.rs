//! Frames of an experiment.

use evenair_results::SeriesKind;
use evenair_study::{
    Criterion, Pairs, PairsError, Question, SweepResult, failed_rows, point_rows, run_rows, series_rows,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;
use crate::frame::Frame;
use crate::imported;
use crate::sweep::Held;

/// Checks a confidence level.
pub fn confidence(given: f64) -> PyResult<f64> {
    if given > 0.0 && given < 1.0 {
        return Ok(given);
    }
    Err(PyValueError::new_err(format!("confidence: {given} is none; allowed: between 0 and 1, such as 0.95")))
}

/// A row for each number of each run.
pub fn of_runs(held: &Held) -> Frame {
    Frame::of_parts(run_rows(&held.plan, &held.store))
}

/// The series of all runs that have them.
pub fn of_series(held: &Held, kind: SeriesKind) -> PyResult<Frame> {
    let runs = held.plan.runs();
    if !runs.iter().any(|run| held.store.has(&run.key, &[kind])) {
        let text = format!("no run of this sweep has series of {kind}; make them with sweep(..., series=[\"{kind}\"])");
        return Err(PyValueError::new_err(text));
    }
    let parts = series_rows(&held.plan, &held.store, kind).collect::<Result<Vec<_>, _>>();
    Ok(Frame::of_parts(parts.map_err(|error| errors::of_folder(&error.into()))?))
}

/// A row for each measure of each point.
pub fn of_points(held: &Held, confidence: f64) -> Frame {
    Frame::new(point_rows(&SweepResult::collect_with(&held.plan, &held.store, confidence)))
}

/// A row for each run that failed, and for each invalid point.
pub fn of_failures(held: &Held) -> Frame {
    Frame::new(failed_rows(&held.plan, &held.store))
}

/// Parameters of a comparison: `by`, `base`, `measures`, `confidence` and `adjust` of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    by: String,
    base: Option<String>,
    measures: Option<Vec<String>>,
    confidence: f64,
    adjust: String,
}

impl Asked {
    fn pairs(self) -> PyResult<Pairs> {
        let is_adjusted = match self.adjust.as_str() {
            "holm" => true,
            "none" => false,
            other => return Err(PyValueError::new_err(format!("adjust: {other:?}; allowed: \"holm\", \"none\""))),
        };
        let Self { by, base, measures, .. } = self;
        Ok(Pairs::new(Question { by, base, measures, confidence: confidence(self.confidence)?, is_adjusted }))
    }
}

fn wrong(error: PairsError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The paired differences of an experiment's runs.
pub fn of_pairs(held: &Held, asked: Asked) -> PyResult<Frame> {
    let mut pairs = asked.pairs()?;
    run_rows(&held.plan, &held.store).try_for_each(|part| pairs.add(&part)).map_err(wrong)?;
    Ok(Frame::new(pairs.finish().map_err(wrong)?))
}

/// The differences of the runs in a data frame, in pairs.
#[pyfunction]
pub fn paired(frame: &Bound<'_, PyAny>, asked: Asked) -> PyResult<Frame> {
    let mut pairs = asked.pairs()?;
    imported::for_each_part(frame, |part| pairs.add(part).map_err(wrong))?;
    Ok(Frame::new(pairs.finish().map_err(wrong)?))
}

/// The points by a measure, the best first; `-NAME`: the lowest is the best.
pub fn of_ranks(held: &Held, by: &str, constraint: Option<&str>) -> PyResult<Frame> {
    let wrong = |error: String| PyValueError::new_err(format!("rank: {error}"));
    let (measure, is_least) = by.strip_prefix('-').map_or((by, false), |rest| (rest, true));
    let constraint = constraint.map(str::parse).transpose().map_err(wrong)?;
    let criterion = Criterion { measure: measure.to_owned(), is_least, constraint };
    criterion.rank(&SweepResult::collect(&held.plan, &held.store)).map(Frame::new).map_err(wrong)
}
