//! Snapshots of a loop's state, collected in slices between packets, so that they do not stop the loop for long.
//!
//! A slice takes about [`SLICE`], the next one begins [`APART`] later. It copies stations that have changed since the last collection, the
//! most recently used flows, and at the end the totals of the manager and of the ports (see [`evenair_manager::Collection`]). A thread of
//! the loop keeps the copies, makes the state from them, and returns the emptied parts: if the loop allocated memory, it would at times
//! wait until the allocator has cleaned up what that thread has freed. A request during a collection gets the next one: a state is never
//! older than its request.

use std::ops::Range;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result};
use evenair_manager::{Collected, Collection, Part, Report};
use evenair_sys::rt::thread_cpu_ns;
use evenair_units::{Instant, Span};
use tracing::{Level, debug, enabled};

use crate::control::Answer;
use crate::run::now;
use crate::snapshot::Snapshot;

/// Time after which a slice copies no more. A packet that arrives then waits for this time and a little more: for copying [`AT_ONCE`]
/// stations, and for fetching memory that the loop has not touched for a second.
const SLICE: Span = Span::from_micros(30);
/// Time between the starts of two slices, so that a busy loop spends an eighth of its time on them.
const APART: Span = Span::from_micros(250);
/// Stations or flows copied between two looks at the clock: some microseconds.
const AT_ONCE: usize = 8;
/// Flows in a state, at most.
const MOST_FLOWS: usize = 1000;
/// Stations in a state, at most: those with the most medium time.
const MOST_STATIONS: usize = 4096;

type Reply = mpsc::Sender<Answer>;

/// Source of the state: the loop's engine.
pub(crate) trait Source {
    /// As [`evenair_manager::Manager::collect`].
    fn collect(&mut self, now: Instant, collection: &mut Collection, most: usize, part: &mut Part) -> bool;

    /// As [`evenair_manager::Manager::report_totals`].
    fn report(&self, now: Instant) -> Report;

    /// The present state with this report, whose counters are updated, so that they balance with those of the ports. Mode and guard are
    /// updated, too, so that they agree.
    ///
    /// # Errors
    /// A refused system call.
    fn state(&mut self, now: Instant, report: Report) -> Result<Snapshot>;
}

/// The loop's side of the collection.
pub(crate) struct Slices {
    /// To the thread that keeps the copies.
    keeper: mpsc::Sender<Copied>,
    /// Requests from before this collection began; requests since.
    asked: Vec<Reply>,
    next: Vec<Reply>,
    stage: Stage,
    /// Parts copied by this collection; empty parts, which that thread returns.
    parts: Vec<Part>,
    room: Vec<Part>,
    emptied: mpsc::Receiver<Vec<Part>>,
    /// Start of the next slice, at the earliest.
    due: Instant,
    times: Times,
}

/// Times of slices in nanoseconds, for the debug log. CPU time is not increased by other threads (but by interrupts, unless the kernel
/// accounts for them: CONFIG_IRQ_TIME_ACCOUNTING).
#[derive(Default)]
struct Times {
    /// The longest slice so far: by the clock, in CPU time.
    wall: u64,
    cpu: u64,
    /// CPU time of all slices of this collection; largest such sum so far.
    sum: u64,
    most: u64,
}

enum Stage {
    Idle,
    Collecting(Collection),
    /// Only the totals are missing: first those of the manager.
    Totals,
    /// Then those of the ports, which take about as long.
    Ports(Box<Report>),
}

impl Stage {
    /// What the next slice copies.
    const fn copies(&self) -> &'static str {
        match self {
            Self::Idle | Self::Collecting(_) => "stations and flows",
            Self::Totals => "totals",
            Self::Ports(_) => "ports",
        }
    }
}

/// A collection, for the thread that keeps the copies.
struct Copied {
    parts: Vec<Part>,
    totals: Box<Snapshot>,
    replies: Vec<Reply>,
}

impl Times {
    fn note(&mut self, copied: &str, wall: u64, cpu: u64) {
        self.sum += cpu;
        if wall > self.wall || cpu > self.cpu {
            (self.wall, self.cpu) = (self.wall.max(wall), self.cpu.max(cpu));
            let Self { wall, cpu, .. } = *self;
            debug!("{copied}: the longest slice of the state took {wall} ns, and the longest in CPU time {cpu} ns");
        }
    }

