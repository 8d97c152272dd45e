//! A scenario, checked.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evenair_reader::ConfigError;
use evenair_results::{Table, Values};
use evenair_scenario::sweep::Settings;
use pyo3::exceptions::{PyFileNotFoundError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use sha2::{Digest, Sha256};

use crate::errors;
use crate::frame::Frame;
use crate::library;
use crate::policy::Chosen;

/// File name of a mapping in error messages.
pub const MAPPING: &str = "<mapping>";
/// File name of a text in error messages.
const TEXT: &str = "<text>";

/// TOML as a mapping, a text (with a newline) or a file.
pub enum Written<'py> {
    Mapping(Bound<'py, PyMapping>),
    Text(String),
    Path(PathBuf),
}

impl<'py> FromPyObject<'_, 'py> for Written<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(mapping) = given.cast::<PyMapping>() {
            return Ok(Self::Mapping(mapping.to_owned()));
        }
        if let Ok(text) = given.extract::<String>() {
            return Ok(Self::Text(text));
        }
        // Conversion to a path would also accept `bytes`, which are refused here.
        let path = given.hasattr("__fspath__")?.then(|| given.extract::<PathBuf>()).transpose()?;
        let wrong = || format!("{} is none of: a mapping, TOML with a newline, a path", given.get_type());
        path.map(Self::Path).ok_or_else(|| PyTypeError::new_err(wrong()))
    }
}

impl Written<'_> {
    /// Name of the file, if it is one.
    pub fn file(&self) -> Option<String> {
        match self {
            Self::Mapping(_) => None,
            Self::Text(text) => (!text.contains('\n')).then(|| text.clone()),
            Self::Path(path) => Some(path.to_string_lossy().into_owned()),
        }
    }

    /// The TOML text.
    pub fn text(&self, python: Python<'_>) -> PyResult<String> {
        if let Self::Mapping(mapping) = self {
            let table: toml::Table = pythonize::depythonize(mapping.as_any())
                .map_err(|error| PyTypeError::new_err(format!("what TOML does not have: {error}")))?;
            return toml::to_string(&table).map_err(|error| PyTypeError::new_err(error.to_string()));
        }
        match (self, self.file()) {
            (Self::Text(text), None) => Ok(text.clone()),
            (_, file) => {
                let path = PathBuf::from(file.unwrap_or_default());
                let text = evenair_scenario::text_of(&path);
                text.map_err(|error| unread(python, &path, &error))
            }
        }
    }
}

/// The error for a file that cannot be read, which may be meant as the name of a scenario of the package.
fn unread(python: Python<'_>, path: &Path, error: &ConfigError) -> PyErr {
    let name = path.to_string_lossy();
    if path.exists() || library::text_of(&name).is_err() {
        return errors::of_config(python, error, true);
    }
    let text = format!("there is no file {name:?}; Scenario.example({name:?}) is the scenario of that name");
    PyFileNotFoundError::new_err(text)
}

/// What a run is made of: radio, stations, applications, phases. Immutable.
#[pyclass(frozen, module = "evenair")]
pub struct Scenario {
    pub inner: Arc<evenair_scenario::Scenario>,
}

impl Scenario {
    pub fn of(python: Python<'_>, source: &Written<'_>) -> PyResult<Self> {
        let text = source.text(python)?;
        let unnamed = if matches!(source, Written::Mapping(_)) { MAPPING } else { TEXT };
        Self::parse(python, &text, &source.file().unwrap_or_else(|| unnamed.to_owned()), &Vec::new())
    }

