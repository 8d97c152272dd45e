//! Merges files of completed runs, such as those of an experiment's parts, and compares runs that several files have.
//!
//! A run is a function of its key, so that two records with the same key are equal wherever they were made, except for the run time.
//! If they differ, a file was altered or a machine or program is faulty, and nothing is merged. A run that failed on one machine only,
//! for example because a file was missing, is no difference. Records are not held in memory.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::iter;
use std::path::{Path, PathBuf};

use evenair_results::SeriesKind;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::packed::first_value;
use crate::store::for_each_line;
use crate::{Record, StoreError};

/// Result of a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Runs in the merged file.
    pub runs: usize,
    /// Of these, failed runs.
    pub failed: usize,
    /// Records that equal an earlier one of the same run.
    pub repeated: usize,
    /// Lines that are no records: incomplete lines of killed processes.
    pub passed_over: Vec<LinePlace>,
}

/// A line of a file of completed runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePlace {
    /// The file.
    pub file: PathBuf,
    /// Line number, from one.
    pub line: usize,
    /// Whether the line ends with a newline; if not, it is the file's last.
    pub is_whole: bool,
}

/// Why files cannot be merged.
#[derive(Debug, Error)]
pub enum MergeError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] StoreError),
    /// Two records of one run differ.
    #[error(transparent)]
    Conflict(Box<Conflict>),
}

/// Two records of one run that differ.
#[derive(Clone, Debug, PartialEq, Error)]
#[error(
    "two records of one run ({run}) differ: {measure} is {} in {}, line {}, and {} in {}, line {}",
    value_text(self.values[0]), places[0].0.display(), places[0].1, value_text(self.values[1]), places[1].0.display(), places[1].1
)]
pub struct Conflict {
    /// The varied keys, and the seed.
    pub run: String,
    /// The first measure that differs.
    pub measure: String,
    /// File and line of each.
    pub places: [(PathBuf, usize); 2],
    /// Its value in each, if there is one.
    pub values: [Option<f64>; 2],
}

/// Merges files into one, in their order, which replaces `into` when it is complete. Lines that are no records are skipped.
///
/// # Errors
/// See [`MergeError`]. Then `into` is unchanged.
pub fn merge(files: &[PathBuf], into: &Path) -> Result<Merged, MergeError> {
    let mut index = Index::default();
    for (file, path) in files.iter().enumerate() {
        index.read(file, path)?;
    }
    if let Some((first, second)) = index.conflicts.first() {
        return Err(MergeError::Conflict(Box::new(conflict(files, [first, second])?)));
    }
    let part = into.with_extension("jsonl.part");
    index.write(files, &part)?;
    fs::rename(&part, into).map_err(StoreError::at(into))?;
    let failed = index.found.iter().filter(|found| found.digest.is_none()).count();
    Ok(Merged { runs: index.found.len(), failed, ..index.merged })
}

/// Position of a record, with hashes of its content.
#[derive(Clone, Debug)]
struct Found {
    file: usize,
    line: usize,
    offset: u64,
    bytes: usize,
    /// Hash of the measures; absent for a failed run.
    digest: Option<[u8; 16]>,
    /// Hashes of the series, by kind.
    series: BTreeMap<SeriesKind, [u8; 16]>,
}

/// The record of each run, without its measures.
#[derive(Default)]
struct Index {
    by_key: HashMap<String, usize>,
    found: Vec<Found>,
    /// Further records of a run, by the position of its first, with series that the earlier ones lack.
    more: BTreeMap<usize, Vec<Found>>,
    conflicts: Vec<(Found, Found)>,
    merged: Merged,
}

impl Index {
    fn read(&mut self, file: usize, path: &Path) -> Result<(), StoreError> {
        for_each_line(path, |line| {
            let Some(record) = line.record() else {
                let place = LinePlace { file: path.to_owned(), line: line.number, is_whole: line.is_whole() };
                self.merged.passed_over.push(place);
                return;
            };
            let digest = record.failed.is_none().then(|| digest(&record));
            let series = record.series.iter().map(|(kind, packed)| (*kind, packed.digest())).collect();
            let found = Found { file, line: line.number, offset: line.offset, bytes: line.bytes.len(), digest, series };
            self.add(record.key, found);
        })
    }

    /// Adds a record unless the run already has one. A successful record replaces a failed one, and so does a later failure.
    fn add(&mut self, key: String, new: Found) {
        let at = *self.by_key.entry(key).or_insert(self.found.len());
        let Some(known) = self.found.get_mut(at) else { return self.found.push(new) };
        match (known.digest, new.digest) {
            (None, _) => *known = new,
            (Some(_), None) => {}
            (Some(first), Some(second)) if first != second => self.conflicts.push((known.clone(), new)),
            (Some(_), Some(_)) => self.add_series(at, new),
        }
    }

