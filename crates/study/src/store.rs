//! Completed runs on disk: one line of JSON per run, appended when it ends.
//!
//! A killed process leaves at most one incomplete line at the end, which is skipped. Records of other
//! experiments may be in the same file: records are found by their keys.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::mem;
use std::path::{Path, PathBuf};

use evenair_results::{SeriesKind, Table};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::packed::{PackedSeries, RunSeries};

/// The measures of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Key of the run.
    pub key: String,
    /// The varied keys with their values.
    pub varied: Vec<(String, String)>,
    /// Its seed.
    pub seed: u64,
    /// The reason of its failure, if it failed. A failed run is repeated the next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Names and values of its measures.
    pub scalars: Vec<(String, f64)>,
    /// Run time, in seconds of wall-clock time.
    pub took_s: f64,
    /// The requested series. A store leaves them in its file, see [`Store::series`].
    #[serde(default, skip_serializing_if = "RunSeries::is_empty")]
    pub series: RunSeries,
}

/// Why runs cannot be stored.
#[derive(Debug, Error)]
#[error("{}: {source}", path.display())]
pub struct StoreError {
    path: PathBuf,
    source: io::Error,
}

impl StoreError {
    /// Adds the file or folder to an I/O error.
    pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self { path: path.to_owned(), source }
    }
}

/// A line of a file of completed runs.
pub(crate) struct Line<'a> {
    /// Line number, from one.
    pub number: usize,
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Its bytes, including the newline if it has one.
    pub bytes: &'a [u8],
}

impl Line<'_> {
    /// Whether it ends with a newline, which the last line of a killed process may lack.
    pub(crate) fn is_whole(&self) -> bool {
        self.bytes.ends_with(b"\n")
    }

    /// The record, if the line is one.
    pub(crate) fn record(&self) -> Option<Record> {
        serde_json::from_slice(self.bytes).ok()
    }
}

/// Reads a file of completed runs line by line.
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

/// A file of completed runs. Several records of a run count as one, with the series of all.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    known: HashMap<String, Known>,
}

/// The part of a run that is kept in memory.
#[derive(Debug)]
struct Known {
    /// Its last record, without series.
    record: Record,
    /// Offsets of the lines with its series, in bytes.
    places: BTreeMap<SeriesKind, u64>,
}

/// Adds the record of the line at `offset`.
fn note(known: &mut HashMap<String, Known>, mut record: Record, offset: u64) {
    let places = mem::take(&mut record.series).into_keys().map(|kind| (kind, offset));
    match known.get_mut(&record.key) {
        Some(known) => {
            known.places.extend(places);
            known.record = record;
        }
        None => {
            let places = places.collect();
            known.insert(record.key.clone(), Known { record, places });
        }
    }
}

impl Store {
    /// Opens a file of runs, or creates one.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut known = HashMap::new();
        let mut torn = false;
        if path.exists() {
            for_each_line(path, |line| {
                torn = !line.is_whole();
                line.record().into_iter().for_each(|record| note(&mut known, record, line.offset));
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

    /// Reads a file of runs, which another process may be writing. The store is read-only.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let mut known = HashMap::new();
        for_each_line(path, |line| {
            line.record().into_iter().for_each(|record| note(&mut known, record, line.offset));
        })?;
        Ok(Self { path: path.to_owned(), file: File::open(path).map_err(StoreError::at(path))?, known })
    }

    /// The run with this key, if it succeeded.
    pub fn get(&self, key: &str) -> Option<&Record> {
        self.known.get(key).map(|known| &known.record).filter(|record| record.failed.is_none())
    }

    /// Whether a run with this key succeeded, with series of all these kinds.
    pub fn has(&self, key: &str, kinds: &[SeriesKind]) -> bool {
        let has_all = |known: &Known| kinds.iter().all(|kind| known.places.contains_key(kind));
        self.get(key).is_some() && self.known.get(key).is_some_and(has_all)
    }

    /// Reads the series of a successful run, if it has any of this kind.
    ///
    /// # Errors
    /// The file cannot be read, or it was replaced since it was opened.
    pub fn series(&self, key: &str, kind: SeriesKind) -> Result<Option<Table>, StoreError> {
        let known = self.known.get(key).filter(|known| known.record.failed.is_none());
        let Some(&offset) = known.and_then(|known| known.places.get(&kind)) else { return Ok(None) };
        let packed = self.packed(key, kind, offset);
        packed.and_then(|packed| packed.table(kind)).map(Some).map_err(StoreError::at(&self.path))
    }

    fn packed(&self, key: &str, kind: SeriesKind, offset: u64) -> io::Result<PackedSeries> {
        let mut reader = BufReader::new(File::open(&self.path)?);
        reader.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        reader.read_until(b'\n', &mut bytes)?;
        let record: Option<Record> = serde_json::from_slice(&bytes).ok();
        let packed = record.filter(|record| record.key == key).and_then(|mut record| record.series.remove(&kind));
        packed.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it was replaced since it was opened"))
    }

    /// The reason why the run with this key failed the last time, if it did.
    pub fn failure(&self, key: &str) -> Option<&str> {
        self.known.get(key)?.record.failed.as_deref()
    }

    /// Appends a run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, record: Record) -> Result<(), StoreError> {
        let mut line = serde_json::to_string(&record).expect("a record is plain data");
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(StoreError::at(&self.path))?;
        // Appended bytes end where the next line begins.
        let end = self.file.stream_position().map_err(StoreError::at(&self.path))?;
        note(&mut self.known, record, end - line.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &str, value: f64) -> Record {
        let scalars = vec![("total_ip_mbps".to_owned(), value), ("nothing".to_owned(), 0.0)];
        Record {
            key: key.into(),
            varied: vec![],
            seed: 1,
            failed: None,
            scalars,
            took_s: 0.1,
            series: RunSeries::new(),
        }
    }

    #[test]
    fn stored_runs_are_read_back_to_the_bit() {
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
    fn series_stay_in_the_file_and_are_found_in_any_record_of_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let with = |kind: SeriesKind| {
            let packed = PackedSeries::of(&kind.table(&evenair_results::Series::default()));
            Record { series: RunSeries::from([(kind, packed)]), ..record("a", 1.0) }
        };
        let (flow, station) = (SeriesKind::Flow, SeriesKind::Station);
        let mut store = Store::open(&path).unwrap();
        store.add(record("b", 2.0)).unwrap();
        for kind in [flow, station] {
            assert!(!store.has("a", &[kind]));
            store.add(with(kind)).unwrap();
            assert!(store.has("a", &[kind]) && !store.has("b", &[kind]) && store.has("b", &[]));
        }
        for store in [store, Store::open(&path).unwrap(), Store::read(&path).unwrap()] {
            assert!(store.has("a", &[flow, station]) && !store.has("a", &[SeriesKind::Sender]));
            assert_eq!(store.get("a"), Some(&record("a", 1.0)), "series take no memory");
            assert_eq!(store.series("a", flow).unwrap().unwrap().columns[1].name, "app");
            assert_eq!(store.series("a", station).unwrap().unwrap().columns[1].name, "station");
            assert_eq!(store.series("b", flow).unwrap(), None);
        }
        let store = Store::read(&path).unwrap();
        fs::write(&path, "{}\n").unwrap();
        assert!(store.series("a", station).unwrap_err().to_string().contains("replaced"));
    }

    #[test]
    fn an_incomplete_line_does_not_affect_others() {
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
