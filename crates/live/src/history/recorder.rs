//! The history thread, and the loop's end of its queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use evenair_api::Status;
use evenair_manager::Event;
use tracing::{info, warn};

use super::{EventRecord, Files, HistoryConfig, Keeper, Record, Sample};
use crate::control::{Answer, Desk, Wish};

/// Events that may wait for the thread.
const EVENTS_WAITING: usize = 1024;

/// Keeps history until dropped, and until the loop has gone.
pub(crate) struct History {
    thread: Option<JoinHandle<()>>,
}

/// Where the loop, or several, leave events.
#[derive(Clone)]
pub(crate) struct Tap {
    events: SyncSender<(SystemTime, Happened)>,
    /// Events for which there was no room.
    lost: Arc<AtomicU64>,
}

/// What is left for the thread.
enum Happened {
    /// The manager says so.
    Managed(Event),
    /// Fail-open was lost or is back, in words.
    FailOpen(String),
    /// The ports are no longer what the box can work with, in words.
    Ports(String),
}

/// What the thread works with.
struct Recorder<K> {
    keeper: K,
    interval: Duration,
    desk: Desk,
    events: Receiver<(SystemTime, Happened)>,
    lost: Arc<AtomicU64>,
    before: Option<Status>,
    /// The last record could not be kept, and that was logged.
    failing: bool,
}

impl Tap {
    /// Leaves an event. It is lost where the thread is too far behind.
    pub(crate) fn leave(&self, event: &Event) {
        if matches!(event, Event::RateChanged { .. } | Event::ObservationRefused(_)) {
            return;
        }
        self.send(Happened::Managed(event.clone()));
    }

    /// Leaves that fail-open was lost, or is back.
    pub(crate) fn leave_fail_open(&self, text: String) {
        self.send(Happened::FailOpen(text));
    }

    /// Leaves that the ports have to be opened anew.
    pub(crate) fn leave_ports(&self, text: String) {
        self.send(Happened::Ports(text));
    }

