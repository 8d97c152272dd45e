//! Shared state of a box's health: limits, and facts that are neither in the manager's state nor in a line of the watch feed. The feed's
//! thread judges ([`evenair_api::health`]); the control socket shows the result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use evenair_api::health::{HealthStatus, Limits};

use crate::running::Running;

/// Clones share the same state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vitals(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    limits: Mutex<Limits>,
    latest: Mutex<Option<HealthStatus>>,
    is_history_failing: AtomicBool,
    running: Running,
}

impl Vitals {
    /// The state of a box with these limits in this run.
    pub(crate) fn new(limits: Limits, running: Running) -> Self {
        Self(Arc::new(Shared { limits: limits.into(), running, ..Shared::default() }))
    }

    pub(crate) fn limits(&self) -> Limits {
        *self.0.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the limits from now on.
    pub(crate) fn configure(&self, limits: Limits) {
        *self.0.limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// The health in the last second; `None`: no judgement yet.
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

    /// The run of this process: the last command, and how the previous process ended.
    pub(crate) fn running(&self) -> &Running {
        &self.0.running
    }
}
