//! Exceptions with structured details.

use evenair_reader::{ConfigError, Located, Place, offered};
use evenair_results::StoreError as ResultsError;
use evenair_study::{FolderError, LockError, PlanError};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

pyo3::create_exception!(
    evenair,
    ScenarioError,
    PyValueError,
    "A scenario or a policy is wrong; `problems` has each place."
);
pyo3::create_exception!(
    evenair,
    InvalidRun,
    PyRuntimeError,
    "The numbers of a run that says of itself that it is not valid."
);
pyo3::create_exception!(
    evenair,
    RunError,
    PyRuntimeError,
    "A scenario or a command asks for what the simulator does not do."
);

pyo3::create_exception!(
    evenair,
    StoreError,
    PyRuntimeError,
    "A folder belongs to another experiment, or another process writes to it."
);

pyo3::create_exception!(
    evenair,
    WorkerMismatch,
    PyRuntimeError,
    "A worker of an engine has another build of the simulator, or none: it makes no run."
);

/// One place of a scenario that is wrong.
#[pyclass(frozen, get_all, eq, hash, from_py_object, module = "evenair")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The key's path, such as `station[2].rate`; empty where no key is concerned.
    path: String,
    /// What is wrong.
    message: String,
    /// What would be right; empty where any value of the kind is.
    allowed: String,
    /// A likely spelling.
    guess: Option<String>,
    /// The file, or the setting (`--set KEY`); absent where the source was a mapping.
    file: Option<String>,
    /// From 1.
    line: Option<usize>,
    /// From 1.
    column: Option<usize>,
}

#[pymethods]
impl Problem {
    fn __repr__(&self) -> String {
        format!("Problem(path={:?}, message={:?}, allowed={:?})", self.path, self.message, self.allowed)
    }
}

impl Problem {
    /// `has_places`: a person wrote the text, so that its line numbers are useful.
    fn new(located: &Located, has_places: bool) -> Self {
        let Place { file, position } = &located.place;
        // A setting has a position even if the text has none.
        let is_kept = has_places || file.starts_with("--set ");
        let position = position.filter(|_| is_kept);
        Self {
            path: located.key.clone(),
            message: located.what.clone(),
            allowed: located.allowed.clone(),
            guess: offered(&located.what).map(str::to_owned),
            file: is_kept.then(|| file.clone()),
            line: position.map(|(line, _)| line),
            column: position.map(|(_, column)| column),
        }
    }
}

/// The exception for a scenario that is invalid, or cannot be read.
pub fn of_config(python: Python<'_>, error: &ConfigError, has_places: bool) -> PyErr {
    let problems = match error {
        ConfigError::Read { path, source } => {
            return match source.raw_os_error() {
                // Python derives FileNotFoundError, PermissionError ... from the number.
                Some(number) => {
                    let text = source.to_string();
                    let text = text.trim_end_matches(&format!(" (os error {number})")).to_owned();
                    PyOSError::new_err((number, text, path.display().to_string()))
                }
                None => PyOSError::new_err(error.to_string()),
            };
        }
        ConfigError::Invalid(problems) => problems,
    };
    let problems: Vec<_> = problems.iter().map(|located| (Problem::new(located, has_places), located)).collect();
    let count = problems.len();
    let mut text = format!("{count} problem{}", if count == 1 { "" } else { "s" });
    for (problem, located) in &problems {
        let place = if problem.file.is_some() { format!("{}: ", located.place) } else { String::new() };
        let path = if problem.path.is_empty() { String::new() } else { format!("{}: ", problem.path) };
        let allowed =
            if problem.allowed.is_empty() { String::new() } else { format!("; allowed: {}", problem.allowed) };
        text.push_str(&format!("\n  {place}{path}{}{allowed}", problem.message));
    }
    with_problems(python, text, problems.into_iter().map(|(problem, _)| problem).collect())
}

/// The exception for an error without a position.
pub fn of_text(python: Python<'_>, text: String) -> PyErr {
    let (path, allowed) = (String::new(), String::new());
    let (message, guess) = (text.clone(), offered(&text).map(str::to_owned));
    with_problems(python, text, vec![Problem { path, message, allowed, guess, file: None, line: None, column: None }])
}

fn with_problems(python: Python<'_>, text: String, problems: Vec<Problem>) -> PyErr {
    let error = ScenarioError::new_err(text);
    let set = PyTuple::new(python, problems).and_then(|problems| error.value(python).setattr("problems", problems));
    match set {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// The exception for an experiment that cannot be planned.
pub fn of_plan(python: Python<'_>, error: &PlanError, has_places: bool) -> PyErr {
    match error {
        PlanError::Scenario(wrong) => of_config(python, wrong, has_places),
        other => of_text(python, other.to_string()),
    }
}

/// The exception for a file of results that cannot be read or written.
pub fn of_results(error: &ResultsError) -> PyErr {
    match error {
        ResultsError::Io { path, source, .. } if source.raw_os_error().is_some() => {
            PyOSError::new_err((source.raw_os_error(), source.to_string(), path.display().to_string()))
        }
        ResultsError::Format { .. } => PyValueError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// The exception for a folder that cannot be used.
pub fn of_folder(error: &FolderError) -> PyErr {
    match error {
        FolderError::Results(error) => of_results(error),
        FolderError::File(_) | FolderError::Lock(LockError::File(_)) => PyOSError::new_err(error.to_string()),
        _ => StoreError::new_err(error.to_string()),
    }
}