    pub fn parse(python: Python<'_>, text: &str, file: &str, settings: &Settings) -> PyResult<Self> {
        let sets: Vec<_> = settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let parsed = evenair_scenario::Scenario::parse_with(text, file, &sets);
        let inner = parsed.map_err(|error| errors::of_config(python, &error, file != MAPPING))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The scenario with more settings.
    pub fn and_set(&self, python: Python<'_>, more: Settings) -> PyResult<Self> {
        let evenair_scenario::Source { file, text, settings } = &self.inner.source;
        let settings: Settings = settings.iter().cloned().chain(more).collect();
        Self::parse(python, text, file, &settings)
    }

    /// The scenario under a policy.
    pub fn under(&self, python: Python<'_>, policy: &evenair_scenario::Policy) -> PyResult<Self> {
        let evenair_scenario::Source { file, text, settings } = &self.inner.source;
        let applied = policy.apply_with(file, text, settings);
        let (text, settings) = applied.map_err(|error| errors::of_text(python, error.to_string()))?;
        let sets: Vec<_> = settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let inner = evenair_scenario::Scenario::parse_with(&text, file, &sets);
        let inner = inner.map_err(|error| errors::of_config(python, &policy.at_its_places(error, file), true))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// A hash of everything that determines a run, except the program.
    fn hash_of_source(&self) -> String {
        let mut hash = Sha256::new();
        let evenair_scenario::Source { text, settings, .. } = &self.inner.source;
        for part in settings.iter().flat_map(|(key, value)| [key, value]).chain([text]) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A value in the notation of `--set`; a text is used as it is.
pub fn setting(key: &str, value: &Bound<'_, PyAny>) -> PyResult<(String, String)> {
    let value: toml::Value = pythonize::depythonize(value)
        .map_err(|error| PyTypeError::new_err(format!("{key}: what TOML does not have: {error}")))?;
    let text = match &value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Ok((key.replace("__", "."), text))
}

/// The settings of a mapping.
pub fn settings(values: Option<&Bound<'_, PyMapping>>) -> PyResult<Settings> {
    let Some(values) = values else { return Ok(Vec::new()) };
    let items = values.items()?;
    items
        .iter()
        .map(|item| {
            let (key, value): (String, Bound<'_, PyAny>) = item.extract()?;
            setting(&key, &value)
        })
        .collect()
}

#[pymethods]
impl Scenario {
    #[new]
    fn new(python: Python<'_>, source: Written) -> PyResult<Self> {
        Self::of(python, &source)
    }

    /// A scenario that comes with the package.
    #[staticmethod]
    fn example(python: Python<'_>, name: &str) -> PyResult<Self> {
        let (name, text) = library::text_of(name).map_err(pyo3::exceptions::PyKeyError::new_err)?;
        Self::parse(python, text, &format!("{name}.toml"), &Vec::new())
    }

    /// All of them.
    #[staticmethod]
    fn examples() -> Frame {
        Frame::new(library::table())
    }

    /// The same with other values, as `--set` has them.
    #[pyo3(signature = (values=None, /, **keys))]
    fn with_(
        &self,
        python: Python<'_>,
        values: Option<Bound<'_, PyMapping>>,
        keys: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut all = settings(values.as_ref())?;
        all.extend(settings(keys.as_ref().map(|keys| keys.as_mapping()))?);
        self.and_set(python, all)
    }

    /// The same under a policy, which replaces its mechanisms.
    fn policy(&self, python: Python<'_>, policy: Chosen<'_>) -> PyResult<Self> {
        self.under(python, &policy.policy(python)?)
    }

    /// Raises what the simulator does not do.
    fn check(&self) -> PyResult<()> {
        let refusals = evenair_sim::refusals(&self.inner);
        let words: Vec<_> = refusals.iter().map(ToString::to_string).collect();
        if words.is_empty() { Ok(()) } else { Err(errors::RunError::new_err(words.join("\n"))) }
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.inner.title
    }

    #[getter]
    fn description(&self) -> &str {
        &self.inner.description
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.duration.as_secs_f64()
    }

    /// Names of the stations, groups expanded.
    #[getter]
    fn stations(&self) -> Vec<&str> {
        self.inner.hosts.iter().filter(|host| host.place.is_station()).map(|host| host.name.as_str()).collect()
    }

    /// Names of the applications, groups expanded.
    #[getter]
    fn applications(&self) -> Vec<&str> {
        self.inner.apps.iter().map(|app| app.name.as_str()).collect()
    }

    /// Names of the phases.
    #[getter]
    fn phases(&self) -> Vec<&str> {
        self.inner.measure.phases.iter().map(|phase| phase.name.as_str()).collect()
    }

    /// What others published for it.
    #[getter]
    fn published(&self) -> Frame {
        let published = &self.inner.published;
        let text = |of: &dyn Fn(&evenair_scenario::Published) -> Option<String>| {
            Values::Text(published.iter().map(of).collect())
        };
        let mut table = Table::default();
        table.push("id", text(&|one| one.id.clone()));
        table.push("phase", text(&|one| one.phase.clone()));
        table.push("value", Values::Number(published.iter().map(|one| one.value).collect()));
        table.push("unit", text(&|one| Some(one.unit.clone())));
        table.push("note", text(&|one| Some(one.note.clone())));
        Frame::new(table)
    }

    /// The TOML that it was read from, without what was set since.
    #[getter]
    fn text(&self) -> &str {
        &self.inner.source.text
    }

    /// What was set since, in this order.
    #[getter]
    fn settings(&self) -> BTreeMap<&str, &str> {
        self.inner.source.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }

    /// What is odd about it: what lies beyond a duration that was set, captures that end within a packet.
    #[getter]
    fn notes(&self) -> Vec<String> {
        [&self.inner.warnings[..], &self.inner.left_out[..]].concat()
    }

    /// Of text and settings: equal for scenarios that give the same runs.
    #[getter]
    fn digest(&self) -> String {
        self.hash_of_source()
    }

    fn __eq__(&self, other: &Self) -> bool {
        let source = |scenario: &Self| (scenario.inner.source.text.clone(), scenario.inner.source.settings.clone());
        source(self) == source(other)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash_of_source().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String, String, Settings))> {
        let evenair_scenario::Source { file, text, settings } = &slf.get().inner.source;
        Ok((slf.get_type().getattr("_of")?, (text.clone(), file.clone(), settings.clone())))
    }

    #[staticmethod]
    fn _of(python: Python<'_>, text: &str, file: &str, settings: Settings) -> PyResult<Self> {
        Self::parse(python, text, file, &settings)
    }

    fn __repr__(&self) -> String {
        let [stations, applications] = [self.stations().len(), self.inner.apps.len()];
        format!(
            "Scenario({:?}: {stations} stations, {applications} applications, {} s)",
            self.name(),
            self.duration_s()
        )
    }
}
