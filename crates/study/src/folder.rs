//! The folder of a sweep's store: `experiment.json` describes the experiment, [`RUNS`] and files of parts have the runs.
//!
//! Programs in any language share it: each finds the runs that another made. A folder of another experiment is refused, with the first
//! difference.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use evenair_scenario::Axis;
use evenair_scenario::sweep::Settings;
use serde_json::{Value, json};
use thiserror::Error;

use crate::{Experiment, Lock, LockError, Part, Plan, RUNS, Store, StoreError, record_files};

/// The file that describes the experiment of a folder.
const FILE: &str = "experiment.json";

/// Why a folder cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// It belongs to another experiment.
    #[error("{} is the store of another experiment: {what}; name another folder", folder.display())]
    Another {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        what: String,
    },
    /// It has parts that are not merged.
    #[error("{} has the parts of this sweep: join them with evenair sim merge {}", .0.display(), .0.display())]
    Parts(PathBuf),
    /// `experiment.json` is not valid JSON.
    #[error("cannot read {}: {source}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// `experiment.json` lacks an input of its runs, or has a wrong one.
    #[error("{} cannot be read as a sweep: {what}", folder.display())]
    NoPlan {
        /// The folder.
        folder: PathBuf,
        /// What is missing or wrong, as a clause.
        what: String,
    },
    /// Another process writes to it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] StoreError),
    /// A file of results cannot be written.
    #[error(transparent)]
    Results(#[from] evenair_results::StoreError),
}

/// The common content of `experiment.json`; `settings` apply to all runs, `version` is the program's.
pub fn description(plan: &Plan, settings: &Settings, version: &str) -> Value {
    json!({
        "identity": plan.identity(),
        "scenario": plan.name,
        "title": plan.title,
        "files": plan.sources.iter().map(|source| &source.file).collect::<Vec<_>>(),
        "settings": settings,
        "version": version,
    })
}

/// The content of `experiment.json` for a sweep: all inputs of its runs, so that differences can be named and the plan rebuilt.
pub fn sweep_description(plan: &Plan, experiment: &Experiment, version: &str) -> Value {
    let axis = |axis: &Axis| json!({ "key": axis.key, "values": axis.values, "together": axis.together });
    let mut about = description(plan, &experiment.sets, version);
    about["sweep"] = plan.axes.iter().map(axis).collect();
    about["program"] = json!(plan.program);
    about["text"] = json!(experiment.source.text);
    let own: serde_json::Map<_, _> = experiment
        .policies
        .iter()
        .filter_map(|policy| Some((policy.name.clone(), json!(policy.own_tables()?))))
        .collect();
    if !own.is_empty() {
        about["policies"] = Value::Object(own);
    }
    about
}

/// Opens the file of all runs in a folder, or that of a part, and locks it for this process.
///
/// # Errors
/// See [`FolderError`].
pub fn open_folder(folder: &Path, part: Option<Part>, experiment: &Value) -> Result<(Store, Lock), FolderError> {
    let name = part.map_or_else(|| RUNS.to_owned(), Part::file);
    let file = folder.join(&name);
    let lock = Lock::of(&file)?;
    claim(folder, experiment, &name)?;
    if part.is_none() && !file.exists() && !record_files(folder)?.is_empty() {
        return Err(FolderError::Parts(folder.to_owned()));
    }
    Ok((Store::open(&file)?, lock))
}

/// The description of the experiment in a folder, if it has one.
///
/// # Errors
/// See [`FolderError`].
pub fn of_folder(folder: &Path) -> Result<Option<Value>, FolderError> {
    let file = folder.join(FILE);
    match fs::read_to_string(&file) {
        Ok(text) => {
            let read = serde_json::from_str(&text);
            read.map(Some).map_err(|source| FolderError::Format { file, source })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::at(&file)(error).into()),
    }
}

/// Makes an existing folder belong to this experiment, unless it already does. `writer` is unique among the processes that use this
/// folder at this time.
///
/// # Errors
/// See [`FolderError`].
pub fn claim(folder: &Path, experiment: &Value, writer: &str) -> Result<(), FolderError> {
    let known = match of_folder(folder)? {
        Some(known) => known,
        None => {
            // Parts begin at the same time on several machines: each writes a file of its own, and the last to rename it wins.
            let (part, file) = (folder.join(format!("{FILE}.{writer}.part")), folder.join(FILE));
            fs::write(&part, format!("{experiment:#}\n"))
                .and_then(|()| fs::rename(&part, &file))
                .map_err(StoreError::at(&file))?;
            of_folder(folder)?.unwrap_or_else(|| experiment.clone())
        }
    };
    match difference(&known, experiment) {
        Some(what) => Err(FolderError::Another { folder: folder.to_owned(), what }),
        None => Ok(()),
    }
}

