//! Closed forms as frames.

use std::sync::Arc;

use evenair_results::{Table, Values};
use evenair_scenario::{Anomaly, Scenario};
use evenair_study::key_column;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::frame::Frame;
use crate::run::Source;
use crate::scenario::{self, Scenario as PyScenario};

/// A row of a frame of a closed form.
struct Row {
    point: usize,
    model: &'static str,
    phase: String,
    kind: &'static str,
    name: Option<String>,
    measure: &'static str,
    mbps: f64,
}

/// The performance anomaly: a row for each point, phase, way to share, and station; see `evenair.models.anomaly`.
#[pyfunction]
#[pyo3(signature = (scenario, *, vary=None, values=None, phase=None))]
pub fn anomaly(
    python: Python<'_>,
    scenario: Source<'_>,
    vary: Option<&str>,
    values: Option<Vec<Bound<'_, PyAny>>>,
    phase: Option<&str>,
) -> PyResult<Frame> {
    let base = PyScenario { inner: scenario.scenario(python)? };
    let phases = || base.inner.measure.phases.iter().map(|phase| phase.name.as_str());
    if let Some(wrong) = phase.filter(|wanted| phases().all(|name| name != *wanted)) {
        let near = evenair_reader::nearest(wrong, phases(), 3).join(", ");
        return Err(PyKeyError::new_err(format!("no phase {wrong:?} in the scenario; the nearest are {near}")));
    }
    let points = match vary {
        Some(key) => points(python, &base, key, values)?,
        None if values.is_some() => return Err(PyValueError::new_err("values need the key that has them: vary=")),
        None => vec![(String::new(), Arc::clone(&base.inner))],
    };
    let mut rows = Vec::new();
    for (point, (value, scenario)) in points.iter().enumerate() {
        let wanted = scenario.measure.phases.iter().filter(|one| phase.is_none_or(|name| name == one.name));
        for phase in wanted {
            let place = vary.map_or_else(String::new, |key| format!(" with {key} = {value}"));
            let found = scenario.anomaly(phase);
            let found = found.map_err(|why| PyValueError::new_err(format!("{}{place}: {why}", scenario.name)))?;
            rows.extend(found.iter().flat_map(|anomaly| rows_of(point, scenario, &phase.name, anomaly)));
        }
    }
    let values: Vec<_> = points.iter().map(|(value, _)| value.as_str()).collect();
    Ok(Frame::new(table(vary, &values, &rows)))
}

/// Values of a key, in the notation of `--set`, and the scenario with each.
type Points = Vec<(String, Arc<Scenario>)>;

fn points(python: Python<'_>, base: &PyScenario, key: &str, values: Option<Vec<Bound<'_, PyAny>>>) -> PyResult<Points> {
    let with = |value: String| {
        base.and_set(python, vec![(key.to_owned(), value.clone())]).map(|scenario| (value, scenario.inner))
    };
    if let Some(values) = values {
        return values.iter().map(|value| with(scenario::setting(key, value)?.1)).collect();
    }
    let all = usual_values(base, key).ok_or_else(|| {
        PyValueError::new_err(format!("{key} needs values=[...]: only those of mcs and rate are known beforehand"))
    })?;
    // MCS that the station's format or streams do not have are skipped.
    let found: Points = all.into_iter().filter_map(|value| with(value).ok()).collect();
    // If all are invalid, report the error of the first one.
    if found.is_empty() {
        Err(with("0".to_owned()).err().unwrap_or_else(|| PyValueError::new_err(key.to_owned())))
    } else {
        Ok(found)
    }
}

/// All values of a key with few values.
fn usual_values(base: &PyScenario, key: &str) -> Option<Vec<String>> {
    match key.rsplit(['.', '_']).next()? {
        "mcs" => Some((0..=11).map(|mcs| mcs.to_string()).collect()),
        "rate" => {
            let rates = base.inner.radio.phy.standard().rates();
            Some(rates.iter().map(|rate| format!("{} Mb/s", rate.bit_rate().as_mbps_f64())).collect())
        }
        _ => None,
    }
}

fn rows_of(point: usize, scenario: &Scenario, phase: &str, anomaly: &Anomaly) -> Vec<Row> {
    let row = |kind, name, measure, mbps| Row {
        point,
        model: anomaly.sharing.words(),
        phase: phase.to_owned(),
        kind,
        name,
        measure,
        mbps,
    };
    let mut rows = vec![row("run", None, "total_goodput_mbps", anomaly.total_goodput_mbps())];
    let stations = scenario.hosts.iter().enumerate().filter_map(|(host, spec)| {
        let its = anomaly.apps.iter().filter(|app| scenario.apps[app.app].station == host);
        let mbps: Vec<f64> = its.map(|app| app.goodput_mbps).collect();
        (!mbps.is_empty()).then(|| (spec.name.clone(), mbps.iter().sum()))
    });
    rows.extend(stations.map(|(name, mbps)| row("station", Some(name), "goodput_mbps", mbps)));
    rows
}

fn table(vary: Option<&str>, values: &[&str], rows: &[Row]) -> Table {
    let text = |of: &dyn Fn(&Row) -> Option<String>| Values::Text(rows.iter().map(of).collect());
    let mut table = Table::default();
    if let Some(key) = vary {
        let (name, values) = key_column(key, values);
        table.push(name, values.take(&rows.iter().map(|row| row.point).collect::<Vec<_>>()));
    }
    table.push("model", text(&|row| Some(row.model.to_owned())));
    table.push("phase", text(&|row| Some(row.phase.clone())));
    table.push("kind", text(&|row| Some(row.kind.to_owned())));
    table.push("name", text(&|row| row.name.clone()));
    table.push("measure", text(&|row| Some(row.measure.to_owned())));
    table.push("unit", text(&|_| Some("Mb/s".to_owned())));
    table.push("value", Values::Number(rows.iter().map(|row| Some(row.mbps)).collect()));
    table
}
