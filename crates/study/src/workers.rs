//! The runs of an experiment, on all cores.
//!
//! Each thread takes the next run when it has ended one; nothing is shared but the plan. The thread that called keeps
//! what comes back and reports progress. It does not wait for runs that are under way when it is stopped: they
//! stop too, and are made again the next time.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::store::{Record, Store, StoreError};
use crate::{Plan, PlannedRun, run_job};

/// Between two looks at whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// How an experiment stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// Runs in all.
    pub runs: usize,
    /// Runs that were known before.
    pub known: usize,
    /// Runs that have ended since.
    pub ended: usize,
    /// Those of them that failed.
    pub failed: usize,
    /// Runs that have ended since, and parts of those that are under way.
    pub progress: f64,
    /// Since the start.
    pub elapsed: Duration,
}

impl Status {
    /// How long the rest will take, if runs take as long as they did so far.
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
    /// Part that is done of each run that is under way.
    parts: Mutex<BTreeMap<usize, f64>>,
}

/// Makes the runs that `store` does not have, on `threads` threads (at least one), and keeps them there. `tell` is
/// called again and again with how it stands; when it returns `false`, the experiment stops.
///
/// # Errors
/// A run cannot be kept. What was kept before stays.
pub fn run(
    plan: &Plan,
    store: &mut Store,
    threads: usize,
    tell: impl FnMut(&Status) -> bool,
) -> Result<Status, StoreError> {
    run_some(plan, plan.runs(), store, threads, tell)
}

/// As [`run`], of these runs of the plan alone. A run that the store has without a wanted series is made again.
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

/// One thread: run after run, until there are none.
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