    /// Adds a further record of a run with equal measures, if it has other series.
    fn add_series(&mut self, at: usize, new: Found) {
        let more = self.more.get(&at).into_iter().flatten();
        let known: Vec<_> = iter::once(&self.found[at]).chain(more).collect();
        if let Some(other) = known.iter().find(|known| !has_equal_series(known, &new)) {
            self.conflicts.push(((*other).clone(), new));
        } else if new.series.keys().all(|kind| known.iter().any(|known| known.series.contains_key(kind))) {
            self.merged.repeated += 1;
        } else {
            self.more.entry(at).or_default().push(new);
        }
    }

    fn write(&self, files: &[PathBuf], path: &Path) -> Result<(), StoreError> {
        let mut out = BufWriter::new(File::create(path).map_err(StoreError::at(path))?);
        let mut open: Option<(usize, File)> = None;
        for found in self.found.iter().chain(self.more.values().flatten()) {
            let source = &files[found.file];
            if open.as_ref().is_none_or(|(file, _)| *file != found.file) {
                open = Some((found.file, File::open(source).map_err(StoreError::at(source))?));
            }
            let (_, file) = open.as_mut().expect("it was opened");
            let mut bytes = line_at(file, found).map_err(StoreError::at(source))?;
            if !bytes.ends_with(b"\n") {
                bytes.push(b'\n');
            }
            out.write_all(&bytes).map_err(StoreError::at(path))?;
        }
        let file = out.into_inner().map_err(|error| StoreError::at(path)(error.into_error()))?;
        file.sync_all().map_err(StoreError::at(path))
    }
}