/// The first difference between two experiments, the first called "there" and the second "here".
fn difference(there: &Value, here: &Value) -> Option<String> {
    let both = |field: &str| Some((there.get(field)?.as_str()?, here.get(field)?.as_str()?));
    if let Some((there, here)) = both("program").filter(|(there, here)| there != here) {
        return Some(format!("the version of the simulator is {there} there and {here} here"));
    }
    if both("identity").is_some_and(|(there, here)| there == here) {
        return None;
    }
    let line = both("text").and_then(|(there, here)| line_difference(there, here));
    let found = line.or_else(|| settings_difference(there, here)).or_else(|| axes_difference(there, here));
    Some(found.unwrap_or_else(|| "the scenario, or the order of settings, is another".to_owned()))
}

/// The first line that differs.
fn line_difference(there: &str, here: &str) -> Option<String> {
    let (mut a, mut b) = (there.lines(), here.lines());
    for number in 1.. {
        let quoted = |line: Option<&str>| line.map_or_else(|| "absent".to_owned(), |line| format!("`{}`", line.trim()));
        match (a.next(), b.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                return Some(format!("line {number} of the scenario is {} there and {} here", quoted(a), quoted(b)));
            }
        }
    }
    (there != here).then(|| "the ends of the scenario's lines".to_owned())
}

/// The first key of `--set` with different values.
fn settings_difference(there: &Value, here: &Value) -> Option<String> {
    let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
    let settings = |of: &Value| -> Vec<(String, String)> {
        of["settings"].as_array().into_iter().flatten().filter_map(pair).collect()
    };
    key_difference("--set", &settings(there), &settings(here))
}

/// The first key with different lists of values.
fn axes_difference(there: &Value, here: &Value) -> Option<String> {
    let axis = |axis: &Value| {
        let values = axis["values"].as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
        let together = if axis["together"] == true { " (--zip)" } else { "" };
        Some((axis["key"].as_str()?.to_owned(), values + together))
    };
    let axes = |of: &Value| -> Vec<(String, String)> {
        of["sweep"].as_array().into_iter().flatten().filter_map(axis).collect()
    };
    key_difference("--vary", &axes(there), &axes(here))
}

/// The first key with different values. If a key is set twice, its last value counts.
fn key_difference(option: &str, there: &[(String, String)], here: &[(String, String)]) -> Option<String> {
    let value = |of: &[(String, String)], key: &str| {
        of.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.clone())
    };
    let (key, values) = there.iter().chain(here).find_map(|(key, _)| {
        let values = [value(there, key), value(here, key)];
        (values[0] != values[1]).then_some((key, values))
    })?;
    let mut text = if key == "policy" { "--policies is".to_owned() } else { format!("{option} {key} is") };
    for (value, place) in values.iter().zip(["there and", "here"]) {
        let value = value.as_ref().map_or("absent", String::as_str);
        write!(text, " {value} {place}").expect("a string takes all");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn experiment(identity: &str, text: &str) -> Value {
        json!({ "identity": identity, "text": text, "program": "1 a", "settings": [["seed", "7"]],
            "sweep": [{ "key": "lan.delay", "values": ["1 ms", "2 ms"], "together": false }] })
    }

    #[test]
    fn the_difference_of_two_experiments_is_named() {
        let base = experiment("a", "x = 1\ny = 2\n");
        assert_eq!(difference(&base, &base), None);
        let of = |other: &Value| difference(&base, other).unwrap();
        let lines = of(&experiment("b", "x = 1\n  y = 3\n"));
        assert_eq!(lines, "line 2 of the scenario is `y = 2` there and `y = 3` here");
        assert!(of(&experiment("b", "x = 1\n")).contains("line 2 of the scenario is `y = 2` there and absent here"));
        assert!(of(&experiment("b", "x = 1\r\ny = 2\n")).contains("ends of the scenario's lines"));
        let change = |field: &str, value: Value| {
            let mut other = experiment("b", "x = 1\ny = 2\n");
            other[field] = value;
            of(&other)
        };
        assert_eq!(change("settings", json!([["seed", "8"]])), "--set seed is 7 there and 8 here");
        assert_eq!(change("settings", json!([])), "--set seed is 7 there and absent here");
        let fewer = json!([{ "key": "lan.delay", "values": ["1 ms"], "together": false }]);
        assert_eq!(change("sweep", fewer), "--vary lan.delay is 1 ms, 2 ms there and 1 ms here");
        let policies = |names: [&str; 2]| json!([{ "key": "policy", "values": names, "together": false }]);
        let [there, here] = [["fifo", "evenair"], ["fifo", "codel"]].map(policies);
        assert_eq!(
            difference(&json!({ "sweep": there, "identity": "a" }), &json!({ "sweep": here, "identity": "b" }))
                .as_deref(),
            Some("--policies is fifo, evenair there and fifo, codel here")
        );
        assert!(change("program", json!("2 b")).contains("version of the simulator is 1 a there and 2 b here"));
        assert!(change("title", json!("t")).contains("order of settings"));
        // Without the text in a folder of results, the identity decides.
        let brief = json!({ "identity": "a" });
        assert!(difference(&brief, &base).is_none() && difference(&json!({ "identity": "c" }), &base).is_some());
    }
}
