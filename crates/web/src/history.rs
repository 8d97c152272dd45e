//! The history of the box, its contention domains, access points, classes and stations, for up to three years.
//!
//! A thread reads the watch feed over a connection of its own, adds its lines up to minutes (`minute.rs`), and writes each completed
//! one to a database (`store.rs`). Rows have sums, and latencies as histograms (`row.rs`): percentiles of longer intervals come from
//! merged histograms. At its start it fills the gap from the box's own files (`missed.rs`). Readers open the database themselves
//! (`query.rs`). A failure of the database does not affect the rest of the program.

mod measure;
mod minute;
mod missed;
mod query;
mod row;
mod series;
mod store;
mod subject;
mod tier;
mod week;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use evenair_api::Json;
use evenair_api::health::{Code, Reason, Subject as Concerned, SubjectKind};
use evenair_api::watch::{Line, Part, Request};

use self::minute::Minute;
pub use self::query::SeriesPoint;
pub(crate) use self::query::{Question, Steps};
pub(crate) use self::series::{Refusal, SUBJECTS, answer, events, every, measure, measures, subject};
pub use self::series::{Series, SeriesRequest, series_of};
use self::store::{Entry, Store};
pub(crate) use self::store::{FILE, INDEX, LOG, RESERVE, check_database, copy_database, is_damage};
pub(crate) use self::subject::Subject;
use self::tier::Tier;
#[cfg(test)]
pub(crate) use self::week::{Latency as WeekLatency, Worst};
pub(crate) use self::week::{Week, week};
use crate::config::WebConfig;
use crate::feed::Feed;
use crate::secret::make_folder;

/// Longest line, in bytes: one with the histograms of 4,096 stations has a megabyte.
const LONGEST_LINE: u64 = 4 << 20;
/// Timeout for the next line, after which the thread reconnects.
const SILENT: Duration = Duration::from_secs(10);
/// Pause before reconnecting.
const PAUSE: Duration = Duration::from_secs(1);

/// Stops the recording when dropped.
#[derive(Debug)]
pub(crate) struct Recording(Arc<AtomicBool>);

impl Drop for Recording {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Starts recording the history of a box, in a thread of its own.
///
/// # Errors
/// The thread cannot be created.
pub(crate) fn record(config: &WebConfig, feed: Feed) -> std::io::Result<Recording> {
    let ended = Arc::new(AtomicBool::new(false));
    let recorder = Recorder {
        socket: config.socket.clone(),
        state: config.state.clone(),
        files: config.history.files.clone(),
        limit: config.history.limit,
        ended: Arc::clone(&ended),
        minute: Minute::default(),
        store: None,
        is_failing: false,
        feed,
    };
    thread::Builder::new().name("history".into()).spawn(|| recorder.work())?;
    Ok(Recording(ended))
}

struct Recorder {
    socket: PathBuf,
    state: PathBuf,
    /// The folder of the box's own history.
    files: PathBuf,
    limit: u64,
    ended: Arc<AtomicBool>,
    minute: Minute,
    /// The database; `None`: not opened yet, or failed.
    store: Option<Store>,
    /// Whether the last minute could not be stored; logged once.
    is_failing: bool,
    /// Gets the failure as a health reason.
    feed: Feed,
}

impl Recorder {
    fn work(mut self) {
        while !self.has_ended() {
            // The page's feed reports why the box is away.
            _ = self.read();
            thread::sleep(PAUSE);
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Reads the feed until the connection ends.
    fn read(&mut self) -> std::io::Result<()> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(SILENT))?;
        let request = Request::Watch { watch: Part::ALL.to_vec(), every: "1 s".into() };
        stream.write_all((request.to_json() + "\n").as_bytes())?;
        let mut stream = BufReader::new(stream);
        let mut text = Vec::new();
        while stream.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut text)? > 0 && !self.has_ended() {
            let Ok(line) = Line::from_json(&text) else { return Ok(()) };
            self.take(&line);
            text.clear();
        }
        Ok(())
    }

