//! Makes the runs of an experiment, on all cores.
//!
//! Each thread takes the next run when it has completed one; threads share only the plan. The calling thread stores
//! the results and reports progress. When it is stopped, it does not wait for unfinished runs: they stop too, and are
//! repeated the next time.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::store::{Record, Store, StoreError};
use crate::{Plan, PlannedRun, run_job};

/// Time between two checks whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Progress of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Total number of runs.
    pub runs: usize,
    /// Runs that the store already had.
    pub known: usize,
    /// Runs completed since the start.
    pub ended: usize,
    /// Of these, failed runs.
    pub failed: usize,
    /// Runs completed since the start, plus the completed parts of unfinished ones.
    pub progress: f64,
    /// Wall-clock time since the start.
    pub elapsed: Duration,
}

impl Status {
    /// Estimated time for the remaining runs, at the mean run time so far.
    pub fn left(&self) -> Option<Duration> {
        let rest = (self.runs - self.known) as f64 - self.progress;
        let left = self.elapsed.as_secs_f64() * rest.max(0.0) / self.progress;
        Duration::try_from_secs_f64(left).ok()
    }

    /// Whether all runs have ended.
    pub const fn is_complete(&self) -> bool {
        self.known + self.ended == self.runs
    }
}

struct Shared {
    plan: Plan,
    runs: Vec<PlannedRun>,
    next: AtomicUsize,
    stop: AtomicBool,
    /// Completed part, from 0 to 1, of each unfinished run.
    parts: Mutex<BTreeMap<usize, f64>>,
}

/// Makes the runs that `store` does not have, on `threads` threads (at least one), and stores them there. `tell` is
/// called repeatedly with the progress; when it returns `false`, the experiment stops.
///
/// # Errors
/// A run cannot be stored. Earlier ones stay stored.
pub fn run(
    plan: &Plan,
    store: &mut Store,
    threads: usize,
    tell: impl FnMut(&Status) -> bool,
) -> Result<Status, StoreError> {
    run_some(plan, plan.runs(), store, threads, tell)
}

/// As [`run`], of the given runs of the plan only. A run that the store has without a requested series is repeated.
///
/// # Errors
/// As [`run`].
pub fn run_some(
    plan: &Plan,
    all: Vec<PlannedRun>,
    store: &mut Store,
    threads: usize,
    mut tell: impl FnMut(&Status) -> bool,
) -> Result<Status, StoreError> {
    let runs = all.len();
    let unknown: Vec<_> = all.into_iter().filter(|run| !store.has(&run.key, &plan.series)).collect();
    let start = Instant::now();
    let known = runs - unknown.len();
    let mut status = Status { runs, known, ended: 0, failed: 0, progress: 0.0, elapsed: Duration::ZERO };
    let (sender, receiver) = mpsc::channel();
    let threads = threads.clamp(1, unknown.len().max(1));
    let shared = Arc::new(Shared {
        plan: plan.clone(),
        runs: unknown,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        parts: Mutex::default(),
    });
    for _ in 0..threads {
        let (shared, sender) = (Arc::clone(&shared), sender.clone());
        thread::spawn(move || work(&shared, &sender));
    }
    drop(sender);
    loop {
        let received = receiver.recv_timeout(LOOK);
        status.elapsed = start.elapsed();
        if let Ok(record) = &received {
            status.ended += 1;
            status.failed += usize::from(record.failed.is_some());
        }
        status.progress = status.ended as f64 + shared.parts().values().sum::<f64>();
        match received {
            Ok(record) => {
                if let Err(error) = store.add(record) {
                    shared.stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                tell(&status);
                return Ok(status);
            }
        }
        if !tell(&status) {
            shared.stop.store(true, Ordering::Relaxed);
            return Ok(status);
        }
    }
}

impl Shared {
    fn parts(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, f64>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread: makes runs until none are left.
fn work(shared: &Shared, sender: &Sender<Record>) {
    while !shared.stop.load(Ordering::Relaxed) {
        let index = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(run) = shared.runs.get(index) else { return };
        let mut reported = Instant::now();
        let record = run_job(&shared.plan.job(run), |part| {
            if reported.elapsed() >= LOOK {
                reported = Instant::now();
                shared.parts().insert(index, part);
            }
            if shared.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        shared.parts().remove(&index);
        let Some(record) = record else { return };
        if sender.send(record).is_err() {
            return;
        }
    }
}
