//! Parts of an experiment, for several machines.
//!
//! Run i of the plan's order, from zero, belongs to part K of N if i mod N = K - 1. So the parts have equally many runs of each
//! replication, plus or minus one, and more replications move no run to another part.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fs, io};

use evenair_results::SeriesKind;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::store::for_each_line;
use crate::{Plan, PlannedRun, StoreError};

/// The file of completed runs in a store's folder; those of its parts are `part-K-of-N.jsonl`.
pub const RUNS: &str = "runs.jsonl";

/// Part K of N of an experiment; written `K/N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    number: usize,
    of: usize,
}

impl Part {
    /// The part's runs, in the plan's order.
    pub fn runs(self, plan: &Plan) -> Vec<PlannedRun> {
        plan.runs().into_iter().skip(self.number - 1).step_by(self.of).collect()
    }

    /// The part's file in a store's folder.
    pub fn file(self) -> String {
        format!("part-{}-of-{}.jsonl", self.number, self.of)
    }

    /// The part that a file belongs to, by its name.
    fn of_file(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_prefix("part-")?.strip_suffix(".jsonl")?;
        let part: Self = name.replace("-of-", "/").parse().ok()?;
        (part.file() == path.file_name()?.to_str()?).then_some(part)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} of {}", self.number, self.of)
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("expected K/N, part K of N with K from 1 to N, such as 3/16".to_owned()),
        }
    }
}

/// The files of completed runs in a store's folder: [`RUNS`], then those of the parts in order. None if the folder does not exist.
///
/// # Errors
/// The folder cannot be read.
pub fn record_files(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let found = match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    let found = found.map_err(StoreError::at(folder))?;
    let mut parts: Vec<_> = found.into_iter().filter_map(|path| Some((Part::of_file(&path)?, path))).collect();
    parts.sort_by_key(|(part, _)| (part.of, part.number));
    let runs = Some(folder.join(RUNS)).filter(|path| path.is_file());
    Ok(runs.into_iter().chain(parts.into_iter().map(|(_, path)| path)).collect())
}

/// The keys of the successful runs in a file that have series of all these kinds; none without the file.
///
/// # Errors
/// The file cannot be read.
pub fn ended_keys(path: &Path, kinds: &[SeriesKind]) -> Result<HashSet<String>, StoreError> {
    #[derive(Deserialize)]
    struct Ended {
        key: String,
        failed: Option<String>,
        #[serde(default)]
        series: BTreeMap<SeriesKind, IgnoredAny>,
    }
    let mut known: HashMap<String, BTreeSet<SeriesKind>> = HashMap::new();
    if path.exists() {
        for_each_line(path, |line| {
            if let Ok(Ended { key, failed: None, series }) = serde_json::from_slice(line.bytes) {
                known.entry(key).or_default().extend(series.into_keys());
            }
        })?;
    }
    known.retain(|_, series| kinds.iter().all(|kind| series.contains(kind)));
    Ok(known.into_keys().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_written_as_two_numbers() {
        let part: Part = "3/16".parse().unwrap();
        assert_eq!((part.to_string().as_str(), part.file().as_str()), ("part 3 of 16", "part-3-of-16.jsonl"));
        for wrong in ["17/16", "0/16", "3", "a/b", "", "1/0", "-1/2", "1/2/3", "1 /2"] {
            assert!(wrong.parse::<Part>().is_err_and(|text| text.contains("K/N")), "{wrong}");
        }
    }

    #[test]
    fn files_of_a_folder_are_in_the_order_of_parts() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["part-10-of-16.jsonl", "part-2-of-16.jsonl", "runs.jsonl", "part-1-of-2.jsonl"];
        let others = ["part-3-of-2.jsonl", "part-1-of-2.lock", "part-01-of-2.jsonl", "points.csv"];
        names.iter().chain(&others).for_each(|name| fs::write(folder.path().join(name), "").unwrap());
        let found = record_files(folder.path()).unwrap();
        let found: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(found, ["runs.jsonl", "part-1-of-2.jsonl", "part-2-of-16.jsonl", "part-10-of-16.jsonl"]);
        assert!(record_files(&folder.path().join("none")).unwrap().is_empty());
    }
}