    /// Ends a collection.
    fn end(&mut self) {
        let sum = std::mem::take(&mut self.sum);
        if sum > self.most {
            self.most = sum;
            debug!("the slices of a state took up to {sum} ns of CPU time together");
        }
    }
}

impl Slices {
    /// Starts the thread that keeps the copies. It ends when this is dropped.
    ///
    /// # Errors
    /// No thread can be created.
    pub(crate) fn start() -> Result<Self> {
        let (keeper, collections) = mpsc::channel();
        let (back, emptied) = mpsc::channel();
        let keep = move || keep(&collections, &back);
        thread::Builder::new().name("status".into()).spawn(keep).context("start the thread of the status")?;
        Ok(Self {
            keeper,
            asked: Vec::new(),
            next: Vec::new(),
            stage: Stage::Idle,
            parts: Vec::new(),
            room: Vec::new(),
            emptied,
            due: Instant::ZERO,
            times: Times::default(),
        })
    }

    /// Adds a request for the state.
    pub(crate) fn ask(&mut self, reply: Reply) {
        self.next.push(reply);
    }

    /// When the next slice is due; `None`: no request is waiting.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let idle = matches!(self.stage, Stage::Idle) && self.next.is_empty();
        (!idle).then_some(self.due)
    }

    /// Copies a slice, if one is due.
    ///
    /// # Errors
    /// A refused system call.
    pub(crate) fn advance(
        &mut self,
        source: &mut impl Source,
        complete: impl FnOnce(Snapshot) -> Snapshot,
    ) -> Result<()> {
        let start = now();
        if self.deadline().is_some_and(|due| start >= due) {
            // Only measured if it is logged.
            let (cpu, copied) = (enabled!(Level::DEBUG).then(thread_cpu_ns), self.stage.copies());
            self.slice(source, start..start + SLICE, complete)?;
            if let Some(cpu) = cpu {
                self.times.note(copied, now().saturating_since(start).as_nanos(), thread_cpu_ns() - cpu);
                if matches!(self.stage, Stage::Idle) {
                    self.times.end();
                }
            }
            self.due = start + APART;
        }
        Ok(())
    }

    fn slice(
        &mut self,
        source: &mut impl Source,
        time: Range<Instant>,
        complete: impl FnOnce(Snapshot) -> Snapshot,
    ) -> Result<()> {
        if matches!(self.stage, Stage::Idle) {
            self.asked.append(&mut self.next);
            self.stage = Stage::Collecting(Collection::new(MOST_FLOWS));
            if let Ok(mut emptied) = self.emptied.try_recv() {
                self.room.append(&mut emptied);
                self.parts = emptied;
            }
        }
        match &mut self.stage {
            Stage::Collecting(collection) => {
                let mut part = self.room.pop().unwrap_or_else(|| Part::new(time.start));
                part.reset(time.start);
                let mut more = true;
                while more && now() < time.end {
                    more = source.collect(time.start, collection, AT_ONCE, &mut part);
                }
                self.parts.push(part);
                if !more {
                    self.stage = Stage::Totals;
                }
            }
            Stage::Idle | Stage::Totals => self.stage = Stage::Ports(Box::new(source.report(time.start))),
            Stage::Ports(_) => {
                let Stage::Ports(report) = std::mem::replace(&mut self.stage, Stage::Idle) else { return Ok(()) };
                let totals = Box::new(complete(source.state(time.start, *report)?));
                let (parts, replies) = (std::mem::take(&mut self.parts), std::mem::take(&mut self.asked));
                // The thread ends only when this is dropped.
                let _ = self.keeper.send(Copied { parts, totals, replies });
            }
        }
        Ok(())
    }

    /// The present state at once, when no more traffic is carried.
    ///
    /// # Errors
    /// A refused system call; the thread that keeps the copies is gone.
    pub(crate) fn finish(
        mut self,
        source: &mut impl Source,
        complete: impl Fn(Snapshot) -> Snapshot,
    ) -> Result<Snapshot> {
        let (reply, state) = mpsc::channel();
        self.ask(reply);
        while self.deadline().is_some() {
            let start = now();
            self.slice(source, start..Instant::from_nanos(u64::MAX), &complete)?;
        }
        match state.recv() {
            Ok(Answer::Status(snapshot)) => Ok(*snapshot),
            _ => anyhow::bail!("the thread of the status has ended"),
        }
    }
}