    /// Stores the events of a line, and the previous minute if it is complete.
    fn take(&mut self, line: &Line) {
        if let Some(events) = line.events.as_ref().filter(|events| !events.is_empty()) {
            self.keep(line.at, |store| store.keep_events(events));
        }
        if let Some((begin, entries)) = self.minute.add(line) {
            self.keep(line.at, |store| keep_minute(store, begin, &entries));
        }
    }

    /// Applies an operation to the database, after opening it if necessary.
    fn keep(&mut self, now: f64, what: impl FnOnce(&mut Store) -> store::Result<()>) {
        let kept = match self.open(now) {
            Ok(store) => what(store).map_err(|error| (error.to_string(), is_damage(&error))),
            Err(why) => Err((why, false)),
        };
        match kept {
            Ok(()) if self.is_failing => {
                self.is_failing = false;
                self.feed.set_own(Code::HistoryFailing, vec![]);
                eprintln!("history-failing: it is kept again");
            }
            Ok(()) => {}
            Err((why, is_damaged)) => {
                if is_damaged {
                    // Reopening sets a damaged database aside.
                    self.store = None;
                    let aside = store::set_aside(&self.state.join(FILE));
                    eprintln!("history-failing: the database is damaged and was set aside: {aside:?}");
                }
                if !self.is_failing {
                    self.is_failing = true;
                    self.feed.set_own(Code::HistoryFailing, vec![failing(now, &why)]);
                    eprintln!("history-failing: {why}; what cannot be kept is lost, and all else goes on");
                }
            }
        }
    }

    fn open(&mut self, now: f64) -> Result<&mut Store, String> {
        if self.store.is_none() {
            let path = self.state.join(FILE);
            make_folder(&self.state).map_err(|error| format!("{}: {error}", self.state.display()))?;
            let (mut store, aside) = Store::open(&path, self.limit)?;
            if let Some(aside) = aside {
                eprintln!(
                    "history-failing: {} is damaged or of another version: it is now {}, and a new one was begun",
                    path.display(),
                    aside.display()
                );
            }
            self.make_up(&mut store, now as i64);
            self.store = Some(store);
        }
        Ok(self.store.as_mut().expect("it was just opened"))
    }

    /// Copies the samples of the box's files that the database lacks, for the retention time of minutes.
    fn make_up(&self, store: &mut Store, now: i64) {
        let from = now - Tier::Minute.kept_s();
        let there: BTreeSet<_> = store.minutes_of_box(from).unwrap_or_default().into_iter().collect();
        let current = Tier::Minute.begin_of(now);
        let read = missed::read(&self.files, from, &there, |minute, entries| {
            if minute < current {
                // A failure recurs with the next minute, and is reported then.
                _ = store.keep(minute, &entries);
            }
        });
        if let Err(error) = read {
            eprintln!("what was missed is not in the history: {}: {error}", self.files.display());
        }
    }
}

/// The health reason that the page's history cannot be stored.
fn failing(since_s: f64, why: &str) -> Reason {
    let name = "the history of the page";
    Reason {
        code: Code::HistoryFailing,
        level: Code::HistoryFailing.level(),
        subject: Concerned { kind: SubjectKind::Box, id: "evenair-web".into(), name: name.into() },
        since_s,
        sentence: format!("{name} cannot be kept: {why}"),
        remedy: "make room in the state directory of evenair-web, and see that its user may write there".into(),
        ..Reason::default()
    }
}

/// Stores a minute. On a full disk the oldest rows are deleted first.
fn keep_minute(store: &mut Store, begin: i64, entries: &[Entry]) -> store::Result<()> {
    match store.keep(begin, entries) {
        Err(error) if store::is_full(&error) => {
            store.make_room()?;
            store.keep(begin, entries)
        }
        kept => kept,
    }
}

#[cfg(test)]
mod tests;
