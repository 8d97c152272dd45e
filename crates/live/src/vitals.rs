//! What the threads of a box share about its health: limits, and whatever is neither in the manager's state nor in a line of the
//! watch feed. The feed's thread judges ([`evenair_api::health`]); the control socket shows the result.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use evenair_api::health::{HealthStatus, Limits};
use tracing::{info, warn};

/// Copies are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vitals(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    limits: Mutex<Limits>,
    latest: Mutex<Option<HealthStatus>>,
    is_history_failing: AtomicBool,
    /// When this process began, if the one before had not ended in order.
    restarted: Option<Instant>,
}

impl Vitals {
    /// Those of a box with these limits, whose process may follow one that had not ended in order.
    pub(crate) fn new(limits: Limits, restarted: Option<Instant>) -> Self {
        Self(Arc::new(Shared { limits: limits.into(), restarted, ..Shared::default() }))
    }

    pub(crate) fn limits(&self) -> Limits {
        *self.0.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges by these limits from now on.
    pub(crate) fn configure(&self, limits: Limits) {
        *self.0.limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// The health in the last second; `None`: nobody has judged it yet.
    pub(crate) fn latest(&self) -> Option<HealthStatus> {
        self.0.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn publish(&self, health: HealthStatus) {
        *self.0.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(health);
    }

    pub(crate) fn is_history_failing(&self) -> bool {
        self.0.is_history_failing.load(Ordering::Relaxed)
    }

    /// Whether the last record of the history was lost.
    pub(crate) fn set_history_failing(&self, is_failing: bool) {
        self.0.is_history_failing.store(is_failing, Ordering::Relaxed);
    }

    /// Seconds since this process began, if the one before had not ended in order.
    pub(crate) fn restarted_s(&self) -> Option<f64> {
        self.0.restarted.map(|since| since.elapsed().as_secs_f64())
    }
}

/// A file that is there while the process runs. One that is there at the start is of a process that crashed, hung or was killed, or
/// ended with an error.
///
/// It is in the runtime directory of the service, as the persisted mode is (`last_word.rs`): a stop or a boot removes it. Without a
/// runtime directory there is none.
#[derive(Debug)]
pub(crate) struct Running {
    file: Option<PathBuf>,
    /// When this process began, if the one before had not ended in order.
    pub(crate) restarted: Option<Instant>,
}

impl Running {
    pub(crate) fn begin() -> Self {
        let directories = std::env::var_os("RUNTIME_DIRECTORY");
        let first = directories.and_then(|all| std::env::split_paths(&all).next());
        Self::begin_with(first.map(|directory| directory.join("running")))
    }

    fn begin_with(file: Option<PathBuf>) -> Self {
        let restarted = file.as_ref().filter(|file| file.exists()).map(|_| Instant::now());
        if restarted.is_some() {
            info!("the box before had not ended in order");
        }
        if let Some(file) = &file
            && let Err(error) = std::fs::write(file, "")
        {
            warn!("{}: {error}: the next start will not know how this run ended", file.display());
        }
        Self { file, restarted }
    }

    /// The process ends in order.
    pub(crate) fn end(self) {
        // A remaining file says at worst that this run had not ended in order.
        self.file.iter().for_each(|file| drop(std::fs::remove_file(file)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_does_not_end_in_order_is_known_to_the_next_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let begin = || Running::begin_with(Some(directory.path().join("running")));
        let first = begin();
        assert_eq!(first.restarted, None);
        drop(first);
        let second = begin();
        let vitals = Vitals::new(Limits::default(), second.restarted);
        assert!(vitals.restarted_s().is_some_and(|seconds| seconds < 60.0));
        second.end();
        assert_eq!(begin().restarted, None);
        Running::begin_with(None).end();
    }
}
