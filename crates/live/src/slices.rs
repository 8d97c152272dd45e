//! The state of a loop for those who ask for it, collected in slices between packets, so that it does not stop the loop for long.
//!
//! A slice takes about [`SLICE`], the next one comes [`APART`] later. Copied are stations that have changed since the last collection,
//! the flows that were used last, and at the end the totals (see [`evenair_manager::Collection`]). A thread of the loop keeps the copies
//! and makes the state from them. Who asks while a collection goes on gets the next one: a state is never older than the request.

use std::ops::Range;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result};
use evenair_manager::{Collected, Collection, Part};
use evenair_units::{Instant, Span};

use crate::control::{Answer, Snapshot};
use crate::engine::Engine;
use crate::run::now;

/// After this no more is copied in a slice. A packet that comes then waits so long and a little more.
const SLICE: Span = Span::from_micros(50);
/// Time between the starts of two slices: a loop that has no time to spare gives a fifth of it.
const APART: Span = Span::from_micros(250);
/// Stations, or flows, that are copied before the clock is looked at: some microseconds.
const AT_ONCE: usize = 8;
/// Flows in a state.
const MOST_FLOWS: usize = 1000;
/// Stations in a state: those with the most medium time.
const MOST_STATIONS: usize = 4096;

type Reply = mpsc::Sender<Answer>;

/// The loop's side.
pub(crate) struct Slices {
    /// To the thread that keeps the copies.
    keeper: mpsc::Sender<Copied>,
    /// Who asked before this collection began, and who asked since.
    asked: Vec<Reply>,
    next: Vec<Reply>,
    stage: Stage,
    parts: Vec<Part>,
    /// When the next slice may begin.
    due: Instant,
}

enum Stage {
    Idle,
    Collecting(Collection),
    /// Only the totals are missing.
    Totals,
}

/// A collection, for the thread that keeps the copies.
struct Copied {
    parts: Vec<Part>,
    totals: Box<Snapshot>,
    replies: Vec<Reply>,
}

impl Slices {
    /// Starts the thread that keeps the copies. It ends with this.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub(crate) fn start() -> Result<Self> {
        let (keeper, collections) = mpsc::channel();
        let keep = move || keep(&collections);
        thread::Builder::new().name("status".into()).spawn(keep).context("start the thread of the status")?;
        let (asked, next, parts) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { keeper, asked, next, stage: Stage::Idle, parts, due: Instant::ZERO })
    }

    /// Somebody asks for the state.
    pub(crate) fn ask(&mut self, reply: Reply) {
        self.next.push(reply);
    }

    /// When the next slice is due; `None`: nobody asks.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let idle = matches!(self.stage, Stage::Idle) && self.next.is_empty();
        (!idle).then_some(self.due)
    }

    /// Copies a slice, if one is due.
    ///
    /// # Errors
    /// A refused system call.
    pub(crate) fn advance(&mut self, engine: &mut Engine, complete: impl FnOnce(Snapshot) -> Snapshot) -> Result<()> {
        let start = now();
        if self.deadline().is_some_and(|due| start >= due) {
            self.slice(engine, start..start + SLICE, complete)?;
            self.due = start + APART;
        }
        Ok(())
    }

    fn slice(
        &mut self,
        engine: &mut Engine,
        time: Range<Instant>,
        complete: impl FnOnce(Snapshot) -> Snapshot,
    ) -> Result<()> {
        if matches!(self.stage, Stage::Idle) {
            self.asked.append(&mut self.next);
            self.stage = Stage::Collecting(Collection::new(MOST_FLOWS));
        }
        match &mut self.stage {
            Stage::Collecting(collection) => {
                let mut part = Part::new(time.start);
                let mut more = true;
                while more && now() < time.end {
                    more = engine.collect(time.start, collection, AT_ONCE, &mut part);
                }
                self.parts.push(part);
                if !more {
                    self.stage = Stage::Totals;
                }
            }
            Stage::Idle | Stage::Totals => {
                let totals = Box::new(complete(engine.totals(time.start)?));
                let (parts, replies) = (std::mem::take(&mut self.parts), std::mem::take(&mut self.asked));
                // The thread ends with this alone.
                let _ = self.keeper.send(Copied { parts, totals, replies });
                self.stage = Stage::Idle;
            }
        }
        Ok(())
    }

    /// The state now, at once: nothing is to be carried any more.
    ///
    /// # Errors
    /// A refused system call; the thread that keeps the copies has gone.
    pub(crate) fn finish(mut self, engine: &mut Engine, complete: impl Fn(Snapshot) -> Snapshot) -> Result<Snapshot> {
        let (reply, state) = mpsc::channel();
        self.ask(reply);
        while self.deadline().is_some() {
            let start = now();
            self.slice(engine, start..Instant::from_nanos(u64::MAX), &complete)?;
        }
        match state.recv() {
            Ok(Answer::Status(snapshot)) => Ok(*snapshot),
            _ => anyhow::bail!("the thread of the status has ended"),
        }
    }
}

/// Keeps the copies, and makes the state from them after each collection.
fn keep(collections: &mpsc::Receiver<Copied>) {
    let mut collected = Collected::default();
    for Copied { parts, totals, replies } in collections {
        parts.into_iter().for_each(|part| collected.take(part));
        let mut state = *totals;
        state.report = collected.finish(state.report, MOST_STATIONS);
        for reply in replies {
            // A disconnected client needs no reply.
            let _ = reply.send(Answer::Status(Box::new(state.clone())));
        }
    }
}