fn line_at(file: &mut File, found: &Found) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; found.bytes];
    file.seek(SeekFrom::Start(found.offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Whether the series that both have are equal.
fn has_equal_series(a: &Found, b: &Found) -> bool {
    a.series.iter().all(|(kind, digest)| b.series.get(kind).is_none_or(|other| other == digest))
}

/// A hash of names and values, bit by bit.
fn digest(record: &Record) -> [u8; 16] {
    let mut hash = Sha256::new();
    for (name, value) in &record.scalars {
        // The length separates the names.
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update(value.to_bits().to_le_bytes());
    }
    *hash.finalize().first_chunk().expect("a hash is longer")
}

/// The difference between two records of one run.
fn conflict(files: &[PathBuf], found: [&Found; 2]) -> Result<Conflict, StoreError> {
    let record = |found: &Found| -> Result<Record, StoreError> {
        let path = &files[found.file];
        let bytes = File::open(path).and_then(|mut file| line_at(&mut file, found)).map_err(StoreError::at(path))?;
        serde_json::from_slice(&bytes).map_err(|error| StoreError::at(path)(error.into()))
    };
    let (a, b) = (record(found[0])?, record(found[1])?);
    let of_series = || first_value(&a.series, &b.series).filter(|_| a.scalars == b.scalars);
    let (measure, values) = of_series().unwrap_or_else(|| first_measure(&a.scalars, &b.scalars));
    let varied = a.varied.iter().map(|(key, value)| format!("{key}={value}, "));
    Ok(Conflict {
        run: format!("{}seed {}", varied.collect::<String>(), a.seed),
        measure,
        places: found.map(|found| (files[found.file].clone(), found.line)),
        values,
    })
}

/// The first measure that differs, and its two values.
pub(crate) fn first_measure(a: &[(String, f64)], b: &[(String, f64)]) -> (String, [Option<f64>; 2]) {
    let bits = |value: Option<f64>| value.map(f64::to_bits);
    let value = |of: &[(String, f64)], name: &str| of.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    let differing = a.iter().chain(b).find_map(|(name, _)| {
        let values = [value(a, name), value(b, name)];
        (bits(values[0]) != bits(values[1])).then(|| (name.clone(), values))
    });
    differing.unwrap_or_else(|| ("the order of measures".to_owned(), [None, None]))
}

pub(crate) fn value_text(value: Option<f64>) -> String {
    value.map_or_else(|| "absent".to_owned(), |value| format!("{value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_results::{PlaceSeries, Series};

    use crate::{PackedSeries, RunSeries, Store};

    fn record(key: &str, scalars: &[(&str, f64)]) -> Record {
        let scalars = scalars.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Record {
            key: key.into(),
            varied: vec![("a".into(), "1".into())],
            seed: 3,
            failed: None,
            scalars,
            took_s: 0.1,
            series: BTreeMap::new(),
        }
    }

    fn failure(key: &str, why: &str) -> Record {
        Record { failed: Some(why.into()), ..record(key, &[]) }
    }

    fn files(folder: &Path, all: &[&[Record]]) -> Vec<PathBuf> {
        let write = |(at, records): (usize, &&[Record])| {
            let path = folder.join(format!("{at}.jsonl"));
            let mut store = Store::open(&path).unwrap();
            records.iter().for_each(|record| store.add(record.clone()).unwrap());
            path
        };
        all.iter().enumerate().map(write).collect()
    }

    #[test]
    fn a_run_that_ended_well_counts_before_one_that_failed() {
        let folder = tempfile::tempdir().unwrap();
        let good = record("a", &[("x", 0.1)]);
        let all = files(
            folder.path(),
            &[
                &[failure("a", "no file"), failure("b", "first"), good.clone()],
                &[failure("a", "no file"), failure("b", "last")],
            ],
        );
        let into = folder.path().join("runs.jsonl");
        let merged = merge(&all, &into).unwrap();
        assert_eq!((merged.runs, merged.failed, merged.repeated), (2, 1, 0));
        let store = Store::open(&into).unwrap();
        assert_eq!((store.get("a"), store.failure("b")), (Some(&good), Some("last")));
        // The merged file may be one of the inputs.
        let again = merge(&[vec![into.clone()], all].concat(), &into).unwrap();
        assert_eq!((again.runs, again.failed, again.repeated), (2, 1, 1));
    }

    #[test]
    fn series_of_several_records_are_joined_and_compared() {
        let with = |kind: SeriesKind, rows: usize| {
            let mut series = Series { interval_s: 1.0, ..Series::default() };
            series.places = vec![PlaceSeries { offered_packets: vec![7; rows], ..PlaceSeries::default() }];
            let packed = PackedSeries::of(&kind.table(&series));
            Record { series: RunSeries::from([(kind, packed)]), ..record("a", &[("x", 0.1)]) }
        };
        let folder = tempfile::tempdir().unwrap();
        let (place, flow) = (with(SeriesKind::Place, 1), with(SeriesKind::Flow, 0));
        let plain = record("a", &[("x", 0.1)]);
        let into = folder.path().join("runs.jsonl");
        let all = files(folder.path(), &[&[plain, place.clone()], &[flow, place]]);
        let merged = merge(&all, &into).unwrap();
        assert_eq!((merged.runs, merged.repeated), (1, 1));
        let store = Store::open(&into).unwrap();
        assert!(store.has("a", &[SeriesKind::Place, SeriesKind::Flow]));
        assert_eq!(store.series("a", SeriesKind::Place).unwrap().unwrap().rows(), 1);

        let inside = tempfile::tempdir_in(folder.path()).unwrap();
        let other = files(inside.path(), &[&[with(SeriesKind::Place, 2)]]);
        let said = merge(&[vec![into.clone()], other].concat(), &into).unwrap_err().to_string();
        assert!(
            said.contains("differ: the number of rows of the series of place is 1.0 in ")
                && said.contains("runs.jsonl, line 2"),
            "{said}"
        );
    }

    #[test]
    fn the_first_measure_that_differs_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let base = record("a", &[("x", 1.0), ("y", 0.1), ("z", 0.0)]);
        let differing: [(&[(&str, f64)], &str); 4] = [
            (&[("x", 1.0), ("y", 0.1), ("z", -0.0)], "z is 0.0 in "),
            (&[("x", 1.0), ("z", 1.0)], "y is 0.1 in "),
            (&[("x", 1.0), ("y", 0.1), ("z", 0.0), ("w", 2.0)], "w is absent in "),
            (&[("y", 0.1), ("x", 1.0), ("z", 0.0)], "the order of measures is absent in "),
        ];
        for (scalars, expected) in differing {
            let inside = tempfile::tempdir_in(folder.path()).unwrap();
            let all = files(inside.path(), &[&[record("b", &[]), base.clone()], &[record("a", scalars)]]);
            let into = inside.path().join("runs.jsonl");
            let said = merge(&all, &into).unwrap_err().to_string();
            assert!(said.contains(&format!("(a=1, seed 3) differ: {expected}")), "{said}");
            assert!(said.contains("0.jsonl, line 2, and ") && said.ends_with("1.jsonl, line 1"), "{said}");
            assert!(!into.exists());
        }
    }
}
