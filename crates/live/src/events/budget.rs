//! Budgets of events that stations and other hosts can cause, so that a flood of made-up addresses neither fills the queue of the
//! history thread nor writes without bound. Each kind of event has a budget of its own.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use evenair_manager::Event;
use evenair_units::{Instant, Span};

use crate::log_limit::LogLimit;

/// Events of a kind that may come at once.
const BURST: u32 = 200;
/// Interval of further events: at 120 to 250 bytes each, and 700 where a call ends, all kinds together write 6 kB/s at most.
const EACH: Span = Span::from_millis(500);
/// Kinds of events about stations ([`kind_of`]).
const KINDS: usize = 10;

/// The budgets, which all shards share.
#[derive(Debug)]
pub(super) struct Budget {
    limits: Mutex<[LogLimit; KINDS]>,
    left_out: AtomicU64,
}

impl Budget {
    pub(super) fn new(now: Instant) -> Self {
        Self { limits: Mutex::new([LogLimit::of(now, BURST, EACH); KINDS]), left_out: AtomicU64::new(0) }
    }

    /// Whether an event is kept; otherwise it is counted.
    pub(super) fn admits(&self, now: Instant, event: &Event) -> bool {
        let Some(kind) = kind_of(event) else { return true };
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let admitted = limits[kind].admits(now).is_some();
        if !admitted {
            self.add_left_out(1);
        }
        admitted
    }

    /// How many events were left out since the last call.
    pub(super) fn take_left_out(&self) -> u64 {
        self.left_out.swap(0, Ordering::Relaxed)
    }

    /// Counts events that were left out.
    pub(super) fn add_left_out(&self, events: u64) {
        self.left_out.fetch_add(events, Ordering::Relaxed);
    }
}

/// The kind of an event about a station. `None`: it is not about a station, and only the operator or the box causes it.
fn kind_of(event: &Event) -> Option<usize> {
    match event {
        Event::StationLearned(_) => Some(0),
        Event::StationOverShare { .. } => Some(1),
        Event::ReportContradicted { .. } => Some(2),
        Event::AddressContested { .. } => Some(3),
        Event::CallAdmitted { .. } => Some(4),
        Event::CallRefused { .. } => Some(5),
        Event::CallRoamed { .. } => Some(6),
        Event::CallEnded { .. } => Some(7),
        // At most one a minute and domain; there are as many domains as reported channels.
        Event::GroupLimited { .. } => Some(8),
        Event::DomainsChanged { .. } => Some(9),
        Event::ModeChanged(_)
        | Event::ConfigRefused(_)
        | Event::Guard { .. }
        | Event::ObservationRefused(_)
        | Event::RateChanged { .. } => None,
    }
}
