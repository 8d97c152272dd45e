//! The history thread.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use evenair_api::history::{Carried, EventRecord, Record, Sample};
use evenair_api::{Mode, Status};
use evenair_boxfile::BoxConfig;
use evenair_live::control::{Answer, ControlRequest};
use evenair_live::events::{Happened, Queue, Queued};
use evenair_sys::traffic::{self, Directions};
use tracing::{info, warn};

use super::{Files, Keeper};
use crate::crossed::Counted;
use crate::state::BoxState;
use crate::wall_clock::seconds;

/// Keeps a history until dropped. The loop, and all other senders of records, have to be dropped first.
pub(crate) struct History {
    end: SyncSender<Queued>,
    thread: Option<JoinHandle<()>>,
}

/// Context of the history thread.
struct Recorder<K> {
    keeper: K,
    interval: Duration,
    state: BoxState,
    queue: Queue,
    /// Interface of the port of the access points.
    wlan: String,
    /// The previous state, and the kernel's counters of that port.
    before: Option<(Status, Option<Directions>)>,
    /// Whether the last record could not be stored, and that was logged.
    failing: bool,
}

impl History {
    /// Starts the history of events from the queue; `None`: the directory cannot be created, which is logged, since the box is more
    /// important than its history.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub(crate) fn start(config: &BoxConfig, queue: Queue, state: BoxState) -> Result<Option<Self>> {
        let Some(spec) = &config.history else { return Ok(None) };
        let files = match Files::open(&spec.path, spec.limit.0) {
            Ok(files) => files,
            Err(error) => {
                warn!("[history] path = {:?}: {error}; no history is kept", spec.path.display());
                state.vitals.set_history_failing(true);
                return Ok(None);
            }
        };
        let interval = Duration::from_nanos(spec.interval.as_nanos());
        let (wlan, before) = (config.wlan.clone(), None);
        Self::work(Recorder { keeper: files, interval, state, queue, wlan, before, failing: false }).map(Some)
    }

    fn work(mut recorder: Recorder<impl Keeper + 'static>) -> Result<Self> {
        let end = recorder.queue.end.clone();
        let thread = thread::Builder::new().name("history".into()).spawn(move || recorder.work());
        Ok(Self { end, thread: Some(thread.context("start the history thread")?) })
    }
}

impl Drop for History {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Earlier events are stored first. The thread is gone if it panicked.
            let _ = self.end.send(None);
            let _ = thread.join();
        }
    }
}

impl<K: Keeper> Recorder<K> {
    /// Runs until the end marker comes out of the queue.
    fn work(&mut self) {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        self.keep(&Record::Start { at_s: seconds(SystemTime::now()), version });
        let mut next = Instant::now();
        loop {
            let now = Instant::now();
            if now >= next {
                // However long a sample takes, the next one is an interval later.
                next = now + self.interval;
                if !self.sample() {
                    break;
                }
            }
            match self.queue.events.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Some((at, event))) => self.note(at, &event),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(None) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        while let Ok(Some((at, event))) = self.queue.events.recv() {
            self.note(at, &event);
        }
    }

    fn note(&mut self, at: SystemTime, what: &Happened) {
        let at_s = seconds(at);
        if let Some(event) = what.event() {
            self.keep(&Record::Event(EventRecord { at_s, event }));
        }
    }

    /// Requests the loop's state, and stores a sample. False: the loop is gone.
    fn sample(&mut self) -> bool {
        let Ok(answer) = self.state.control.ask(ControlRequest::Status) else { return false };
        let Answer::Status(snapshot) = answer else { return true };
        // An interface that is gone has no counters.
        let kernel = traffic::by_direction(&self.wlan).ok();
        self.keep_sample(self.state.status(&snapshot), kernel, seconds(SystemTime::now()));
        true
    }

