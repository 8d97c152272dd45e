//! Policies: ways to manage a WLAN.

use evenair_results::{Table, Values};
use pyo3::prelude::*;

use crate::errors;
use crate::frame::Frame;
use crate::scenario::Written;

/// A way to manage a WLAN: a few tables of a scenario, under a name.
#[pyclass(frozen, module = "evenair")]
pub struct Policy {
    pub inner: evenair_scenario::Policy,
    text: String,
}

#[pymethods]
impl Policy {
    #[new]
    fn new(python: Python<'_>, name: String, tables: Written) -> PyResult<Self> {
        let text = tables.text(python)?;
        let file = tables.file().unwrap_or_else(|| format!("policy {name}"));
        let written = evenair_scenario::Policy::written(&file, &text);
        let mut inner = written.map_err(|error| errors::of_text(python, error.to_string()))?;
        inner.name = name;
        Ok(Self { inner, text })
    }

    /// Name and meaning of each policy that is known by a name.
    #[staticmethod]
    fn known() -> Frame {
        let known: Vec<_> = evenair_scenario::Policy::known().collect();
        let mut table = Table::default();
        table.push("name", Values::Text(known.iter().map(|policy| Some(policy.name.clone())).collect()));
        table.push("meaning", Values::Text(known.iter().map(|policy| Some(policy.meaning.clone())).collect()));
        Frame::new(table)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// Its tables, as TOML.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String, String)) {
        // A text without a newline would be taken for a path.
        let policy = slf.get();
        (slf.get_type().into_any(), (policy.inner.name.clone(), format!("{}\n", policy.text)))
    }

    fn __repr__(&self) -> String {
        format!("Policy({:?})", self.inner.name)
    }
}

/// A policy, or the name of a known one.
#[derive(FromPyObject)]
pub enum Chosen<'py> {
    Named(String),
    Own(Bound<'py, Policy>),
}

impl Chosen<'_> {
    pub fn policy(&self, python: Python<'_>) -> PyResult<evenair_scenario::Policy> {
        match self {
            Self::Named(name) => {
                evenair_scenario::Policy::named(name).map_err(|error| errors::of_text(python, error.to_string()))
            }
            Self::Own(policy) => Ok(policy.get().inner.clone()),
        }
    }
}
