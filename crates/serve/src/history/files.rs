//! History files: one JSON object per line, in a directory.
//!
//! `history.ndjson` grows to its part of the limit; then it is renamed to `history.1.ndjson`, and the older files up to
//! `history.3.ndjson`. Events about stations, of which there may be very many, are in `stations.ndjson` and its older files in the
//! same way, so that they displace nothing else; readers merge the two by time. All files together never exceed the limit. A
//! line is written by one call, completely or not at all: if the disk is full, its beginning is removed, and a line that a
//! killed process left incomplete is truncated at the next start. Readers skip invalid lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use evenair_api::Json;
use evenair_api::history::{FileSeries as Name, LONGEST_LINE, OLD_FILES, Record};

use super::Keeper;

/// Step in bytes, from the end of a file backward, in the search for its last line.
const STEP: u64 = 64 * 1024;

/// The files of a history.
#[derive(Debug)]
pub struct Files {
    history: Series,
    stations: Series,
}

/// Files of one name, for writing.
#[derive(Debug)]
struct Series {
    directory: PathBuf,
    name: Name,
    /// Bytes of one file, at most.
    most: u64,
    /// The file being written, if it could be opened, and its length.
    current: Option<(File, u64)>,
}

impl Files {
    /// A history in `directory`, which is created, of at most `limit` bytes.
    ///
    /// # Errors
    /// The directory cannot be created, or its newest files cannot be opened.
    pub fn open(directory: &Path, limit: u64) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let stations = Series::open(directory, Name::Stations, limit / 4)?;
        Ok(Self { history: Series::open(directory, Name::History, limit - limit / 4)?, stations })
    }
}

impl Series {
    fn open(directory: &Path, name: Name, limit: u64) -> io::Result<Self> {
        let most = limit / (OLD_FILES + 1);
        let mut series = Self { directory: directory.to_owned(), name, most, current: None };
        series.current()?;
        Ok(series)
    }

    /// The file being written. An incomplete line at its end, left by a killed process, is removed.
    fn current(&mut self) -> io::Result<&mut (File, u64)> {
        if self.current.is_none() {
            let path = self.name.file(&self.directory, 0);
            let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
            let len = whole_lines(&mut file)?;
            file.set_len(len)?;
            self.current = Some((file, len));
        }
        Ok(self.current.as_mut().expect("it was just opened"))
    }