    fn keep_sample(&mut self, now: Status, kernel: Option<Directions>, at_s: f64) {
        if let Some((before, kernel_before)) = &self.before {
            let before = Counted { status: before, kernel: *kernel_before };
            let mut sample = Sample::between(before.status, &now, at_s);
            sample.carried = carried(before, Counted { status: &now, kernel });
            sample.lost = self.queue.lost.swap(0, Ordering::Relaxed);
            sample.events_left_out = self.queue.take_left_out();
            let (lost, left_out) = (sample.lost, sample.events_left_out);
            if !self.keep(&Record::Sample(sample.into())) {
                self.queue.lost.fetch_add(lost, Ordering::Relaxed);
                self.queue.add_left_out(left_out);
            }
        }
        self.before = Some((now, kernel));
    }

    fn keep(&mut self, record: &Record) -> bool {
        let kept = self.keeper.keep(record);
        self.state.vitals.set_history_failing(kept.is_err());
        match kept {
            Ok(()) if self.failing => {
                self.failing = false;
                info!("history is kept again");
            }
            Ok(()) => {}
            Err(error) => {
                self.queue.lost.fetch_add(1, Ordering::Relaxed);
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

/// Bytes that crossed the ports, if the manager did not see all of them.
fn carried(before: Counted<'_>, now: Counted<'_>) -> Option<Carried> {
    [before, now].iter().any(|counted| counted.status.mode == Mode::Bypassed).then(|| {
        let [to_wlan_bytes, from_wlan_bytes] = now.since(before);
        Carried { to_wlan_bytes, from_wlan_bytes }
    })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::AtomicU64;
    use std::sync::{Arc, Mutex};
    use std::time::UNIX_EPOCH;

    use evenair_api::Carrier;
    use evenair_live::control::ControlHandle;
    use evenair_live::events::{EVENTS_WAITING, EventSink};
    use evenair_manager as manager;
    use evenair_packet::MacAddr;
    use evenair_sys::traffic::Traffic;
    use evenair_units::Instant as Monotonic;

    use super::*;
    use crate::tests_support::{self, snapshot, status};

    /// Keeps records in memory, unless the disk is full.
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
        /// Waits until the kept records suffice.
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

    fn recorder<K: Keeper>(keeper: K, interval: Duration, queue: Queue, control: ControlHandle) -> Recorder<K> {
        let (wlan, state) = ("no-such-dev0".to_owned(), tests_support::state(control));
        Recorder { keeper, interval, state, queue, wlan, before: None, failing: false }
    }

    #[test]
    fn while_bypassed_the_kernel_counts_and_af_xdp_is_not_measured() {
        let status = |mode, io: &str| {
            let mut status = status();
            (status.mode, status.wlan.io) = (mode, io.into());
            status.carrier = if mode == Mode::Inserted { Carrier::Box } else { Carrier::Bridge };
            status
        };
        let of = |(packets, bytes)| Traffic { packets, bytes };
        let kernel = |sent, received| Some(Directions { sent: of(sent), received: of(received) });
        let of = |before, now, io: &str| {
            let (before, now) = (status(before, io), status(now, io));
            let before = Counted { status: &before, kernel: kernel((10, 1_140), (0, 0)) };
            carried(before, Counted { status: &now, kernel: kernel((20, 11_280), (5, 170)) })
        };
        let measured = Some(Carried { to_wlan_bytes: Some(10_000), from_wlan_bytes: Some(100) });
        assert_eq!(of(Mode::Bypassed, Mode::Bypassed, "af-packet"), measured);
        assert_eq!(of(Mode::Bypassed, Mode::Bypassed, "af-xdp native"), measured, "the sockets take nothing");
        assert_eq!(of(Mode::Inserted, Mode::Bypassed, "af-packet"), measured);
        assert_eq!(of(Mode::Inserted, Mode::Bypassed, "af-xdp native"), Some(Carried::default()));
        assert_eq!(of(Mode::Inserted, Mode::Inserted, "af-packet"), None);
    }

    fn learned(number: u8) -> manager::Event {
        manager::Event::StationLearned(MacAddr([2, 0, 0, 0, 0, number]))
    }

    #[test]
    fn samples_and_events_are_kept_and_lost_ones_are_counted() {
        let (control, inbox) = tests_support::control();
        let answering = thread::spawn(move || {
            while let Ok(asked) = inbox.recv_timeout(Duration::from_secs(20)) {
                if matches!(asked.request, ControlRequest::Shutdown) {
                    return;
                }
                let _ = asked.reply.send(Answer::Status(Box::new(snapshot())));
            }
        });
        let shelf = Shelf::default();
        let (sink, queue) = EventSink::with(None, Monotonic::ZERO);
        let recorder = recorder(shelf.clone(), Duration::from_millis(20), queue, control.clone());
        let history = History::work(recorder).expect("there is room");
        sink.leave(&learned(1));
        sink.leave(&manager::Event::ModeChanged(manager::Mode::Inserted));
        let kept = shelf.until(|kept| samples(kept).len() > 1 && kept.len() > 4);
        assert!(matches!(kept[0], Record::Start { .. }), "{kept:?}");
        let event = |record: &Record| matches!(record, Record::Event(event) if event.event.name() == "station");
        assert_eq!(kept.iter().filter(|record| event(record)).count(), 1);
        // The disk is full for a while: events and samples are lost, and counted later.
        *shelf.full.lock().expect("free") = true;
        (0..5).for_each(|number| sink.leave(&learned(number)));
        let begin = Instant::now();
        while shelf.refused.load(Ordering::Relaxed) < 6 {
            assert!(begin.elapsed() < Duration::from_secs(20), "nobody tries to keep anything");
            thread::sleep(Duration::from_millis(5));
        }
        *shelf.full.lock().expect("free") = false;
        let before = kept.len();
        let kept = shelf.until(|kept| samples(kept).iter().any(|sample| sample.lost > 0) && kept.len() > before);
        assert!(samples(&kept).iter().map(|sample| sample.lost).sum::<u64>() >= 6, "five events, a sample at least");
        let own = evenair_api::history::Event::Ports { text: "the last one".into() };
        sink.leave_own(own.clone());
        // A sink that still exists does not block the end.
        drop(history);
        let kept = shelf.until(|_| true);
        assert!(kept.iter().any(|record| matches!(record, Record::Event(event) if event.event == own)), "{kept:?}");
        assert!(control.ask(ControlRequest::Shutdown).is_err());
        answering.join().expect("it ends");
    }

    /// Bytes of all files in a directory.
    fn bytes_in(directory: &std::path::Path) -> u64 {
        let entries = std::fs::read_dir(directory).expect("a directory");
        entries.map(|entry| entry.and_then(|entry| entry.metadata()).expect("a file").len()).sum()
    }

    /// Ten minutes in virtual time, in which each second 30,000 new stations are learned, or have another event, and after each second
    /// `interval` has passed. Returns the remaining records.
    fn flooded(interval: u64, flood: impl Fn(MacAddr) -> manager::Event) -> (Vec<Record>, u64) {
        const EACH_SECOND: u32 = 30_000;
        let directory = tempfile::tempdir().expect("a directory");
        let files = Files::open(directory.path(), 64_000_000).expect("a place");
        let (control, _inbox) = tests_support::control();
        let (sink, queue) = EventSink::with(None, Monotonic::ZERO);
        let mut recorder = recorder(files, Duration::from_secs(interval), queue, control);
        let mut status = status();
        let station = status.stations[0].clone();
        // The day before, with 30 stations.
        let mut minute = |recorder: &mut Recorder<Files>, at: u64, seconds: u64, stations: usize, first: u32| {
            status.uptime_s += seconds as f64;
            status.stations = (0..stations as u32)
                .map(|n| {
                    let mut station = station.clone();
                    station.mac = MacAddr(
                        [2, 1]
                            .into_iter()
                            .chain((first + n).to_be_bytes())
                            .collect::<Vec<_>>()
                            .try_into()
                            .expect("six"),
                    )
                    .to_string();
                    station.charged_airtime_s = status.uptime_s;
                    station
                })
                .collect();
            recorder.keep_sample(status.clone(), None, at as f64);
        };
        let day = 24 * 60;
        for at in 0..=day {
            minute(&mut recorder, at * 60, 60, 30, 0);
        }
        recorder.note(
            UNIX_EPOCH + Duration::from_secs(day * 60),
            &Happened::Managed(manager::Event::ModeChanged(manager::Mode::Inserted)),
        );
        let before = bytes_in(directory.path());
        let begin = day * 60;
        for second in 0..600u64 {
            for n in 0..EACH_SECOND {
                let now = Monotonic::from_nanos(second * 1_000_000_000 + u64::from(n) * 33_333);
                let number = second as u32 * EACH_SECOND + n;
                let [a, b, c, d] = number.to_be_bytes();
                sink.leave_at(now, &flood(MacAddr([2, 2, a, b, c, d])));
            }
            while let Ok(Some((_, event))) = recorder.queue.events.try_recv() {
                recorder.note(UNIX_EPOCH + Duration::from_secs(begin + second), &event);
            }
            if (second + 1) % interval == 0 {
                minute(&mut recorder, begin + second, interval, 4096, second as u32 * EACH_SECOND);
            }
        }
        assert_eq!(recorder.queue.lost.load(Ordering::Relaxed), 0, "events have room in the queue");
        sink.leave_at(Monotonic::from_nanos(600_000_000_000), &manager::Event::ModeChanged(manager::Mode::Bypassed));
        let (_, event) = recorder.queue.events.try_recv().expect("a mode event has no budget").expect("an event");
        recorder.note(UNIX_EPOCH + Duration::from_secs(begin + 600), &event);
        let reader = evenair_client::history::Reader::open(directory.path()).expect("there");
        let records = reader.map(|record| record.expect("readable")).collect();
        (records, (bytes_in(directory.path()) - before) / 600)
    }

    #[test]
    fn a_flood_of_stations_displaces_neither_samples_nor_other_events() {
        let contested: fn(MacAddr) -> manager::Event = |mac| manager::Event::AddressContested {
            address: "2001:db8:1111:2222:3333:4444:5555:6666".parse().expect("an address"),
            holder: MacAddr([2, 9, 9, 9, 9, 9]),
            claimant: mac,
        };
        let floods =
            [(1, manager::Event::StationLearned as fn(_) -> _), (60, manager::Event::StationLearned), (1, contested)];
        for (interval, flood) in floods {
            let (records, bytes_per_second) = flooded(interval, flood);
            assert!(bytes_per_second <= 20_000, "{bytes_per_second} bytes/s with a sample each {interval} s");
            let all = samples(&records);
            assert_eq!(all.len() as u64, 24 * 60 + 600 / interval, "every sample of the day and of the flood");
            let event = |name: &str| {
                records.iter().filter(|r| matches!(r, Record::Event(event) if event.event.name() == name)).count()
            };
            assert_eq!(event("mode"), 2);
            let about_stations = (event("station") + event("address-contested")) as u64;
            let left_out: u64 = all.iter().map(|sample| sample.events_left_out).sum();
            assert!(about_stations > 60, "{about_stations} events about stations");
            assert_eq!(about_stations + left_out, 600 * 30_000);
        }
    }

    #[test]
    fn the_loop_never_waits_for_history() {
        let (control, _inbox) = tests_support::control();
        let (sink, queue) = EventSink::with(None, Monotonic::ZERO);
        let lost = Arc::clone(&queue.lost);
        let recorder = recorder(Shelf::default(), Duration::from_secs(3600), queue, control);
        let history = History::work(recorder).expect("there is room");
        // The thread waits for a reply that never comes, as with a disk that does not respond.
        let begin = Instant::now();
        (0..2 * EVENTS_WAITING).for_each(|_| sink.leave(&manager::Event::ModeChanged(manager::Mode::Inserted)));
        assert!(begin.elapsed() < Duration::from_secs(2));
        let lost = lost.load(Ordering::Relaxed);
        assert!(lost >= EVENTS_WAITING as u64 - 1, "{lost}");
        drop(_inbox);
        drop(history);
    }
}
