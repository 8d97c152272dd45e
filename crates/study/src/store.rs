//! Finished runs on disk: one line of JSON for each, appended when it ends.
//!
//! A process that is killed leaves at most one torn line at the end, which is passed over. Records of other
//! experiments may stand in the same file: each is found by its key.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The measures of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What the run is known by.
    pub key: String,
    /// What was varied.
    pub varied: Vec<(String, String)>,
    /// Its seed.
    pub seed: u64,
    /// Why it failed, if it did. It is tried again the next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Names and values of its measures.
    pub scalars: Vec<(String, f64)>,
    /// How long it took, in seconds of real time.
    pub took_s: f64,
}

/// Why runs cannot be kept.
#[derive(Debug, Error)]
#[error("{}: {source}", path.display())]
pub struct StoreError {
    path: PathBuf,
    source: io::Error,
}

impl StoreError {
    /// Names the file or folder of an error.
    pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self { path: path.to_owned(), source }
    }
}

/// A line of a file of finished runs.
pub(crate) struct Line<'a> {
    /// Its number, from one.
    pub number: usize,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// What it consists of, with the end of the line if it has one.
    pub bytes: &'a [u8],
}

impl Line<'_> {
    /// Whether it has an end: the last line of a killed process may have none.
    pub(crate) fn is_whole(&self) -> bool {
        self.bytes.ends_with(b"\n")
    }

    /// The record, if it is one.
    pub(crate) fn record(&self) -> Option<Record> {
        serde_json::from_slice(self.bytes).ok()
    }
}

/// Reads a file of finished runs line by line.
pub(crate) fn for_each_line(path: &Path, mut each: impl FnMut(&Line)) -> Result<(), StoreError> {
    let mut reader = BufReader::new(File::open(path).map_err(StoreError::at(path))?);
    let (mut bytes, mut number, mut offset) = (Vec::new(), 0, 0);
    while reader.read_until(b'\n', &mut bytes).map_err(StoreError::at(path))? > 0 {
        number += 1;
        each(&Line { number, offset, bytes: &bytes });
        offset += bytes.len() as u64;
        bytes.clear();
    }
    Ok(())
}

/// A file of finished runs.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    known: HashMap<String, Record>,
}

impl Store {
    /// Opens a file of runs, or makes one.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut known = HashMap::new();
        let mut torn = false;
        if path.exists() {
            for_each_line(path, |line| {
                torn = !line.is_whole();
                known.extend(line.record().map(|record| (record.key.clone(), record)));
            })?;
        } else if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(StoreError::at(path))?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.map_err(StoreError::at(path))?;
        if torn {
            file.write_all(b"\n").map_err(StoreError::at(path))?;
        }
        Ok(Self { path: path.to_owned(), file, known })
    }

    /// Reads a file of runs, which another process may be writing; nothing can be added.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let mut known = HashMap::new();
        for_each_line(path, |line| known.extend(line.record().map(|record| (record.key.clone(), record))))?;
        Ok(Self { path: path.to_owned(), file: File::open(path).map_err(StoreError::at(path))?, known })
    }

    /// The run of this key, if it has ended well.
    pub fn get(&self, key: &str) -> Option<&Record> {
        self.known.get(key).filter(|record| record.failed.is_none())
    }

    /// The run of this key, if it failed the last time.
    pub fn failure(&self, key: &str) -> Option<&str> {
        self.known.get(key)?.failed.as_deref()
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, record: Record) -> Result<(), StoreError> {
        let mut line = serde_json::to_string(&record).expect("a record is plain data");
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(StoreError::at(&self.path))?;
        self.known.insert(record.key.clone(), record);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &str, value: f64) -> Record {
        let scalars = vec![("total_ip_mbps".to_owned(), value), ("nothing".to_owned(), 0.0)];
        Record { key: key.into(), varied: vec![], seed: 1, failed: None, scalars, took_s: 0.1 }
    }

    #[test]
    fn what_is_kept_is_found_again_to_the_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/runs.jsonl");
        let third = 1.0 / 3.0;
        let mut store = Store::open(&path).unwrap();
        store.add(record("a", third)).unwrap();
        store.add(Record { failed: Some("bad".into()), ..record("b", 1.0) }).unwrap();
        let again = Store::open(&path).unwrap();
        assert_eq!(again.get("a"), Some(&record("a", third)));
        assert_eq!(again.get("b"), None);
        assert_eq!(again.failure("b"), Some("bad"));
        assert_eq!(again.get("c"), None);
    }

    #[test]
    fn a_torn_line_costs_that_line_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let mut store = Store::open(&path).unwrap();
        store.add(record("a", 1.0)).unwrap();
        store.add(record("b", 2.0)).unwrap();
        drop(store);
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 20]).unwrap();
        let mut store = Store::open(&path).unwrap();
        assert!(store.get("a").is_some() && store.get("b").is_none());
        store.add(record("b", 3.0)).unwrap();
        assert_eq!(Store::open(&path).unwrap().get("b"), Some(&record("b", 3.0)));
    }
}