    fn send(&self, what: Happened) {
        if self.events.try_send((SystemTime::now(), what)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl History {
    /// Begins to keep history, and gives the loop's end of it.
    ///
    /// # Errors
    /// The thread cannot be created. A directory that cannot be created is logged: the box is worth more than its history.
    pub(crate) fn start(config: &HistoryConfig, desk: Desk) -> Result<(Self, Option<Tap>)> {
        let files = match Files::open(&config.path, config.limit.0) {
            Ok(files) => files,
            Err(error) => {
                warn!("[history] path = {:?}: {error}; no history is kept", config.path.display());
                return Ok((Self { thread: None }, None));
            }
        };
        let interval = Duration::from_nanos(config.interval.as_nanos());
        let (thread, tap) = Self::keep_in(files, interval, desk)?;
        Ok((Self { thread: Some(thread) }, Some(tap)))
    }

    fn keep_in(keeper: impl Keeper + 'static, interval: Duration, desk: Desk) -> Result<(JoinHandle<()>, Tap)> {
        let (sender, events) = mpsc::sync_channel(EVENTS_WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let tap = Tap { events: sender, lost: Arc::clone(&lost) };
        let mut recorder = Recorder { keeper, interval, desk, events, lost, before: None, failing: false };
        let thread = thread::Builder::new().name("history".into()).spawn(move || recorder.work());
        Ok((thread.context("start the history thread")?, tap))
    }
}

impl Drop for History {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl<K: Keeper> Recorder<K> {
    /// Works until the loop has gone.
    fn work(&mut self) {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        self.keep(&Record::Start { at_s: seconds(SystemTime::now()), version });
        let mut next = Instant::now();
        loop {
            let now = Instant::now();
            if now >= next {
                // However long it took: samples are no closer together than an interval.
                next = now + self.interval;
                if !self.sample() {
                    break;
                }
            }
            match self.events.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok((at, event)) => self.note(at, event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        while let Ok((at, event)) = self.events.recv() {
            self.note(at, event);
        }
    }

    fn note(&mut self, at: SystemTime, what: Happened) {
        let at_s = seconds(at);
        let event = match what {
            Happened::Managed(event) => EventRecord::new(&event, at_s),
            Happened::Ports(text) => Some(EventRecord { at_s, name: "ports".into(), station: None, text }),
            Happened::FailOpen(text) => Some(EventRecord { at_s, name: "fail-open".into(), station: None, text }),
        };
        if let Some(event) = event {
            self.keep(&Record::Event(event));
        }
    }

    /// Asks the loop for its state. False: it has gone.
    fn sample(&mut self) -> bool {
        let Ok(answer) = self.desk.ask(Wish::Status) else { return false };
        let Answer::Status(snapshot) = answer else { return true };
        let now = Status::from(*snapshot);
        if let Some(before) = &self.before {
            let mut sample = Sample::between(before, &now, seconds(SystemTime::now()));
            sample.lost = self.lost.swap(0, Ordering::Relaxed);
            let lost = sample.lost;
            if !self.keep(&Record::Sample(sample.into())) {
                self.lost.fetch_add(lost, Ordering::Relaxed);
            }
        }
        self.before = Some(now);
        true
    }

    fn keep(&mut self, record: &Record) -> bool {
        match self.keeper.keep(record) {
            Ok(()) if self.failing => {
                self.failing = false;
                info!("history is kept again");
            }
            Ok(()) => {}
            Err(error) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                if !self.failing {
                    self.failing = true;
                    warn!("history cannot be kept: {error}; the traffic goes on, and what is lost is counted");
                }
                return false;
            }
        }
        true
    }
}

fn seconds(at: SystemTime) -> f64 {
    // A clock before 1970 is not set.
    at.duration_since(UNIX_EPOCH).map_or(0.0, |since| (since.as_secs_f64() * 1e3).round() / 1e3)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use evenair_manager::Mode;
    use evenair_packet::MacAddr;

    use super::*;
    use crate::control::tests_support::snapshot;

    /// Keeps records where the test sees them, unless the disk is full.
    #[derive(Clone, Default)]
    struct Shelf {
        kept: Arc<Mutex<Vec<Record>>>,
        full: Arc<Mutex<bool>>,
        refused: Arc<AtomicU64>,
    }

    impl Keeper for Shelf {
        fn keep(&mut self, record: &Record) -> io::Result<()> {
            if *self.full.lock().expect("free") {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.kept.lock().expect("free").push(record.clone());
            Ok(())
        }
    }

    impl Shelf {
        /// Waits until what is kept is enough.
        fn until(&self, enough: impl Fn(&[Record]) -> bool) -> Vec<Record> {
            for _ in 0..500 {
                let kept = self.kept.lock().expect("free").clone();
                if enough(&kept) {
                    return kept;
                }
                thread::sleep(Duration::from_millis(10));
            }
            panic!("{:?}", self.kept.lock().expect("free"));
        }
    }

    fn samples(records: &[Record]) -> Vec<&Sample> {
        let samples = records.iter().filter_map(|record| match record {
            Record::Sample(sample) => Some(&**sample),
            _ => None,
        });
        samples.collect()
    }

    fn learned(number: u8) -> Event {
        Event::StationLearned(MacAddr([2, 0, 0, 0, 0, number]))
    }

    #[test]
    fn samples_and_events_are_kept_and_what_is_lost_is_counted() {
        let (desk, inbox) = Desk::for_tests();
        let answering = thread::spawn(move || {
            while let Ok(asked) = inbox.recv_timeout(Duration::from_secs(20)) {
                if matches!(asked.wish, Wish::Shutdown) {
                    return;
                }
                let _ = asked.reply.send(Answer::Status(Box::new(snapshot())));
            }
        });
        let shelf = Shelf::default();
        let (thread, tap) =
            History::keep_in(shelf.clone(), Duration::from_millis(20), desk.clone()).expect("there is room");
        tap.leave(&learned(1));
        tap.leave(&Event::ModeChanged(Mode::Inserted));
        let kept = shelf.until(|kept| samples(kept).len() > 1 && kept.len() > 4);
        assert!(matches!(kept[0], Record::Start { .. }), "{kept:?}");
        let event = |record: &Record| matches!(record, Record::Event(event) if event.name == "station");
        assert_eq!(kept.iter().filter(|record| event(record)).count(), 1);
        // The disk is full for a while: events and samples are lost, and later counted.
        *shelf.full.lock().expect("free") = true;
        (0..5).for_each(|number| tap.leave(&learned(number)));
        let begin = Instant::now();
        while shelf.refused.load(Ordering::Relaxed) < 6 {
            assert!(begin.elapsed() < Duration::from_secs(20), "nobody tries to keep anything");
            thread::sleep(Duration::from_millis(5));
        }
        *shelf.full.lock().expect("free") = false;
        let before = kept.len();
        let kept = shelf.until(|kept| samples(kept).iter().any(|sample| sample.lost > 0) && kept.len() > before);
        assert!(samples(&kept).iter().map(|sample| sample.lost).sum::<u64>() >= 6, "five events, a sample at least");
        drop(tap);
        thread.join().expect("it ends with the loop");
        assert!(desk.ask(Wish::Shutdown).is_err());
        answering.join().expect("it ends");
    }

    #[test]
    fn the_loop_never_waits_for_history() {
        let (desk, _inbox) = Desk::for_tests();
        let (thread, tap) = History::keep_in(Shelf::default(), Duration::from_secs(3600), desk).expect("there is room");
        // The thread waits for an answer that never comes, as behind a disk that does not answer.
        let begin = Instant::now();
        (0..2 * EVENTS_WAITING).for_each(|number| tap.leave(&learned(number as u8)));
        assert!(begin.elapsed() < Duration::from_secs(2));
        let lost = tap.lost.load(Ordering::Relaxed);
        assert!(lost >= EVENTS_WAITING as u64 - 1, "{lost}");
        drop((_inbox, tap));
        thread.join().expect("it ends with the loop");
    }
}