/// Keeps the copies, and makes the state from them after each collection. Returns the parts, empty.
fn keep(collections: &mpsc::Receiver<Copied>, back: &mpsc::Sender<Vec<Part>>) {
    let mut collected = Collected::default();
    for Copied { mut parts, totals, replies } in collections {
        parts.iter_mut().for_each(|part| collected.take(part));
        // A loop that has ended needs none.
        let _ = back.send(parts);
        let mut state = *totals;
        state.report = collected.finish(state.report, MOST_STATIONS);
        for reply in replies {
            // A disconnected client needs no reply.
            let _ = reply.send(Answer::Status(Box::new(state.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant as Clock};

    use evenair_manager::{Config, Manager, Observation, StationConfig};
    use evenair_packet::MacAddr;
    use evenair_wifi::{Phy, PhyRate, Standard};

    use super::*;
    use crate::snapshot::tests_support;

    const STATIONS: u8 = 200;

    impl Source for Manager<()> {
        fn collect(&mut self, now: Instant, collection: &mut Collection, most: usize, part: &mut Part) -> bool {
            Self::collect(self, now, collection, most, part)
        }

        fn report(&self, now: Instant) -> Report {
            self.report_totals(now)
        }

        fn state(&mut self, now: Instant, report: Report) -> Result<Snapshot> {
            Ok(Snapshot { report, now, ..tests_support::snapshot() })
        }
    }

    const fn mac(number: u8) -> MacAddr {
        MacAddr([2, 0, 0, 0, 0, number])
    }

    fn manager() -> (Manager<()>, PhyRate) {
        let mut config = Config::new(Phy::default_for(Standard::Dot11g));
        let rate = config.default_rate;
        config.stations = (0..STATIONS).map(|n| StationConfig { mac: mac(n), rate, weight: 1, class: None }).collect();
        let other = config.phy.standard().rates().iter().copied().find(|&other| other != rate).expect("several");
        (Manager::new(config, Instant::ZERO), other)
    }

    fn ask(slices: &mut Slices) -> mpsc::Receiver<Answer> {
        let (reply, state) = mpsc::channel();
        slices.ask(reply);
        state
    }

    fn state(answer: &mpsc::Receiver<Answer>) -> Snapshot {
        match answer.recv_timeout(Duration::from_secs(10)) {
            Ok(Answer::Status(snapshot)) => *snapshot,
            _ => panic!("no state"),
        }
    }

    fn advance_to_end(slices: &mut Slices, manager: &mut Manager<()>) {
        let start = Clock::now();
        while slices.deadline().is_some() {
            assert!(start.elapsed() < Duration::from_secs(10), "it comes to its end");
            slices.advance(manager, |totals| totals).expect("nothing is refused");
        }
    }

    #[test]
    fn a_request_during_a_collection_gets_a_later_state() {
        let ((mut manager, other), mut slices) = (manager(), Slices::start().expect("room for a thread"));
        assert!(slices.deadline().is_none());
        let first = ask(&mut slices);
        while matches!(slices.stage, Stage::Idle) {
            slices.advance(&mut manager, |totals| totals).expect("nothing is refused");
        }
        // The first station is copied already.
        manager.handle_observation(Instant::ZERO, Observation::StationRate { mac: mac(0), rate: other });
        let later = [ask(&mut slices), ask(&mut slices)];
        advance_to_end(&mut slices, &mut manager);
        let (first, later) = (state(&first), [state(&later[0]), state(&later[1])]);
        assert_eq!(first.report.stations.len(), usize::from(STATIONS));
        for later in &later {
            assert_eq!(later.report.stations.len(), usize::from(STATIONS), "those that have not changed as well");
            assert!(later.report.stations[0].rate == other && first.report.stations[0].rate != other);
            assert!(later.now > first.now);
        }
        assert_eq!(later[0].now, later[1].now, "the same collection");
    }

    #[test]
    fn the_last_state_is_complete_and_each_waiting_request_gets_one() {
        let ((mut manager, _), mut slices) = (manager(), Slices::start().expect("room for a thread"));
        let waiting = ask(&mut slices);
        let last = slices.finish(&mut manager, |totals| totals).expect("nothing is refused");
        assert_eq!((last.report.stations.len(), last.report.stations_known), (200, 200));
        assert_eq!(state(&waiting).report.stations.len(), 200);
    }
}
