//! Reads the history files of a box, also while the box writes them.
//!
//! The records of both series ([`FileSeries`]) come merged, in the order of time. Lines that are no valid records are skipped and
//! counted.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use evenair_api::Json;
use evenair_api::history::{FileSeries, LONGEST_LINE, OLD_FILES, Record};

/// Reads the history, the oldest record first.
#[derive(Debug)]
pub struct Reader {
    history: SeriesReader,
    stations: SeriesReader,
}

/// Reads the records of one file series.
#[derive(Debug)]
struct SeriesReader {
    /// Files not read yet, the oldest one last.
    files: Vec<PathBuf>,
    current: Option<BufReader<File>>,
    /// The next record, if it has been read ahead.
    next: Option<Record>,
    seen: Seen,
}

/// Counts of lines read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Seen {
    /// Valid records.
    pub records: u64,
    /// Lines that are no valid records: written by another version, damaged, or cut off.
    pub skipped: u64,
}

impl Reader {
    /// Opens the history in `directory`.
    ///
    /// # Errors
    /// It cannot be read. An empty directory is no error.
    pub fn open(directory: &Path) -> io::Result<Self> {
        fs::read_dir(directory)?;
        let of = |name| SeriesReader::new(directory, name);
        Ok(Self { history: of(FileSeries::History), stations: of(FileSeries::Stations) })
    }

    /// Counts of the lines read so far.
    pub const fn seen(&self) -> Seen {
        let (a, b) = (self.history.seen, self.stations.seen);
        Seen { records: a.records + b.records, skipped: a.skipped + b.skipped }
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        self.history.fill()?;
        self.stations.fill()?;
        let at = |series: &SeriesReader| series.next.as_ref().map(Record::at_s);
        Ok(match (at(&self.history), at(&self.stations)) {
            (Some(history), Some(station)) if history <= station => self.history.next.take(),
            (_, Some(_)) => self.stations.next.take(),
            (_, None) => self.history.next.take(),
        })
    }
}

impl SeriesReader {
    fn new(directory: &Path, name: FileSeries) -> Self {
        let files = (0..=OLD_FILES).map(|number| name.file(directory, number)).collect();
        Self { files, current: None, next: None, seen: Seen::default() }
    }

    /// Reads the next record ahead, unless it already is.
    fn fill(&mut self) -> io::Result<()> {
        if self.next.is_none() {
            self.next = self.read()?;
        }
        Ok(())
    }

    /// Opens the next file that exists.
    fn next_file(&mut self) -> io::Result<bool> {
        while let Some(path) = self.files.pop() {
            match File::open(&path) {
                Ok(file) => {
                    self.current = Some(BufReader::new(file));
                    return Ok(true);
                }
                // Not created yet, or already deleted: the box may be writing.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn read(&mut self) -> io::Result<Option<Record>> {
        let mut line = Vec::new();
        loop {
            let Some(file) = &mut self.current else {
                if self.next_file()? {
                    continue;
                }
                return Ok(None);
            };
            line.clear();
            if file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
                self.current = None;
                continue;
            }
            if let Ok(record) = Record::from_json(&line) {
                self.seen.records += 1;
                return Ok(Some(record.without_default_rates()));
            }
            self.seen.skipped += 1;
        }
    }
}

impl Iterator for Reader {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}