    /// Begins another file, and deletes the oldest one.
    fn rotate(&mut self) -> io::Result<()> {
        self.current = None;
        for number in (0..OLD_FILES).rev() {
            match fs::rename(self.name.file(&self.directory, number), self.name.file(&self.directory, number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn keep(&mut self, record: &Record) -> io::Result<()> {
        let mut line = record.to_json().into_bytes();
        line.push(b'\n');
        let added = line.len() as u64;
        if added > self.most.min(LONGEST_LINE) {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("a record of {added} bytes")));
        }
        let most = self.most;
        if self.current()?.1 + added > most {
            self.rotate()?;
        }
        let (file, len) = self.current()?;
        if let Err(error) = file.write_all(&line) {
            // A partial line is removed. If even that fails, the file is reopened and checked.
            let restored = file.set_len(*len);
            if restored.is_err() {
                self.current = None;
            }
            return Err(error);
        }
        *len += added;
        Ok(())
    }
}

impl Keeper for Files {
    fn keep(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Event(happened) if happened.event.station().is_some() => self.stations.keep(record),
            _ => self.history.keep(record),
        }
    }
}

/// Length of a file up to the end of its last complete line.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut bytes = Vec::new();
    while end > 0 {
        let begin = end.saturating_sub(STEP);
        bytes.clear();
        file.seek(SeekFrom::Start(begin))?;
        Read::take(&mut *file, end - begin).read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + at as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use evenair_api::history::{Event, EventRecord};
    use evenair_client::history::{Reader, Seen};

    /// Environment variables of a copy of this program: its part, and its directory.
    const PART: &str = "EVENAIR_HISTORY_PART";
    const PLACE: &str = "EVENAIR_HISTORY_PLACE";

    fn event(number: u64) -> Record {
        let text = format!("number {number} {}", "x".repeat(number as usize % 300));
        Record::Event(EventRecord { at_s: number as f64, event: Event::Ports { text } })
    }

    fn numbers(directory: &Path) -> (Vec<u64>, Seen) {
        let mut reader = Reader::open(directory).expect("a directory");
        let number = |record| match record {
            Record::Event(event) => event.at_s as u64,
            other => panic!("{other:?}"),
        };
        let numbers = reader.by_ref().map(|record| number(record.expect("readable"))).collect();
        (numbers, reader.seen())
    }

    fn bytes_in(directory: &Path) -> u64 {
        let entries = fs::read_dir(directory).expect("a directory");
        entries.map(|entry| entry.and_then(|entry| entry.metadata()).expect("a file").len()).sum()
    }

    #[test]
    fn history_is_bounded_and_keeps_the_newest_records() {
        let directory = tempfile::tempdir().expect("a directory");
        let limit = 100_000;
        for run in 0..3 {
            // As often as the box is started.
            let mut files = Files::open(directory.path(), limit).expect("a place");
            for number in run * 1000..(run + 1) * 1000 {
                files.keep(&event(number)).expect("there is room");
                assert!(bytes_in(directory.path()) <= limit);
            }
        }
        let (numbers, seen) = numbers(directory.path());
        assert_eq!((numbers.last(), seen.skipped), (Some(&2999), 0));
        assert!(numbers.is_sorted() && numbers.len() as u64 == 3000 - numbers[0], "none is missing in between");
        assert!(bytes_in(directory.path()) > limit / 2, "{}", bytes_in(directory.path()));
    }

    #[test]
    fn events_about_stations_displace_nothing_else_and_are_read_in_order() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut files = Files::open(directory.path(), 100_000).expect("a place");
        let about = |number: u64| match event(number) {
            Record::Event(record) => {
                let (station, text) = ("02:00:00:00:00:01".to_owned(), record.event.text());
                let event = Event::InWords { name: "test".into(), station: Some(station), text };
                Record::Event(EventRecord { event, ..record })
            }
            other => other,
        };
        for number in 0..3000 {
            let record = if number % 100 == 0 { event(number) } else { about(number) };
            files.keep(&record).expect("there is room");
            assert!(bytes_in(directory.path()) <= 100_000);
        }
        let (numbers, seen) = numbers(directory.path());
        assert!(numbers.is_sorted() && seen.skipped == 0, "{numbers:?}");
        let others: Vec<_> = numbers.iter().copied().filter(|number| number % 100 == 0).collect();
        assert_eq!(others, (0..30).map(|n| n * 100).collect::<Vec<_>>());
        assert!(numbers.len() > 60 && numbers.last() == Some(&2999));
    }

    #[test]
    fn invalid_lines_are_skipped_and_counted() {
        let directory = tempfile::tempdir().expect("a directory");
        Files::open(directory.path(), 100_000).expect("a place").keep(&event(1)).expect("there is room");
        let path = Name::History.file(directory.path(), 0);
        let mut bytes = fs::read(&path).expect("readable");
        bytes.extend_from_slice(b"{\"kind\":\"of another version\"}\n\xff\xfe\n\n");
        fs::write(&path, &bytes).expect("writable");
        Files::open(directory.path(), 100_000).expect("a place").keep(&event(2)).expect("there is room");
        assert_eq!(numbers(directory.path()), (vec![1, 2], Seen { records: 2, skipped: 3 }));
        // Cut off in the middle of a line, as a killed process leaves it: readers skip it, and the next writer removes it.
        let len = fs::metadata(&path).expect("there").len();
        OpenOptions::new().write(true).open(&path).expect("there").set_len(len - 5).expect("cut");
        assert_eq!(numbers(directory.path()), (vec![1], Seen { records: 1, skipped: 4 }));
        Files::open(directory.path(), 100_000).expect("a place").keep(&event(3)).expect("there is room");
        assert_eq!(numbers(directory.path()), (vec![1, 3], Seen { records: 2, skipped: 3 }));
    }

    #[test]
    fn a_directory_without_history_is_empty_and_a_missing_one_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(numbers(directory.path()).0, Vec::<u64>::new());
        assert!(Reader::open(&directory.path().join("nowhere")).is_err());
        let file = directory.path().join("file");
        fs::write(&file, "").expect("writable");
        assert!(Files::open(&file, 100_000).is_err());
    }

    /// A copy of this test program that executes one part, in `place`.
    fn copy(test: &str, place: &Path) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", &format!("history::files::tests::{test}"), "--nocapture"]);
        command.env(PART, "1").env(PLACE, place);
        command
    }

    /// The directory of a copy; `None`: this is no copy.
    fn place() -> Option<PathBuf> {
        std::env::var_os(PART)?;
        std::env::var_os(PLACE).map(PathBuf::from)
    }

    #[test]
    fn a_killed_writer_loses_its_last_line_at_most() {
        if let Some(place) = place() {
            let mut files = Files::open(&place, 4_000_000).expect("a place");
            (0..u64::MAX).for_each(|number| files.keep(&event(number)).expect("there is room"));
        }
        for _ in 0..5 {
            let directory = tempfile::tempdir().expect("a directory");
            let mut writer = copy("a_killed_writer_loses_its_last_line_at_most", directory.path());
            let mut writer = writer.stdout(std::process::Stdio::null()).spawn().expect("a copy of this program");
            while numbers(directory.path()).0.len() < 500 {
                std::thread::sleep(std::time::Duration::from_millis(5));
                assert!(writer.try_wait().expect("a child").is_none(), "it ended by itself");
            }
            writer.kill().expect("it lives");
            writer.wait().expect("it is dead");
            let (found, seen) = numbers(directory.path());
            assert!(seen.skipped <= 1, "{seen:?}");
            assert!(found.windows(2).all(|pair| pair[1] == pair[0] + 1), "none is missing in between");
            let next = found[found.len() - 1] + 1;
            let mut files = Files::open(directory.path(), 4_000_000).expect("a place");
            files.keep(&event(next)).expect("there is room");
            assert_eq!(numbers(directory.path()).0.last(), Some(&next));
        }
    }

    #[test]
    fn a_full_disk_loses_records_and_no_more() {
        if let Some(place) = place() {
            return fill(&place);
        }
        let directory = tempfile::tempdir().expect("a directory");
        let mut mounted = Command::new("unshare");
        let inner = copy("a_full_disk_loses_records_and_no_more", directory.path());
        mounted.args(["--mount", "--map-root-user", "sh", "-c"]);
        mounted.arg("mount -t tmpfs -o size=64k none \"$0\" && exec \"$@\"").arg(directory.path());
        mounted.arg(inner.get_program()).args(inner.get_args()).env(PART, "1").env(PLACE, directory.path());
        let output = match mounted.output() {
            Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare") => {
                return println!("skipped: no namespace: {}", String::from_utf8_lossy(&output.stderr));
            }
            Ok(output) => output,
            Err(error) => return println!("skipped: no unshare: {error}"),
        };
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Fills a file system of 64 kB with other data, and empties it again.
    fn fill(place: &Path) {
        let mut files = Files::open(place, 1_000_000).expect("a place");
        let mut lost = 0;
        let mut keep = |files: &mut Files, number| lost += u64::from(files.keep(&event(number)).is_err());
        (0..100).for_each(|number| keep(&mut files, number));
        let ballast = place.join("ballast");
        let filled = fs::write(&ballast, [0; 64 * 1024]).expect_err("it is larger than the disk");
        assert_eq!(filled.kind(), io::ErrorKind::StorageFull);
        (100..200).for_each(|number| keep(&mut files, number));
        fs::remove_file(&ballast).expect("removed");
        (200..250).for_each(|number| keep(&mut files, number));
        let (numbers, seen) = numbers(place);
        assert_eq!(seen.skipped, 0, "no half line");
        assert!(lost > 50 && numbers.len() as u64 == 250 - lost, "{lost} lost");
        assert!(numbers.starts_with(&[0, 1, 2]) && numbers.ends_with(&[247, 248, 249]), "{numbers:?}");
    }
}
